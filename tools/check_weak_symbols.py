"""Fail if the kernels of two targets share a weak symbol.

The linker keeps one copy of such a symbol, and it may be the AVX-512 one, which then runs on a CPU
without AVX-512.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def weak_symbols(library: Path) -> set[str]:
    """Return the weak symbols that an object file defines."""
    listing = subprocess.run(
        ["nm", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    rows = (line.split() for line in listing.splitlines())
    return {row[2] for row in rows if len(row) == 3 and row[1] in "WVu"}


def main(build: Path) -> int:
    """Compare all kernel objects of a build folder, target by target."""
    targets: dict[str, set[str]] = {}
    for path in build.glob("CMakeFiles/npu_quant_kernels_*.dir/**/*.o"):
        name = path.relative_to(build / "CMakeFiles").parts[0]
        targets.setdefault(name, set()).update(weak_symbols(path))
    if not targets:
        print(f"no kernel objects under {build}")
        return 1
    shared = {s for a in targets for b in targets if a < b for s in targets[a] & targets[b]}
    for symbol in sorted(shared):
        print(f"weak symbol in several targets: {symbol}")
    return 1 if shared else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
