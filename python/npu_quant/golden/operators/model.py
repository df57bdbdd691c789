"""What every operator's model has: its golden, the numbers before rounding, and work in parts."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import ParamError
from ..results import TieTest

Array = NDArray[Any]
T = TypeVar("T")

PART = 1 << 17
"""About how many elements a part has: its temporary arrays stay in a CPU's cache."""


class Flat:
    """An array's elements in C order, whatever its strides, without a copy of all of it."""

    def __init__(self, array: Array) -> None:
        self._flat: Any = array.reshape(-1) if array.flags.c_contiguous else array.flat

    def read(self, begin: int, end: int) -> Array:
        """Return elements [begin, end)."""
        return np.asarray(self._flat[begin:end])

    def take(self, index: NDArray[np.int64]) -> Array:
        """Return the elements at these places."""
        return np.asarray(self._flat[index])

    def floats(self, begin: int, end: int) -> NDArray[np.float32]:
        """Return elements [begin, end), widened to float32."""
        return self.read(begin, end).astype(np.float32)


class Part:
    """A range of each output, with what the formulas of that range share, made once."""

    def __init__(self, spans: tuple[tuple[int, int], ...]) -> None:
        self.spans = spans
        """Which elements of each output, counted in C order: [begin, end)."""
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made under that key, or make it."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def holds(self, output: int, place: int) -> bool:
        """Tell whether an element of an output, counted in C order, belongs to it."""
        begin, end = self.spans[output]
        return begin <= place < end

    def forget(self) -> None:
        """Let go of what was made."""
        self._made.clear()


class Model(abc.ABC):
    """An operator with its inputs: what it gives, and how each number came about."""

    outputs: tuple[str, ...]
    """Their names, in the operator's order."""
    kinds: tuple[str, ...]
    """Of each output: "codes", "scale", "values" or "mask"."""
    allowed: float = 4.0
    """k: how many ulp of float32 from a tie the roundings of any order of operations explain."""
    allowed_because: str = ""
    """Its derivation, in a line."""

    def __init__(
        self, function: Callable[..., Any], inputs: Mapping[str, Any], numerics: str | None
    ) -> None:
        self.op = function.__name__
        self.inputs = inputs
        """All arguments, with the operator's defaults for those not given."""
        self._function = function
        self._numerics = numerics
        self._golden: tuple[Array | None, ...] | None = None

    def golden(self) -> tuple[Array | None, ...]:
        """Return npu_quant's own outputs: computed once, not to be written to."""
        if self._golden is None:
            result = self._function(**self.inputs, numerics=self._numerics)
            self._golden = tuple(result) if isinstance(result, tuple) else (np.asarray(result),)
        return self._golden

    def output_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the outputs' shapes."""
        return tuple(() if a is None else a.shape for a in self.golden())

    def allowed_for(self, output: int) -> float:
        """Return k of one output."""
        return self.allowed

    @abc.abstractmethod
    def before_rounding(
        self,
        output: int,
        index: NDArray[np.int64],
        actual: Array,
        golden: Array,
        scale: Array | None = None,
    ) -> TieTest:
        """Compare elements of an output with the tie between what they are and should be.

        Args:
            output: which one.
            index: which of its elements, counted in C order.
            actual: those elements, as they are.
            golden: those elements, as they should be.
            scale: the scale output to go by instead of the operator's own.
        """

    @abc.abstractmethod
    def parts(self) -> list[Part]:
        """Split the work: each part can be computed alone. They are light until used."""


def ranges(count: int, step: int) -> Iterator[tuple[int, int]]:
    """Split [0, count) into ranges of that length."""
    for begin in range(0, count, step):
        yield begin, min(begin + step, count)


def code_tie(
    value: NDArray[np.float64], actual: Array, golden: Array, *terms: NDArray[np.float64]
) -> TieTest:
    """Return the test for integer codes."""
    a, g = actual.astype(np.float64), golden.astype(np.float64)
    tie = (a + g) / 2
    # From 2 ** 24 on, where only int32 reaches, float32 does not hold every code.
    step = np.maximum(1.0, np.spacing(np.fmax(np.abs(a), np.abs(g)).astype(np.float32)))
    # No tie is nearer to 0 than 0.5; the midpoint of codes farther apart may be.
    magnitude = np.maximum(largest(tie, *terms), 0.5)
    return TieTest(value, tie, magnitude, np.ceil(np.abs(a - g) / step))


def largest(*terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest magnitude, element by element; terms that are NaN do not count."""
    result = np.abs(terms[0])
    for term in terms[1:]:
        result = np.fmax(result, np.abs(term))
    return result


def value_tie(
    value: NDArray[np.float64], actual: Array, golden: Array, *terms: NDArray[np.float64]
) -> TieTest:
    """Return the test for floats: steps are those between neighbours of their dtype."""
    wide, expected = actual.astype(np.float64), golden.astype(np.float64)
    with np.errstate(all="ignore"):
        tie = (wide + expected) / 2
    steps = np.abs(ordinal(actual) - ordinal(golden)).astype(np.float64)
    steps[~(np.isfinite(wide) & np.isfinite(expected))] = np.inf
    return TieTest(value, tie, largest(tie, *terms), steps)


def ordinal(floats: Array) -> NDArray[np.int64]:
    """Return the number of each float in the order of its dtype's values; 0 and -0 are both 0."""
    width = floats.dtype.itemsize * 8
    bits = np.ascontiguousarray(floats).view(f"u{floats.dtype.itemsize}").astype(np.int64)
    magnitude = bits & ((1 << (width - 1)) - 1)
    return np.where(bits >> (width - 1), -magnitude, magnitude)


def arguments_of(function: Callable[..., Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return all arguments of a call, with defaults; complain of unknown and missing ones."""
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in ("out", "numerics")
    }
    known = f"It takes {', '.join(parameters)}."
    unknown = [str(name) for name in inputs if name not in parameters]
    if unknown:
        raise ParamError(f"{function.__name__} has no parameter {unknown[0]!r} for inputs. {known}")
    result = {
        name: inputs.get(name, parameter.default)
        for name, parameter in parameters.items()
        if name in inputs or parameter.default is not inspect.Parameter.empty
    }
    missing = [name for name in parameters if name not in result]
    if missing:
        raise ParamError(f"{function.__name__} needs inputs[{missing[0]!r}]. {known}")
    return result
