"""The steps of the norm's formulas: sum, mean, root, order of the products, and the quotient.

A formula is a choice of steps. The reference takes the first of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arithmetic
from .arithmetic import Array, Computed, Float32, Step, composed, saturated
from .variant import Formula, Variant

if TYPE_CHECKING:
    from .add_rms_norm_quant import AddRmsNormQuant, NormPart

ONE = np.float32(1)
KERNELS = "hicann/ops-nn norm/add_rms_norm_quant/op_kernel"
MISTAKE = "by mistake"

# What is normalized.

SUMS = Step("", True, "x1 + x2", lambda part: part.s)
ROUNDED = Step(
    "from the rounded x",
    False,
    "x1 + x2 rounded to x1's dtype",
    lambda part: part.once("rounded", lambda: part.x.astype(np.float32)),
    "torch in the dtype of a 16-bit model",
    lambda model: model.dtype != np.float32,
)

# The sum of a row.


def in_lanes(terms: Float32) -> Float32:
    """Add element i to lane i % 64, then halves of the lanes."""
    lanes = np.zeros((len(terms), 64), np.float32)
    for begin in range(0, terms.shape[1], 64):
        some = terms[:, begin : begin + 64]
        lanes[:, : some.shape[1]] += some
    for half in (32, 16, 8, 4, 2, 1):
        lanes[:, :half] += lanes[:, half : 2 * half]
    return lanes[:, 0]


def one_by_one(terms: Float32) -> Computed:
    """Add from first to last."""
    return np.cumsum(terms, axis=1, dtype=np.float32)[:, -1]


def pairwise(terms: Float32) -> Computed:
    """Add as NumPy does: pairs of blocks, each in 8 lanes."""
    return np.ascontiguousarray(terms).sum(axis=1, dtype=np.float32)


def in_float64(terms: Float32) -> Computed:
    """Add in float64, round once."""
    return terms.sum(axis=1, dtype=np.float64).astype(np.float32)


def folded(terms: Float32) -> Float32:
    """Add the second half to the first, again and again."""
    terms = terms.copy()
    while terms.shape[1] > 1:
        half = -(-terms.shape[1] // 2)
        rest = terms.shape[1] - half
        terms[:, :rest] += terms[:, half:]
        terms = terms[:, :half]
    return terms[:, 0]


LANES = Step("", True, "64 lanes, then halves", in_lanes)
SEQUENTIAL = Step("sequential sum", True, "one after the other", one_by_one, "loops")
PAIRWISE = Step("pairwise sum", True, "numpy.sum in float32", pairwise, "NumPy scripts")
FLOAT64 = Step("float64 sum", True, "in float64", in_float64, "NumPy scripts in float64")
FOLDED = Step(
    "folded sum", True, "halves added, down to one", folded, f"{KERNELS}, float16, few rows"
)
SUM_ORDERS = (LANES, SEQUENTIAL, PAIRWISE, FLOAT64, FOLDED)

# The mean of squares.


def over_n(squares: Float32, total: Callable[[Float32], Float32], n: np.float32) -> Computed:
    """Return sum / n."""
    return total(squares) / n


def times_inverse_n(squares: Float32, total: Callable[..., Float32], n: np.float32) -> Computed:
    """Return sum * (1/n)."""
    return total(squares) * (ONE / n)


def scaled_first(squares: Float32, total: Callable[[Float32], Float32], n: np.float32) -> Computed:
    """Return the sum of the squares times 1/n."""
    return total(squares * (ONE / n))


OVER_N = Step("", True, "sum / n", over_n)
TIMES_INVERSE_N = Step("sum * (1/n)", True, "sum * (1 / n)", times_inverse_n, "scripts")
SCALED_FIRST = Step(
    "terms * (1/n)", True, "sum of s * s * (1 / n)", scaled_first, f"{KERNELS}/add_rms_norm_quant.h"
)

# Epsilon.


def added(mean: Float32, epsilon: np.float32) -> Computed:
    """Return sqrt(mean + epsilon)."""
    return np.sqrt(mean + epsilon)


def outside(mean: Float32, epsilon: np.float32) -> Computed:
    """Return sqrt(mean) + epsilon."""
    return np.sqrt(mean) + epsilon


ADDED = Step("", True, "sqrt(mean + epsilon)", added)
OUTSIDE = Step("epsilon outside the root", False, "sqrt(mean) + epsilon", outside, MISTAKE)


def other_epsilon(text: str) -> Step:
    """Return the step that has another epsilon than the one given."""
    epsilon = np.float32(text)
    return Step(
        f"epsilon {text}",
        False,
        f"sqrt(mean + {text})",
        lambda mean, given: np.sqrt(mean + epsilon),
        "another default",
        lambda model: bool(model.epsilon != epsilon),
    )


EPSILONS = tuple(other_epsilon(text) for text in ("0", "1e-5", "1e-6", "1e-8", "1e-12"))

# The products.


def rstd_then_gamma(s: Float32, root: Float32, gamma: Float32) -> Computed:
    """Return s * (1/root) * gamma."""
    return s * (ONE / root) * gamma


def gamma_then_rstd(s: Float32, root: Float32, gamma: Float32) -> Computed:
    """Return s * gamma * (1/root)."""
    return s * gamma * (ONE / root)


def gamma_times_rstd(s: Float32, root: Float32, gamma: Float32) -> Computed:
    """Return s * (gamma * (1/root))."""
    return s * (gamma * (ONE / root))


def divided_then_gamma(s: Float32, root: Float32, gamma: Float32) -> Computed:
    """Return s / root * gamma."""
    return s / root * gamma


def gamma_then_divided(s: Float32, root: Float32, gamma: Float32) -> Computed:
    """Return s * gamma / root."""
    return s * gamma / root


RSTD_GAMMA = Step("", True, "s * rstd * gamma", rstd_then_gamma)
GAMMA_RSTD = Step("(s * gamma) * rstd", True, "s * gamma * rstd", gamma_then_rstd, "scripts")
GAMMA_TIMES_RSTD = Step(
    "s * (gamma * rstd)", True, "s * (gamma * rstd)", gamma_times_rstd, "scripts"
)
DIVIDED = Step("s / root", True, "s / root * gamma", divided_then_gamma, "scripts")
GAMMA_DIVIDED = Step("s * gamma / root", True, "s * gamma / root", gamma_then_divided, "scripts")
PRODUCTS = (RSTD_GAMMA, GAMMA_RSTD, GAMMA_TIMES_RSTD, DIVIDED, GAMMA_DIVIDED)

# What becomes of t before it is quantized.


def with_beta(t: Float32, beta: Float32 | None, dtype: Any) -> Computed:
    """Add beta, if there is one."""
    return t if beta is None else t + beta


def in_16_bits(t: Float32, beta: Float32 | None, dtype: Any) -> Computed:
    """Add beta, and round to the dtype of the inputs."""
    return with_beta(t, beta, dtype).astype(dtype).astype(np.float32)


def without_beta(t: Float32, beta: Float32 | None, dtype: Any) -> Computed:
    """Add nothing."""
    return t


BETA = Step("", True, "", with_beta)
T_ROUNDED = Step(
    "t rounded to x1's dtype",
    False,
    " rounded to x1's dtype",
    in_16_bits,
    "a norm in the dtype of a 16-bit model, quantized by another operator",
    lambda model: model.dtype != np.float32,
)
BETA_IGNORED = Step(
    "beta ignored", False, " without beta", without_beta, MISTAKE, lambda m: m.beta is not None
)

# The quotient.


def by_scale(t: Float32, scale: Float32, divides: bool) -> Computed:
    """Return t / scale, or t * scale."""
    return t / scale if divides else t * scale


def by_reciprocal(t: Float32, scale: Float32, divides: bool) -> Computed:
    """Return t * (1/scale), or t / (1/scale)."""
    return t * (ONE / scale) if divides else t / (ONE / scale)


def by_other(t: Float32, scale: Float32, divides: bool) -> Computed:
    """Return t * scale, or t / scale."""
    return by_scale(t, scale, not divides)


BY_SCALE = Step("", True, "t / scale", by_scale)
BY_RECIPROCAL = Step(
    "t * (1/scale)", True, "t * (1 / scale)", by_reciprocal, f"{KERNELS}/add_rms_norm_quant.h:305"
)
BY_OTHER = Step("div_mode reversed", False, "t * scale", by_other, MISTAKE)

# The zero point.


def has_zero_points(model: AddRmsNormQuant) -> bool:
    """Tell whether there are zero points other than 0."""
    return any(zp is not None and bool(np.any(zp != 0)) for zp in model.zero_points)


def has_integral_zero_points(model: AddRmsNormQuant) -> bool:
    """Tell whether all zero points are whole numbers."""
    return all(zp is None or bool(np.all(zp == np.rint(zp))) for zp in model.zero_points)


def before(q: Float32, zero_point: Float32 | None, rounding: Any) -> Computed:
    """Round q + zero_point."""
    return rounding(q if zero_point is None else q + zero_point)


def after(q: Float32, zero_point: Float32 | None, rounding: Any) -> Float32:
    """Round q, then add the zero point."""
    rounded: Float32 = rounding(q)
    return rounded if zero_point is None else rounded + zero_point


def subtracted(q: Float32, zero_point: Float32 | None, rounding: Any) -> Computed:
    """Round q - zero_point."""
    return rounding(q if zero_point is None else q - zero_point)


def ignored(q: Float32, zero_point: Float32 | None, rounding: Any) -> Computed:
    """Round q."""
    return rounding(q)


BEFORE = Step("", True, "{round}({q} + zero_point)", before)
AFTER = Step(
    "zero point after rounding",
    True,
    "{round}({q}) + zero_point",
    after,
    "torch.ao's convention",
    has_zero_points,
    has_integral_zero_points,
    "zero points are whole numbers",
)
SUBTRACTED = Step(
    "zero point subtracted",
    False,
    "{round}({q} - zero_point)",
    subtracted,
    MISTAKE,
    has_zero_points,
)
IGNORED = Step("zero point ignored", False, "{round}({q})", ignored, MISTAKE, has_zero_points)


@dataclass(frozen=True)
class Recipe:
    """One choice of steps."""

    values: Step = SUMS
    sum: Step = LANES
    mean: Step = OVER_N
    epsilon: Step = ADDED
    product: Step = RSTD_GAMMA
    end: Step = BETA
    quotient: Step = BY_SCALE
    kept: Step = arithmetic.KEPT
    zero: Step = BEFORE
    rounding: Step = arithmetic.HALF_EVEN
    clamp: Step = arithmetic.CLAMP

    @property
    def steps(self) -> tuple[Step, ...]:
        """All of them, as a name lists them."""
        first = (self.values, self.sum, self.mean, self.epsilon, self.product, self.end)
        return (*first, self.quotient, self.kept, self.zero, self.rounding, self.clamp)

    @property
    def text(self) -> str:
        """The formula in a line."""
        q = self.quotient.text
        q = f"{self.kept.text}({q})" if self.kept.text else q
        y = self.zero.text.format(round=self.rounding.text, q=q) + self.clamp.text
        text = f"y = {y}, t = {self.product.text}{self.end.text}"
        words = ("s = ", "sum: ", "mean = ", "root = ")
        steps = (self.values, self.sum, self.mean, self.epsilon)
        return text + "".join(
            f", {word}{step.text}" for word, step in zip(words, steps, strict=True) if step.name
        )

    def t(self, part: NormPart) -> Float32:
        """Return what is quantized, made once."""
        model = part.model
        s: Float32 = self.values.function(part)

        def mean() -> Float32:
            squares = part.once(("squares", self.values), lambda: s * s)
            result: Float32 = self.mean.function(squares, self.sum.function, np.float32(model.n))
            return result

        def make() -> Float32:
            root = self.epsilon.function(
                part.once((self.values, self.sum, self.mean), mean), model.epsilon
            )
            t = self.product.function(s, root[:, None], model.gamma)
            result: Float32 = self.end.function(t, model.beta, model.dtype)
            return result

        key = (self.values, self.sum, self.mean, self.epsilon, self.product, self.end)
        return part.once(key, make)

    def y(self, which: int) -> Formula:
        """Return the formula of y1 or y2."""

        def codes(part: NormPart) -> Array:
            model = part.model
            scale = model.scales[which]
            if scale is None:
                return np.zeros(part.spans[which][1] - part.spans[which][0], np.int8)
            q = self.quotient.function(self.t(part), scale, model.div_mode)
            q = self.kept.function(q)
            rounded = self.zero.function(q, model.zero_points[which], self.rounding.function)
            return saturated(rounded, self.clamp.function(-128), 127).reshape(-1)

        return lambda part: part.once((self, which), lambda: codes(part))

    def row(
        self, name: str | None = None, source: str | None = None, applies: Any = None
    ) -> Variant:
        """Return the variant, named by its steps unless a name is given."""
        return composed(
            self.steps,
            self.text,
            (self.y(0), self.y(1), x_of),
            reference=Recipe().steps,
            name=name,
            source=source,
            **({} if applies is None else {"applies": applies}),
        )


def x_of(part: NormPart) -> Array:
    """Return the sums in the dtype of the inputs."""
    return part.x.reshape(-1)
