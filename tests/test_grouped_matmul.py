"""npu_grouped_matmul by hand: every form, every special row of its page, every kind of lists."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.grouped_matmul import FORMS, arguments
from test_anti_quant import signs

from npu_quant import DTypeError, ParamError, npu_grouped_matmul, npu_trans_quant_param
from npu_quant.ops.grouped_matmul import reference

F16, F32, BF16 = np.float16, np.float32, ml_dtypes.bfloat16
INF, NAN = np.inf, np.nan
X = np.array([[1, 2], [-3, 4], [5, 6]], np.int8)
WEIGHT = np.array([[[5, -6], [8, 9]], [[1, 2], [3, 4]]], np.int8)
SUMS = [[21, 12], [17, 54], [23, 34]]
WORD = np.uint32([[0xFEDCBA98]]).view(np.int32)  # -8 to -1


def product(x: Any, weight: Any, **given: Any) -> Any:
    """Return the only result of lists of one array each."""
    others = {n: [v] if n.endswith(("scale", "bias", "offset")) else v for n, v in given.items()}
    (y,) = npu_grouped_matmul([x], [weight], **others)
    return y


def grouped(x: Any, weight: Any, ends: Any, **given: Any) -> Any:
    """Return the only result of groups of rows."""
    given = {"split_item": 3, "group_type": 0, "group_list": ends} | given
    return product(x, weight, **given)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 21.2."""

    def test_sums_of_integers(self) -> None:
        assert grouped(X, WEIGHT, [2, 3], output_dtype="int32").tolist() == SUMS
        bias = np.int32([[1, 0], [0, -4]])
        y = grouped(X, WEIGHT, [2, 3], output_dtype="int32", bias=bias)
        assert y.tolist() == [[22, 12], [18, 54], [23, 30]]

    def test_sums_wrap(self) -> None:
        x, bias = np.int8([[127, 127]]), np.int32([2**31 - 1])
        y = product(x, np.int8([[1], [0]]), bias=bias, output_dtype="int32")
        assert y.tolist() == [[-(2**31) + 126]]

    def test_values_of_integers(self) -> None:
        scale, tokens = F32([[0.5, 0.1], [2, 1]]), F32([1, 0.25, 0.1])
        given = {"scale": scale, "per_token_scale": tokens, "output_dtype": "float16"}
        y = grouped(X, WEIGHT, [2, 3], **given)
        assert y.view(np.uint16).tolist() == [[0x4940, 0x3CCD], [0x4040, 0x3D66], [0x449A, 0x42CD]]

    def test_a_float_bias_is_added_after_the_scales(self) -> None:
        given = {"scale": F32([0.5, 1]), "per_token_scale": F32([2, 2, 2]), "bias": F32([1, -1])}
        y = product(X, WEIGHT[0], **given, output_dtype="bfloat16")
        assert y.astype(float).tolist() == [[22, 23], [18, 107], [74, 47]]

    def test_activations(self) -> None:
        x, one = np.int8([[1], [-1], [0], [88]]), np.int8([[1]])
        given = {"scale": F32([1]), "per_token_scale": F32([1] * 4), "output_dtype": "float16"}
        relu = product(x, one, **given, act_type=1)
        assert (relu.tolist(), signs(relu[:, 0])) == ([[1], [0], [0], [88]], [1] * 4)
        swish = product(x, one, **given, act_type=5)
        assert swish[:, 0].view(np.uint16).tolist() == [0x39D9, 0xB44E, 0, 0x5580]

    def test_codes_of_integers(self) -> None:
        """10.5 and 6 are 10 and 6, with the word's offset 2 of the first column 12 and 6."""
        words = npu_trans_quant_param(F32([0.5, 0.5]))
        y = product(X[:1], WEIGHT[0], scale=words)
        assert (y.dtype, y.tolist()) == (np.int8, [[10, 6]])
        words = npu_trans_quant_param(F32([0.5, 0.5]), F32([2, 0]))
        assert product(X[:1], WEIGHT[0], scale=words).tolist() == [[12, 6]]
        assert product(X[:1], WEIGHT[0], scale=words * 0 + words[0]).tolist() == [[12, 8]]

    def test_int8_by_int4(self) -> None:
        """(10 - 8) * -8 .. -1 by groups of one k, then the bias, then the row's scale."""
        x, weight = np.int8([[10, 8], [9, 9]]), np.repeat(WORD, 2, axis=0)
        scale = F32([[1] * 8, [0.5] * 8])
        given = {"scale": scale, "per_token_scale": F32([1, 2]), "output_dtype": "float16"}
        assert product(x, weight, **given).tolist() == [
            [-16, -14, -12, -10, -8, -6, -4, -2],
            [-24, -21, -18, -15, -12, -9, -6, -3],
        ]
        carried = scale.view(np.int32).astype(np.int64) & 0xFFFFFFFF
        y = product(x, weight, **given | {"scale": carried}, bias=F32([0.5] * 8))
        assert y[1].tolist() == [-23, -20, -17, -14, -11, -8, -5, -2]

    def test_int4_by_int4(self) -> None:
        """-8 .. -1 by weights of ones, packed along either axis; two groups of k."""
        ones = np.uint32([[0x11111111]]).view(np.int32)
        given = {"scale": F32([[1] * 8, [10] * 8]), "output_dtype": "float16"}
        assert product(WORD, np.repeat(ones, 8, axis=0), **given).tolist() == [[-26 - 100] * 8]
        along_k = np.repeat(ones, 8, axis=1)
        assert product(WORD, along_k, **given, per_token_scale=F32([0.5])).tolist() == [[-63] * 8]

    def test_weights_of_codes(self) -> None:
        x, scale, offset = F16([[1, 2]]), F16([0.5, 1]), F16([1, 0])
        y = product(x, WEIGHT[0], antiquant_scale=scale, antiquant_offset=offset, bias=F16([0, 1]))
        assert y.tolist() == [[12, 13]]
        scale = np.stack([np.full(8, 1, F16), np.full(8, 2, F16)])
        y = product(x, np.repeat(WORD, 2, axis=0), antiquant_scale=scale)
        assert y.tolist() == [[-40, -35, -30, -25, -20, -15, -10, -5]]

    def test_floats(self) -> None:
        for dtype in (F16, BF16, F32):
            bias = (F16 if dtype == F16 else F32)([[1, 0], [0, 0.5]])
            y = grouped(X.astype(dtype), WEIGHT.astype(dtype), [2, 3], bias=bias)
            assert y.dtype == dtype
            assert y.astype(float).tolist() == [[22, 12], [18, 54], [23, 34.5]]

    def test_blocks_of_powers(self) -> None:
        """k 0, 32 and 64 have bytes of their own: 1 * 2, 1 * 4 and 2 * 8."""
        x, weight = np.zeros((1, 65), "float8_e4m3fn"), np.ones((65, 1), "float8_e4m3fn")
        x[0, [0, 32, 64]] = 1
        tokens = np.uint8([[[127, 127], [128, 0]]])
        scale = np.uint8([[[128, 129]], [[130, 0]]])
        given = {"scale": scale, "per_token_scale": tokens, "output_dtype": "float32"}
        assert product(x, weight, **given, bias=F32([0.5])).tolist() == [[22.5]]
        scale[1, 0, 0] = 255
        assert np.isnan(product(x, weight, **given)).all()

    def test_float4(self) -> None:
        """0.5 * 1 and 6 * -1.5, of pairs along k, by pairs along columns or k."""
        x = np.uint8([[0x71]])
        bytes_ = {"scale": np.full((1, 2, 2), 127, np.uint8), "output_dtype": "float16"}
        bytes_ |= {"per_token_scale": np.full((1, 1, 2), 127, np.uint8)}
        assert product(x, np.uint8([[0x22], [0xBB]]), **bytes_).tolist() == [[-8.5, -8.5]]
        assert product(x, np.uint8([[0xB2, 0xB2]]), **bytes_).tolist() == [[-8.5, -8.5]]

    def test_rows_behind_the_last_group_are_zeros(self) -> None:
        bias = F32([[1, 1], [1, 1]])
        x, weight = X.astype(F32), WEIGHT.astype(F32)
        x[2] = NAN
        y = grouped(x, weight, [1, 2], bias=bias)
        assert y.tolist() == [[22, 13], [10, 11], [0, 0]]
        assert signs(y[2]) == [1, 1]
        assert grouped(x, weight, [0, 0], bias=bias).tolist() == [[0, 0]] * 3

    def test_lists_of_groups(self) -> None:
        ends = grouped(X, WEIGHT, np.array([1, 3]), output_dtype="int32")
        counts = grouped(X, WEIGHT, np.array([1, 2]), group_list_type=1, output_dtype="int32")
        pairs = np.array([[1, 1], [0, 2]])
        turned = grouped(X, WEIGHT[::-1], pairs, group_list_type=2, output_dtype="int32")
        assert ends.tolist() == counts.tolist() == turned.tolist()
        one = grouped(X, WEIGHT, pairs[:1], group_list_type=2, output_dtype="int32")
        assert one.tolist() == [[7, 10], [0, 0], [0, 0]]

    def test_groups_along_k(self) -> None:
        x, weight = F32([[1, 2, 3], [4, 5, 6]]), F32([[1, 2], [3, 4], [5, 6]])
        y = grouped(x, weight, [2, 2, 3], group_type=2)
        assert y.tolist() == [[[7, 10], [19, 28]], [[0, 0]] * 2, [[15, 18], [30, 36]]]

    def test_infinite_and_nan(self) -> None:
        x, w = F16([[INF, 1], [NAN, 1], [65504, 65504]]), F16([[1, 0], [1, 1]])
        y = product(x, w)
        assert y[0, 0] == y[2, 0] == INF
        assert np.isnan([y[0, 1], y[1, 0]]).all()
        y = product(X[:1], WEIGHT[0], scale=F32([INF, NAN]), output_dtype="float16")
        assert y[0, 0] == INF
        assert np.isnan(y[0, 1])

    def test_empty(self) -> None:
        x, weight = np.ones((2, 0), F16), np.ones((0, 3), F16)
        assert product(x, weight).tolist() == [[0] * 3] * 2
        assert product(x, weight, bias=F16([1, 2, 3])).tolist() == [[1, 2, 3]] * 2
        assert grouped(X[:0], WEIGHT, [0, 0], output_dtype="int32").shape == (0, 2)
        assert product(X, WEIGHT[0, :, :0], output_dtype="int32").shape == (3, 0)


class TestLists:
    """One array or several, of x, of weights and of results."""

    def test_a_result_for_each_weight(self) -> None:
        given = {"group_list": [2, 3], "group_type": 0, "output_dtype": "int32"}
        for weight in ([WEIGHT], [*WEIGHT]):
            parts = npu_grouped_matmul([X], weight, **given)
            assert [y.tolist() for y in parts] == [SUMS[:2], SUMS[2:]]
        (y,) = npu_grouped_matmul([X], [*WEIGHT], **given, split_item=2)
        assert y.tolist() == SUMS

    def test_rows_behind_the_last_group_of_several_weights(self) -> None:
        given = {"group_list": [1, 2], "group_type": 0, "output_dtype": "int32"}
        (y,) = npu_grouped_matmul([X], [*WEIGHT], **given, split_item=3)
        assert y.tolist() == [[21, 12], [9, 10], [0, 0]]

    def test_weights_of_one_result_have_as_many_columns(self) -> None:
        wide = np.ones((2, 5), np.int8)
        given = {"group_type": 0, "output_dtype": "int32", "group_list": [1, 3]}
        with pytest.raises(ParamError, match=r"weight\[1\] has shape \(2, 5\), expected 2 columns"):
            npu_grouped_matmul([X], [WEIGHT[0], wide], **given, split_item=3)
        y = npu_grouped_matmul([X], [WEIGHT[0], wide], **given, split_item=0)
        assert [one.shape for one in y] == [(1, 2), (2, 5)]

    def test_one_dtype_for_all(self) -> None:
        x, weight = X.astype(F32), WEIGHT[0].astype(F32)
        half = [a.astype(np.float16) for a in (x, weight)]
        with pytest.raises(
            DTypeError, match=r"x\[1\] has dtype float32, expected the dtype of x\[0\]"
        ):
            npu_grouped_matmul([half[0], x], [half[1], weight])

    def test_results_share_no_memory(self) -> None:
        out = np.zeros((1, 2), np.int32)
        given = {"group_list": [1, 2], "group_type": 0, "output_dtype": "int32"}
        with pytest.raises(ParamError, match=r"out\[1\] shares memory with out\[0\]"):
            npu_grouped_matmul([X], [*WEIGHT], **given, out=[out, out])

    @pytest.mark.parametrize("count", [1, 2])
    def test_results_share_no_memory_with_what_is_given(self, count: int) -> None:
        """Nor with the list, nor with rows that no group has."""
        x, weights = np.ones((6, 4), np.int8), [np.ones((4, 2), np.int8)] * count
        ends, given = np.array([1, 2][:count]), {"group_type": 0, "output_dtype": "int32"}
        unused, of_list = x[4:].view(np.int32).reshape(1, -1), ends[:1].view(np.int32)
        for memory, name in ((unused, r"x\[0\]"), (of_list, "group_list")):
            out = [memory.reshape(1, 2), np.zeros((1, 2), np.int32)][:count]
            with pytest.raises(ParamError, match=rf"shares memory with {name}"):
                npu_grouped_matmul([x], weights, **given, group_list=ends, out=out)

    @pytest.mark.parametrize("ends", [[1.5, 2], [2**70, 2], ["1", 2]])
    def test_a_list_of_groups_holds_ints(self, ends: Any) -> None:
        with pytest.raises(TypeError, match="npu_grouped_matmul: group_list is a list, expected"):
            npu_grouped_matmul([X], [*WEIGHT], group_list=ends, group_type=0)

    def test_powers_of_rows_that_do_not_follow_on_each_other(self) -> None:
        x = np.ones((3, 4, 64), ml_dtypes.float8_e4m3fn)
        powers = np.arange(120, 132, dtype=np.uint8).repeat(2).reshape(12, 1, 2)
        weight, scale = np.ones((64, 2), x.dtype), np.full((1, 2, 2), 127, np.uint8)
        given = {"scale": [scale], "per_token_scale": [powers], "output_dtype": "float32"}
        for memory in (x, np.asfortranarray(x)):
            (y,) = npu_grouped_matmul([memory], [weight], **given, split_item=2)
            assert y[:, 0].tolist() == [64 * 2.0**e for e in range(-7, 5)]

    @pytest.mark.parametrize("weight", [WEIGHT[0], WEIGHT[:1]], ids=["weight", "stack"])
    def test_one_group_has_its_own_rows(self, weight: Any) -> None:
        given = {"group_list": [2], "group_type": 0, "output_dtype": "int32"}
        (y,) = npu_grouped_matmul([X], [weight], **given, split_item=0)
        assert y.tolist() == [[21, 12], [17, 54]]

    @pytest.mark.parametrize("group_type", [None, -1, 0])
    def test_an_x_for_each_weight(self, group_type: int | None) -> None:
        x, tokens = [X[:2], X[2:]], [F32([1, 2]), F32([3])]
        given = {"group_type": group_type, "output_dtype": "float16"}
        given |= {"scale": [F32([1, 1])] * 2, "per_token_scale": tokens}
        parts = npu_grouped_matmul(x, [*WEIGHT], **given)
        expected = [[21, 12], [34, 108], [69, 102]]
        assert [y.tolist() for y in parts] == [expected[:2], expected[2:]]
        (y,) = npu_grouped_matmul(x, [*WEIGHT], **given, split_item=3)
        assert y.tolist() == expected

    @pytest.mark.parametrize("split_item", [0, 3])
    def test_a_list_beside_an_x_for_each_weight(self, split_item: int) -> None:
        """It says again how many rows each has."""
        x, given = [X[:2], X[2:]], {"group_type": 0, "split_item": split_item}
        pairs = np.array([[0, 2], [1, 1]])
        for group_list, list_type in (([2, 3], 0), (np.array([2, 1]), 1), (pairs, 2)):
            given |= {"group_list": group_list, "group_list_type": list_type}
            parts = npu_grouped_matmul(x, [*WEIGHT], output_dtype="int32", **given)
            assert np.concatenate(parts).tolist() == SUMS
            assert len(parts) == (2 if split_item == 0 else 1)
        x = [X[:0], X, X[:0]]
        given |= {"group_list": np.array([[1, 3]]), "group_list_type": 2}
        parts = npu_grouped_matmul(x, [WEIGHT[0]] * 3, output_dtype="int32", **given)
        assert np.concatenate(parts).tolist() == [SUMS[0], SUMS[1], [73, 24]]

    def test_several_stacks_are_refused(self) -> None:
        text = r"weight\[0\] has 3 dimensions, expected 2: weight has 2 arrays"
        for x in ([X], [X, X]):
            with pytest.raises(ParamError, match=text):
                npu_grouped_matmul(x, [WEIGHT] * 2, group_list=[1, 3], group_type=0, split_item=3)

    def test_more_axes(self) -> None:
        x = np.arange(24, dtype=F32).reshape(2, 3, 2, 2)
        weight = WEIGHT.astype(F32)
        first, second = npu_grouped_matmul([x, x[:, 0]], [*weight])
        assert (first == x @ weight[0]).all()
        assert second.shape == (2, 2, 2)
        (y,) = npu_grouped_matmul([x[:, ::-1], x[:, 0]], [*weight], split_item=2)
        assert (y[:12] == (x[:, ::-1] @ weight[0]).reshape(12, 2)).all()
        assert (y[12:] == second.reshape(4, 2)).all()

    def test_out(self) -> None:
        given = {"group_list": [2, 3], "group_type": 0, "output_dtype": "int32"}
        out = [np.zeros((2, 2), np.int32), np.zeros((2, 2), np.int32)[:1]]
        parts = npu_grouped_matmul([X], [WEIGHT], **given, out=out)
        assert all(y is o for y, o in zip(parts, out, strict=True))
        assert [o.tolist() for o in out] == [SUMS[:2], SUMS[2:]]
        y = np.zeros((2, 3), np.int32).T
        npu_grouped_matmul([X], [*WEIGHT], **given, split_item=3, out=[y])
        assert y.tolist() == SUMS


@pytest.mark.parametrize("name", ["a8w8", "a8w4", "a4w4", "mx", "mx of float4"])
def test_reference_against_numbers(rng: np.random.Generator, name: str) -> None:
    """The reference itself, against Python's integers and floats, element by element."""
    kind = FORMS[name]
    a = arguments(rng, (3, 64), kind["to"], kind["form"], n=8)
    lists = {n: [v] if isinstance(v, np.ndarray) else v for n, v in a.items()}
    (y,) = reference(**lists)
    x, w = (numbers(a[n]) for n in ("x", "weight"))
    bias, tokens = a.get("bias"), a["per_token_scale"]
    for m, n in np.ndindex(y.shape):
        if name == "a8w8":
            v = F32(int(x[m] @ w[:, n])) * a["scale"][n] * tokens[m] + bias[n]
        elif name in ("a8w4", "a4w4"):
            v = F32(0)
            for j in range(2):
                k = slice(32 * j, 32 * j + 32)
                v = v + F32(int((x[m, k] - 8 * (name == "a8w4")) @ w[k, n])) * a["scale"][j, n]
            v = (v if bias is None else v + bias[n]) * tokens[m]
        else:
            v = F32(0)
            for j in range(2):
                p = F32(x[m, 32 * j : 32 * j + 32] @ w[32 * j : 32 * j + 32, n])
                power = int(tokens[m, 0, j]) + int(a["scale"][0, n, j]) - 254
                v = v + F32(np.ldexp(p, power))
            v = v + bias[n]
        with np.errstate(over="ignore"):
            assert y[m, n] == v.astype(y.dtype)


def numbers(codes: Any) -> Any:
    """Return what codes stand for: the nibbles of each element, the lowest first."""
    if codes.dtype == np.int8:
        return codes.astype(int)
    if codes.dtype not in (np.int32, np.uint8):
        return codes.astype(float)
    bits = codes.itemsize * 8
    words = np.ascontiguousarray(codes).view(f"u{codes.itemsize}").astype(np.uint64)
    nibbles = words[..., None] >> np.arange(0, bits, 4, dtype=np.uint64) & 15
    found = nibbles.reshape(*codes.shape[:-1], -1).astype(int)
    if codes.dtype == np.int32:
        return np.where(found > 7, found - 16, found)
    return np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])[found]
