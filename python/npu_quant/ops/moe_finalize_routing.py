"""npu_moe_finalize_routing: the weighted sum of each token's expert rows, biases and skips."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array


def npu_moe_finalize_routing(
    expanded_permuted_rows: Array,
    skip1: Array | None,
    skip2: Array | None,
    bias: Array | None,
    scales: Array | None,
    expanded_src_to_dst_row: Array,
    export_for_source_row: Array | None,
    drop_pad_mode: int | None = 0,
    k: int | None = 1,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Add up the experts' outputs for each token.

    ::

        t = skip1 + skip2, or the skip that is given, or 0
        t = t + scales[i, k] * (row + bias[export_for_source_row[i, k]])        k = 0 .. K - 1
        result[i] = t, rounded once to the rows' dtype

    An argument that is not given is left out of the formula. Every operation is one IEEE float32
    operation, in ascending order of k (docs/numerics.md 22); 16-bit values are widened exactly. For
    n tokens, term k of token i takes this row:

    =============  =========================================  ==========================
    drop_pad_mode  row                                        expanded_permuted_rows
    =============  =========================================  ==========================
    0              ``expanded_src_to_dst_row[k * n + i]``     (M, H), such as n * K rows
    1              the same, or -1: a row of zeros            (E, C, H), as E * C rows
    2              ``expanded_src_to_dst_row[i * K + k]``     as 0
    3              the same, or -1: a row of zeros            as 1
    =============  =========================================  ==========================

    Args:
        expanded_permuted_rows: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of the shape
            in the table. It may have any strides and be unaligned or read-only; so may the arrays
            below.
        skip1: of the rows' dtype, (n, H), or None.
        skip2: the same as skip1.
        bias: of the rows' dtype, (E, H): one row for each expert; or None.
        scales: float16, bfloat16 or float32, whatever the rows' dtype, of shape (n, K); None: 1.
        expanded_src_to_dst_row: int32, (n * K,): the row of each term, see the table.
        export_for_source_row: int32, (n, K): the expert of each term. Required with bias; otherwise
            it has no effect. (torch_npu's spelling.)
        drop_pad_mode: 0 to 3, as in the table; None means 0.
        k: K, 1 or more, if there are no scales; None means 1. With scales it has no effect.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        An array (n, H) of the rows' dtype.

    Rounding is to nearest, ties to even, once, after the last term. Edge cases:

    ==========================================  ===================================================
    what                                        result
    ==========================================  ===================================================
    an index -1, drop_pad_mode 1 and 3          a row of zeros: scale times bias is added
    any other index that is not a row           an error, and nothing is written
    NaN, 0 * inf, inf - inf in a term           NaN
    sums that cancel; -0 without skips          +0
    beyond the range of the dtype               inf or -inf
    terms that float32 rounds                   rounded one by one: the order of k matters
    no tokens                                   empty
    no terms (scales (n, 0))                    the skips, or zeros
    ==========================================  ===================================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, an index, ``out`` or an attribute is not allowed, or bias is given
            without export_for_source_row.
        TypeError: an attribute is of the wrong kind, such as ``k=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> rows = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], dtype=np.float16)
        >>> bias = np.array([[0.5, 0], [0, 1]], dtype=np.float16)
        >>> scales = np.array([[1, 0.5], [2, 1]], dtype=np.float16)
        >>> experts, source = np.array([[0, 1], [1, 1]], np.int32), np.array([0, 2, 3, 1], np.int32)
        >>> npu_quant.npu_moe_finalize_routing(rows, None, None, bias, scales, source, experts)
        array([[ 5. ,  6.5],
               [13. , 19. ]], dtype=float16)

    Source: torch_npu.npu_moe_finalize_routing (Ascend/op-plugin), which calls
    aclnnMoeFinalizeRoutingV2 (hicann/ops-transformer ``moe/moe_finalize_routing_v2``). Its
    documents add the bias even for an index -1; a model of V2's kernel (cann-bench) leaves out the
    whole term.
    """
    return _core.npu_moe_finalize_routing(
        expanded_permuted_rows,
        skip1,
        skip2,
        bias,
        scales,
        expanded_src_to_dst_row,
        export_for_source_row,
        drop_pad_mode,
        k,
        out,
        numerics,
    )


def reference(
    expanded_permuted_rows: NDArray[Any],
    skip1: NDArray[Any] | None,
    skip2: NDArray[Any] | None,
    bias: NDArray[Any] | None,
    scales: NDArray[Any] | None,
    expanded_src_to_dst_row: NDArray[np.int32],
    export_for_source_row: NDArray[np.int32] | None,
    drop_pad_mode: int | None = 0,
    k: int | None = 1,
) -> NDArray[Any]:
    """Compute :func:`npu_moe_finalize_routing` in plain NumPy: the formula, without checks."""
    terms = (k or 1) if scales is None else scales.shape[1]
    columns = expanded_permuted_rows.shape[-1]
    rows = expanded_permuted_rows.astype(np.float32)
    rows = rows.reshape(math.prod(rows.shape[:-1]), columns)
    # The row of zeros is behind all others: -1.
    rows = np.concatenate([rows, np.zeros((1, columns), np.float32)])
    tokens = len(expanded_src_to_dst_row) // terms if scales is None else len(scales)
    across = expanded_src_to_dst_row.reshape(terms, tokens).T
    source = expanded_src_to_dst_row.reshape(tokens, terms) if (drop_pad_mode or 0) > 1 else across
    skips = [s.astype(np.float32) for s in (skip1, skip2) if s is not None]
    t = np.zeros((tokens, columns), np.float32) if not skips else skips[0]
    with np.errstate(all="ignore"):
        for skip in skips[1:]:
            t = t + skip
        for i in range(terms):
            v = rows[source[:, i]]
            if bias is not None and export_for_source_row is not None:
                v = v + bias.astype(np.float32)[export_for_source_row[:, i]]
            t = t + (v if scales is None else scales[:, i, None].astype(np.float32) * v)
        return t.astype(expanded_permuted_rows.dtype)
