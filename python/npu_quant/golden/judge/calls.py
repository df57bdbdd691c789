"""Calls with other inputs: ignored, shifted or exchanged ones, and without some columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import NpuQuantError
from ..operators import Model
from ..sources import ArraySource

Array = NDArray[Any]

_MOST = 1 << 25
"""Elements of the inputs: of more, each call takes its time."""


class Call(NamedTuple):
    """What an operator gives for other inputs."""

    words: str
    outputs: tuple[Array | None, ...]
    left_out: NDArray[np.int64]
    """Columns of the input that are not there, and of which codes are not known."""


_ATTRIBUTES: Mapping[str, tuple[Any, ...]] = {
    "axis": (-1, 0, 1, -2),
    "div_mode": (False, True),
    "dst_type": ("float8_e4m3fn", "float8_e5m2", "hifloat8"),
    "src_type": ("float8_e4m3fn", "float8_e5m2"),
    "quant_mode": ("pertoken", "pertensor", "perchannel"),
    "round_mode": ("rint", "floor", "round"),
    "scale_alg": (0, 1, 2),
    "dst_type_max": (0.0, 15.0, 56.0, 224.0, 32768.0),
    "row_block_size": (1, 128),
    "col_block_size": (64, 128, 256),
    "epsilon": (1e-5, 1e-6, 1e-8, 1e-12),
}
"""What is tried for attributes, by their names."""


def other_calls(model: Model, *, of_scales: bool) -> Iterator[Call]:
    """Yield calls with other inputs, attributes first; none of what is large.

    Args:
        model: the operator with its inputs.
        of_scales: whether scales may be others, too.
    """
    sizes = [v.size for v in model.inputs.values() if isinstance(v, np.ndarray)]
    if sum(sizes) > _MOST:
        return
    nothing = np.zeros(0, np.int64)
    for words, inputs in _changes(model):
        yield from _call(words, model, inputs, nothing)
    if (of_scales and "scale" in model.kinds) or "gamma" in model.inputs:
        yield from _without_columns(model)


def _call(
    words: str, model: Model, inputs: Mapping[str, Any], left_out: NDArray[np.int64]
) -> Iterator[Call]:
    """Yield a call, unless it is refused; nothing is held of it when the next one is made."""
    outputs = _called(model, inputs)
    if outputs is not None:
        yield Call(words, outputs, left_out)


def _called(model: Model, inputs: Mapping[str, Any]) -> tuple[Array | None, ...] | None:
    """Return the outputs for other inputs, None where they are refused."""
    try:
        return model.all_as_elements(model.operator.function(**{**model.inputs, **inputs}))
    except (NpuQuantError, TypeError, ValueError):
        return None


def _changes(model: Model) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what may have been taken instead of an input, in words."""
    given, main = model.inputs, next(iter(model.operator.arrays), "")
    for name, others in _ATTRIBUTES.items():
        for other in others if name in given else ():
            if other != given[name]:
                yield f"as with {name}={other}", {name: other}
    for name in ("float8_e4m3fn", "float8_e5m2"):
        kind = getattr(getattr(given.get(main), "dtype", None), "name", "")
        if kind.startswith("float8") and kind != name:
            own = {"src_type": name} if "src_type" in given else {}
            yield f"{main} is read as {name}", {main: given[main].view(name), **own}
    rest = {n: v for n, v in given.items() if n != main}
    arrays = {n: v for n, v in rest.items() if isinstance(v, np.ndarray) and v.size}
    arrays.pop(_PLACES, None)
    numbers = {n: v for n, v in rest.items() if n in _NUMBERS and isinstance(v, (int, float))}
    for name, value in {**arrays, **numbers}.items():
        for words, change in _GROUPS if name.startswith("group") else _PARAMETER:
            changed = change(np.asarray(value))
            if changed is not None and not np.array_equal(changed, value):
                yield words.format(name), {name: changed if name in arrays else changed.item()}
    for (first, a), (second, b) in combinations(arrays.items(), 2):
        if (a.shape, a.dtype) == (b.shape, b.dtype):
            yield f"{first} and {second} are exchanged", {first: b, second: a}


def _negated(value: Array) -> Array | None:
    return None if value.dtype.kind in "ub" else np.negative(value)


def _reciprocal(value: Array) -> Array | None:
    if value.dtype.kind in "biu" or value.dtype.itemsize == 1:
        return None
    inverted: Array = (1 / value).astype(value.dtype)
    return inverted


def _rolled(by: int, axis: int) -> Callable[[Array], Array | None]:
    def change(value: Array) -> Array | None:
        return np.roll(value, by, axis) if value.ndim >= abs(axis) else None

    return change


def _rolled_flat(by: int) -> Callable[[Array], Array | None]:
    """Return what moves blocks of MX: all but the first axis is one."""

    def change(value: Array) -> Array | None:
        if value.ndim < 3:
            return None
        return np.roll(value.reshape(len(value), -1), by, 1).reshape(value.shape)

    return change


def _lanes(value: Array) -> Array | None:
    """Return pairs apart: all of the first ones, then all of the second."""
    if value.ndim < 3 or value.shape[-1] != 2:
        return None
    return np.ascontiguousarray(np.swapaxes(value, -1, -2)).reshape(value.shape)


_PARAMETER: tuple[tuple[str, Callable[[Array], Array | None]], ...] = (
    ("{0} is ignored: as if it were 0", np.zeros_like),
    ("{0} is ignored: as if it were 1", np.ones_like),
    ("{0} has the opposite sign", _negated),
    ("1 / {0} is used instead of {0}", _reciprocal),
    (
        "the first value of {0} is used for all",
        lambda value: np.full_like(value, value.reshape(-1)[0]),
    ),
    ("{0} is shifted by one: each place takes the value before it", _rolled(1, -1)),
    ("{0} is shifted by one: each place takes the value after it", _rolled(-1, -1)),
    ("{0} is shifted: each group takes the value of the group before it", _rolled(1, -2)),
    ("{0} is shifted: each group takes the value of the group after it", _rolled(-1, -2)),
    ("{0} is shifted: each block takes the value of the block before it", _rolled_flat(1)),
    ("{0} is shifted: each block takes the value of the block after it", _rolled_flat(-1)),
    ("{0} is read in another order: not in pairs", _lanes),
)
"""What may have been taken instead of an input that is no attribute."""
_GROUPS: tuple[tuple[str, Callable[[Array], Array | None]], ...] = (
    ("{0} is ignored: all rows are of one group", lambda ends: np.full_like(ends, ends.max())),
)
_PLACES = "indices"
"""Where results go: elsewhere they would change what is not compared, too."""
_NUMBERS = ("scale", "zero_point")
"""What may be one number, and is no attribute then either."""


def _without_columns(model: Model) -> Iterator[Call]:
    """Yield calls in which some columns are 0: in the greatest of a group, or a mean, not there."""
    x = model.inputs[model.operator.arrays[0]]
    columns = x.shape[-1] if x.ndim else 0
    powers = [1 << i for i in range(3, 14)]
    tails = dict.fromkeys([columns % p for p in powers] + powers + [columns // 2])
    every = np.arange(columns)
    outs = {
        f"columns {out[0]} to {out[-1]}": out
        for count in sorted(t for t in tails if 0 < t <= columns // 2)
        for out in (every[-count:], every[:count])
    }
    width = int(model.inputs.get("col_block_size") or 0)
    for count in [p for p in powers if p < width < columns]:
        out = np.flatnonzero(every % width >= width - count)
        outs[f"the last {count} columns of each block"] = out
    zeroed = [n for n, v in model.inputs.items() if getattr(v, "shape", None) == x.shape]
    kinds = {"the amax of each group": zeroed}
    if "gamma" in model.inputs:
        kinds = {"the mean": zeroed, "the amax of each group": ["gamma", "beta"]}
    for words, out in outs.items():
        for what, names in kinds.items():
            text = f"{words} are left out of {what}"
            yield from _call(text, model, _zeroed(model.inputs, names, out), out)


def _zeroed(
    inputs: Mapping[str, Any], names: Sequence[str], columns: NDArray[np.int64]
) -> dict[str, Array]:
    """Return some inputs with 0 in some columns."""
    changed = {n: inputs[n].copy() for n in names if isinstance(inputs.get(n), np.ndarray)}
    for array in changed.values():
        array[..., columns] = 0
    return changed


def source_of(model: Model, call: Call, output: int) -> ArraySource | None:
    """Return an output of a call as it is compared; None where it has another shape."""
    array, golden = call.outputs[output], model.golden()[output]
    if array is None or golden is None or array.shape != golden.shape:
        return None
    is_like = array.dtype.itemsize == golden.dtype.itemsize
    return ArraySource(array.view(golden.dtype)) if is_like else None
