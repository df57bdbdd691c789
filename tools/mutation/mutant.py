"""What a mutant is: one file with a fault in it, and where to look for the test that finds it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent


class TableError(Exception):
    """A fault cannot be planted: its text is gone, or it does not compile."""


@dataclass(frozen=True)
class Mutant:
    """A file of the repository, changed."""

    name: str
    file: str
    source: str
    tests: str
    """Words in the names of the tests that are most likely to find it; they run first."""
    goes_on: bool = True
    """Whether the other tests are asked then, too."""
    googletests_first: bool = False
    target: str = ""
    """For kernels: the only instruction set whose code has the fault."""
    kernel: str = ""
    """And the only kernel."""
    equivalent: str = ""
    """Why no test can tell."""


class Fault(NamedTuple):
    """A row of the tables: in `file`, `old`, which is there once, becomes `new`."""

    name: str
    file: str
    old: str
    new: str
    tests: str
    target: str = ""
    kernel: str = ""
    """For a header of the kernels; a kernel's own file says which it is."""
    googletests_first: bool = False

    def mutant(self) -> Mutant:
        """Return the mutant of this checkout."""
        source = (ROOT / self.file).read_text()
        if source.count(self.old) != 1:
            raise TableError(
                f"{self.name}: {self.file} has its text {source.count(self.old)} times"
            )
        if self.file.endswith(".h") and self.target and not self.kernel:
            raise TableError(f"{self.name}: {self.file} is a header; which kernel has the fault?")
        own = Path(self.file).with_suffix("").as_posix().removeprefix("csrc/kernels/")
        kernel = self.kernel or (own if self.target else "")
        if self.file.endswith(".cpp") and self.target and kernel != own:
            raise TableError(f"{self.name}: {kernel}.cpp does not have {self.file} in it")
        return Mutant(
            self.name,
            self.file,
            source.replace(self.old, self.new),
            self.tests,
            googletests_first=self.googletests_first,
            target=self.target,
            kernel=kernel,
        )
