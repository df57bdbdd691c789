"""Which option to change where files are not what they were taken for."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ..arrays import Source
from ..errors import DTypeError, ParamError
from ..golden.api import Comparison
from ..golden.operators import model_of, operator_of, outputs_of
from ..golden.operators.matching import difference
from ..golden.report import words
from ..golden.results import OutputComparison
from .files import FLOAT_BITS, carries
from .order import Order, parameters_of
from .roles import Roles
from .shell import quoted

_CODES = {"uint8": ("float8_e4m3fn", "float8_e5m2", "hifloat8"), "int32": ("int4",)}
"""What codes may be that NumPy has no dtype for, by the dtype that carries them."""


def complaint_of_file(text: str, order: Order) -> str:
    """Return an operator's complaint of an input as one of the file that was taken for it."""
    found = re.match(rf"{order.op}: (\w+) (?=has )", text)
    if found is None or found[1] not in order.inputs:
        return text
    name = found[1]
    sentences = re.split(r"(?<=\.) (?=[A-Z])", text[found.end() :])
    kept = [s for s in sentences if not re.search(rf"\b(np|{name})\.|reshape", s)]
    if re.match(r"has dtype u?int16, .*\bbfloat16", kept[0]):
        kept.append("If it holds the bits of bfloat16: --dtype bf16.")
    elif name in operator_of(order.op).arrays:
        first, then = (", ".join(n) for n in (outputs_of(order.op), operator_of(order.op).arrays))
        kept.append(f"First come {first}, then {then}; a golden is given by --golden FILE.")
    return f"{order.inputs[name]}, taken for {name}, {' '.join(kept)}"


def advice_on(comparison: Comparison, roles: Roles, order: Order | None) -> str:
    """Return the option that says what files are whose dtype or shape is not the golden's.

    Args:
        comparison: one that failed.
        roles: its arrays.
        order: which file is what, where an operator computed the golden.
    """
    names = [""] if comparison.op is None else outputs_of(comparison.op)
    actual, golden = (
        dict(zip(names, side if isinstance(side, tuple) else (side,), strict=False))
        for side in (roles.actual, roles.golden)
    )
    for output in comparison.outputs:
        ours, theirs = actual.get(output.name), golden.get(output.name)
        texts = [_of_bits(ours, theirs, output.dtype)]
        if ours is not None and ours.dtype != output.dtype:
            texts.append(_of_another(ours, comparison))
            if order is not None:
                texts.append(_of_attribute(ours, output, order, roles.inputs or {}))
        for text in filter(None, texts):
            return text
    return ""


def _of_bits(actual: Source | None, golden: Source | None, dtype: np.dtype) -> str:
    """Return how `--dtype` says what a file's bytes are, where the other side's dtype tells it."""
    for one, wanted in ((actual, dtype), (golden, dtype if actual is None else actual.dtype)):
        if one is None or one.dtype.kind not in "iu" or wanted.kind in "iub":
            continue
        same = one.dtype.itemsize == wanted.itemsize and carries(one.dtype.name, wanted.name)
        name = wanted.name if same else "bfloat16" if one.dtype == np.uint16 else ""
        if name:
            return f"if {one.name} holds the bits of {name}: --dtype {name}"
    if actual is None or golden is None or actual.dtype != golden.dtype:
        return ""
    option = FLOAT_BITS.get(dtype.name)
    return "" if option is None else f"if the bytes stand for floats: {option}"


def _of_another(source: Source, comparison: Comparison) -> str:
    """Return where a file belongs that looks like another output than it is taken for."""
    own = source.dtype, source.shape
    like = next((o.name for o in comparison.outputs if (o.dtype, o.shape) == own), None)
    if like is None or comparison.op is None:
        return ""
    text = f"{source.name} looks like {like}; "
    if comparison.computed:
        option = f"--golden {quoted(source.name)}"
        return text + f"if it is the golden, leave out the inputs: {option}"
    return text + f"the order is {', '.join(outputs_of(comparison.op))}"


def _of_attribute(
    source: Source, output: OutputComparison, order: Order, inputs: dict[str, Any]
) -> str:
    """Return the attribute by which the operator gives what a file of another dtype has."""
    kinds = parameters_of(order.op).items()
    name = next((n for n, k in kinds if k.startswith("DTypeName") and n != "src_dtype"), None)
    if name is None or name in order.attributes:
        return ""
    codes = _CODES.get(source.dtype.name, ())
    found: list[tuple[int, str]] = []
    for dtype in (source.dtype.name, *codes):
        try:
            model = model_of(order.op, inputs | {name: dtype})
        except (DTypeError, ParamError):  # which the operator has not
            continue
        number = model.outputs.index(output.name)
        actual, golden = model.as_elements(number, source.array()), model.golden()[number]
        if golden is not None and actual.shape == golden.shape:
            found.append((difference(actual.reshape(-1), golden.reshape(-1)), dtype))
    differing, dtype = min(found, default=(0, ""))
    count = math.prod(output.shape)
    if found and 2 * differing < count:
        text = f"{words.count(differing)} of {words.count(count)} differ"
        return f"as {dtype} {text}: --attr {name}={dtype}"
    known = " or ".join(dtype for _, dtype in found)
    return f"if they are other codes: --attr {name}={known}" if known and codes else ""
