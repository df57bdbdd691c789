"""npu_moe_token_permute: a copy of each token per expert, sorted by expert."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array


class MoeTokenPermuteResult(NamedTuple):
    """The copies sorted by their indices, and the place of each copy."""

    permuted_tokens: NDArray[Any]
    sorted_indices: NDArray[np.int32]


def npu_moe_token_permute(
    tokens: Array,
    indices: Array,
    num_out_tokens: int | None = None,
    padded_mode: bool = False,
    *,
    out: tuple[Array | None, ...] | None = None,
    numerics: str | None = None,
) -> MoeTokenPermuteResult:
    """Copy each of T tokens K times, and sort the copies by their indices.

    ::

        order = stable argsort of indices.ravel()
        permuted_tokens[i] = tokens[order[i] // K]        for i < n
        sorted_indices[order[i]] = i                      for all T * K of them

    Rows are copied bit for bit (docs/numerics.md 22). n is T * K if ``num_out_tokens`` is None or
    0; ``num_out_tokens``, at most T * K, if it is positive; and ``T * K + num_out_tokens``, at
    least 0, if it is negative. :func:`npu_quant.npu_moe_token_unpermute` is the inverse.

    Args:
        tokens: (T, H): float16, bfloat16 (``ml_dtypes.bfloat16``), float32 or int8. It may have any
            strides and be unaligned or read-only; so may the arrays below.
        indices: int32 or int64, (T,) or (T, K): the expert of each copy. Any integers.
        num_out_tokens: how many copies are kept: those with the smallest indices.
        padded_mode: False, the only mode.
        out: a tuple of two arrays to write into, None where one is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(permuted_tokens, sorted_indices)``: an array (n, H) of tokens' dtype, and int32 (T * K,).

    Rounding does not happen. Edge cases:

    ==========================================  ===================================================
    what                                        result
    ==========================================  ===================================================
    equal indices                               keep the order of their tokens
    an index below 0                            before all others, as numbers are ordered
    NaN                                         the same bits
    num_out_tokens beyond T * K                 all copies
    num_out_tokens below -T * K                 no rows; sorted_indices is whole
    indices (T,)                                K is 1
    no tokens                                   empty
    ==========================================  ===================================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape or ``out`` is not allowed, or ``padded_mode`` is True.
        TypeError: an attribute is of the wrong kind, such as ``num_out_tokens=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> tokens = np.array([[1], [2]], dtype=np.float16)
        >>> indices = np.array([[1, 0], [0, 2]])
        >>> permuted, sorted_indices = npu_quant.npu_moe_token_permute(tokens, indices)
        >>> permuted.tolist(), sorted_indices.tolist()
        ([[1.0], [2.0], [1.0], [2.0]], [2, 0, 1, 3])

    Source: torch_npu.npu_moe_token_permute (Ascend/op-plugin), which calls aclnnMoeTokenPermute
    (hicann/ops-transformer ``moe/moe_token_permute``).
    """
    return _core.npu_moe_token_permute(
        MoeTokenPermuteResult, tokens, indices, num_out_tokens, padded_mode, out, numerics
    )


def reference(
    tokens: NDArray[Any],
    indices: NDArray[Any],
    num_out_tokens: int | None = None,
    padded_mode: bool = False,
) -> MoeTokenPermuteResult:
    """Compute :func:`npu_moe_token_permute` in plain NumPy: the formula, without checks."""
    order = np.argsort(indices.ravel(), kind="stable")
    kept = order[: num_out_tokens or None]
    k = 1 if indices.ndim == 1 else indices.shape[1]
    return MoeTokenPermuteResult(tokens[kept // max(k, 1)], np.argsort(order).astype(np.int32))
