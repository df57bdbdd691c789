"""Print what pyproject.toml says the package needs, and what the extras named as arguments do.

pip installs that with the package alone, which would be after it is compiled.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10; scikit-build-core brings it
    import tomli as tomllib


def main(extras: list[str]) -> None:
    """Print a requirement a line."""
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    requirements = [project["dependencies"]]
    requirements += [project["optional-dependencies"][extra] for extra in extras]
    print("\n".join(itertools.chain.from_iterable(requirements)))


if __name__ == "__main__":
    main(sys.argv[1:])
