"""npu_grouped_matmul: groups of rows, each multiplied by its own weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _products
from .._glu import swish
from ..arrays import Array
from ..dtypes import DTypeName
from ..errors import ParamError

Arrays = Sequence[Array]


def npu_grouped_matmul(
    x: Arrays,
    weight: Arrays,
    *,
    bias: Arrays | None = None,
    scale: Arrays | None = None,
    offset: Arrays | None = None,
    antiquant_scale: Arrays | None = None,
    antiquant_offset: Arrays | None = None,
    per_token_scale: Arrays | None = None,
    group_list: Array | Sequence[int] | None = None,
    activation_input: Arrays | None = None,
    activation_quant_scale: Arrays | None = None,
    activation_quant_offset: Arrays | None = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    tuning_config: Sequence[int] | None = None,
    output_dtype: DTypeName | None = None,
    x_dtype: DTypeName | None = None,
    weight_dtype: DTypeName | None = None,
    scale_dtype: DTypeName | None = None,
    per_token_scale_dtype: DTypeName | None = None,
    out: Arrays | None = None,
    numerics: str | None = None,
) -> list[NDArray[Any]]:
    """Multiply each group of rows by its own weight, as the experts of a layer do.

    The dtypes of x and weight select the formula. For row m and column n of a group's product::

        floats, floats     y = x @ w + bias
        int8, int8         y = (x @ w + bias) * scale[n] * per_token_scale[m], an int32 bias
                           y = x @ w * scale[n] * per_token_scale[m] + bias, a float bias
        int8, int4         y = (the sum over groups of k of (x - 8) @ w * scale + bias)
                               * per_token_scale[m]
        int4, int4         y = the sum over groups of k of x @ w * scale * per_token_scale[m]
        floats, int8/int4  y = x @ w' + bias, w' = (w + antiquant_offset) * antiquant_scale
        MX                 y = the sum over blocks of 32 k of x @ w * 2**(b1 + b2 - 254) + bias

    Sums of integers are exact in int32, and wrap around; every other operation is one IEEE float32
    operation, and the result is rounded once more (docs/numerics.md 21.2). docs/numerics.md 21
    gives the order in which floats are added.

    Args:
        x: a list: one array (M, K), or one array (..., K) for each weight. float16, bfloat16,
            float32, int8, int32 with 8 int4 along K, float8_e4m3fn, or uint8 with two float4_e2m1
            along K. It may have any strides and be unaligned or read-only; so may the arrays below.
        weight: a list: one array (E, K, N), or E arrays (K, N). Of x's dtype, or int8, or int32
            with 8 int4 along N or K, or uint8 with two float4_e2m1 along N or K.
        bias: an array (N,) for each weight: float16 for a float16 x; int32, float16, bfloat16 or
            float32 for int8; else float32. With one weight (E, K, N), bias is a list of one array
            (E, N), and every other parameter has an axis E in front, too.
        scale: an array for each weight. int8: (N,), float32 or bfloat16; for int8 results int64
            from :func:`npu_quant.npu_trans_quant_param`. int4: (G, N) for G groups of K / G rows,
            float32, or int64 whose low 32 bits are the scale. MX: uint8 or float8_e8m0fnu (ceil(K /
            64), N, 2): block 2c + i has the byte [c, :, i].
        offset: None.
        antiquant_scale: an array (N,) of x's dtype for each weight; for int4 also (G, N).
        antiquant_offset: arrays of the same shapes and dtype, added to the codes; None for no
            offset.
        per_token_scale: an array (M,), float32, for each x; for MX uint8 or float8_e8m0fnu (M,
            ceil(K / 64), 2).
        group_list: int64, or a list of ints: which rows of x belong to each weight. With one x for
            each weight it is None, or, with group_type 0, the number of rows of each x.
        activation_input: None.
        activation_quant_scale: None.
        activation_quant_offset: None.
        split_item: 0 or 1: one result for each weight; 2 or 3: one result of all rows.
        group_type: 0: groups of rows; 2, for floats: groups of columns of x, and of rows of the
            only weight (K, N), with a result (E, M, N); -1 or None: one x for each weight, and no
            group_list.
        group_list_type: what group_list holds. 0: where each group ends (the index of the row after
            its last row); 1: the number of rows of each group; 2: pairs (number of a weight, number
            of rows), no weight twice.
        act_type: 0: no activation. For int8 with float results and a per_token_scale also 1, relu,
            and 5, swish.
        tuning_config: has no effect.
        output_dtype: the type of the result. None means x's dtype, the only one for floats. int8:
            int8, int32 (without scales), float16 or bfloat16. int4: float16 or bfloat16. MX:
            float16, bfloat16 or float32.
        x_dtype: None, or the format that x holds.
        weight_dtype: None, or the format that weight holds.
        scale_dtype: None, or the format that scale holds; for MX float8_e8m0fnu.
        per_token_scale_dtype: the same for per_token_scale.
        out: a list of arrays to write the results into: of exactly their shapes and dtypes, with
            any strides and no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        A list: one array (M, N), or one array for each weight.

    Rounding is to nearest, ties to even. Edge cases:

    ==========================================  ===================================================
    what                                        y
    ==========================================  ===================================================
    rows after the last group                   0, all bits; not in results with split_item 0 and 1
    a group without rows                        no rows; with group_type 2 a matrix of zeros
    int32 sums beyond int32                     wrap, an int32 bias included
    beyond the result's range                   inf or -inf; int8: -128 or 127
    infinite x, w or scale                      inf or -inf; NaN for inf * 0 or inf - inf
    NaN                                         NaN; in int8 results 0
    a byte 255 in MX scales                     NaN
    relu of 0 or less                           0; of NaN NaN
    K is 0                                      0, or the bias
    no rows, no columns                         empty; the rules for the other arrays hold
    ==========================================  ===================================================

    Raises:
        DTypeError: x, weight or an array in them is missing (code 161001), an array is not an
            ndarray, or has another dtype.
        ParamError: rank, shape, ``out``, an attribute or an entry of the group list is not allowed,
            an array has no place or is needed, or lists are not of one length.
        TypeError: an attribute is of the wrong kind, or an array where a list of arrays belongs.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1, 2], [-3, 4], [5, 6]], dtype=np.int8)
        >>> weight = np.array([[[5, -6], [8, 9]], [[1, 2], [3, 4]]], dtype=np.int8)
        >>> npu_quant.npu_grouped_matmul(
        ...     [x], [weight], group_list=[2, 3], split_item=3, group_type=0, output_dtype="int32"
        ... )
        [array([[21, 12],
               [17, 54],
               [23, 34]], dtype=int32)]

    Source: torch_npu.npu_grouped_matmul (Ascend/op-plugin), which calls aclnnGroupedMatmulV4 and V5
    (hicann/ops-transformer ``gmm/grouped_matmul``).
    """
    unused = {
        "offset": offset,
        "activation_input": activation_input,
        "activation_quant_scale": activation_quant_scale,
        "activation_quant_offset": activation_quant_offset,
    }
    for name, value in unused.items():
        if value is not None:
            raise ParamError(f"npu_grouped_matmul: {name} is given, expected None.")
    lists = [x, weight, bias, scale, antiquant_scale, antiquant_offset, per_token_scale]
    if split_item in (0, 1, None) and group_list is not None and group_type == 0:
        lists[1:6] = _unstacked(lists[1:6]) if len(x) == 1 else lists[1:6]
    if isinstance(group_list, (list, tuple)):
        group_list = np.array(_numbers_in(group_list), np.int64)
    given = [*lists, group_list, split_item, group_type, group_list_type, act_type, output_dtype]
    given += [x_dtype, weight_dtype, scale_dtype, per_token_scale_dtype, out, numerics]
    return _core.npu_grouped_matmul(*given)


def _numbers_in(group_list: Sequence[int]) -> list[int]:
    """Return the ints of a list, which int64 holds."""
    if all(isinstance(end, (int, np.integer)) and -(2**63) <= end < 2**63 for end in group_list):
        return [*group_list]
    text = "npu_grouped_matmul: group_list is a list, expected a list of ints that fit in int64."
    raise TypeError(text)


def _unstacked(lists: list[Any]) -> list[Any]:
    """Return lists of the parts of a weight (E, K, N) and of what goes with it, a result each."""
    weight = lists[0]
    is_stack = isinstance(weight, (list, tuple)) and len(weight) == 1
    if not is_stack or getattr(weight[0], "ndim", 0) != 3:
        return lists
    count = len(weight[0])
    fits = all(
        one is None or (isinstance(one, (list, tuple)) and len(one) == 1 and len(one[0]) == count)
        for one in lists
    )
    return [None if one is None else [*one[0]] for one in lists] if fits else lists


def reference(
    x: Sequence[NDArray[Any]],
    weight: Sequence[NDArray[Any]],
    *,
    bias: Sequence[NDArray[Any]] | None = None,
    scale: Sequence[NDArray[Any]] | None = None,
    antiquant_scale: Sequence[NDArray[Any]] | None = None,
    antiquant_offset: Sequence[NDArray[Any]] | None = None,
    per_token_scale: Sequence[NDArray[Any]] | None = None,
    group_list: Any = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    output_dtype: DTypeName | None = None,
) -> list[NDArray[Any]]:
    """Compute the operator in plain NumPy: the formula, to the bit, without checks."""
    to = x[0].dtype if output_dtype is None else _codes.row_of(output_dtype).numpy
    act = act_type or 0
    lists = (weight, bias, scale, antiquant_scale, antiquant_offset)

    def of_weight(i: int) -> list[Any]:
        """Return a weight and its parameters."""
        is_stack = weight[0].ndim == 3
        return [one and (one[0][i] if is_stack else one[i]) for one in lists]

    def tokens(i: int, rows: slice) -> Any:
        return None if per_token_scale is None else per_token_scale[i][rows]

    with np.errstate(all="ignore"):
        if group_list is None or len(x) > 1:
            own = [
                _one(rows, tokens(i, slice(None)), to, act, *of_weight(i))
                for i, rows in enumerate(x)
            ]
            if split_item in (0, 1, None):
                return own
            return [np.concatenate([y.reshape(-1, y.shape[-1]) for y in own])]
        groups = _groups(np.asarray(group_list), group_list_type or 0)
        count = len(weight[0]) if weight[0].ndim == 3 else len(weight)
        if group_type == 2:
            w = weight[0]
            parts = [_products.chunked(x[0][:, k], w[k]).astype(to) for _, k in groups]
            return [np.stack(parts)]
        all_groups = {i: slice(0, 0) for i in range(count)} | dict(groups)
        made = {
            i: (rows, _one(x[0][rows], tokens(0, rows), to, act, *of_weight(i)))
            for i, rows in all_groups.items()
        }
    if split_item in (0, 1, None):
        return [made[i][1] for i in range(count)]
    n = made[0][1].shape[1]
    y = np.zeros((len(x[0]), n), to)
    for rows, values in made.values():
        y[rows] = values
    return [y]


def _groups(group_list: NDArray[Any], group_list_type: int) -> list[tuple[int, slice]]:
    """Return the number of the weight of each group, and its rows."""
    numbers = range(len(group_list))
    ends = group_list
    if group_list_type == 2:
        numbers, ends = group_list[:, 0].tolist(), np.cumsum(group_list[:, 1])
    elif group_list_type == 1:
        ends = np.cumsum(group_list)
    begins = [0, *ends[:-1].tolist()]
    return [(i, slice(b, e)) for i, b, e in zip(numbers, begins, ends.tolist(), strict=True)]


def _one(
    x: NDArray[Any],
    tokens: NDArray[Any] | None,
    to: Any,
    act_type: int,
    weight: NDArray[Any],
    bias: NDArray[Any] | None = None,
    scale: NDArray[Any] | None = None,
    antiquant_scale: NDArray[Any] | None = None,
    antiquant_offset: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Return the product of the rows of one group."""
    added = None if bias is None else bias.astype(np.float32)
    if x.dtype in (np.int8, np.int32):
        return _of_integers(x, weight, tokens, bias, scale, to, act_type)
    if x.dtype in (np.uint8, "float8_e4m3fn"):
        assert tokens is not None
        assert scale is not None
        factors = _products.factors(x, weight, "float4_e2m1", "float4_e2m1")
        t = _products.block_sums(*factors, _products.powers_of_two(tokens, scale))
    else:
        w = weight
        if antiquant_scale is not None:
            k = x.shape[-1]
            w = _products.matrix_of(weight, k=k)
            size = k // len(antiquant_scale) if antiquant_scale.ndim == 2 else 0
            if antiquant_offset is not None:
                w = w + _products.spread(antiquant_offset, size, k)
            w = (w * _products.spread(antiquant_scale, size, k)).astype(x.dtype)
        t = _products.chunked(x, w)
    return np.asarray((t if added is None else t + added).astype(to))


def _of_integers(
    x: NDArray[Any],
    weight: NDArray[Any],
    tokens: NDArray[Any] | None,
    bias: NDArray[Any] | None,
    scale: NDArray[Any] | None,
    to: Any,
    act_type: int,
) -> NDArray[Any]:
    """Return the product of rows of int8 or int4."""
    a, b = _products.factors(x, weight)
    carried = None
    if scale is not None and scale.dtype == np.int64:
        scale, carried = _products.carried(scale)
    if weight.dtype == np.int32:
        assert scale is not None
        v = _products.group_sums(a - 8 if x.dtype == np.int8 else a, b, scale)
        v = v if bias is None else v + bias
        return np.asarray((v if tokens is None else v * tokens[:, None]).astype(to))
    sums = _products.whole_sums(a, b)
    if bias is not None and bias.dtype == np.int32:
        sums, bias = sums + bias, None
    if to == np.int32:
        return sums
    v = sums.astype(np.float32)
    v = v if scale is None else v * scale.astype(np.float32)
    if to == np.int8:
        return _codes.encode(v if carried is None else v + carried, "int8")
    v = v if tokens is None else v * tokens[:, None]
    v = v if bias is None else v + bias.astype(np.float32)
    if act_type == 1:
        v = np.where(v <= 0, np.float32(0), v)
    if act_type == 5:
        v = swish(v)
    return np.asarray(v.astype(to))
