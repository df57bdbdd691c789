"""Products of matrices as formulas have them: rows times a matrix, added up in one of many orders.

An operator's product is a list of these, one under the other: of one weight, of a batch, or of the
experts of a layer, of which each has some rows. Only the rows of a part are ever added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import _products
from ...dtypes import DTypeName
from . import steps
from .edges import counts_of
from .formula import Other, Step
from .model import Array

CUBE = 16
"""How many products the device's matrix unit adds at a time."""
V4 = "hicann/ops-nn matmul/quant_batch_matmul_v4"
HALVES = "cann/ops-transformer gmm/grouped_matmul_swiglu_quant/docs"
GROUPED = "Ascend/op-plugin test/test_custom_ops/test_npu_grouped_matmul.py"


Matrix = Callable[[], Array]
"""What gives a matrix when it is asked for: those of all experts may be too much to be kept."""


@dataclass(frozen=True, eq=False)
class Product:
    """Some rows, times a matrix."""

    left: Array
    """The rows as they are given."""
    numbers_of: Callable[[Array], Array]
    """What they stand for, (M, K)."""
    add: Callable[..., Array]
    """Of numbers and what goes with each row: the sums of the operator."""
    wide: Callable[..., tuple[Array, Array]]
    """Of the same: both factors in float64, with all that is multiplied before it is added up."""
    of_rows: tuple[Array, ...] = ()
    """What goes with each row."""
    groups: Callable[[Array], Iterator[Array]] | None = None
    """Of numbers: the scaled sums of the groups along k, where there are such, and what is taken
    from each by its offset."""

    def rows(self, first: int, last: int) -> Product:
        """Return the product of some rows."""
        own = tuple(given[first:last] for given in self.of_rows)
        return replace(self, left=self.left[first:last], of_rows=own)

    @property
    def numbers(self) -> Array:
        """What the rows stand for."""
        return self.numbers_of(self.left)

    def factors(self) -> tuple[Array, Array]:
        """Return both factors."""
        return self.wide(self.numbers, *self.of_rows)


def of_integers(left: Array, numbers_of: Any, right: Matrix) -> Product:
    """Return a product of integers, whose sums are exact."""

    def add(a: Array) -> Array:
        return _products.whole_sums(a, right())

    return Product(left, numbers_of, add, lambda a: (a, right()))


def in_groups(
    left: Array, numbers_of: Any, right: Matrix, scale: Array, offset: Array | None = None
) -> Product:
    """Return a product of integers, whose sums over groups along k are scaled and added up."""

    def wide(a: Array) -> tuple[Array, Array]:
        size = a.shape[-1] // max(1, len(scale))
        moved = right() if offset is None else right() - np.repeat(offset, size, 0)
        return a, moved * np.repeat(scale, size, 0).astype(np.float64)

    def groups(a: Array) -> Iterator[Array]:
        matrix, size = right(), a.shape[-1] // max(1, len(scale))
        for j in range(len(scale)):
            k, own = slice(j * size, (j + 1) * size), slice(j, j + 1)
            yield _products.group_sums(a[:, k], matrix[k], scale[own])
            if offset is not None:
                yield -a[:, k].sum(1, keepdims=True) * (offset[own] * scale[own])

    def add(a: Array) -> Array:
        return _products.group_sums(a, right(), scale, offset)

    return Product(left, numbers_of, add, wide, groups=groups)


def of_floats(left: Array, right: Matrix) -> Product:
    """Return a product of floats."""

    def wide(a: Array) -> tuple[Array, Array]:
        return a.astype(np.float64), right().astype(np.float64)

    return Product(left, np.asarray, lambda a: _products.chunked(a, right()), wide)


def of_blocks(left: Array, numbers_of: Any, right: Matrix) -> Product:
    """Return a product of small floats, added up in blocks of 32 k."""

    def add(a: Array) -> Array:
        return _products.block_sums(a, right())

    return Product(left, numbers_of, add, lambda a: (a, right()))


def numbers_in(codes: Array, named: DTypeName | None = None) -> Array:
    """Return what the codes of a matrix stand for, in float64."""
    return _products.matrix_of(codes, named).astype(np.float64)


def of_mx(left: Array, numbers_of: Any, right: Matrix, rows: Array, columns: Array) -> Product:
    """Return the same, whose blocks are multiplied by powers of two of their row and column."""

    def wide(a: Array, powers: Array) -> tuple[Array, Array]:
        return times(a, powers, -1), times(right(), columns, 0)

    def add(a: Array, powers: Array) -> Array:
        return _products.block_sums(a, right(), (powers, columns))

    return Product(left, numbers_of, add, wide, (rows,))


def times(matrix: Array, factors: Array, axis: int, size: int = _products.BLOCK) -> Array:
    """Return a matrix, so many k of which have a factor."""
    every = np.repeat(factors.astype(np.float64), size, axis)
    return np.asarray(matrix * np.take(every, range(matrix.shape[axis]), axis))


# In which order: of a product the sums, (M, N).


def as_told(product: Product) -> Array:
    """Add up as the operator does."""
    return product.add(product.numbers, *product.of_rows)


def exact(product: Product) -> Array:
    """Add up in float64."""
    a, b = product.factors()
    return np.asarray(a @ b)


def by_pieces(count: int) -> Callable[[Product], Array]:
    """Return the sum of so many products at a time, each rounded to float32 once."""

    def add(product: Product) -> Array:
        a, b = product.factors()
        total = np.zeros((len(a), b.shape[1]), np.float32)
        for k in range(0, len(b), count):
            total = total + (a[:, k : k + count] @ b[k : k + count]).astype(np.float32)
        return total

    return add


def halves_of(product: Product) -> tuple[Array, Array]:
    """Return the upper and the lower four bits of x, which are what x - 8 is made of."""
    x = product.numbers + 8
    upper = np.floor(x / 16)
    return upper, x - 16 * upper - 8


def in_halves(product: Product) -> Array:
    """Add up products of the upper and the lower four bits of x by themselves."""
    upper, lower = (product.add(half, *product.of_rows) for half in halves_of(product))
    return np.asarray(np.float32(16) * upper + lower)


def in_halves_of_float16(product: Product) -> Array:
    """Do that with sums of groups in float16."""

    def total(half: Array) -> Array:
        if product.groups is None:
            return product.add(half, *product.of_rows)
        added = np.zeros((len(half), product.wide(half)[1].shape[1]), np.float16)
        for scaled in product.groups(half):
            added += scaled.astype(np.float16)
        return added.astype(np.float32)

    upper, lower = map(total, halves_of(product))
    return np.asarray(np.float32(16) * upper + lower)


def is_float_sum(model: Any) -> bool:
    """Tell whether what is added up is rounded."""
    return bool(model.is_float_sum)


def adds_floats(model: Any) -> bool:
    """Tell whether products of floats are added up."""
    return is_float_sum(model) and not model.in_groups


def is_shifted(model: Any) -> bool:
    """Tell whether 8 is taken from x."""
    return bool(model.is_shifted)


ORDERS = (
    Step("", "", as_told),
    Step("one k after another", " one k after another", by_pieces(1), V4, adds_floats),
    Step(
        "16 k at a time",
        " 16 k at a time",
        by_pieces(CUBE),
        "the device's matrix unit, which adds 16 products at a time",
        adds_floats,
    ),
    Step("rounded once", " in float64", by_pieces(1 << 62), "torch.mm of float64", is_float_sum),
    Step("halves of x apart", " of 4 bits of x at a time", in_halves, HALVES, is_shifted),
    Other(
        "halves of x in fp16",
        " of 4 bits of x at a time, groups in float16",
        in_halves_of_float16,
        f"{GROUPED}, its golden of int8 by int4",
        is_shifted,
    ),
)


def sums_of(own: Sequence[Product], columns: int, way: Any, first: int, last: int) -> Array:
    """Return the sums of rows [first, last) of products, one under the other; 0 behind them."""
    made, begin = [], 0
    for product in own:
        end = begin + len(product.left)
        rows = max(first, begin) - begin, min(last, end) - begin
        if rows[0] < rows[1]:
            made.append(way(product.rows(*rows)))
        begin = end
    if last > begin:
        dtype = made[0].dtype if made else np.int32
        made.append(np.zeros((last - max(first, begin), columns), dtype))
    return np.concatenate(made) if made else np.zeros((0, columns), np.int32)


# Which rows each weight has: the numbers of the weights, and how many rows each.

Groups = tuple[Array, Array]


def read_as(list_type: int | None) -> Callable[[Any], Groups]:
    """Return how a group_list is read: as one of a type, or of the model's own.

    Rows that are none's count for no formula: what devices have there means nothing.
    """

    def groups(model: Any) -> Groups:
        own, kind = model.group_list, list_type
        if kind is None or own.ndim > 1:  # pairs are not read as anything else
            kind = model.list_type
        counts = np.maximum(counts_of(own, kind), 0)
        most = counts_of(own, model.list_type).sum()
        numbers = own[:, 0] if kind == 2 else np.arange(len(own))
        return numbers, np.diff(np.minimum(np.cumsum(counts), most), prepend=0)

    return groups


def unwritten(model: Any, step: Step) -> Array | None:
    """Return which rows a step gives to no weight, though they have one: what is there is not its.

    None where no other row tells the step from the operator.
    """
    known: dict[Step, Array | None] = model.unwritten_by
    if step not in known:
        known[step] = None if step is AS_TOLD else _unwritten(model, step)
    return known[step]


def _unwritten(model: Any, step: Step) -> Array | None:
    def weights(step: Step) -> Array:
        own = np.repeat(*step.function(model))
        return np.pad(own, (0, model.row_count - len(own)), constant_values=-1)

    told, own = (weights(one) for one in (AS_TOLD, step))
    there = own >= 0
    return (told >= 0) & ~there if (there & (own != told)).any() else None


def of_first(model: Any) -> Groups:
    """Give all rows to the first weight."""
    numbers, counts = read_as(None)(model)
    return numbers * 0, counts


def in_order(model: Any) -> Groups:
    """Give rows to weights in the order of these."""
    numbers, counts = read_as(None)(model)
    return np.arange(len(numbers)), counts


def has_list(*types: int) -> Any:
    """Return whether rows are in groups, by a group_list of one of these types."""
    return lambda model: model.reads_list and model.list_type in types


AS_TOLD = Step("", "", read_as(None))
AS_COUNTS = Other(
    "group_list as counts",
    ", group_list holding counts",
    read_as(1),
    "group_list_type 1",
    has_list(0),
    attribute="group_list_type=1",
)
AS_ENDS = Other(
    "group_list as ends",
    ", group_list holding ends",
    read_as(0),
    "group_list_type 0",
    has_list(1),
    attribute="group_list_type=0",
)
IN_ORDER = Other(
    "weights in order",
    ", weights in their own order",
    in_order,
    "group_list_type 1 of the same counts",
    has_list(2),
)
FIRST_FOR_ALL = Other(
    "first weight for all",
    ", all rows by the first weight",
    of_first,
    steps.MISTAKE,
    has_list(0, 1, 2),
)
GROUPS = (AS_TOLD, AS_COUNTS, AS_ENDS, IN_ORDER, FIRST_FOR_ALL)
