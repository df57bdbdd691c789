"""The results as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from . import machine, peers
from .bench_checkpoint import WORKERS, OfModel
from .bench_compare import Comparing
from .calls import Call
from .cases import PEERS, Bench, Record
from .goals import Goal
from .harness import Quartiles
from .history import NOTICED, History, Ratios

WIDTH = 134

CAPTION = (
    "arrays: aligned = every array starts at 0 modulo 64 bytes, numpy = at 16, sliced = "
    "one element past a multiple of 64, as x.ravel()[1:] does. T: threads. time: the operator's, "
    "called from Python with out=, median of the rounds. copy: time of a copy of the same bytes, "
    "scales and other small arrays aside, over the operator's (1 = memory speed; the best of plain "
    "and streaming stores, repeated in C). numpy, torch, torch.compile, onnxruntime: their time "
    "over the operator's (2 = half as fast); torch is its own operator where it has one, else the "
    "formula, onnxruntime its QuantizeLinear or DequantizeLinear on the same memory. All: median "
    "(quartiles) of the per-round ratios. NumPy and eager torch do at most "
    f"{peers.MOST_ELEMENTS:,} elements, in whole rows, scaled to all: the whole would take "
    "gigabytes of temporaries, so their figures at larger sizes are kind to them (one scale from "
    "float32 to codes or back needs none: there they do all, as onnxruntime does)."
)


class Report:
    """Prints tables that keep their layout where there is no terminal."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        if not self._console.is_terminal:
            self._console = Console(highlight=False, width=WIDTH)

    def machine(self, bench: Bench) -> None:
        """What the figures were measured with."""
        self._console.print(_words(machine.facts(bench)))

    def records(self, records: Sequence[Record]) -> None:
        """A table for each operator."""
        for name in dict.fromkeys(r.operator for r in records):
            table = _table(name, "dtype", "size", "arrays")
            for heading in ("T", "time", *PEERS):
                table.add_column(heading, justify="right", no_wrap=True)
            for r in records:
                if r.operator == name:
                    last = (r.arrays, r.threads) == (records[-1].arrays, records[-1].threads)
                    table.add_row(*_cells(r), end_section=last)
            self._console.print(table)
        if records:
            self._console.print(CAPTION, style="dim")

    def calls(self, calls: Sequence[Call]) -> None:
        """What calls cost beside their work."""
        if not calls:
            return
        table = _table("Calls, one thread", "operator", "dtype", "size", "arrays")
        for heading in ("time", "of", "its time", "ratio"):
            table.add_column(heading, justify="right", no_wrap=True)
        for c in calls:
            times = (_time(c.seconds), c.other, _time(c.other_seconds))
            table.add_row(c.operator, c.dtype, c.size, c.arrays, *times, _ratio(c.ratio))
        self._console.print(table)

    def comparings(self, comparings: Sequence[Comparing]) -> None:
        """What comparing two files takes."""
        if not comparings:
            return
        mib = comparings[0].mib
        table = _table(f"Two files of {mib} MiB of int8 compared, from opening to verdict", "by")
        for heading in ("T", "time", "GB/s per file", "speed, of reading both", "peak memory"):
            table.add_column(heading, justify="right", no_wrap=True)
        for c in comparings:
            speed = f"{(c.mib << 20) / c.seconds.median / 1e9:.2f}"
            cells = (speed, _ratio(c.of_reading), f"{c.peak_mib:.0f} MiB")
            table.add_row(c.how, str(c.threads), _time(c.seconds), *cells)
        self._console.print(table)

    def models(self, measurings: Sequence[OfModel]) -> None:
        """What quantizing and checking a model takes."""
        if not measurings:
            return
        title = f"A model of {measurings[0].mib} MiB of bfloat16, {WORKERS} workers"
        table = _table(f"{title} (bench_checkpoint.py says what is timed)", "what", "beside")
        for heading in ("time", "its time", "ratio"):
            table.add_column(heading, justify="right", no_wrap=True)
        for m in measurings:
            times = (_time(m.seconds), _time(m.other_seconds))
            table.add_row(m.what, m.of, *times, _ratio(m.ratio))
        self._console.print(table)

    def goals(self, goals: Sequence[Goal]) -> None:
        """Each goal: what was wanted, what was seen."""
        table = _table("Goals", "goal", "where")
        for heading in ("wanted", "seen", "met"):
            table.add_column(heading, justify="right", no_wrap=True)
        for g in goals:
            met = {True: "yes", False: "[bold red]NO[/]", None: g.note}[g.met]
            table.add_row(g.goal, g.where, g.wanted, f"{g.seen:.3f}", met)
        self._console.print(table)
        judged = [g.met for g in goals if g.met is not None]
        self._console.print(f"{sum(judged)} of {len(judged)} goals met.")

    def changes(self, history: History, ratios: Ratios) -> None:
        """What differs from what was recorded."""
        name = history.path.name
        if not history.ratios:
            remedy = "To make it, at the commit to compare with: make bench BENCH=--record"
            self._console.print(f"There is no bench/history/{name}, nothing to compare. {remedy}")
            return
        changes, percent = history.changes(ratios), f"{100 * NOTICED:.0f} %"
        self._console.print(f"{name} is of {_words(history.machine)}")
        title = f"Changes of more than {percent} in the time of the other over the operator's"
        table = _table(title, "operator", "other")
        for heading in ("then", "now", "speed", "beyond both quartile ranges"):
            table.add_column(heading, justify="right", no_wrap=True)
        for c in (c for c in changes if c.is_noticed):
            medians = (f"{q.median:.3g}" for q in (c.old, c.new))
            clear, style = ("yes", None) if c.is_clear else ("no", "dim")
            table.add_row(c.where, c.of, *medians, f"{100 * c.gain:+.1f} %", clear, style=style)
        self._console.print(table)
        slower, faster = (sum(c.is_clear and c.gain * s > 0 for c in changes) for s in (-1, 1))
        rows = f"{slower} of {len(changes)} rows"
        self._console.print(f"{rows} slower than {percent}, {faster} faster")


def write_json(
    path: Path,
    bench: Bench,
    records: Iterable[Record],
    calls: Iterable[Call],
    comparings: Iterable[Comparing],
    of_models: Iterable[OfModel],
    goals: Iterable[Goal],
) -> None:
    """Everything printed and the absolute times, in seconds."""
    document = {
        "machine": machine.facts(bench),
        "cases": [asdict(record) for record in records],
        "calls": [asdict(call) for call in calls],
        "comparisons": [asdict(comparing) for comparing in comparings],
        "models": [asdict(measuring) for measuring in of_models],
        "goals": [asdict(goal) for goal in goals],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def _words(facts: dict[str, str]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in facts.items())


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    return table


def _cells(r: Record) -> list[str]:
    ratios = (_ratio(r.ratios[peer]) if peer in r.ratios else "-" for peer in PEERS)
    return [r.dtype, r.size, r.arrays, str(r.threads), _time(r.seconds["op"]), *ratios]


def _ratio(q: Quartiles) -> str:
    digits = 2 if q.median < 10 else 1 if q.median < 100 else 0
    return f"{q.median:.{digits}f} ({q.q1:.{digits}f}-{q.q3:.{digits}f})"


def _time(seconds: Quartiles) -> str:
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds.median * factor < 1000:
            return f"{seconds.median * factor:.3g} {unit}"
    return f"{seconds.median:.3g} s"
