"""npu_dual_level_quant_matmul: products of MX, each 512 k of which have scales of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import _products
from ...ops.dual_level_quant_matmul import LEVEL
from ..elements import elements_of
from . import products, quant_matmul, steps
from .arithmetic import Floats
from .elements import dtype_of
from .formula import Form, Formula, Other, Step
from .model import Array, Flat
from .products import Product
from .quant_matmul import ProductModel, Results

GOLDEN = "Ascend/op-plugin test/test_custom_ops/test_npu_dual_level_quant_matmul.py, its golden"

# Of the sum of 512 k, and the scales of its row and column: what is added.
LEVELS = (
    Step(
        "",
        "p * x1_level0_scale * x2_level0_scale",
        lambda p, row, column: p * row * column,
        roundings=3,  # both products, and the bias's addition
    ),
    Step(
        "x2_level0_scale first",
        "p * x2_level0_scale * x1_level0_scale",
        lambda p, row, column: p * column * row,
        "another order of operations",
    ),
    Step(
        "level 0 scales multiplied first",
        "p * (x1_level0_scale * x2_level0_scale)",
        lambda p, row, column: p * (row * column),
        "scripts that keep one scale for both",
    ),
    Other(
        "x1_level0_scale ignored",
        "p * x2_level0_scale",
        lambda p, row, column: p * column,
        steps.MISTAKE,
    ),
    Other(
        "x2_level0_scale ignored",
        "p * x1_level0_scale",
        lambda p, row, column: p * row,
        steps.MISTAKE,
    ),
    *steps.in_16_bits(
        "sums of 512 k in {short}",
        "{long}(p) * x1_level0_scale * x2_level0_scale",
        "a product of MX for each 512 k, in the dtype of a 16-bit model",
        lambda stored: lambda p, row, column: stored(p) * row * column,
    ),
)


def by_levels(order: Callable[[Product], Array]) -> Callable[[Product], Array]:
    """Return the total of levels, of each of which products are added up in an order."""
    return lambda product: product.add(product.numbers, *product.of_rows, order=order)


ORDERS = (
    products.ORDERS[0],
    Step(
        "512 k at a time",
        ", of 512 k rounded once",
        by_levels(products.by_pieces(LEVEL)),
        f"{GOLDEN}, in which each 512 k are one product of matrices",
    ),
    Step(
        "one k after another",
        ", of 512 k one after another",
        by_levels(products.by_pieces(1)),
        f"{GOLDEN}; a loop over k",
    ),
    Step(
        "16 k at a time",
        ", of 512 k 16 at a time",
        by_levels(products.by_pieces(products.CUBE)),
        products.ORDERS[2].source,
    ),
    Step("rounded once", ", all in float64", products.by_pieces(1 << 62), "scripts of float64"),
)


# Without scales behind the sum, a fused multiply-add is none.
BIASES = tuple(step for step in quant_matmul.SLOTS["bias"] if step.name != "fused")


def text(formula: Formula) -> str:
    """Return the formula in a line."""
    y = f"sum of {formula['levels'].text}{formula['bias'].text}{formula['end'].text}"
    return f"y = {y}, p = x1 @ x2 of 512 k{formula['order'].text}"


class DualLevelQuantMatmul(ProductModel):
    """npu_dual_level_quant_matmul."""

    form = Form(
        {"levels": LEVELS, "order": ORDERS}
        | {slot: quant_matmul.SLOTS[slot][:1] for slot in ("sums", "scale", "scales")}
        | {"bias": BIASES, "end": quant_matmul.SLOTS["end"]},
        text,
        (Results(),),
        "docs/numerics.md 25",
        words=quant_matmul.in_words,
    )

    def prepare(self) -> None:
        """Read the arguments."""
        given = self.inputs
        to = given["output_dtype"]
        self.values = elements_of(dtype_of(15 if to is None else to))
        self._x, self._weight = given["x1"], given["x2"]
        shape = len(self._x), len(self._weight)
        self.columns = shape[1]
        # Nothing is in it but its shape.
        self.read(np.broadcast_to(np.int8(0), shape), np.ones(1, np.float32), None)
        self.is_float_sum = True
        if given["bias"] is not None:
            self.bias = Flat(np.broadcast_to(given["bias"], shape))
        self._products: dict[Step, list[Product]] = {}

    def products(self, formula: Formula) -> Sequence[Product]:
        """Return what is multiplied."""
        step = formula["levels"]
        if step not in self._products:
            self._products[step] = [self._product(step.function)]
        return self._products[step]

    def _product(self, scaled: Callable[..., Floats]) -> Product:
        """Return the product whose sums of 512 k are scaled in a way."""
        given, right = self.inputs, _numbers(self._weight).T
        x1, x2 = given["x1_level1_scale"], given["x2_level1_scale"].swapaxes(0, 1)
        rows, columns = _products.powers_of_two(x1, x2)
        of_column = given["x2_level0_scale"]

        def level(a: Array, powers: Array, j: int) -> Product:
            """Return the product of 512 k."""
            k, own = (slice(j * n, (j + 1) * n) for n in (LEVEL, LEVEL // 32))
            b = right[k]
            return products.of_mx(a[:, k], np.asarray, lambda: b, powers[:, own], columns[own])

        def add(a: Array, powers: Array, of_row: Array, order: Any = products.as_told) -> Array:
            total = np.zeros((len(a), right.shape[1]), np.float32)
            for j, column in enumerate(of_column):
                p = order(level(a, powers, j))
                total = total + scaled(p, of_row[:, j, None], column)
            return total

        def wide(a: Array, powers: Array, of_row: Array) -> tuple[Array, Array]:
            one = np.ones(1)
            row = scaled(np.ones(of_row.shape), of_row.astype(np.float64), one)
            column = scaled(np.ones(of_column.shape), one, of_column.astype(np.float64))
            left, own = products.times(a, powers, -1), products.times(right, columns, 0)
            return products.times(left, row, -1, LEVEL), products.times(own, column, 0, LEVEL)

        return Product(self._x, _numbers, add, wide, (rows, given["x1_level0_scale"]))


def _numbers(x: Array) -> Array:
    """Return what the codes of rows stand for."""
    return products.numbers_in(x, "float4_e2m1")
