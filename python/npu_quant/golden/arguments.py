"""The arguments of a comparison as sources: arrays, tensors, dicts and tuples of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ..errors import DTypeError, ParamError
from . import verdict
from .sources import ArraySource, Source

# torch dtypes that NumPy lacks, by their names: what their bytes are viewed as.
_TORCH_ONLY = {
    "torch.bfloat16": ("int16", ml_dtypes.bfloat16),
    "torch.float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
    "torch.float8_e5m2": ("uint8", ml_dtypes.float8_e5m2),
}


def _of_torch(tensor: Any) -> NDArray[Any]:
    """Return a torch tensor's elements, of a quantized one its codes."""
    tensor = tensor.detach().cpu()
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    carried = _TORCH_ONLY.get(str(tensor.dtype))
    if carried is None:
        array: NDArray[Any] = tensor.numpy()
        return array
    integers = tensor.contiguous().view(getattr(sys.modules["torch"], carried[0])).numpy()
    return np.asarray(integers.view(carried[1]))


def as_source(value: Any, what: str) -> Source:
    """Return an argument as a source.

    Args:
        value: an array, a NumPy or Python number, a torch tensor, anything with ``__array__``, or
            a source, which stays as it is.
        what: its name in messages, such as "actual".

    Raises:
        DTypeError: it is none of these, a masked array, or holds objects.
    """
    if hasattr(value, "read") and hasattr(value, "dtype") and hasattr(value, "array"):
        source: Source = value
        return source
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        try:
            value = _of_torch(value)
        except (TypeError, RuntimeError) as error:  # sparse, without data, ...
            line = str(error).partition("\n")[0]
            raise DTypeError(
                f"compare: {what} is a tensor that NumPy cannot take: {line}"
            ) from None
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError(f"compare: {what} is a masked array, whose mask would be lost.")
    numbers = (np.ndarray, np.generic, bool, int, float)
    if not isinstance(value, numbers) and not hasattr(value, "__array__"):
        kind = type(value).__name__
        raise DTypeError(f"compare: {what} is a {kind}, expected an array or a tuple of arrays.")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DTypeError(f"compare: {what} cannot be read as an array: {error}") from None
    if array.dtype.hasobject or array.dtype.kind in "USMmc":
        raise DTypeError(f"compare: {what} has dtype {array.dtype}, expected numbers.")
    return _Number(array) if type(value) in (bool, int, float) else ArraySource(array)


Outputs = dict[str, Source | None]
"""By name; None where it says that there is none."""
Paired = tuple[str, Source | None, Source | None]
"""An output's name, its actual and its golden array; None where that side lacks it."""


def checked_names(names: Sequence[str] | None) -> Sequence[str] | None:
    """Return the names of outputs that were given, if they can be that.

    Raises:
        ParamError: they are one string, no strings, or one is there twice.
    """
    if names is None:
        return None
    listed = [] if isinstance(names, str) else list(names)
    if not listed or any(not isinstance(name, str) for name in listed):
        raise ParamError(f"compare: names is {names!r}, expected a sequence of strings.")
    if len(set(listed)) < len(listed):
        raise ParamError(f"compare: names has one twice: {', '.join(listed)}.")
    return listed


def names_of(*values: Any) -> Sequence[str] | None:
    """Return names for outputs that have none: their numbers; None where a dict has its own."""
    if any(isinstance(value, Mapping) for value in values):
        return None
    lengths = [len(value) for value in values if isinstance(value, (tuple, list))]
    return [str(i) for i in range(max(lengths))] if lengths else [""]


def completed(actual: Any, names: Sequence[str]) -> Any:
    """Return an array alone as the first of an operator's outputs, the others being None."""
    if isinstance(actual, (Mapping, tuple, list)):
        return actual
    return (actual, *[None] * (len(names) - 1))


def as_outputs(value: Any, names: Sequence[str] | None, what: str) -> Outputs:
    """Return actual or golden as sources by name: those that are there, and what is None.

    Args:
        value: one array, a tuple or list of arrays and Nones, or a dict by name.
        names: the names of the outputs, in order; None means their numbers, or a dict's keys.
        what: "actual" or "golden".

    Raises:
        ParamError: there are more than `names`, or others.
    """
    if isinstance(value, Mapping):
        return _of_mapping(value, names, what)
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    names = names_of(value) if names is None else names
    assert names is not None
    if len(values) > len(names):
        listed = ", ".join(names)
        raise ParamError(f"compare: {what} has {len(values)} arrays, expected ({listed}).")
    return _sources(dict(zip(names, values, strict=False)), what)


def _sources(values: Mapping[str, Any], what: str) -> Outputs:
    return {
        name: None if value is None else as_source(value, f"{what} {name}".rstrip())
        for name, value in values.items()
    }


def _of_mapping(value: Mapping[str, Any], names: Sequence[str] | None, what: str) -> Outputs:
    order = list(value) if names is None else list(names)
    unknown = [str(name) for name in value if name not in order]
    if unknown:
        raise ParamError(
            f"compare: {what} has {', '.join(unknown[:8])}, expected {', '.join(order)}."
        )
    return _sources({name: value[name] for name in order if name in value}, what)


class _Number(ArraySource):
    """A Python number, which has no dtype of its own."""


def _fitting(source: Source | None, golden: Source | None) -> Source | None:
    """Return a Python number in the golden's dtype, where that holds it."""
    if not isinstance(source, _Number) or golden is None:
        return source
    value = source.array()
    with np.errstate(all="ignore"):
        fitted = value.astype(golden.dtype)
    # A NaN becomes some integer, which is not the same.
    same = np.array_equal(fitted.astype(value.dtype), value, equal_nan=True)
    return ArraySource(fitted) if same else source


def paired(actual: Outputs, golden: Outputs, order: Sequence[str]) -> list[Paired]:
    """Return what is to be compared.

    Args:
        actual: the actual outputs.
        golden: the golden ones.
        order: the names of all.

    Raises:
        ParamError: there is nothing to compare.
    """
    pairs = [
        (name, _fitting(actual.get(name), golden.get(name)), golden.get(name))
        for name in verdict.to_compare(order, actual, golden)
    ]
    if not pairs:
        raise ParamError("compare: no array can be compared: of each, actual or golden is None.")
    return pairs
