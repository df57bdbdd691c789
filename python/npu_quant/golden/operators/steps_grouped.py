"""The steps of dynamic quantization's formulas, per token and per block.

A formula is a choice of steps: which numbers are quantized and in what groups (VALUES), how amax
becomes the scale (SCALES), how a quotient is made (CODES), what format it is kept in, how it is
rounded, and where it ends. The reference takes the first of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import arithmetic
from .arithmetic import Array, Computed, Float32, Step, composed
from .variant import Glance, Variant

if TYPE_CHECKING:
    from .dynamic_quant import GroupedModel, GroupedPart, Groups

MAX = np.float32(127)
ONE = np.float32(1)
NUMERICS = "docs/numerics.md 2"
KERNELS = "hicann/ops-nn quant/dynamic_quant/op_kernel"
GOLDEN_PY = "hicann/ops-nn quant/dynamic_quant/tests/assets/golden.py:91"

# What some steps need.


def is_float32(model: GroupedModel) -> bool:
    """Tell whether rounding the input would change it."""
    return model.x.dtype == np.float32


def is_smoothed(model: GroupedModel) -> bool:
    """Tell whether smooth_scales are given."""
    return model.smooth is not None


def is_unbounded(model: GroupedModel) -> bool:
    """Tell whether there is no min_scale."""
    return not model.min_scale > 0


# How amax becomes the scale.

AMAX_OVER_127 = Step("", True, "amax / 127", lambda amax: amax / MAX)
TIMES_INVERSE = Step(
    "scale amax * (1/127)", True, "amax * (1/127)", lambda amax: amax * (ONE / MAX), GOLDEN_PY
)
INVERSE = Step(
    "scale 1 / (127/amax)",
    True,
    "1 / (127 / amax)",
    lambda amax: ONE / (MAX / amax),
    f"{KERNELS}/dynamic_quant.h:165-170",
)
INVERSE_TWICE = Step(
    "scale 1 / ((1/amax) * 127)",
    True,
    "1 / ((1 / amax) * 127)",
    lambda amax: ONE / ((ONE / amax) * MAX),
    "the reciprocal of block quantization's multiplier",
)
SCALES = (AMAX_OVER_127, TIMES_INVERSE, INVERSE)


def in_16_bits(name: str, short: str, rounding: Callable[[Float32], Float32]) -> Step:
    """Return the scale rounded to a format of 16 bits."""
    source = "scales kept in the dtype of a 16-bit model"
    return Step(
        f"{short} scale", False, f"{name}(amax / 127)", lambda amax: rounding(amax / MAX), source
    )


FLOAT16_SCALE = in_16_bits("float16", "fp16", arithmetic.to_float16)
BFLOAT16_SCALE = in_16_bits("bfloat16", "bf16", arithmetic.to_bfloat16)
OVER_128 = Step("scale amax / 128", False, "amax / 128", lambda amax: amax / np.float32(128))
OVER_127_5 = Step(
    "scale amax / 127.5",
    False,
    "amax / 127.5",
    lambda amax: amax / np.float32(127.5),
    "ranges of 255 steps, as torch.ao's observers have them for symmetric qint8",
)


def with_epsilon(text: str) -> list[Step]:
    """Return the ways to keep a scale from becoming zero."""
    eps = np.float32(text)
    source = "guards against a scale of 0 in scripts and frameworks"
    return [
        Step(
            f"amax at least {text}",
            False,
            f"max(amax, {text}) / 127",
            lambda amax: np.maximum(amax, eps) / MAX,
            source,
        ),
        Step(
            f"scale at least {text}",
            False,
            f"max(amax / 127, {text})",
            lambda amax: np.maximum(amax / MAX, eps),
            source,
        ),
        Step(f"amax + {text}", False, f"(amax + {text}) / 127", lambda a: (a + eps) / MAX, source),
        Step(f"scale + {text}", False, f"amax / 127 + {text}", lambda a: a / MAX + eps, source),
    ]


EPSILONS = ("1e-12", "1e-10", "1e-8", "1e-7", "1e-6", "1e-5")

# How a quotient is made: what stands beside v, and how they are put together.


def divided(v: Float32, w: Float32) -> Computed:
    """Return v / w."""
    return v / w


def multiplied(v: Float32, w: Float32) -> Computed:
    """Return v * w."""
    return v * w


def multiplied_and_divided(v: Float32, w: Float32) -> Computed:
    """Return v * 127 / w."""
    return v * MAX / w


def divided_and_multiplied(v: Float32, w: Float32) -> Computed:
    """Return v / w * 127."""
    return v / w * MAX


DIVIDED = Step("", True, "x / scale", lambda model, amax, scale: (divided, scale))
RECIPROCAL = Step(
    "x * (1/scale)",
    True,
    "x * (1 / scale)",
    lambda model, amax, scale: (multiplied, ONE / scale),
    "the ATK executor of hicann/ops-nn quant/dynamic_quant",
)
BY_127_OVER_AMAX = Step(
    "x * (127/amax)",
    True,
    "x * (127 / amax)",
    lambda model, amax, scale: (multiplied, model.bounded_below(MAX / amax)),
    f"{KERNELS} and Ascend/op-plugin test_npu_dynamic_block_quant.py",
)
BY_INVERSE_AMAX = Step(
    "x * ((1/amax) * 127)",
    True,
    "x * ((1 / amax) * 127)",
    lambda model, amax, scale: (multiplied, model.bounded_below((ONE / amax) * MAX)),
    "hicann/ops-nn quant/dynamic_block_quant/op_kernel/dynamic_block_quant.h:347-349",
)
TIMES_127_FIRST = Step(
    "x * 127 / amax",
    True,
    "x * 127 / amax",
    lambda model, amax, scale: (multiplied_and_divided, amax),
    "scripts",
    is_unbounded,
)
TIMES_127_LAST = Step(
    "x / amax * 127",
    True,
    "x / amax * 127",
    lambda model, amax, scale: (divided_and_multiplied, amax),
    "scripts",
    is_unbounded,
)
CODES = (DIVIDED, RECIPROCAL, BY_127_OVER_AMAX, BY_INVERSE_AMAX)
UNBOUNDED_CODES = (TIMES_127_FIRST, TIMES_127_LAST)

# Which numbers, in which groups.


def per_tensor(part: GroupedPart) -> Groups:
    """Group everything into one."""
    groups = part.groups()
    amax = part.model.column_amax().max(initial=0)
    return type(groups)(
        groups.v, np.full((1, 1), amax, np.float32), np.full(len(groups.v), amax, np.float32)
    )


def one_amax(matrices: bool) -> Glance:
    """Return whether one amax for all, or for each column of a matrix, can have made some codes.

    A code c of v says that 127 |v| / amax lies in |c| - 0.5 to |c| + 0.5, but for roundings: all
    elements must leave some amax. So no other part of the input needs to be read.
    """

    def glance(part: GroupedPart, actual: Callable[[int], Array | None]) -> bool:
        y, model = actual(0), part.model
        if y is None or y.size == 0 or not is_unbounded(model):
            return True
        rows = part.rows[1] - part.rows[0]
        v = np.abs(part.groups().v).reshape(rows, -1)[:, : model.columns]
        code = np.abs(y.astype(np.float32)).reshape(v.shape)
        v = np.where(v < 1e-30, np.float32(0), v)  # whose scales may be 0, and codes anything
        code = np.where(v == 0, np.float32(0), code)
        half = np.float32(0.501)
        begins = model.matrices(*part.rows) if matrices else [0]
        least = np.fmax.reduceat(MAX * v / (code + half), begins, axis=0)
        most = np.fmin.reduceat(MAX * v / np.maximum(code - half, 0), begins, axis=0)
        if not matrices:
            least, most = np.fmax.reduce(least, axis=1), np.fmin.reduce(most, axis=1)
        return not bool(np.any(least > most))

    return glance


AS_GIVEN = Step("", True, "max |x|", lambda part: part.groups())
PER_TENSOR = Step(
    "per tensor",
    False,
    "max |x| of all rows",
    per_tensor,
    "quant_mode pertensor",
    glance=one_amax(matrices=False),
)


@dataclass(frozen=True)
class Recipe:
    """One choice of steps."""

    values: Step = AS_GIVEN
    scale: Step = AMAX_OVER_127
    code: Step = DIVIDED
    kept: Step = arithmetic.KEPT
    rounding: Step = arithmetic.HALF_EVEN
    clamp: Step = arithmetic.CLAMP

    @property
    def steps(self) -> tuple[Step, ...]:
        """All of them, as a name lists them."""
        return (self.values, self.scale, self.code, self.kept, self.rounding, self.clamp)

    @property
    def text(self) -> str:
        """The formula in a line."""
        quotient = f"{self.kept.text}({self.code.text})" if self.kept.text else self.code.text
        amax = f", amax = {self.values.text}" if self.values.name else ""
        y = f"{self.rounding.text}({quotient}){self.clamp.text}"
        return f"scale = {self.scale.text}, y = {y}{amax}"

    def groups(self, part: GroupedPart) -> Groups:
        """Return the numbers to be quantized."""
        groups: Groups = part.once(self.values, lambda: self.values.function(part))
        return groups

    def y(self, part: GroupedPart) -> Array:
        """Compute the codes of a part; the same quotient is made once for all formulas."""
        groups = self.groups(part)
        scale = part.model.bounded(self.scale.function(groups.amax))
        combine, w = self.code.function(part.model, groups.amax, scale)
        key = (self.values, combine, w.tobytes(), self.kept)

        def quotient() -> Float32:
            q: Float32 = self.kept.function(combine(groups.v, w))
            return q

        def codes() -> Array:
            rounded = self.rounding.function(part.once(key, quotient))
            return part.flat(arithmetic.saturated(rounded, self.clamp.function(-128), 127))

        return part.once((*key, self.rounding, self.clamp), codes)

    def scales(self, part: GroupedPart) -> Array | None:
        """Compute the scales of a part."""
        amax = self.groups(part).reported
        if amax is None:
            return None
        return part.once(
            (self.values, self.scale), lambda: part.model.bounded(self.scale.function(amax))
        )

    def row(self, name: str | None = None, *, source: str | None = None) -> Variant:
        """Return the variant, named by its steps unless a name is given."""
        return composed(
            self.steps,
            self.text,
            (self.y, self.scales),
            reference=Recipe().steps,
            name=name,
            source=source,
        )


def smoothed(how: str) -> Callable[[GroupedPart], Groups]:
    """Return the rule that uses smooth_scales in another way."""

    def groups(part: GroupedPart) -> Groups:
        model = part.model
        v = model.inputs_of_rows(*part.rows).astype(np.float32)
        if how == "divide" and model.smooth is not None:
            v = v / model.smooth
        return type(part.groups())(part.grouped(v))

    return groups


def rounded_input(rounding: Callable[[Float32], Float32]) -> Callable[[GroupedPart], Groups]:
    """Return the rule that rounds the input first."""

    def groups(part: GroupedPart) -> Groups:
        model = part.model
        v = rounding(model.inputs_of_rows(*part.rows).astype(np.float32))
        v = v if model.smooth is None else v * model.smooth
        return type(part.groups())(part.grouped(v))

    return groups


def per_column(part: GroupedPart) -> Groups:
    """Group along the axis before the last; the scales only fit if both have the same length."""
    model, groups = part.model, part.groups()
    amax = model.column_amax()
    matrix = np.arange(*part.rows) // model.tall
    same = len(matrix) == 0 or matrix[0] == matrix[-1]
    each = amax[matrix[:1]] if same else amax[matrix]
    fits = model.tall == model.columns
    return type(groups)(groups.v, each, amax.reshape(-1)[slice(*part.rows)] if fits else None)


INPUT_FLOAT16 = Step(
    "input as fp16",
    False,
    "max |float16(x)|",
    rounded_input(arithmetic.to_float16),
    "x.half()",
    is_float32,
)
INPUT_BFLOAT16 = Step(
    "input as bf16",
    False,
    "max |bfloat16(x)|",
    rounded_input(arithmetic.to_bfloat16),
    "x.bfloat16()",
    is_float32,
)
SMOOTH_IGNORED = Step(
    "smooth_scales ignored",
    False,
    "max |input|, x = input",
    smoothed("ignore"),
    "by mistake",
    is_smoothed,
)
SMOOTH_DIVIDES = Step(
    "divided by smooth_scales",
    False,
    "max |x|, x = input / smooth_scales",
    smoothed("divide"),
    "SmoothQuant's factors, whose activations are divided",
    is_smoothed,
)
PER_COLUMN = Step(
    "per column",
    False,
    "max |x| along the axis before the last",
    per_column,
    "swapped axes",
    glance=one_amax(matrices=True),
)
