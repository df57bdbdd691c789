"""The models of npu_add_rms_norm and npu_rms_norm: a norm as it is; its formulas are in norm.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from . import norm, steps
from .arithmetic import Floats
from .formula import Before, Cited, Form, Formula, Output, Rounded
from .model import Array
from .norm_rows import NormModel, NormPart, Sums

UPSTREAM = "hicann/ops-nn norm"


class Norms(Output):
    """The norm of some rows, in the dtype of the inputs."""

    def make(self, formula: Formula, part: NormPart) -> Array:
        """Return the elements of a part."""
        return np.asarray(norm.products(formula, part).astype(part.model.dtype)).reshape(-1)

    def before(self, formula: Formula, part: NormPart) -> Before:
        """Return them in float64, where they are their own measure."""
        made = norm.products(formula, part.wide()).reshape(-1)
        return made, made


def with_narrow(stored: Callable[[Floats], Floats]) -> Callable[..., Floats]:
    """Return the product with s * rstd in 16 bits."""
    return lambda s, root, gamma: stored(s * (1 / root)) * gamma


NARROW = steps.in_16_bits(
    "{short} s * rstd",
    "{long}(s * rstd) * gamma",
    "transformers' LlamaRMSNorm in {long}",
    with_narrow,
    steps.is_narrow,
)
SLOTS = norm.SLOTS | {
    "product": (*norm.PRODUCTS, *NARROW),
    "end": (replace(norm.ENDS[0], roundings=0),),  # there is no beta
}


def text(formula: Formula) -> str:
    """Return how y comes about."""
    return f"y = t in x1's dtype, {norm.text_of_t(formula)}"


def of_device(number: int, applies: Any) -> Cited:
    """Return what Atlas A2 and A3 do with a sum of 16 bits; the order of its sum is not public."""
    own = {"source": norm.DEVICE_X, "product": replace(NARROW[number], benign=True)}
    return Cited("ascend910b", own, f"{UPSTREAM}/add_rms_norm/tests/assets/golden.py", applies)


class AddRmsNorm(NormModel):
    """npu_add_rms_norm: a sum, and its norm over the last axes."""

    form = Form(
        SLOTS,
        text,
        (Norms(), Rounded(norm.rstd), Sums()),
        "docs/numerics.md 5",
        (of_device(0, norm.is_float16), of_device(1, norm.is_bfloat16)),
    )
    terms: tuple[str, ...] = ("x1", "x2")

    def prepare(self) -> None:
        """Read the arguments."""
        self.read_norm()


class RmsNorm(AddRmsNorm):
    """npu_rms_norm: a norm over the last axes."""

    form = AddRmsNorm.form.with_words(
        norm.of_x,
        slots=SLOTS | norm.OF_X,
        outputs=(Norms(), Rounded(norm.rstd)),
        cited=(
            Cited(
                "ascend910b", {"mean": norm.MEANS[1]}, f"{UPSTREAM}/rms_norm/op_kernel/rms_norm.h"
            ),
        ),
    )
    terms = ("self",)
