"""npu_moe_token_unpermute: the experts' rows of each token, weighted and added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array


def npu_moe_token_unpermute(
    permuted_tokens: Array,
    sorted_indices: Array,
    probs: Array | None = None,
    padded_mode: bool = False,
    restore_shape: Sequence[int] | None = None,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Return permuted rows to their tokens: add up each token's rows, weighted by probs.

    ::

        t = 0;  t = t + permuted_tokens[sorted_indices[r * K + k]] * probs[r, k]      k = 0 .. K - 1
        result[r] = t, rounded once to permuted_tokens' dtype

    Product and sum are one IEEE float32 operation each, in ascending order of k (docs/numerics.md
    22); 16-bit values are widened exactly. Without probs K is 1, and the rows are copied.

    Args:
        permuted_tokens: (N, H): float16, bfloat16 (``ml_dtypes.bfloat16``) or float32. It may have
            any strides and be unaligned or read-only; so may the arrays below.
        sorted_indices: int32 or int64, (T * K,), 0 or more: the row of each term, as
            :func:`npu_quant.npu_moe_token_permute` returns it.
        probs: float16, bfloat16 or float32, whatever permuted_tokens' dtype, of shape (T, K); None
            to copy the rows.
        padded_mode: False, the only mode.
        restore_shape: None; it belongs to ``padded_mode=True``, which is not available.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        An array (T, H) of permuted_tokens' dtype.

    Rounding is to nearest, ties to even, once, after the last term. Edge cases:

    ==========================================  ===================================================
    what                                        result
    ==========================================  ===================================================
    an index of N or more                       adds nothing, whatever its weight; without probs a
                                                row of zeros
    an index below 0                            an error
    NaN, or 0 * inf, in a term                  NaN
    sums that cancel, and -0 alone              +0; without probs -0 stays
    beyond the range of the dtype               inf or -inf
    terms that float32 rounds                   rounded one by one: the order of k matters
    no tokens, no terms (K = 0)                 empty, zeros
    ==========================================  ===================================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, an index or ``out`` is not allowed, ``padded_mode`` is True, or
            ``restore_shape`` is given.
        TypeError: an attribute is of the wrong kind, such as ``padded_mode=1``.

    Example:
        >>> import numpy as np, npu_quant
        >>> rows = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float16)
        >>> probs = np.array([[0.5, 0.25], [1, 2]], dtype=np.float32)
        >>> npu_quant.npu_moe_token_unpermute(rows, np.array([2, 0, 1, 9], np.int32), probs)
        array([[2.75, 3.5 ],
               [3.  , 4.  ]], dtype=float16)

    Source: torch_npu.npu_moe_token_unpermute (Ascend/op-plugin), which calls aclnnMoeTokenUnpermute
    (hicann/ops-transformer ``moe/moe_token_unpermute``). op-plugin's model in torch rounds each
    product to the tokens' dtype, and leaves the sum to torch.
    """
    return _core.npu_moe_token_unpermute(
        permuted_tokens, sorted_indices, probs, padded_mode, restore_shape, out, numerics
    )


def reference(
    permuted_tokens: NDArray[Any],
    sorted_indices: NDArray[Any],
    probs: NDArray[Any] | None = None,
    padded_mode: bool = False,
    restore_shape: Sequence[int] | None = None,
) -> NDArray[Any]:
    """Compute :func:`npu_moe_token_unpermute` in plain NumPy: the formula, without checks."""
    n, columns = permuted_tokens.shape
    is_there = sorted_indices < n
    # A row of zeros behind the last stands for those that are not there.
    zeros = np.zeros((1, columns), permuted_tokens.dtype)
    rows = np.concatenate([permuted_tokens, zeros])[np.where(is_there, sorted_indices, n)]
    if probs is None:
        return rows
    tokens, k = probs.shape
    terms = rows.astype(np.float32).reshape(tokens, k, columns)
    t = np.zeros((tokens, columns), np.float32)
    with np.errstate(all="ignore"):
        for i in range(k):
            here = is_there.reshape(tokens, k)[:, i, None]
            weight = probs[:, i, None].astype(np.float32)
            t = np.where(here, t + terms[:, i] * weight, t)
        return t.astype(permuted_tokens.dtype)
