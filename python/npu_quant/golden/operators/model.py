"""What every operator's model has: its golden, the numbers before rounding, and work in parts."""

from __future__ import annotations

import abc
import copy
import importlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ..._codes import int4_of
from ..elements import Elements, elements_of
from ..tie_results import TieTest
from .formula import Before, Form, Formula
from .scale_grid import Grid, list_grid

if TYPE_CHECKING:
    from .undefined import Region, Undefined

Array = NDArray[Any]
Places = NDArray[np.int64]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
T = TypeVar("T")
P = TypeVar("P", bound="Part")

ANY = 2.0**64
"""Any number of steps."""
PART, PIECE = 1 << 17, 1 << 12
"""About how many elements a part has, whose temporary arrays stay in a CPU's cache; a small one."""
_FEW = 8
"""So many small parts take the time of a large one."""
_NOTHING: Any = object()
"""What has not been made."""


class Flat:
    """An array's elements in C order, whatever its strides, without a copy of all of it."""

    def __init__(self, array: Array) -> None:
        self._flat: Any = array.reshape(-1) if array.flags.c_contiguous else array.flat
        self.size = array.size

    def read(self, begin: int, end: int) -> Array:
        """Return elements [begin, end)."""
        return np.asarray(self._flat[begin:end])

    def take(self, index: Places) -> Array:
        """Return the elements at these places."""
        return np.asarray(self._flat[index])

    def floats(self, begin: int, end: int) -> Float32:
        """Return elements [begin, end), widened to float32."""
        return self.read(begin, end).astype(np.float32)


class Part:
    """A range of each output, with what the formulas of that range share, made once."""

    floats: type[np.floating[Any]] = np.float32
    """What its numbers are."""
    narrow: Any = None
    """Of a wide part the one that it was made of."""
    scale: Array | None = None
    """Of a wide part the scale output that codes go by, instead of what a formula makes."""

    def __init__(self, model: Any, spans: tuple[tuple[int, int], ...], *range: int) -> None:
        self.model = model
        self.spans = spans
        """Which elements of each output, counted in C order: [begin, end)."""
        self.range = range
        """Which rows, elements or other units of the work: [begin, end)."""
        self.unit: int = model.unit
        """How many elements a unit has."""
        self._made: dict[Hashable, Any] = {}

    def between(self, begin: int, end: int) -> Part:
        """Return some of its units."""
        return type(self)(self.model, begin, end)  # type: ignore[arg-type]

    def split(self, size: int) -> list[Part]:
        """Split it along its units, into parts of about so many elements."""
        begin, end = self.range
        step = max(1, size // max(1, self.unit))
        pieces = ((first, min(first + step, end)) for first in range(begin, end, step))
        return [self.between(*piece) for piece in pieces] or [self]

    def wide(self: P) -> P:
        """Return the same range with numbers that are float64, as the formulas then are."""

        def make() -> P:
            other = copy.copy(self)
            other.floats, other.narrow, other._made = np.float64, self, {}
            return other

        return self.once(("wide", id(self.scale)), make)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made under that key, or make it."""
        made: T = self._made.get(key, _NOTHING)
        if made is _NOTHING:
            made = self._made[key] = make()
        return made

    def call(self, function: Callable[..., T], *operands: Any) -> T:
        """Return what a function makes of some operands: arrays are the same if they are one."""
        key = (function, *[id(o) if isinstance(o, np.ndarray) else o for o in operands])
        found: tuple[T, Any] | None = self._made.get(key)
        if found is None:
            # The operands are kept beside it, so that nothing else gets the id of one.
            found = self._made[key] = function(*operands), operands
        return found[0]

    def same(self, array: Any) -> Any:
        """Return the first array that had these bytes."""
        return self.once((array.shape, array.tobytes()), lambda: array)

    def flat(self, array: Array) -> Array:
        """Return numbers of the part as elements of an output."""
        return array.reshape(-1)

    def forget(self) -> None:
        """Let go of what was made: at once, though keys of a wide part refer to it."""
        for wide in [made for made in self._made.values() if isinstance(made, Part)]:
            wide.forget()
        self._made.clear()


@dataclass(frozen=True)
class Operator:
    """All that is known of an operator here: what it gives, by which formula, and which others."""

    function: Callable[..., Any]
    page: str
    """The module here that has its model and its formulas, and the model's name in it."""
    arrays: tuple[str, ...]
    """The arguments that are arrays and must be given."""
    outputs: Mapping[str, str]
    """By name, in the operator's order, what each is: "codes", "scale", "values" or "mask"."""
    undefined: tuple[Undefined, ...] = ()
    """What its documents leave undefined of its outputs."""

    @property
    def model(self) -> type[Model]:
        """What it is with its inputs."""
        page, _, name = self.page.partition(".")
        model: type[Model] = getattr(importlib.import_module(f".{page}", __package__), name)
        return model

    @property
    def form(self) -> Form:
        """How its formulas are put together."""
        return self.model.form


class Model(abc.ABC):
    """An operator with its inputs: what it gives, and how each number came about."""

    form: Form
    """How its formulas are put together."""
    div_mode = True
    """Whether a scale divides."""
    format: Elements = elements_of(np.int8)
    """That of the codes."""
    has_scale_per_row = True
    """Whether a row, or each block of it, is divided by a scale of its own, and no more is done."""
    scales_have_ties = False
    """Whether scales are judged by k, as numbers that many roundings lead to; else by a step."""
    has_numbers = False
    """Whether codes and scales stand for numbers exactly: whether there is `numbers`."""
    unit = 1
    """Elements of a unit of the work: a row, perhaps; units are not split."""
    most = np.float32(127)
    """What the greatest number of a group becomes, or the greatest code: MAX of the formulas."""

    def __init__(self, operator: Operator, inputs: Mapping[str, Any], numerics: str | None) -> None:
        self.operator = operator
        self.op = operator.function.__name__
        self.outputs = tuple(operator.outputs)
        self.kinds = tuple(operator.outputs.values())
        self.inputs = inputs
        """All arguments, with the operator's defaults for those not given."""
        result = operator.function(**inputs, numerics=numerics)  # refuses what is no valid input
        self.prepare()
        self._golden = self.all_as_elements(result)
        self._undefined: dict[str, Region] = {}
        for row in reversed(operator.undefined):
            region = row.region(inputs)
            if region is not None:
                self._undefined |= dict.fromkeys(row.outputs.split(), region)

    @property
    def reference(self) -> Formula:
        """The formula of its codes."""
        return self.form.reference

    def golden(self) -> tuple[Array | None, ...]:
        """Return npu_quant's own outputs as `as_elements`: not to be written to."""
        return self._golden

    def read_format(self, dtype: dtypes.DTypeName | None) -> None:
        """Take the format of the codes by its name; None is int8."""
        row = dtypes.resolve("int8" if dtype is None else dtype)
        assert row is not None
        self.format = elements_of(row.name)
        if self.format.name or not self.format.is_even:
            self.most = np.float32(self.format.limits[1])

    def elements_of(self, output: int) -> Elements:
        """Return what the elements of an output stand for."""
        if self.kinds[output] == "codes":
            return self.format
        golden = self.golden()[output]
        assert golden is not None
        return elements_of(golden.dtype)

    def scale_outputs(self, output: int) -> tuple[int, ...]:
        """Return which outputs have the scales that codes go with: the next one that has any."""
        return tuple(n for n, kind in enumerate(self.kinds) if n >= output and kind == "scale")[:1]

    def as_elements(self, output: int, array: Array) -> Array:
        """Return an output as an array of elements: int4 may be packed, float8 may be bytes."""
        if self.kinds[output] == "codes" and self.format.name == "int4":
            return unpacked(array)
        is_bytes = self.kinds[output] == "codes" and array.dtype == np.uint8
        return array.view(self.format.carrier) if is_bytes and not self.format.is_even else array

    def all_as_elements(self, result: Any) -> tuple[Array | None, ...]:
        """Return what the operator returned as arrays of elements, one for each output."""
        own = result if isinstance(result, (tuple, list)) else (np.asarray(result),)
        return tuple(None if a is None else self.as_elements(i, a) for i, a in enumerate(own))

    def place_of(self, output: int, index: int) -> str:
        """Say which part of the input an element of an output is for, where that is no row."""
        return ""

    def scale_grid(self, output: int) -> Grid | None:
        """Return how an output's places are named by those of the input, where not by its own."""
        shapes = self.output_shapes()
        by_column = self.inputs.get("quant_mode") == "perchannel"
        return list_grid(shapes[output], shapes[0], by_column=by_column)

    def undefined(self, output: int) -> Region | None:
        """Return what of an output means nothing, whatever is there; None where all is compared."""
        return self._undefined.get(self.outputs[output])

    def unwritten(self, formula: Formula) -> NDArray[np.bool_] | None:
        """Return which rows of all outputs a formula leaves as they were: they count for none.

        None where it writes all that there is.
        """
        return None

    def output_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the outputs' shapes."""
        return tuple(() if a is None else a.shape for a in self.golden())

    def allowed_for(self, output: int) -> float:
        """Return k of one output."""
        return self.form.allowed

    def most_steps(self, output: int) -> float:
        """Return how many steps apart codes may be that rounding explains: 1, or any number.

        Where a number is added to a quotient, next to 0 the steps of small floats are finer than an
        ulp of either.
        """
        is_small = self.kinds[output] == "codes" and not self.format.is_even
        return ANY if is_small and self.has_sum(output) else 1

    def has_sum(self, output: int) -> bool:
        """Tell whether something is added to the quotients of an output."""
        return False

    @abc.abstractmethod
    def prepare(self) -> None:
        """Read the arguments, which are valid."""

    def exact(self, output: int, index: Places, scale: Array | None = None) -> Before:
        """Return some elements of an output before rounding, in float64, and their largest terms.

        They are what the reference gives of float64. Where it knows none, they are the golden ones.

        Args:
            output: which one.
            index: which of its elements, counted in C order.
            scale: the scale output to go by instead of the operator's own.
        """
        golden, scales = self.golden()[output], self.scale_outputs(output)
        assert golden is not None
        if scale is None and scales and output not in scales:
            scale = self.golden()[scales[0]]
        value = self.elements_of(output).values(golden.reshape(-1)[index])
        magnitude = np.abs(value)
        for part, at in self._parts_with(output, index):
            part.scale = scale
            before = self.form.outputs[output].before(self.reference, part)
            if before is not None:
                place = index[at] - part.spans[output][0]
                value[at], magnitude[at] = (some[place] for some in before)
            part.forget()
        return value, magnitude

    def _parts_with(self, output: int, index: Places) -> Iterator[tuple[Part, Places]]:
        """Yield the parts that have some elements, and which of these: small ones, if they do."""
        for part, at in _dealt(self.parts(), output, index, np.arange(len(index))):
            pieces = list(_dealt(part.split(PIECE), output, index, at))
            yield from pieces if len(pieces) < _FEW else [(part, at)]

    def before_rounding(
        self,
        output: int,
        index: Places,
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
        with np.errstate(all="ignore"):
            value, magnitude = self.exact(output, index, scale)
        return self.grid(output, index).tie(value, actual, golden, magnitude)

    def grid(self, output: int, index: Places) -> Elements:
        """Return what ties some elements of an output: their format, unless a model has its own."""
        return self.elements_of(output)

    def codes_behind(self, output: int, index: Places) -> Any:
        """Return the grid of codes on which some elements of an output lie; None if on none."""
        return None

    def numbers(self, output: int, index: Places, codes: Array, scale: Array) -> Float64:
        """Return what some codes and their scales stand for."""
        raise NotImplementedError

    @abc.abstractmethod
    def whole(self) -> list[Part]:
        """Return all of the work, as one part or a few."""

    def parts(self, size: int | None = None) -> list[Part]:
        """Split the work into parts of about so many elements (PART), which are light until used.

        Each can be computed alone.
        """
        return [part for whole in self.whole() for part in whole.split(size or PART)]


def _dealt(
    parts: Sequence[Part], output: int, index: Places, at: Places
) -> Iterator[tuple[Part, Places]]:
    """Yield the parts that elements index[at] of an output are in, and which of `at` these are."""
    which = np.searchsorted([part.spans[output][1] for part in parts], index[at], side="right")
    order = np.argsort(which, kind="stable")
    begins = np.flatnonzero(np.diff(which[order])) + 1
    for some in np.split(order, begins) if len(order) else ():
        yield parts[int(which[some[0]])], at[some]


def unpacked(array: Array) -> Array:
    """Return the int4 of an array: 8 to an int32, others hold one an element already."""
    if array.dtype != np.int32 or array.ndim == 0:
        return array.astype(np.int8) if array.dtype.name == "int4" else array
    return int4_of(array)
