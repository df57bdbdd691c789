"""How a comparison is told: as text, HTML, data; and what its differences look like."""
