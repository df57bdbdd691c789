"""What could only pass: comparisons that assert_golden and the command line refuse."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._face import either
from ...arrays import Source
from ...files import same_file
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
        reason = _same_or_empty(output) or _vacuous(output)
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
    if not isinstance(actual, ArraySource) or not isinstance(golden, ArraySource):
        return False
    a, g = actual.array(), golden.array()
    return _place(a) == _place(g) and _steps(a) == _steps(g) and a.shape == g.shape


def _place(array: NDArray[Any]) -> tuple[str, int]:
    """Return where an array begins: in memory, or in the file that is mapped there."""
    address = int(array.__array_interface__["data"][0])
    base: Any = array
    while base is not None:
        if isinstance(base, np.memmap) and base.filename is not None:
            begin = int(base.__array_interface__["data"][0])
            return os.path.realpath(base.filename), base.offset + address - begin
        base = getattr(base, "base", None)
    return "", address


def _steps(array: NDArray[Any]) -> list[int]:
    """Return the strides of the axes along which there is a next element."""
    return [step for step, n in zip(array.strides, array.shape, strict=True) if n > 1]


def _same_or_empty(output: OutputComparison) -> str | None:
    if math.prod(output.shape) == 0:
        return "the arrays are empty, there is nothing to compare."
    if output.same:
        return "actual and golden are the same array, which equals itself."
    return None


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
