"""npu_moe_token_unpermute, npu_moe_finalize_routing: rows of experts, weighed and added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..elements import largest
from . import steps
from .arithmetic import Floats, fused
from .formula import Before, Form, Formula, Other, Output, Step
from .model import ANY, Array, Model, Part

TORCH = "Ascend/op-plugin test/test_custom_ops/test_npu_moe_token_unpermute.py: its model in torch"
BENCH = "a model of aclnnMoeFinalizeRoutingV2's kernel (cann-bench)"


def is_weighed(model: Any) -> bool:
    """Tell whether terms have weights."""
    return model.weights is not None


def has_bias(model: Any) -> bool:
    """Tell whether terms have biases."""
    return model.bias is not None


def has_skips(model: Any) -> bool:
    """Tell whether something is added that no expert made."""
    return bool(model.skips)


def has_several(model: Any) -> bool:
    """Tell whether the order of terms means anything."""
    return bool(model.source.shape[1] > 1)


def lacks_rows(model: Any) -> bool:
    """Tell whether there are biases of rows that are not there."""
    return has_bias(model) and not bool((model.source >= 0).all())


def in_float64(t: Floats, v: Floats, w: Floats) -> Floats:
    """Add a term in float64, and stay there."""
    return t.astype(np.float64) + v.astype(np.float64) * w


def all_narrow(stored: Callable[[Floats], Floats]) -> Callable[..., Floats]:
    """Return the sum that is kept in 16 bits, as its products are."""
    return lambda t, v, w: stored(t + stored(v * w))


SLOTS = {
    "row": (
        Step("", "", lambda is_there: np.ones_like(is_there)),
        Other(
            "rows that are not there left out",
            ", without those that are not there",
            lambda is_there: is_there,
            BENCH,
            lacks_rows,
        ),
    ),
    "bias": (
        Step("", "(row + bias)", lambda v, bias: v + bias),
        Other("bias ignored", "row", lambda v, bias: v, steps.MISTAKE, has_bias),
    ),
    "weight": (
        Step("", "weight", lambda w: w),
        Other("weights ignored", "1", np.ones_like, steps.MISTAKE, is_weighed),
    ),
    "sum": (
        Step("", "sum of %s", lambda t, v, w: t + v * w),
        Step("fused", "sum of %s, fused", lambda t, v, w: fused(v, w, t), "fused multiply-add"),
        Step("float64 sum", "float64 sum of %s", in_float64, "NumPy scripts in float64"),
        *steps.in_16_bits(
            "products in {short}",
            "sum of {long}(%s)",
            TORCH,
            lambda stored: lambda t, v, w: t + stored(v * w),
            is_weighed,
        ),
        *steps.in_16_bits(
            "sums in {short}",
            "{long} sum of {long}(%s)",
            "scripts that add up in the dtype of a 16-bit model",
            all_narrow,
        ),
    ),
    "order": (
        Step("", "", list),
        Step(
            "last term first",
            ", the last one first",
            lambda terms: [*terms][::-1],
            "another order of operations",
            has_several,
        ),
    ),
    "skip": (
        Step("", "", lambda skips: skips),
        Other("skips ignored", ", without skips", lambda skips: [], steps.MISTAKE, has_skips),
    ),
}


@dataclass(frozen=True)
class Terms:
    """What number k of the terms of some tokens is made of."""

    row: Floats
    is_there: Array
    bias: Floats
    weight: Floats


class RowPart(Part):
    """Some tokens."""

    def __init__(self, model: WeighedModel, first: int, last: int) -> None:
        super().__init__(model, ((first * model.unit, last * model.unit),), first, last)

    def term(self, k: int) -> Terms:
        """Return one of the terms of each token, in its floats."""
        model, rows = self.model, slice(*self.range)
        source = model.source[rows, k]
        is_there = (source >= 0)[:, None]
        own = np.where(is_there, model.rows[source], 0).astype(self.floats)
        bias, weight = -np.zeros(1, self.floats), np.ones((1, 1), self.floats)
        if model.bias is not None:
            bias = model.bias[model.experts[rows, k]].astype(self.floats)
        if model.weights is not None:
            weight = model.weights[rows, k, None].astype(self.floats)
        return Terms(own, is_there, bias, weight)

    def skips(self) -> list[Floats]:
        """Return what is added that no expert made."""
        return [skip[slice(*self.range)].astype(self.floats) for skip in self.model.skips]


class Sums(Output):
    """The sums of some tokens, in the rows' dtype."""

    def make(self, formula: Formula, part: RowPart) -> Array:
        """Return the elements of a part."""
        model = part.model
        if model.copies:
            return self._copies(model, slice(*part.range)).reshape(-1)
        return np.asarray(self._of(formula, part).astype(model.dtype)).reshape(-1)

    def before(self, formula: Formula, part: RowPart) -> Before:
        """Return them in float64, and the largest of their terms."""
        wide = part.wide()
        terms = [wide.term(k) for k in range(part.model.source.shape[1])]
        own = [(t.row + t.bias) * t.weight for t in terms]
        value = self._of(formula, wide)
        return value.reshape(-1), largest(value, *own, *wide.skips()).reshape(-1)

    @staticmethod
    def _copies(model: WeighedModel, rows: slice) -> Array:
        source = model.source[rows, 0]
        zero = np.zeros(1, model.dtype)
        return np.asarray(np.where((source >= 0)[:, None], model.rows[source], zero))

    def _of(self, formula: Formula, part: RowPart) -> Floats:
        first, last = part.range
        skips = formula["skip"].function(part.skips())
        t: Floats = np.zeros((last - first, part.model.unit), part.floats)
        t = skips[0] + skips[1] if len(skips) > 1 else skips[0] if skips else t
        for k in formula["order"].function(range(part.model.source.shape[1])):
            term = part.term(k)
            v = formula["bias"].function(term.row, term.bias)
            added = formula["sum"].function(t, v, formula["weight"].function(term.weight))
            counts = term.is_there
            if not part.model.leaves_out_none:
                counts = formula["row"].function(counts)
            t = np.where(counts, added, t)
        return t


def text(formula: Formula) -> str:
    """Return how y comes about."""
    term = f"{formula['weight'].text} * {formula['bias'].text}"
    words = formula["sum"].text % term
    return f"y = {words}" + "".join(formula[s].text for s in ("order", "row", "skip"))


class WeighedModel(Model):
    """Rows that are found by a table, of each token some."""

    form = Form(SLOTS, text, (Sums(),), "docs/numerics.md 22")
    has_scale_per_row = False
    copies = False
    """Whether rows are taken as they are."""
    leaves_out_none = False
    """Whether a row that is not there adds nothing."""
    weights: Array | None = None
    bias: Array | None = None
    experts: Array
    skips: tuple[Array, ...] = ()

    def read_rows(self, rows: Array, source: Array) -> None:
        """Take the rows, and which of them each token has: -1 for none."""
        self.dtype, self.unit = rows.dtype, int(rows.shape[-1])
        rows = rows.reshape(int(np.prod(rows.shape[:-1])), self.unit)
        # That of number -1 stands for none.
        self.rows = np.concatenate([rows, np.zeros((1, self.unit), rows.dtype)])
        self.source = source

    def allowed_for(self, output: int) -> float:
        """Return k: each term is rounded when it is made and when it is added."""
        terms = int(self.source.shape[1])
        return float((2 + (self.bias is not None)) * terms + len(self.skips))

    def most_steps(self, output: int) -> float:
        """Return any number: terms may take each other away."""
        return ANY

    def whole(self) -> list[Part]:
        """Return all tokens."""
        return [RowPart(self, 0, len(self.source))]


class TokenUnpermute(WeighedModel):
    """npu_moe_token_unpermute."""

    leaves_out_none = True

    def prepare(self) -> None:
        """Read the arguments."""
        rows, source = self.inputs["permuted_tokens"], self.inputs["sorted_indices"]
        self.weights = self.inputs["probs"]
        self.copies = self.weights is None
        shape = (len(source), 1) if self.weights is None else self.weights.shape
        self.read_rows(rows, np.where(source < len(rows), source, -1).reshape(shape))


class FinalizeRouting(WeighedModel):
    """npu_moe_finalize_routing."""

    def prepare(self) -> None:
        """Read the arguments."""
        inputs, source = self.inputs, self.inputs["expanded_src_to_dst_row"]
        self.weights, self.bias = inputs["scales"], inputs["bias"]
        self.skips = tuple(inputs[n] for n in ("skip1", "skip2") if inputs[n] is not None)
        if self.bias is not None:
            self.experts = inputs["export_for_source_row"]
        terms = (inputs["k"] or 1) if self.weights is None else self.weights.shape[1]
        tokens = len(source) // terms if self.weights is None else len(self.weights)
        is_across = (inputs["drop_pad_mode"] or 0) < 2
        table = source.reshape(terms, tokens).T if is_across else source.reshape(tokens, terms)
        self.read_rows(inputs["expanded_permuted_rows"], table)
