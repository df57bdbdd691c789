"""The ratios of each kind of CPU, kept in bench/history, and what has changed against them.

A file has a line for each record. Its ratios are the time of the copy, of torch, or of what a call
is compared with, over the operator's time: a greater one is faster.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

from . import machine
from .calls import Call
from .cases import Record
from .harness import Quartiles

PEERS = ("copy", "torch")  # of a record: the yardstick, and the peer most users have
NOTICED = 0.03  # a change of a median that is worth a look

Ratios = dict[str, dict[str, Quartiles]]
"""By what was measured, then by what that is compared with: one of PEERS or a call's kind."""


@dataclass(frozen=True)
class Change:
    """A ratio that was there before."""

    where: str
    of: str
    old: Quartiles
    new: Quartiles

    @property
    def gain(self) -> float:
        """0.1 = faster by 10 %."""
        return self.new.median / self.old.median - 1

    @property
    def is_noticed(self) -> bool:
        """In either direction."""
        return abs(self.gain) > NOTICED

    @property
    def is_clear(self) -> bool:
        """It is noticed, and each median lies outside the quartiles of the other."""
        old, new = self.old, self.new
        overlap = old.q1 <= new.median <= old.q3 or new.q1 <= old.median <= new.q3
        return self.is_noticed and not overlap


@dataclass(frozen=True)
class History:
    """A file, as it was before this run."""

    path: Path
    machine: dict[str, str]
    """What the last recording was made with; nothing where there is no file."""
    ratios: Ratios

    @classmethod
    def of_this_cpu(cls) -> History:
        """From bench/history."""
        return cls.read(Path(__file__).parent / "history" / f"{machine.cpu_kind()}.json")

    @classmethod
    def read(cls, path: Path) -> History:
        """Empty where there is no file."""
        document = json.loads(path.read_text()) if path.exists() else {"machine": {}, "ratios": {}}
        ratios = {
            where: {of: Quartiles(*values) for of, values in row.items()}
            for where, row in document["ratios"].items()
        }
        return cls(path, document["machine"], ratios)

    def changes(self, ratios: Ratios) -> list[Change]:
        """Of each ratio that both have, the worst first."""
        found = [
            Change(where, of, self.ratios[where][of], new)
            for where, row in ratios.items()
            for of, new in row.items()
            if of in self.ratios.get(where, {})
        ]
        return sorted(found, key=lambda change: change.gain)

    def record(self, facts: dict[str, str], ratios: Ratios) -> None:
        """Write the file: ratios that were not measured stay as they are."""
        date = datetime.date.today().isoformat()
        facts = {"date": date, "commit": machine.commit(), **facts}
        merged = {
            where: {
                of: [_three_digits(value) for value in astuple(quartiles)]
                for of, quartiles in (self.ratios.get(where, {}) | ratios.get(where, {})).items()
            }
            for where in sorted({*self.ratios, *ratios})
        }
        sections = (_section("machine", facts), _section("ratios", merged))
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text("{\n" + ",\n".join(sections) + "\n}\n")


def ratios_of(records: Iterable[Record], calls: Iterable[Call]) -> Ratios:
    """What a run measured."""
    ratios: Ratios = {}
    for r in records:
        where = f"{r.operator} {r.dtype} {r.size} {r.arrays} {r.threads}T"
        ratios[where] = {peer: r.ratios[peer] for peer in PEERS if peer in r.ratios}
    for c in calls:
        where = f"{c.operator} {c.dtype} {c.size} {c.arrays}"
        inverse = Quartiles(1 / c.ratio.median, 1 / c.ratio.q3, 1 / c.ratio.q1)
        ratios.setdefault(where, {})[c.kind] = inverse
    return ratios


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")


def _section(name: str, content: Mapping[str, object]) -> str:
    lines = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    return f' "{name}": {{\n' + ",\n".join(lines) + "\n }"
