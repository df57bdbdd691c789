"""Arrays of two dtypes, read as one where no value is lost: the dtypes still differ, and are told.

Codes in a wider dtype are the common case, such as int8 in int32 or float32, and 16-bit scales.
Integers may also be another dtype's bytes, or codes with an offset of 128.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._shown import some_of
from ...arrays import Source
from ...errors import DTypeError
from ..elements import Elements, elements_of
from ..measure.differing import differences
from ..operators import Model
from ..results import OutputComparison
from ..sides import Paired
from ..sources import Cast, blocks, given_dtype, given_names

_AT_ONCE = 1 << 18
_CLEARLY = 10.0
"""How many times nearer the golden another reading of integers must be than their own values."""
_NEARER_THAN_ZEROS = 2.0
"""And than zeros are: bytes of small integers are floats next to 0, near any golden of such."""
_MOST = 1e30
_NAMES = {"tie": "a tie", "variant": "a variant"}


class _Bytes(Cast):
    """Integers that are taken for the bytes of another dtype."""


class _Offset(Cast):
    """Codes of 8 bits that are stored with an offset of 128."""


def in_one_dtype(pair: Paired, model: Model | None) -> Paired:
    """Return a pair with both arrays in one dtype, if they can be read as one without a loss.

    That is the golden's dtype where it holds all actual values, else one that holds both sides'.

    Args:
        pair: an output's name, its actual and its golden array.
        model: what computed the golden, if anything did.
    """
    name, actual, golden = pair
    if actual is None or golden is None or actual.shape != golden.shape:
        return pair
    if actual.dtype == golden.dtype:
        return pair
    try:
        ours, theirs = elements_of(actual.dtype), elements_of(golden.dtype)
    except DTypeError:
        return pair
    readings = {_apart(other, golden): other for other in _other_readings(actual, golden.dtype)}
    nearest = min(readings, default=np.inf)
    is_nearer = nearest * _CLEARLY < _apart(actual, golden)
    if is_nearer and nearest * _NEARER_THAN_ZEROS <= _apart(None, golden):
        return name, readings[nearest], golden
    if model is not None and actual.dtype.kind not in "iu":  # integers are codes, not values
        theirs = model.elements_of(model.outputs.index(name))
    for own in (theirs, ours, _common(actual.dtype, golden.dtype)):
        if _holds(own, actual, ours) and _holds(own, golden, theirs):
            return name, _as(actual, ours, own), _as(golden, theirs, own)
    return pair


def _other_readings(actual: Source, dtype: np.dtype) -> Iterator[Source]:
    """Yield what integers may stand for besides numbers."""
    given = actual.dtype
    both_native, is_mask = given.isnative and dtype.isnative, dtype.kind == "b"
    if given.kind not in "iu" or is_mask or given.itemsize != dtype.itemsize or not both_native:
        return
    yield _Bytes(actual, dtype, lambda block: block.view(dtype))
    if dtype.kind in "iu" and dtype.itemsize == 1:
        yield _Offset(actual, dtype, lambda block: (block.view(np.uint8) ^ 0x80).view(dtype))


def _apart(actual: Source | None, golden: Source) -> float:
    """Return the sum of all differences; of no array, and where one is no number, from zeros."""
    total, theirs = 0.0, elements_of(golden.dtype)
    for piece in blocks(golden, _AT_ONCE):
        values, expected = np.zeros(1), theirs.values(golden.read(*piece))
        if actual is not None:
            values = elements_of(actual.dtype).values(actual.read(*piece))
        with np.errstate(all="ignore"):
            apart = np.where(values == expected, 0, np.abs(values - expected))
            apart = np.where(np.isnan(apart), np.abs(expected), apart)
        total += float(np.nansum(np.minimum(apart, _MOST)))
    return total


def _common(one: np.dtype, other: np.dtype) -> Elements:
    """Return the format of the dtype that NumPy gives to both, else of float32."""
    try:
        return elements_of(np.promote_types(one, other))
    except TypeError:  # of two small floats
        return elements_of(np.float32)


def _as(source: Source, own: Elements, to: Elements) -> Source:
    """Return a source's values in a format."""
    if to is own and source.dtype == own.carrier:
        return source
    if own.name or to.name:
        return Cast(source, to.carrier, lambda block: to.nearest(own.values(block)))
    if not np.can_cast(own.carrier, to.carrier, "unsafe"):  # between some small dtypes
        return Cast(source, to.carrier, lambda block: own.values(block).astype(to.carrier))
    return Cast(source, to.carrier, lambda block: block.astype(to.carrier))


def _holds(to: Elements, source: Source, own: Elements) -> bool:
    """Say whether a format has all values of a source; NaN is one."""
    cast = _as(source, own, to)
    if cast is source:
        return True
    for piece in blocks(source, _AT_ONCE):
        with np.errstate(all="ignore"):
            values, kept = own.wide(source.read(*piece)), to.wide(cast.read(*piece))
            if not np.array_equal(values, kept, equal_nan=True):
                return False
    return True


def note_of(output: OutputComparison, actual: Source, golden: Source) -> str:
    """Say how two dtypes were read as one, and how the values stand in it."""
    dtype, rung, given = output.type_name, output.rung_of_values or "", given_names(actual, golden)
    stands = f"it is {_NAMES.get(rung, rung)}"
    was = f"{output.name or 'actual'} was {given[0]}"
    if golden.dtype != given_dtype(golden).newbyteorder("="):
        was += f", which {given[1]} does not hold"
        return f"{was}: compared as {dtype}, losslessly; {stands}"
    how = f"compared as {dtype}, losslessly"
    if isinstance(actual, _Bytes):
        how = f"its bytes compared as {dtype}"
    elif isinstance(actual, _Offset):
        how = f"{'minus' if dtype == 'int8' else 'plus'} 128 compared as {dtype}"
    return f"{was}: {how}; as {dtype} {stands}"


def note_of_bytes(actual: Source, golden: Source) -> tuple[str, ...]:
    """Say which bytes stand for True where bools differ, though both are true."""
    pairs = set[tuple[int, int]]()
    count = 0
    for some in differences(actual, golden) if golden.dtype.kind == "b" else ():
        ours, theirs = (side.view(np.uint8) for side in (some.actual, some.golden))
        both = (ours > 0) & (theirs > 0)
        count += int(np.count_nonzero(both))
        pairs |= set(zip(ours[both].tolist(), theirs[both].tolist(), strict=True))
    if not pairs:
        return ()
    shown = some_of(sorted(pairs), 3, lambda pair: f"{pair[0]} for {pair[1]}")
    noun = "1 value is" if count == 1 else f"{count:,} values are"
    return (f"{noun} true in another byte, which differs: {shown}",)
