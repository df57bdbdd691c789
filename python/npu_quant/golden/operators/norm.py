"""The steps of the norm's formulas: sum, mean, root, order of the products; and the formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from . import steps
from .arithmetic import Floats, compiled, roundings, stored_in, to_float16
from .codes import Codes
from .formula import Cited, Form, Formula, Other, Step, always
from .model import Array
from .norm_rows import Sums
from .steps import Operands

KERNELS = "hicann/ops-nn norm/add_rms_norm_quant/op_kernel"

# What is normalized.


def rounded_sums(part: Any) -> Floats:
    """Return the sums in the dtype of the inputs, widened."""
    return part.once("rounded", lambda: part.x.astype(part.floats))


SOURCES = (
    Step("", "x1 + x2", lambda part: part.s),
    Other(
        "from the rounded x",
        "x1 + x2 rounded to x1's dtype",
        rounded_sums,
        "torch in the dtype of a 16-bit model",
        steps.is_narrow,
    ),
)

# The sum of a row.


def in_lanes(terms: Floats) -> Floats:
    """Add element i to lane i % 64, then halves of the lanes."""
    lanes = np.zeros((len(terms), 64), terms.dtype)
    for begin in range(0, terms.shape[1], 64):
        some = terms[:, begin : begin + 64]
        lanes[:, : some.shape[1]] += some
    for half in (32, 16, 8, 4, 2, 1):
        lanes[:, :half] += lanes[:, half : 2 * half]
    return lanes[:, 0]


def one_by_one(terms: Floats) -> Floats:
    """Add from first to last."""
    return np.cumsum(terms, axis=1, dtype=terms.dtype)[:, -1]


def pairwise(terms: Floats) -> Floats:
    """Add as NumPy does: pairs of blocks, each in 8 lanes."""
    return np.ascontiguousarray(terms).sum(axis=1, dtype=terms.dtype)


def in_float64(terms: Floats) -> Floats:
    """Add in float64, round once."""
    return terms.sum(axis=1, dtype=np.float64).astype(terms.dtype)


def folded(terms: Floats) -> Floats:
    """Add the second half to the first, again and again."""
    terms = terms.copy()
    while terms.shape[1] > 1:
        half = -(-terms.shape[1] // 2)
        rest = terms.shape[1] - half
        terms[:, :rest] += terms[:, half:]
        terms = terms[:, :half]
    return terms[:, 0]


SUM_ORDERS = (
    Step("", "64 lanes, then halves", in_lanes),
    Step("sequential sum", "one after the other", one_by_one, "loops"),
    Step("pairwise sum", "numpy.sum in float32", pairwise, "NumPy scripts"),
    Step("float64 sum", "in float64", in_float64, "NumPy scripts in float64"),
    Step("folded sum", "halves added, down to one", folded, f"{KERNELS}, float16, few rows"),
)

# The mean of squares, from these, the sum and n.

MEANS = (
    Step("", "sum / n", lambda squares, total, n: total(squares) / n),
    Step(
        "sum * (1/n)",
        "sum * (1 / n)",
        lambda squares, total, n: total(squares) * (1 / n),
        "scripts",
    ),
    Step(
        "terms * (1/n)",
        "sum of s * s * (1 / n)",
        lambda squares, total, n: total(squares * (1 / n)),
        f"{KERNELS}/add_rms_norm_quant.h",
    ),
)

# Epsilon and the root.

ROOT = "sqrt(mean + epsilon)"


def other_epsilon(epsilon: str) -> Step:
    """Return the step that has another epsilon than the one given."""
    text = ROOT.replace("epsilon", epsilon)
    return Other(
        f"epsilon {epsilon}",
        text,
        compiled(text, "mean", "epsilon"),
        "another default",
        lambda model: bool(model.epsilon != np.float32(epsilon)),
    )


ROOTS = (
    Step("", ROOT, compiled(ROOT, "mean", "epsilon"), roundings=1),  # of the root
    *(other_epsilon(text) for text in ("0", "1e-5", "1e-6", "1e-8", "1e-12")),
    Other(
        "epsilon outside the root",
        "sqrt(mean) + epsilon",
        compiled("sqrt(mean) + epsilon", "mean", "epsilon"),
        steps.MISTAKE,
    ),
)

# The products.


def product_step(text: str, name: str = "") -> Step:
    """Return a step that does as its text says."""
    own = text.replace("rstd", "(1 / root)")
    function = compiled(own, "s", "root", "gamma")
    return Step(name or text, text, function, "scripts", roundings=roundings(own))


PRODUCTS = (
    product_step("s * rstd * gamma"),
    product_step("s * gamma * rstd", "(s * gamma) * rstd"),
    product_step("s * (gamma * rstd)"),
    product_step("s / root * gamma", "s / root"),
    product_step("s * gamma / root"),
)

# What becomes of t before it is quantized.


def with_beta(t: Floats, beta: Floats | None, dtype: Any) -> Floats:
    """Add beta, if there is one."""
    return t if beta is None else t + beta


ENDS = (
    Step("", "", with_beta, roundings=1),
    Other(
        "t rounded to x1's dtype",
        " rounded to x1's dtype",
        lambda t, beta, dtype: stored_in(dtype)(with_beta(t, beta, dtype)),
        "a norm in the dtype of a 16-bit model, quantized by another operator",
        steps.is_narrow,
    ),
    Other(
        "beta ignored",
        " without beta",
        lambda t, beta, dtype: t,
        steps.MISTAKE,
        lambda m: m.beta is not None,
    ),
)
T_IN_HALF = Step(
    "t rounded to float16",
    " rounded to float16",
    lambda t, beta, dtype: to_float16(with_beta(t, beta, dtype)),
    "hicann/ops-nn norm/rms_norm_quant, of an Atlas A2",
)

# The quotient and the zero point.

BY_RECIPROCAL = replace(
    steps.RECIPROCAL,
    name="t * (1/scale)",
    source=f"{KERNELS}/add_rms_norm_quant.h:305",
    applies=always,
)
BY_OTHER = replace(steps.MULTIPLIED, name="div_mode reversed", source=steps.MISTAKE, applies=always)
AFTER = replace(steps.AFTER_INSTEAD, source="torch.ao's convention")


# What a formula makes of a part.


def roots(formula: Formula, part: Any) -> Floats:
    """Return the root of each row of a part."""
    s, model = formula["source"].function(part), part.model
    if not model.n:  # the mean of nothing
        return np.full(len(s), np.nan, part.floats)
    functions = (formula[slot].function for slot in ("sum", "mean", "root"))
    n, epsilon = part.floats(model.n), part.floats(model.epsilon)
    return part.call(_root, *functions, part.call(np.square, s), n, epsilon)


def _root(total: Any, mean: Any, root: Any, squares: Floats, n: Any, epsilon: Any) -> Floats:
    return root(mean(squares, total, n), epsilon)


def products(formula: Formula, part: Any) -> Floats:
    """Return t of a part before beta is added."""
    s, root = formula["source"].function(part), roots(formula, part)
    return part.call(_product, formula["product"].function, s, root, part.model.gamma)


def _product(product: Any, s: Floats, root: Floats, gamma: Floats) -> Floats:
    return product(s, root[:, None], gamma)


def normed(formula: Formula, part: Any) -> Floats:
    """Return t of a part."""
    model = part.model
    return part.call(formula["end"].function, products(formula, part), model.beta, model.dtype)


def terms_of(formula: Formula, part: Any) -> tuple[Floats, ...]:
    """Return what t of a part is the sum of, if it is one."""
    if part.model.beta is None:
        return ()
    product = products(formula, part)
    return product, np.broadcast_to(part.model.beta, product.shape)


def rstd(formula: Formula, part: Any) -> Array:
    """Return 1 over the root of each row of a part."""
    own = 1 / roots(formula, part)
    return np.asarray(np.where(np.isnan(own), own.dtype.type(np.nan), own))  # of either sign


def operands(formula: Formula, part: Any, which: int) -> Operands | None:
    """Return what is quantized to the codes y1 or y2 of a part; None where y2 is not wanted."""
    model = part.model
    scale, zero_point = model.scales[which], model.zero_points[which]
    if scale is None:
        return None
    t, terms = normed(formula, part), () if part.narrow is None else terms_of(formula, part)
    return Operands(t, scale, zero_point, divides=model.div_mode, terms=terms)


def text_of_t(formula: Formula) -> str:
    """Return how t comes about."""
    text = f"t = {formula['product'].text}{formula['end'].text}"
    words = {"source": "s = ", "sum": "sum: ", "mean": "mean = ", "root": "root = "}
    own = ((word, formula[slot]) for slot, word in words.items())
    return text + "".join(f", {word}{step.text}" for word, step in own if step.name)


def of_x(text: str) -> str:
    """Return words for a norm of x alone, which has no sums s."""
    return re.sub(r"(?<!')\bs\b", "x", text.replace("x1's", "x's"))


def text(formula: Formula) -> str:
    """Return how y comes about."""
    return f"y = {steps.codes_text(formula, x='t')}, {text_of_t(formula)}"


# The formulas.

SLOTS = {
    "source": SOURCES,
    "sum": SUM_ORDERS,
    "mean": MEANS,
    "root": ROOTS,
    "product": PRODUCTS,
    "end": ENDS,
}
"""Those of t."""
OF_X = {"source": SOURCES[:1]}
"""Where x alone is normed there is no sum to be rounded."""


# The devices' formulas: docs/numerics.md 4. The order of their sums is not public.


def half_products(s: Floats, root: Floats, gamma: Floats) -> Floats:
    """Round s * rstd to float16, and its product with gamma."""
    return to_float16(gamma * to_float16(s * (1 / root)))


def is_float16(model: Any) -> bool:
    """Tell whether the inputs are float16."""
    return bool(model.dtype == np.float16)


def is_bfloat16(model: Any) -> bool:
    """Tell whether the inputs are bfloat16."""
    return bool(model.dtype.name == "bfloat16")


def is_per_tensor(model: Any) -> bool:
    """Tell whether the device takes its kernel for one scale: it needs a beta."""
    scale = model.scales[0]
    return scale is not None and scale.size == 1 and model.beta is not None and model.div_mode


# These steps are benign in their profile alone.
DEVICE_X = replace(SOURCES[1], name="rounded x", benign=True, applies=always)
HALF_PRODUCTS = Step("half products", "float16(float16(s * rstd) * gamma)", half_products)


def profiles() -> Iterator[Cited]:
    """Yield what devices do."""
    where = f"{KERNELS}/add_rms_norm_quant.h, add_rms_norm_quant_split_d.h"
    few = f"{KERNELS}/add_rms_norm_quant_single_n.h, and where beta is given"
    plain = {"mean": MEANS[2]}
    rounded = plain | {"source": DEVICE_X}
    half = rounded | {"product": HALF_PRODUCTS}
    for order, suffix in ((SUM_ORDERS[0], ""), (SUM_ORDERS[4], ", folded sum")):
        own = {"sum": order}
        yield Cited(f"ascend910b{suffix}", half | own, where, is_float16)
        yield Cited(f"ascend910b{suffix}", plain | own, where, is_bfloat16)
        yield Cited(f"ascend910b, rounded x{suffix}", rounded | own, few, is_bfloat16)
    for path, suffix in ((plain, ""), (rounded, ", rounded x")):
        yield Cited(
            f"ascend910b per tensor{suffix}",
            path | {"quotient": BY_RECIPROCAL},
            f"{KERNELS}/add_rms_norm_quant.h:305-312",
            is_per_tensor,
        )


FORM = Form(
    SLOTS
    | {"quotient": (steps.DIVIDED, BY_RECIPROCAL, BY_OTHER)}
    | steps.ENDS
    | {"zero": (steps.BEFORE, AFTER, steps.SUBTRACTED, steps.IGNORED)},
    text,
    (
        Codes(partial(operands, which=0), 0),
        Codes(partial(operands, which=1), 1),
        Sums(),
    ),
    "docs/numerics.md 5",
    tuple(profiles()),
)
