"""npu_grouped_matmul: each group of rows is a product as npu_quant_matmul's, by its own weight.

The weights of floats are codes as npu_weight_quant_batchmatmul's, or floats themselves.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ... import _products
from ...ops import quant_matmul as page
from ..elements import elements_of
from . import glu, products, quant_matmul, steps, weight_quant_batchmatmul
from .arithmetic import Floats, stored_in
from .elements import ElementPart, Spread, dtype_of
from .formula import Before, Form, Formula, Other, Step, only_if
from .model import Array, Part
from .products import AS_TOLD, GROUPED, GROUPS, Product
from .quant_matmul import ProductModel, Results

RELU, SWISH = 1, 5
"""Of act_type."""
KEPT = 8
"""How many weights are kept as numbers: those of all experts may be too many."""
FLOAT4 = "float4_e2m1"


def has_codes(model: Any) -> bool:
    """Tell whether floats are multiplied by a weight of codes."""
    return model.inputs["antiquant_scale"] is not None


def has_act(model: Any) -> bool:
    """Tell whether there is an activation."""
    return bool(model.act)


def is_swish(model: Any) -> bool:
    """Tell whether it is a swish."""
    return bool(model.act == SWISH)


def acted(v: Floats, model: Any) -> Floats:
    """Return what the activation makes of values."""
    if model.act == RELU:
        return np.where(v <= 0, v.dtype.type(0), v)
    return glu.SWISHES[0].function(v, v) if is_swish(model) else v


def swish(step: Step) -> Step:
    """Return another swish of glu.py as an activation."""
    return replace(
        step,
        text=f", swish = {step.text} of act_type 5",
        function=lambda v, model, to: step.function(v, v),
        applies=is_swish,
        roundings=0,
    )


def weight(step: Step) -> Step:
    """Return a way to make values of codes in this operator's words."""
    names = step.name.replace("offset", "antiquant_offset")
    words = step.text.replace("offset", "antiquant_offset").replace("scale", "antiquant_scale")
    is_golden = step.name == "weight + offset in 16 bits"
    source = f"{GROUPED}, its golden of float16 by codes" if is_golden else step.source
    return replace(step, name=names, text=words, source=source)


ACTS = (
    Step("", "", lambda v, model, to: acted(v, model)),
    Other(
        "activation ignored",
        ", without act_type's",
        lambda v, model, to: v,
        steps.MISTAKE,
        has_act,
    ),
    Other(
        "value in 16 bits before the activation",
        ", act_type's of values in output_dtype",
        lambda v, model, to: acted(to(v), model),
        "two operators, the second an activation",
        is_swish,
    ),
    *map(swish, glu.SWISHES[1:5]),
)
WEIGHTS = only_if(has_codes, [*map(weight, weight_quant_batchmatmul.SLOTS["weights"])])
SLOTS = quant_matmul.SLOTS | {"act": ACTS, "weights": WEIGHTS, "groups": GROUPS}


def in_words(words: str) -> str:
    """Return what npu_quant_matmul says in the words of this operator."""
    return quant_matmul.in_words(words).replace("pertoken_scale", "per_token_scale")


def text(formula: Formula) -> str:
    """Return the formula in a line."""
    words = quant_matmul.text(formula).replace("x1 @ x2", "x @ weight")
    own = formula["weights"]
    made = f", weight = {own.text.replace('{x}', 'dtype')}" if own.name else ""
    return f"{words}{formula['act'].text}{made}{formula['groups'].text}"


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that have a weight."""

    number: int
    """That of the weight."""
    entry: int
    """That of the array in x that has the rows."""
    x: Array
    tokens: Array | None
    k: slice = field(default_factory=lambda: slice(None))
    """Of the rows' columns, and of the weight's rows."""


class GroupPart(ElementPart):
    """Some elements of one of the results."""

    model: GroupedMatmul

    def __init__(self, model: GroupedMatmul, begin: int, end: int, number: int = 0) -> None:
        super().__init__(model, begin, end)
        self.number = number
        before = [(n, n) for n in model.sizes[:number]]
        behind = [(0, 0) for _ in model.sizes[number + 1 :]]
        self.spans = (*before, (begin, end), *behind)

    def between(self, begin: int, end: int) -> Part:
        """Return some of its elements."""
        return GroupPart(self.model, begin, end, self.number)

    def result(self, formula: Formula) -> ElementPart:
        """Return the same elements of the result, by the groups of a formula."""
        step = formula["groups"]
        own = self.model.result(self.number, step)
        return self.once(step, lambda: ElementPart(own, *self.range))


class GroupResults(Results):
    """Those of one of the results: of parts of others there are none."""

    def __init__(self, number: int) -> None:
        self._number = number

    def make(self, formula: Formula, part: Any) -> Array:
        """Return them in their dtype."""
        if part.number != self._number:
            return np.zeros(0, part.model.values.carrier)
        return super().make(formula, part.result(formula))

    def before(self, formula: Formula, part: Any) -> Before:
        """Return them in float64, and the largest of themselves and their terms."""
        if part.number != self._number:
            return np.zeros(0), np.zeros(0)
        return super().before(formula, part.result(formula))


class OfGroups:
    """A parameter of columns for each group, for the elements of its rows; 0 for those of none."""

    def __init__(self, values: Sequence[Array], owner: Array) -> None:
        self._values = np.stack([*values, np.zeros_like(values[0])])
        self._owner = owner
        self.size = len(owner) * self._values.shape[1]

    def read(self, begin: int, end: int) -> Array:
        """Return its values at elements [begin, end)."""
        row, column = np.divmod(np.arange(begin, end), max(1, self._values.shape[1]))
        return np.asarray(self._values[self._owner[row], column])


class GroupedMatmul(ProductModel):
    """npu_grouped_matmul; and, as a copy, each of its results by one way to find the groups."""

    form = Form(SLOTS, text, (GroupResults(0),), "docs/numerics.md 21.2", words=in_words)
    has_scale_per_row = False
    groups: list[Group]
    _products: dict[Step, Sequence[Product]]

    def prepare(self) -> None:
        """Read the arguments."""
        given = self.inputs
        x, codes = given["x"][0].dtype, given["weight"][0].dtype
        self.group_list = None if given["group_list"] is None else np.asarray(given["group_list"])
        self.list_type = given["group_list_type"] or 0
        self.splits_k, self.is_one = given["group_type"] == 2, given["split_item"] in (2, 3)
        self.reads_list = self.is_one and self.group_list is not None
        self.row_count = given["x"][0].shape[1 if self.splits_k else 0]
        self.act, self.offset = given["act_type"] or 0, given["antiquant_offset"]
        to = given["output_dtype"]
        self.values = elements_of(x if to is None else dtype_of(to))
        is_whole = x in (np.int8, np.int32)
        self.has_floats = x.name in ("float16", "bfloat16", "float32")
        self.in_groups = is_whole and codes == np.int32
        self.is_float_sum = self.in_groups or not is_whole
        self.is_shifted = self.in_groups and x == np.int8
        self.has_own_scales = not self.is_float_sum
        self._matrix = lru_cache(KEPT)(self._matrix_of)
        self._results: dict[tuple[int, Step], GroupedMatmul] = {}
        self.unwritten_by: dict[Step, Array | None] = {}
        every = range(len(self._groups(AS_TOLD)))
        self.sizes = [self.result(i, AS_TOLD).x.size for i in every]
        if len(every) > 1:
            self.outputs = tuple(f"y{i}" for i in every)
            self.kinds = ("values",) * len(every)
            self.form = replace(self.form, outputs=tuple(map(GroupResults, every)))
        results = [self.result(i, AS_TOLD) for i in every]
        for name in ("activations", "integers", "bias", "offsets"):
            setattr(self, name, getattr(results[0], name))

    def allowed_for(self, output: int) -> float:
        """Return k: a swish rounds five times, as that of glu.py."""
        return self.form.allowed + glu.SWISHES[0].roundings * is_swish(self)

    def whole(self) -> list[Part]:
        """Return all elements of each result."""
        return [GroupPart(self, 0, size, i) for i, size in enumerate(self.sizes)]

    def unwritten(self, formula: Formula) -> Array | None:
        """Return which rows a way to find the groups gives to no weight."""
        reads_rows = self.reads_list and not self.splits_k
        return products.unwritten(self, formula["groups"]) if reads_rows else None

    def result(self, number: int, step: Step) -> GroupedMatmul:
        """Return a result by itself, by the groups of a step."""
        if (number, step) not in self._results:
            own = copy.copy(self)
            own.take(self._groups(step)[number])
            self._results[number, step] = own
        return self._results[number, step]

    def _groups(self, step: Step) -> list[list[Group]]:
        """Return the groups of each result."""
        x, tokens = self.inputs["x"], self.inputs["per_token_scale"]
        made = []
        if self.group_list is None:
            for i, rows in enumerate(x):
                flat = rows.reshape(-1, rows.shape[-1])
                made.append(Group(i, i, flat, None if tokens is None else tokens[i]))
            return [made] if self.is_one else [[group] for group in made]
        end = 0
        for number, count in zip(*(own.tolist() for own in step.function(self)), strict=True):
            rows, end = slice(end, end + count), end + count
            if self.splits_k:
                made.append(Group(0, 0, x[0][:, rows], None, rows))
            else:
                made.append(
                    Group(number, 0, x[0][rows], None if tokens is None else tokens[0][rows])
                )
        if self.is_one:
            return [made]
        return [[group] for group in sorted(made, key=lambda group: group.number)]

    def take(self, groups: list[Group]) -> None:
        """Read what goes with the groups of a result."""
        self.groups, self._products = groups, {}
        counts = [len(group.x) for group in groups]
        count = self.row_count if self.reads_list and not self.splits_k else sum(counts)
        owner = np.repeat(np.arange(len(groups)), counts)
        self.owner = np.pad(owner, (0, count - len(owner)), constant_values=-1)
        self.columns = self._matrix(groups[0], WEIGHTS[0]).shape[1]
        shape = count, self.columns
        # Nothing is in it but its shape.
        self.read(np.broadcast_to(np.int8(0), shape), np.ones(1, np.float32), None)
        scale, bias = (self._own(name, groups[0]) for name in ("scale", "bias"))
        if scale is not None and not self.is_float_sum:
            self.scale = self._of_groups("scale", page.scales_of)
        if self.values.carrier == np.int8:
            self.offsets = self._of_groups("scale", lambda own: _products.carried(own)[1])
        if bias is not None and (bias.dtype == np.int32 or self.is_shifted):
            self.integers = self._of_groups("bias", np.asarray)
        elif bias is not None:
            self.bias = self._of_groups("bias", lambda own: own.astype(np.float32))
        tokens = [group.tokens for group in groups if group.tokens is not None]
        if tokens and tokens[0].dtype == np.float32:
            own = np.concatenate(tokens)
            self.activations = Spread(np.pad(own, (0, count - len(own))), shape, 0)

    def _own(self, name: str, group: Group) -> Any:
        """Return the argument of a group's weight."""
        given, stacks = self.inputs[name], self.inputs["weight"][0].ndim == 3
        if given is None:
            return None
        return np.asarray(given[0][group.number] if stacks else given[group.number])

    def _of_groups(self, name: str, read: Callable[[Any], Array]) -> OfGroups:
        return OfGroups([read(self._own(name, group)) for group in self.groups], self.owner)

    def _numbers(self, x: Array) -> Array:
        """Return what rows of x stand for: of floats themselves."""
        return x if self.has_floats else products.numbers_in(x, FLOAT4) - 8 * self.is_shifted

    def _matrix_of(self, group: Group, step: Step) -> Array:
        """Return what the weight of a group stands for, by a step of slot weights."""
        weight, x = self._own("weight", group), self.inputs["x"][group.entry]
        scale, offset = (self._own(f"antiquant_{name}", group) for name in ("scale", "offset"))
        if not self.has_floats:
            return _products.factors(x[:0], weight, FLOAT4, FLOAT4)[1]
        if scale is None:
            return np.asarray(weight)
        k = x.shape[-1]
        numbers = _products.matrix_of(weight, _products.codes_in(weight), k)
        size = k // len(scale) if scale.ndim == 2 else 0
        nothing = -np.zeros(1, np.float32)
        added = nothing if offset is None else _products.spread(offset, size, k)
        with np.errstate(all="ignore"):
            own = step.function(
                numbers, _products.spread(scale, size, k), added, stored_in(x.dtype)
            )
        return np.asarray(own)

    def products(self, formula: Formula) -> Sequence[Product]:
        """Return what is multiplied, one under the other."""
        step = formula["weights"]
        if step not in self._products:
            self._products[step] = [self._product(group, step) for group in self.groups]
        return self._products[step]

    def _product(self, group: Group, step: Step) -> Product:
        def right() -> Array:
            return self._matrix(group, step)[group.k]

        scale = self._own("scale", group)
        if not self.is_float_sum:
            return products.of_integers(group.x, self._numbers, right)
        if self.in_groups:
            return products.in_groups(group.x, self._numbers, right, page.scales_of(scale))
        if self.has_floats:
            return products.of_floats(group.x, right)
        assert group.tokens is not None
        powers = _products.powers_of_two(group.tokens, scale)
        return products.of_mx(group.x, self._numbers, right, *powers)
