"""npu_moe_token_permute, npu_moe_token_unpermute: four copies of each token, and their sum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_moe_token_permute, npu_moe_token_unpermute
from npu_quant.ops import moe_token_permute, moe_token_unpermute

from .operators import Operator, Size

K = 4


def parts(x: NDArray[Any]) -> NDArray[Any]:
    """Return the rows that a row of a bench's array stands for."""
    return x.reshape(len(x) * K, x.shape[1] // K)


def sources(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    """Return where each term lies, and its weight."""
    weights = np.random.default_rng(1).random((size.rows, K), np.float32)
    return np.arange(size.rows * K, dtype=np.int32), weights


def weighed(torch: Any, x: Any, source: Any, weights: Any, y: Any) -> None:
    """As torch's users write it."""
    rows = x.view(len(source), -1).index_select(0, source.long()).float().view(len(y), K, -1)
    y.copy_((rows * weights[:, :, None]).sum(1))


def _indices(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    """Return an index for each copy: those of a token are alike."""
    return (np.repeat(np.arange(size.rows), K).reshape(size.rows, K),)


def _permute(x: NDArray[Any], indices: NDArray[Any], out: Any = None) -> NDArray[Any]:
    into = None if out is None else (out, None)
    return npu_moe_token_permute(x, indices, out=into).permuted_tokens


def _sorted(torch: Any, x: Any, indices: Any, y: Any) -> None:
    order = torch.sort(indices.view(-1), stable=True).indices
    torch.index_select(x, 0, order // K, out=y)


def _unpermute(
    x: NDArray[Any], source: NDArray[Any], weights: NDArray[Any], out: Any = None
) -> NDArray[Any]:
    return npu_moe_token_unpermute(parts(x), source, weights, out=out)


OPERATORS = (
    Operator(
        name="npu_moe_token_permute",
        call=_permute,
        reference=lambda x, i: moe_token_permute.reference(x, i).permuted_tokens,
        outputs=lambda size, dtype: (((size.rows * K, size.n), dtype),),
        eager=_sorted,
        compiled=_sorted,
        arguments=_indices,
        dtypes=("float16", "bfloat16"),
        most_overhead=6.0,
    ),
    Operator(
        name="npu_moe_token_unpermute",
        call=_unpermute,
        reference=lambda x, s, w: moe_token_unpermute.reference(parts(x), s, w),
        outputs=lambda size, dtype: (((size.rows, size.n // K), dtype),),
        eager=weighed,
        compiled=weighed,
        arguments=sources,
        dtypes=("float16", "bfloat16"),
        together=K,
        tolerance=0.5,
        most_overhead=6.0,
    ),
)
