"""Measure every operator, dtype and size against a memory copy and against peers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import bench_checkpoint, bench_compare, calls, dispatcher, machine, peers
from .aclnn_calls import FUNCTIONS, AclnnCalls
from .cases import Bench, Record
from .copy_mix import CopyMix
from .goals import judge
from .harness import Plan
from .history import History, ratios_of
from .operators import DTYPES, SIZES, Operator, Size, find_operators
from .report import Report, write_json

THOROUGH = Plan(rounds=9, block_seconds=2e-3)
QUICK = Plan(rounds=3, block_seconds=3e-4, rows=1 / 16)


def main() -> None:
    """Measure what the options choose, print it, write it."""
    operators = find_operators()
    options = _options(operators)
    history = History.of_this_cpu() if options.record or options.compare else None
    plan = QUICK if options.quick else THOROUGH
    bench = Bench(
        copy=CopyMix(),
        torch=None if options.no_torch else peers.find("torch"),
        onnxruntime=None if options.no_onnxruntime else peers.find("onnxruntime"),
        plan=plan if options.rounds is None else replace(plan, rounds=options.rounds),
        threads=tuple(options.threads),
    )
    chosen = {o.name: o for o in operators.values() if any(_is(o, name) for name in options.ops)}
    report = Report()
    report.machine(bench)
    records = list(_records(bench, chosen, options))
    of_calls = [] if options.no_calls else list(_calls(bench, chosen, options.dtypes))
    default_mib = 16 if options.quick else 64
    mib = default_mib if options.compare_mib is None else options.compare_mib
    comparings = bench_compare.comparisons(bench, mib)
    small = options.quick
    of_models = [] if options.no_model else bench_checkpoint.measured(bench, small=small)
    goals = [*judge(chosen, records, of_calls), *bench_compare.goals(comparings)]
    goals += [*bench_checkpoint.goals(of_models, small=small), *dispatcher.goals(of_calls)]
    report.records(records)
    report.calls(of_calls)
    report.comparings(comparings)
    report.models(of_models)
    report.goals(goals)
    ratios = ratios_of(records, of_calls)
    if history and options.compare:
        report.changes(history, ratios)
    if history and options.record:
        history.record(machine.facts(bench), ratios)
        print(f"Recorded: {history.path}")
    write_json(options.json, bench, records, of_calls, comparings, of_models, goals)
    print(f"Written: {options.json}")


def _is(operator: Operator, name: str) -> bool:
    """Whether it has that name, or is a way to measure the function of that name."""
    return name in (operator.name, operator.name.partition(" ")[0])


def _records(
    bench: Bench, operators: dict[str, Operator], options: argparse.Namespace
) -> Iterator[Record]:
    for operator in operators.values():
        for dtype in (d for d in options.dtypes if d in operator.dtypes):
            for size in options.sizes or Size.parse_all(operator.sizes):
                print(f"{operator.name} {dtype} {size}", file=sys.stderr)
                yield from bench.records(operator, dtype, size)


def _calls(bench: Bench, operators: dict[str, Operator], dtypes: list[str]) -> Iterator[calls.Call]:
    cases = [(o, d) for o in operators.values() for d in dtypes if d in o.dtypes]
    for kind in calls.KINDS:
        for operator, dtype in cases:
            if operator.in_place and kind in calls.OF_NEW_ARRAYS:
                continue
            if operator.multiplies and kind != "overhead":
                continue
            print(f"{operator.name} {dtype}: {kind}", file=sys.stderr)
            yield from calls.of_kind(bench, kind, operator, dtype)
    aclnn = AclnnCalls()
    for function in FUNCTIONS:
        yield calls.c_api(bench, function, aclnn)
    yield from dispatcher.measured(bench)


def _options(operators: dict[str, Operator]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)

    def add(name: str, parse: Callable[[str], Any], default: str, help: str) -> None:
        help = f"{help}, by default {default}"
        parser.add_argument(name, type=_list_of(parse), default=default, help=help)

    names = dict.fromkeys(part for name in operators for part in (name.partition(" ")[0], name))
    help = 'operators to measure, such as npu_quantize or "npu_quantize per tensor"'
    add("--ops", _one_of(*names), ",".join(operators), help)
    add("--dtypes", _one_of(*DTYPES), ",".join(DTYPES), "dtypes of the inputs")
    help = f"rows x elements per row, by default {SIZES}, or the operator's own sizes"
    parser.add_argument("--sizes", type=_list_of(Size.parse), help=help)
    add("--threads", _at_least(1), "1,2", "numbers of threads")
    help = f"rounds per measurement, by default {THOROUGH.rounds}, {QUICK.rounds} with --quick"
    parser.add_argument("--rounds", type=_at_least(2), help=help)
    parser.add_argument(
        "--quick", action="store_true", help="measure fewer rounds of shorter blocks"
    )
    parser.add_argument("--no-torch", action="store_true", help="do not measure torch")
    parser.add_argument("--no-onnxruntime", action="store_true", help="do not measure ONNX Runtime")
    parser.add_argument("--no-calls", action="store_true", help="do not measure the cost of a call")
    help = "size of the files that are compared, by default 64, 16 with --quick; 0: no comparison"
    parser.add_argument("--compare-mib", type=int, metavar="MIB", help=help)
    full = {"dest": "compare_mib", "action": "store_const", "const": 1024}
    parser.add_argument("--full", **full, help="compare files of 1 GiB")
    help = "do not quantize and check a model (1 GiB; 5 MiB with --quick)"
    parser.add_argument("--no-model", action="store_true", help=help)
    help = "store the ratios in bench/history, in the file of this kind of CPU"
    parser.add_argument("--record", action="store_true", help=help)
    help = "report what has changed against the ratios stored there"
    parser.add_argument("--compare", action="store_true", help=help)
    help = "write the results as JSON to this file, by default build/bench/results.json"
    parser.add_argument("--json", type=Path, default=Path("build/bench/results.json"), help=help)
    return parser.parse_args()


def _list_of(parse: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    def parse_all(text: str) -> list[Any]:
        try:
            return [parse(part) for part in text.split(",")]
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse_all


def _at_least(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r}, expected a whole number from {least} on")
        return int(text)

    return parse


def _one_of(*known: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"{text!r}, available: {', '.join(known)}")
        return text

    return parse


if __name__ == "__main__":
    main()
