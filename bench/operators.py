"""What the bench knows of an operator, and the arrays it works on."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import arrays

FLOATS = ("float16", "bfloat16", "float32")
DTYPES = (*FLOATS, "int8", "int32", "float8_e4m3fn")
# 32x4096 is the largest in the L2 cache: there the call itself no longer counts.
SIZES = "1x16,8x4096,32x4096,128x4096,4096x4096,32768x7168"


class Size(NamedTuple):
    """Rows and elements per row."""

    rows: int
    n: int

    @classmethod
    def parse(cls, text: str) -> Size:
        """From "8x4096"."""
        rows, _, n = text.partition("x")
        if not (rows.isdecimal() and n.isdecimal() and int(rows) and int(n)):
            raise ValueError(f"{text!r}, expected rows x elements per row, such as 8x4096")
        return cls(int(rows), int(n))

    @classmethod
    def parse_all(cls, text: str) -> list[Size]:
        """From "1x16,8x4096"."""
        return [cls.parse(part) for part in text.split(",")]

    def __str__(self) -> str:
        return f"{self.rows}x{self.n}"


Spec = tuple[tuple[int, ...], str]


class Linear(NamedTuple):
    """ONNX Runtime's operator of that name, and its scale and zero point."""

    name: str
    scale: float
    zero_point: int


@dataclass(frozen=True)
class Operator:
    """All the bench knows about an operator; bench_<op>.py lists its own in OPERATORS."""

    name: str
    """The function, and a word or two where it is measured in several ways."""
    call: Callable[..., Any]
    """Called as call(*inputs, *arguments, out=...)."""
    reference: Callable[..., Any]
    """Called as reference(*inputs, *arguments)."""
    outputs: Callable[[Size, str], tuple[Spec | None, ...]]
    """Shape and dtype of each output for a size and dtype of the inputs; None: not wanted."""
    eager: Callable[..., Any]
    """(torch, *inputs, *arrays among the arguments, *outputs): what torch's users write. Writes
    to the outputs, or returns its own."""
    compiled: Callable[..., Any]
    """The same for torch.compile, in the form it makes the fastest code of."""
    linear: Linear | None = None
    """ONNX Runtime's counterpart."""
    streams: tuple[int, int] = (1, 1)
    """How many inputs and wanted outputs have rows x elements; these come first."""
    arguments: Callable[[Size, str, str], tuple[Any, ...]] = lambda size, dtype, place: ()
    """What is passed after the inputs. Fewer rows must give a part of the same values."""
    dtypes: tuple[str, ...] = FLOATS
    """Of the inputs."""
    sizes: str = SIZES
    together: int = 1
    """Elements that share one of the output: a row has whole ones."""
    peers_do_all: tuple[str, ...] = ()
    """Dtypes for which eager torch and ONNX Runtime make no temporaries and do all rows."""
    tolerance: float = 1
    """How far peers may be off in the first output: a code, as most of them multiply."""
    of_copy_in_memory: Mapping[str, float] = field(default_factory=dict)
    """Goals by dtype: which part of the copy's speed is wanted, far outside the caches."""
    of_copy_in_cache: Mapping[str, float] = field(default_factory=dict)
    """The same in the L2 cache, called from Python."""
    of_torch_in_cache: Mapping[str, float] = field(default_factory=dict)
    """Goals by dtype: how many times as fast as eager torch, in the L2 cache."""
    most_overhead: float = 2.2
    """Goal for a call on 1x16, of np.add's time: 2.2 for three arrays, as np.add has, and in
    proportion where there are more to look at."""
    multiplies: bool = False
    """Whether its time is that of a product, which the shapes of other calls would make long."""
    in_place: bool = False
    """Whether it writes rows into an array that is there, each by itself."""


def find_operators() -> dict[str, Operator]:
    """The OPERATORS of every bench_<op>.py, by name."""
    stems = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    modules = [importlib.import_module(f"{__package__}.{stem}") for stem in stems]
    return {operator.name: operator for module in modules for operator in module.OPERATORS}


@dataclass(frozen=True)
class Work:
    """An operator and the arrays of one call."""

    operator: Operator
    dtype: str
    """Of the inputs."""
    place: str
    """Of all arrays: one of arrays.PLACES."""
    inputs: tuple[NDArray[Any], ...]
    arguments: tuple[Any, ...]
    outputs: tuple[NDArray[Any] | None, ...]

    @classmethod
    def of(cls, operator: Operator, dtype: str, size: Size, place: str) -> Work:
        """The outputs are uninitialised."""
        inputs = (arrays.normal(size, dtype, place, i) for i in range(operator.streams[0]))
        specs = operator.outputs(size, dtype)
        outputs = (None if spec is None else arrays.empty(*spec, place) for spec in specs)
        arguments = operator.arguments(size, dtype, place)
        return cls(operator, dtype, place, tuple(inputs), arguments, tuple(outputs))

    def part(self, rows: int) -> Work:
        """The same with the first rows only."""
        size = Size(rows, self.inputs[0].shape[1])
        specs = self.operator.outputs(size, self.dtype)
        return replace(
            self,
            inputs=tuple(x[:rows] for x in self.inputs),
            arguments=self.operator.arguments(size, self.dtype, self.place),
            outputs=tuple(
                y if y is None or spec is None else y[: spec[0][0]]
                for y, spec in zip(self.outputs, specs, strict=True)
            ),
        )

    @property
    def out(self) -> Any:
        """As the operator takes it."""
        return self.outputs if len(self.outputs) > 1 else self.outputs[0]

    @property
    def wanted(self) -> list[NDArray[Any]]:
        """The outputs that are."""
        return [y for y in self.outputs if y is not None]

    @property
    def streams(self) -> tuple[tuple[NDArray[Any], ...], list[NDArray[Any]]]:
        """What a copy of the same bytes reads and writes."""
        return self.inputs, self.wanted[: self.operator.streams[1]]

    @property
    def nbytes(self) -> int:
        """Of the streams."""
        return sum(a.nbytes for side in self.streams for a in side)

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """Inputs, arrays among the arguments, outputs."""
        everything = (*self.inputs, *self.arguments, *self.outputs)
        return [a for a in everything if isinstance(a, np.ndarray)]

    def call(self, **out: Any) -> Any:
        """Call the operator."""
        return self.operator.call(*self.inputs, *self.arguments, **out)

    def expected(self) -> tuple[NDArray[Any], ...]:
        """What the reference computes, for each output."""
        result = self.operator.reference(*self.inputs, *self.arguments)
        return result if isinstance(result, tuple) else (result,)

    def statement(self, code: str) -> tuple[str, dict[str, Any]]:
        """Code in which `f(...)` is a function of the inputs and arguments, and its names."""
        positional = {f"a{i}": a for i, a in enumerate((*self.inputs, *self.arguments))}
        names = {"call": self.operator.call, "formula": self.operator.reference, "out": self.out}
        return code.replace("...", ", ".join(positional)), names | positional
