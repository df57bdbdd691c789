"""What every operator's model has: its golden, the numbers before rounding, and work in parts."""

from __future__ import annotations

import abc
import importlib
import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ..._codes import int4_of
from ...errors import ParamError, meant
from ..elements import Elements, elements_of
from ..results import TieTest
from .formula import Form, Formula

if TYPE_CHECKING:
    from .scale_grid import ScaleGrid

Array = NDArray[Any]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Exact = tuple[Float64, tuple[Float64, ...]]
"""Numbers, and what they are the sum of."""
T = TypeVar("T")

ANY = 2.0**64
"""Any number of steps."""
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

    def floats(self, begin: int, end: int) -> Float32:
        """Return elements [begin, end), widened to float32."""
        return self.read(begin, end).astype(np.float32)


class Part:
    """A range of each output, with what the formulas of that range share, made once."""

    def __init__(self, model: Any, spans: tuple[tuple[int, int], ...] = ()) -> None:
        self.model = model
        self.spans = spans
        """Which elements of each output, counted in C order: [begin, end)."""
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made under that key, or make it."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def call(self, function: Callable[..., T], *operands: Any) -> T:
        """Return what a function makes of some operands: arrays are the same if they are one."""
        key = tuple(id(o) if isinstance(o, np.ndarray) else o for o in operands)
        # The operands are kept beside it, so that nothing else gets the id of one.
        return self.once((function, *key), lambda: (function(*operands), operands))[0]

    def same(self, array: Any) -> Any:
        """Return the first array that had these bytes."""
        return self.once((array.shape, array.tobytes()), lambda: array)

    def holds(self, output: int, place: int) -> bool:
        """Tell whether an element of an output, counted in C order, belongs to it."""
        begin, end = self.spans[output]
        return begin <= place < end

    def flat(self, array: Array) -> Array:
        """Return numbers of the part as elements of an output."""
        return array.reshape(-1)

    def forget(self) -> None:
        """Let go of what was made."""
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
        own = result if isinstance(result, tuple) else (np.asarray(result),)
        return tuple(None if a is None else self.as_elements(i, a) for i, a in enumerate(own))

    def place_of(self, output: int, index: int) -> str:
        """Say which part of the input an element of an output is for, where that is no row."""
        return ""

    def scale_grid(self, output: int) -> ScaleGrid | None:
        """Return how an output's places are named by those of the input, where not by its own."""
        return None

    def ignores(self, output: int) -> bool:
        """Tell whether some elements of an output mean nothing: `as_elements` makes them golden."""
        return False

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

    @abc.abstractmethod
    def exact(self, output: int, index: NDArray[np.int64], scale: Array | None = None) -> Exact:
        """Return some elements of an output before rounding, in float64, and their terms."""

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
        with np.errstate(all="ignore"):
            value, terms = self.exact(output, index, scale)
        return self.grid(output, index).tie(value, actual, golden, *terms)

    def grid(self, output: int, index: NDArray[np.int64]) -> Elements:
        """Return what ties some elements of an output: their format, unless a model has its own."""
        return self.elements_of(output)

    def codes_behind(self, output: int, index: NDArray[np.int64]) -> Any:
        """Return the grid of codes on which some elements of an output lie; None if on none."""
        return None

    def numbers(self, output: int, index: NDArray[np.int64], codes: Array, scale: Array) -> Float64:
        """Return what some codes and their scales stand for."""
        raise NotImplementedError

    @abc.abstractmethod
    def parts(self, size: int | None = None) -> list[Part]:
        """Split the work into parts of about so many elements (PART), which are light until used.

        Each can be computed alone.
        """


def unpacked(array: Array) -> Array:
    """Return the int4 of an array: 8 to an int32, others hold one an element already."""
    if array.dtype != np.int32 or array.ndim == 0:
        return array.astype(np.int8) if array.dtype.name == "int4" else array
    return int4_of(array)


def ranges(count: int, step: int) -> Iterator[tuple[int, int]]:
    """Split [0, count) into ranges of that length."""
    for begin in range(0, count, step):
        yield begin, min(begin + step, count)


OURS = ("out", "numerics")
"""The parameters of every operator that are none of its inputs."""


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of an operator that are its inputs, in its order."""
    parameters = inspect.signature(function).parameters.items()
    return {name: p for name, p in parameters if name not in OURS}


def by_name(function: Callable[..., Any], inputs: Any) -> Mapping[str, Any]:
    """Return inputs by name: those that are named, or one or several in the operator's order.

    Raises:
        ParamError: there are more than the operator takes.
    """
    if isinstance(inputs, Mapping):
        return inputs
    given = inputs if isinstance(inputs, (tuple, list)) else [inputs]
    names = list(parameters_of(function))
    if len(given) > len(names):
        listed = ", ".join(names)
        raise ParamError(f"{function.__name__} takes {listed}; inputs has {len(given)} of them.")
    return dict(zip(names, given, strict=False))


def arguments_of(function: Callable[..., Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return all arguments of a call, with defaults; complain of unknown and missing ones."""
    parameters = parameters_of(function)
    known = f"It takes {', '.join(parameters)}."
    unknown = [str(name) for name in inputs if name not in parameters]
    if unknown:
        complaint = f"{function.__name__} has no parameter {unknown[0]!r} for inputs"
        raise ParamError(complaint + (meant(unknown[0], parameters) or f". {known}"))
    result = {
        name: inputs.get(name, parameter.default)
        for name, parameter in parameters.items()
        if name in inputs or parameter.default is not inspect.Parameter.empty
    }
    missing = [name for name in parameters if name not in result]
    if missing:
        raise ParamError(f"{function.__name__} needs inputs[{missing[0]!r}]. {known}")
    return result
