"""A report as its reader takes it in: where its lines break is another question."""

from __future__ import annotations


def as_line(result: object) -> str:
    """Return the text of a report, or of anything else, with one blank for every white space."""
    return " ".join(str(result).split())
