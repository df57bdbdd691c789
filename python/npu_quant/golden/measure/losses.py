"""How much numbers lose by a conversion, in dB: in all, and in each block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._decibels import decibels, worst
from ..._kinds import wrong
from ..._shown import NoTruth, ShortRepr
from ...errors import ParamError
from ..elements import elements_of
from ..sources import as_source

_SHOWN = 3


@dataclass(frozen=True, repr=False)
class Loss(NoTruth, ShortRepr):
    """What :func:`loss` returns; ``print`` it."""

    _ask = "ask for .sqnr_db"
    sqnr_db: float
    """20 log10(norm(golden) / norm(golden - actual)): inf where nothing is lost, NaN where
    something is not finite, -inf where the golden is 0 and actual is not. Of blocks likewise."""
    blocks: NDArray[np.float64] = field(compare=False)
    """The same of each block."""
    block: tuple[int, ...]
    """How many elements a block has along each of the last axes."""

    def worst(self, k: int = 10) -> list[tuple[tuple[int, ...], float]]:
        """Return the k blocks that lose most, each with its dB, the worst first.

        Block (i, j) of 128 x 128 begins with element [128 i, 128 j].
        """
        return worst(self.blocks, k)

    def __str__(self) -> str:
        lossless, size = (
            int(np.count_nonzero(self.blocks == np.inf)),
            " x ".join(map(str, self.block)),
        )
        lossy = [(place, db) for place, db in self.worst(_SHOWN) if db != np.inf]
        worst = ", ".join(f"{list(place)} {db:.1f} dB" for place, db in lossy) or "none"
        return (
            f"SQNR {self.sqnr_db:.1f} dB; {lossless} of {self.blocks.size} blocks of {size} lose "
            f"nothing; worst {worst}"
        )


def loss(actual: Any, golden: Any, block: Sequence[int] | None = None) -> Loss:
    """Measure how much a conversion loses, in all and block by block.

    Args:
        actual: the numbers after the conversion, such as those that
            :func:`npu_quant.npu_anti_mx_quant` dequantizes: an array, a torch tensor, or what
            :func:`npu_quant.golden.load` returns.
        golden: the numbers before the conversion, in any of these forms, of the same shape.
        block: how many elements a block has along each of the last axes: ``(128, 128)``, ``(1,
            32)``. The last blocks of an axis may have fewer. None: a block is a row.

    Returns:
        A :class:`Loss`: ``sqnr_db``, ``blocks`` and ``worst(k)``. Sums are in float64.

    Raises:
        DTypeError: an argument is not an array, or its dtype has no numbers.
        TypeError: ``block`` is not a sequence of whole numbers.
        ParamError: the shapes differ, there are no elements, or ``block`` does not fit them.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[4, 3, 2, 1], [5, 6, 7, 8]], dtype=np.float32)
        >>> found = npu_quant.golden.loss(np.minimum(x, 7), x, block=(1, 2))
        >>> print(found)
        SQNR 23.1 dB; 3 of 4 blocks of 1 x 2 lose nothing; worst [1, 1] 20.5 dB
    """
    a, g = (
        elements_of(source.dtype).values(source.array())
        for source in (as_source(actual, "actual"), as_source(golden, "golden"))
    )
    if a.shape != g.shape or not g.size:
        raise ParamError(
            f"loss: actual has shape {a.shape}, golden {g.shape}; expected one element or more."
        )
    sizes = g.shape[-1:] if block is None else _sizes(block)
    if not (block is None or 0 < len(sizes) <= g.ndim) or any(size < 1 for size in sizes):
        raise ParamError(f"loss: block is {sizes}, expected 1 to {g.ndim} numbers of 1 or more.")
    with np.errstate(all="ignore"):
        squares = g * g, (a - g) ** 2
        in_all = decibels(*(np.sqrt(some.sum()) for some in squares))
        blocks = decibels(*(np.sqrt(_summed(some, sizes)) for some in squares))
        return Loss(float(in_all), blocks, sizes)


def _sizes(block: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(map(index, block))
    except TypeError:
        raise wrong("loss", "block", block, "a tuple of ints, such as (1, 32)") from None


def _summed(squares: NDArray[np.float64], sizes: tuple[int, ...]) -> NDArray[np.float64]:
    for axis, size in zip(range(-len(sizes), 0), sizes, strict=True):
        squares = np.add.reduceat(squares, np.arange(0, squares.shape[axis], size), axis)
    return squares
