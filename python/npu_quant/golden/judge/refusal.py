"""What could only pass: comparisons that assert_golden and the command line refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._face import either
from ...arrays import Source
from ...files import FileSource, same_file
from ...files.mapped import mapped_at
from ..results import ComparisonData, OutputComparison
from ..sources import ArraySource, blocks, size_of
from . import verdict
from .power import VACUOUS, power_text


def refusal_of(comparison: ComparisonData, allow_constant: bool) -> str | None:
    """Say why a comparison that passed proves nothing; None if it proves something.

    Args:
        comparison: one that passed.
        allow_constant: whether a golden of one value only is meant.
    """
    compared = [output for output in comparison.outputs if output.rows_compared != 0]
    if not compared:
        output, left_out = comparison.outputs[0], comparison.outputs[0].left_out
        assert left_out is not None
        what = f"all rows are {left_out.why}" if left_out.rows else f"it is {left_out.why}"
        return f"{output.name}: {what}, there is nothing to compare."
    for output in compared:
        reason = _same_or_empty(output) or _any_code(output) or _vacuous(output)
        if reason is not None:
            return f"{output.name or 'actual'}: {reason}"
    several = any(math.prod(output.shape) > 1 for output in compared)
    if not allow_constant and several and all(o.constant for o in compared):
        return (
            "the golden is the same value everywhere, so that any order of elements would pass. "
            f"Compare data that vary, or say {either('allow_constant=True', '--allow-constant')}."
        )
    return None


def is_same(actual: Source, golden: Source) -> bool:
    """Say whether two sources are the same memory or the same array of the same file."""
    if actual is golden or same_file(actual, golden):
        return True
    if size_of(golden) == 0:
        return False
    ours, theirs = _memory(actual), _memory(golden)
    if ours is None or theirs is None or _steps(ours) != _steps(theirs):
        return False
    arrays = [memory for memory in (ours, theirs) if isinstance(memory, np.ndarray)]
    if len(arrays) == 2 and _address(arrays[0]) == _address(arrays[1]):
        return True
    place = _place(ours)
    return place is not None and place == _place(theirs)


def _memory(source: Source) -> NDArray[Any] | FileSource | None:
    """Return what holds a source's elements as they are; None of what is made when it is read."""
    if isinstance(source, FileSource):
        return source
    return source.array() if isinstance(source, ArraySource) else None


def _steps(memory: Any) -> list[tuple[int, int]]:
    """Return the lengths and strides of the axes along which there is a next element."""
    pairs = zip(memory.shape, memory.strides, strict=True)
    return [(n, step) for n, step in pairs if n > 1]


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _place(memory: NDArray[Any] | FileSource) -> tuple[int, int, int] | None:
    """Return which file holds elements, by device and number, and from which byte on.

    Whoever mapped a file into memory, NumPy, torch or Python's mmap, the system knows of it.
    """
    if isinstance(memory, FileSource):
        return memory.place
    return mapped_at(_address(memory))


def _same_or_empty(output: OutputComparison) -> str | None:
    if math.prod(output.shape) == 0:
        return "the arrays are empty, there is nothing to compare."
    if output.same:
        return "actual and golden are the same array, which equals itself."
    return None


def _any_code(output: OutputComparison) -> str | None:
    if output.rung != "tie" or output.ties is None or not output.ties.all_ill_conditioned:
        return None
    return (
        "every number lies so far beyond the codes' range that rounding would explain any code. "
        "Compare data that vary within their groups, or (y - offset) * scale."
    )


def _vacuous(output: OutputComparison) -> str | None:
    if output.tolerance is None or not any(output.tolerance.power.get(p) for p in VACUOUS):
        return None
    own = either('atol={"y": 1}', "--atol y=1")
    return (
        f"{output.tolerance.text} would also accept {power_text(output.tolerance.power)}. Ask for "
        f"less, or for each output its own, such as {own}."
    )


def is_constant(golden: Source) -> bool:
    """Say whether a golden has no two different values."""
    first = golden.read(0, min(1, size_of(golden)))
    for begin, end in blocks(golden):
        block = golden.read(begin, end)
        if not verdict.is_constant(np.concatenate([first, block])):
            return False
    return True
