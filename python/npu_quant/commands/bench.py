"""``npu-quant bench``: the speed of operators here, against a copy in the same run."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import dtypes, get_num_threads, ops, set_num_threads
from ..files.common import ALIASES
from .arguments import Parser, UsageError, add_json, at_least, parsed, seconds, shape
from .console import write, write_json, write_table
from .info import machine
from .outputs import check_json

DESCRIPTION = """\
Measure how fast an operator is on this machine: the bytes it reads and writes in a second, and the
same as a fraction of what a copy of as many bytes reaches in the same run, on one thread or as
many. Of all repeats the best counts."""

SCHEMA_VERSION = 1
DEFAULT_OPS = ("npu_dynamic_quant", "npu_dynamic_block_quant")
DTYPES = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
}

FORMATS = ("int8", "int4", "float8_e4m3fn", "float8_e5m2", "hifloat8")

Array = NDArray[Any]
MOST_BYTES = 1 << 34


class Case(NamedTuple):
    """An operator with arrays to work on."""

    inputs: tuple[Array, ...]
    attributes: dict[str, Any]


class Result(NamedTuple):
    """The speed of an operator."""

    op: str
    bytes: int
    seconds: float
    """Of one call."""
    of_copy: float
    """The copy's time over the operator's."""

    @property
    def speed(self) -> float:
        """GB read and written in a second."""
        return self.bytes / self.seconds / 1e9


def _vector(n: int, value: float, dtype: Any = np.float32) -> Array:
    return np.full(n, value, dtype)


CASES: dict[str, Callable[[Array, str], Case]] = {
    "npu_dynamic_quant": lambda x, to: Case((x,), {"dst_type": to}),
    "npu_dynamic_quant_asymmetric": lambda x, to: Case((x,), {"dst_type": to}),
    "npu_dynamic_block_quant": lambda x, to: Case(
        (x,), {"dst_type": to, "round_mode": "round" if to == "hifloat8" else "rint"}
    ),
    "npu_quantize": lambda x, to: Case(
        (x, _vector(1, 0.03), _vector(1, 3, np.int32)), {"dtype": to}
    ),
    "npu_add_rms_norm_quant": lambda x, to: Case(
        (
            x,
            x[::-1].copy(),
            _vector(x.shape[-1], 1, x.dtype),
            _vector(x.shape[-1], 0.03),
            _vector(x.shape[-1], 3, np.int32),
        ),
        {"dst_type": to},
    ),
    "npu_add_rms_norm_dynamic_quant": lambda x, to: Case(
        (x, x[::-1].copy(), _vector(x.shape[-1], 1, x.dtype)), {"y_dtype": to}
    ),
    "npu_rms_norm_quant": lambda x, to: Case(
        (
            x,
            *(_vector(x.shape[-1], value, x.dtype) for value in (1, 0)),
            _vector(x.shape[-1], 0.03),
            _vector(x.shape[-1], 3, np.int32),
        ),
        {"dst_dtype": to},
    ),
    "npu_rms_norm_quant_v2": lambda x, to: Case(
        (x, _vector(x.shape[-1], 1, x.dtype), _vector(x.shape[-1], 0.03)), {"dst_dtype": to}
    ),
    "npu_rms_norm_dynamic_quant": lambda x, _: Case((x, _vector(x.shape[-1], 1, x.dtype)), {}),
    "fake_quantize_per_tensor_affine": lambda x, _: Case(
        (x,), {"scale": 0.03, "zero_point": 0, "quant_min": -128, "quant_max": 127}
    ),
    "fake_quantize_per_channel_affine": lambda x, _: Case(
        (x, _vector(x.shape[-1], 0.03), _vector(x.shape[-1], 0, np.int32)),
        {"axis": x.ndim - 1, "quant_min": -128, "quant_max": 127},
    ),
}
"""What each operator is called with, for an array x and the format of its codes."""
ONLY_INT8 = ("npu_rms_norm_dynamic_quant",)


def parser() -> Parser:
    """Return the parser of the arguments."""
    result = Parser("bench", DESCRIPTION)
    result.usage = "npu-quant bench [options] [OP ...]"
    help = f"operators, of {', '.join(CASES)} (default: {' '.join(DEFAULT_OPS)})"
    result.add_argument("ops", nargs="*", metavar="OP", help=help)
    help = "shape of the input (default: 4096,4096)"
    result.add_argument("--shape", type=parsed(shape), default=(4096, 4096), help=help)
    help = f"dtype of the input: {', '.join(DTYPES)} (default: bfloat16)"
    result.add_argument("--dtype", default="bfloat16", help=help)
    help = f"format of the codes: {', '.join(FORMATS)} (default: int8)"
    result.add_argument("--dst-type", default="int8", help=help)
    help = "threads, of the operator and of the copy (default: as many as operators use)"
    result.add_argument("--threads", type=at_least(1), help=help)
    help = "about how long to measure, all in all (default: 2)"
    result.add_argument("--seconds", type=parsed(seconds), default=2.0, help=help)
    add_json(result)
    return result


def run(words: Sequence[str]) -> int:
    """Measure what the arguments name, and print it."""
    arguments = parser().parse(words, "ops")
    names = list(dict.fromkeys(arguments.ops or DEFAULT_OPS))
    for name in names:
        if name not in CASES:
            raise UsageError(f"{name!r} cannot be measured here; these can: {', '.join(CASES)}.")
    dtype = DTYPES.get(ALIASES.get(arguments.dtype, arguments.dtype))
    if dtype is None:
        known = ", ".join(DTYPES)
        raise UsageError(f"--dtype {arguments.dtype}: operators take {known}.")
    to = _format(arguments.dst_type, names)
    _check_shape(arguments.shape, dtype)
    if to == "int4" and arguments.shape[-1] % 8:
        raise UsageError(f"--shape {arguments.shape}: the last axis of int4 is a multiple of 8.")
    check_json(arguments.json)
    before = get_num_threads()
    set_num_threads(arguments.threads or before)
    try:
        x = numbers(arguments.shape, dtype)
        budget = arguments.seconds / len(names)
        results = [measure(name, CASES[name](x, to), budget) for name in names]
        facts = machine()
    finally:
        set_num_threads(before)
    if arguments.json != "-":
        _print(results, x, to, facts)
    if arguments.json is not None:
        write_json(_data(results, x, to, facts), arguments.json)
    return 0


def _format(word: str, names: Sequence[str]) -> str:
    row = dtypes.resolve(int(word) if word.isdecimal() else word)
    if row is None or row.name not in FORMATS:
        raise UsageError(f"--dst-type {word}: operators give {', '.join(FORMATS)}.")
    floats = [name for name in names if name.startswith("fake_")]
    if floats and row.name != "int8":
        raise UsageError(f"--dst-type {word}: {floats[0]} gives no codes.")
    only = [name for name in names if name in ONLY_INT8]
    if only and row.name != "int8":
        raise UsageError(f"--dst-type {word}: {only[0]} gives int8.")
    return row.name


def _check_shape(shape: tuple[int, ...], dtype: np.dtype) -> None:
    if not 2 <= len(shape) <= 8 or 0 in shape:
        raise UsageError(f"--shape {shape}: 2 to 8 axes are expected, none of them 0.")
    if math.prod(shape) * dtype.itemsize > MOST_BYTES:
        raise UsageError(f"--shape {shape}: more than 16 GiB.")


def numbers(shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Return normal numbers; they repeat after a while, which no operator notices."""
    some = np.random.default_rng(0).standard_normal(1 << 20, np.float32).astype(dtype)
    return np.resize(some, shape)


def measure(op: str, case: Case, budget: float) -> Result:
    """Run an operator and a copy of as many bytes in turn, for about `budget` seconds."""
    function = getattr(ops, op)
    out = function(*case.inputs, **case.attributes)
    outputs = tuple(out) if isinstance(out, tuple) else (out,)
    moved = sum(a.nbytes for a in (*case.inputs, *outputs))
    threads = get_num_threads()
    source = np.ones(moved // 2, np.uint8)
    target = np.empty_like(source)
    best, best_copy = math.inf, math.inf
    end = time.perf_counter() + budget
    with ThreadPoolExecutor(threads) as pool:
        copies = [copier(source, target, n, pool) for n in sorted({1, threads})]
        for repeat in range(1_000_000):
            best = min(best, timed(lambda: function(*case.inputs, **case.attributes, out=out)))
            best_copy = min(best_copy, *map(timed, copies))
            if repeat >= 2 and time.perf_counter() > end:
                break
    return Result(op, moved, best, best_copy / best)


def copier(
    source: Array, target: Array, threads: int, pool: ThreadPoolExecutor
) -> Callable[[], None]:
    """Return what copies one array to another, a part in each thread."""
    ends = [len(source) * i // threads for i in range(threads + 1)]
    parts = [(target[a:b], source[a:b]) for a, b in itertools.pairwise(ends)]

    def copy() -> None:
        if threads == 1:
            np.copyto(target, source)
            return
        for done in [pool.submit(np.copyto, *part) for part in parts]:
            done.result()

    return copy


def timed(run: Callable[[], object]) -> float:
    """Return the seconds a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _data(results: Sequence[Result], x: Array, to: str, facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "shape": list(x.shape),
        "dtype": x.dtype.name,
        "dst_type": to,
        "results": [{**r._asdict(), "gb_per_second": r.speed} for r in results],
        "machine": facts,
    }


def _print(results: Sequence[Result], x: Array, to: str, facts: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("operator", no_wrap=True)
    for heading in ("time", "GB/s", "of a copy"):
        table.add_column(heading, justify="right", no_wrap=True)
    for r in results:
        table.add_row(r.op, f"{r.seconds * 1e3:.3g} ms", f"{r.speed:.1f}", f"{r.of_copy:.2f}")
    threads = "1 thread" if facts["threads"] == 1 else f"{facts['threads']} threads"
    write(f"{x.dtype.name} {x.shape} to {to}, {threads}, {facts['target']}, {facts['cpu']}")
    write_table(table)
    write("of a copy: time of a copy of as many bytes over the operator's; 1: as fast as that")
