"""Which option to change where files are not what they were taken for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import ops
from ..arrays import Source
from ..errors import DTypeError, ParamError
from ..files import FileSource
from ..golden.api import Comparison
from ..golden.operators import outputs_of
from ..golden.report import words
from ..golden.results import OutputComparison
from .files import FLOAT_BITS, carries
from .named import Named, parameters_of
from .opened import Opened

_CODES = {"uint8": ("float8_e4m3fn", "float8_e5m2", "hifloat8"), "int32": ("int4",)}
"""What codes may be that NumPy has no dtype for, by the dtype that carries them."""


def hint_on(comparison: Comparison, named: Named | None, opened: Opened) -> str:
    """Return the option that says what files are whose dtype is not the golden's; "" for none.

    Args:
        comparison: one that failed.
        named: which file is what of an operator; None of two arrays alone.
        opened: its arrays.
    """
    for output in comparison.outputs:
        ours, theirs = (side.get(output.name) for side in (opened.actual, opened.golden))
        hint = _of_bits(ours, theirs, output)
        if ours is None or named is None or opened.inputs is None:
            pass
        elif not hint and ours.dtype != output.dtype:
            hint = _of_attribute(ours, output, named, opened.inputs)
        if hint:
            return hint
    return ""


def _of_bits(actual: Source | None, golden: Source | None, output: OutputComparison) -> str:
    """How `--dtype` says what a file's bytes are, where the other side's dtype tells it."""
    if actual is None:
        return ""
    if golden is not None and actual.dtype == golden.dtype:
        bits = FLOAT_BITS.get(actual.dtype.name)
        return "" if bits is None else f"if the bytes stand for floats: --dtype {bits}"
    sides = [(output.name or "actual", actual, output.dtype)]
    sides += [] if golden is None else [("golden", golden, actual.dtype)]
    for name, one, wanted in sides:
        if one.dtype.kind not in "iu" or wanted.kind in "iub":
            continue
        same = one.dtype.itemsize == wanted.itemsize and carries(one.dtype.name, wanted.name)
        held = wanted.name if same else "bfloat16" if one.dtype.name == "uint16" else ""
        if held:
            return f"if {one.name} holds the bits of {held}: --dtype {name}={held}"
    return ""


def _of_attribute(
    actual: Source, output: OutputComparison, named: Named, inputs: Mapping[str, Any]
) -> str:
    """The attribute by which the operator gives what a file of another dtype has."""
    kinds = parameters_of(named.op).items()
    name = next((n for n, k in kinds if k.startswith("DTypeName") and not n.startswith("src")), "")
    if not name or name in named.attributes:
        return ""
    codes, found = _CODES.get(actual.dtype.name, ()), list[tuple[int, str]]()
    ours = actual.array().reshape(-1).view(np.uint8)
    inputs = {n: v.array() if isinstance(v, FileSource) else v for n, v in inputs.items()}
    for dtype in (actual.dtype.name, *codes):
        try:
            made = getattr(ops, named.op)(**{**inputs, name: dtype})
        except (DTypeError, ParamError):  # which the operator has not
            continue
        made = made if isinstance(made, tuple) else (made,)
        golden = made[outputs_of(named.op).index(output.name)].reshape(-1).view(np.uint8)
        if golden.size == ours.size:
            found.append((int(np.count_nonzero(ours != golden)), dtype))
    differing, dtype = min(found, default=(0, ""))
    if found and 2 * differing < ours.size:
        text = f"{words.count(differing)} of {words.counted(ours.size, 'byte')} differ"
        return f"as {dtype} {text}: --attr {name}={dtype}"
    known = " or ".join(dtype for _, dtype in found)
    return f"if they are other codes: --attr {name}={known}" if known and codes else ""
