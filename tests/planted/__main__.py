"""Print what is named of each kind of fault: python -m planted, in tests/."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter

from planted import said, verdict_of
from planted.formats import KINDS as FORMATS
from planted.operators import KINDS as OPERATORS
from planted.places import KINDS as PLACES


def main(tables: dict[str, object], wanted: str) -> None:
    for title, kinds in tables.items():
        counts: Counter[str] = Counter()
        for kind in kinds:  # type: ignore[attr-defined]
            if not re.search(wanted, f"{title} {kind}"):
                continue
            begin = time.perf_counter()
            comparison = kind.compare()
            verdict = verdict_of(kind, comparison)
            counts[verdict] += 1
            taken = time.perf_counter() - begin
            print(f"{verdict:10} {taken:4.1f} s  {kind!s:60.60} {' | '.join(said(comparison))}")
        print(title, dict(counts))


if __name__ == "__main__":
    main(
        {"formats": FORMATS, "operators": OPERATORS, "places": PLACES},
        sys.argv[1] if len(sys.argv) > 1 else "",
    )
