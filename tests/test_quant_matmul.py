"""npu_quant_matmul by hand: every form, every special row of its page, every step's rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.quant_matmul import in_groups, of_floats, of_integers, packed
from test_anti_quant import nearest

from npu_quant import _codes, npu_quant_matmul, npu_trans_quant_param
from npu_quant.ops.quant_matmul import reference

F32, BF16, E4M3 = np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
INF, NAN = np.inf, np.nan
X1 = np.array([[1, 2], [-3, 4]], np.int8)
X2 = np.array([[5, -6, 7], [8, 9, -10]], np.int8)


def product(x1: Any, x2: Any, scale: Any = (1,), **others: Any) -> Any:
    """Return results of int8 as a list."""
    given = {name: F32(v) if isinstance(v, list) else v for name, v in others.items()}
    a, b = np.array(x1, np.int8), np.array(x2, np.int8)
    return npu_quant_matmul(a, b, F32(scale), **given).astype(float).tolist()


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 20."""

    def test_sums(self) -> None:
        y = npu_quant_matmul(X1, X2, F32([1]), output_dtype="int32")
        assert (y.dtype, y.tolist()) == (np.int32, [[21, 12, -13], [17, 54, -61]])

    def test_values(self) -> None:
        more: Any = {"pertoken_scale": [1, 0.25], "bias": [1, 0, -1], "output_dtype": "float16"}
        assert product(X1, X2, [0.5, 1, 2], **more) == [[11.5, 12, -27], [3.125, 13.5, -31.5]]

    def test_codes(self) -> None:
        """11.5, -5.5, 9.5 and -29.5 are ties, which go to the even code."""
        assert product(X1, X2, [0.5], offset=[1]) == [[12, 7, -6], [10, 28, -30]]
        assert product(X1, X2, [0.5]) == [[10, 6, -6], [8, 27, -30]]

    def test_an_integer_bias_is_added_to_the_sums(self) -> None:
        bias = np.array([-21, 1, 100], np.int32)
        assert product(X1, X2, bias=bias, output_dtype=3) == [[0, 13, 87], [-4, 55, 39]]
        assert product(X1, X2, [0.5, 1, 2], bias=bias)[0] == [0, 13, 127]

    def test_sums_wrap(self) -> None:
        """2**17 products of 2**14 are 2**31; so does a sum with its bias."""
        x = np.full((1, 1 << 17), -128, np.int8)
        y = npu_quant_matmul(x, x.T, F32([1]), output_dtype="int32")
        assert y.tolist() == [[-(2**31)]]
        y = npu_quant_matmul(x, x.T, F32([2.0**-20]), output_dtype="float16")
        assert y.tolist() == [[-2048]]
        bias = np.array([2**31 - 1], np.int32)
        assert product([[1]], [[1]], bias=bias, output_dtype=3) == [[-(2**31)]]

    def test_int4(self) -> None:
        a, b = np.arange(-8, 8).reshape(2, 8), np.arange(64).reshape(8, 8) % 16 - 8
        words = packed(a.astype(np.int8), -1)
        for along in (-1, -2):
            y = npu_quant_matmul(words, packed(b.astype(np.int8), along), F32([1]), output_dtype=3)
            assert y.tolist() == (a @ b).tolist()

    def test_words_of_both_kinds(self) -> None:
        """The low half is the scale, all of it; bits 37 to 45 are an offset."""
        words = npu_trans_quant_param(F32([0.5]), F32([-3]))
        assert npu_quant_matmul(X1, X2, words).tolist() == [[8, 3, -10], [6, 24, -34]]
        own = npu_quant_matmul(X1, X2, words, offset=F32([1]))
        assert own.tolist() == [[12, 7, -6], [10, 28, -30]]
        exact = np.array([0x3F800001 | 0x1FF << 37], np.int64)  # not to be cut to 19 bits
        y = npu_quant_matmul(X1, X2, exact, bias=F32([-21, 0, 0]), output_dtype="bfloat16")
        assert float(y[0, 0]) == F32(21 * (1 + 2.0**-23)) - 21

    def test_in_groups(self) -> None:
        """Of ones: acc is 8 in each group, and so is r."""
        ones = np.ones((2, 16), np.int8)
        x1, x2 = packed(ones, -1), packed(ones.T, -2)
        scale, rows = F32([[1, 2], [0.5, 4]]), F32([[1], [2]])
        y = npu_quant_matmul(
            x1,
            x2,
            scale,
            offset=np.array([[0.5, 1], [0, -1]], np.float16),
            pertoken_scale=rows,
            output_dtype="float16",
            group_sizes=[0, 0, 8],
        )
        # (8 - 4) * 1 + 8 * .5; (8 - 8) * 2 + (8 + 8) * 4
        assert y.tolist() == [[8, 64], [16, 128]]

    def test_int8_by_int4(self) -> None:
        """8 is taken from x1; the caller's offset gives it back."""
        x1, x2 = np.full((1, 16), 9, np.int8), packed(np.full((16, 1), 3, np.int8), -2)
        scale = np.array([[F32(1).view(np.uint32)], [F32(0.5).view(np.uint32)]], np.int64)
        more = {"pertoken_scale": F32([[2]]), "output_dtype": 15, "group_sizes": [0, 0, 8]}
        y = npu_quant_matmul(x1, x2, scale, offset=F32([100]), **more)
        assert y.tolist() == [[(8 * 3 * 1 + 8 * 3 * 0.5 + 100) * 2]]

    def test_small_floats(self) -> None:
        """A bias comes before the scales."""
        x1 = np.array([[1, 448], [0.5, -2]], E4M3)
        more = {"pertoken_scale": F32([1, 4]), "bias": F32([3, 0]), "output_dtype": "float32"}
        y = npu_quant_matmul(x1, x1.T, F32([0.5, 2]), **more)
        assert y.tolist() == [[100354, -1791], [-1785, 34]]

    def test_mx(self) -> None:
        """Two blocks, of which the second is one k long; 255 is NaN."""
        x1, x2 = np.ones((2, 33), E4M3), np.ones((33, 3), E4M3)
        rows = np.array([[[127, 130]], [[126, 255]]], np.uint8)
        columns = np.array([[[127, 127], [128, 126], [0, 250]]], np.uint8)
        more = {"pertoken_scale": rows, "bias": F32([1, 2, 0]), "output_dtype": "float32"}
        y = npu_quant_matmul(x1, x2, columns, **more)
        assert y[0].tolist() == [32 + 8 + 1, 64 + 4 + 2, 2.0**126]
        assert np.isnan(y[1]).all()

    def test_float4(self) -> None:
        """.5 * .5 by 8, and the codes lie along either axis of x2."""
        nibbles = np.full((1, 4), 0x11, np.uint8)
        scale = np.full((1, 1, 2), 127, np.uint8)
        more = {"pertoken_scale": scale, "output_dtype": 6, "x1_dtype": 296, "x2_dtype": 296}
        assert npu_quant_matmul(nibbles, nibbles.T, scale, **more).tolist() == [[2]]
        across = np.full((8, 1), 0x31, np.uint8)
        y = npu_quant_matmul(nibbles, across, scale.repeat(2, 1), **more)
        assert y.tolist() == [[2, 6]]

    def test_every_step_rounds(self) -> None:
        """3 * fl(1/3) is 1 in float32; the scales are not multiplied first."""
        more: Any = {"pertoken_scale": [2.0**24], "bias": [-(2.0**24)], "output_dtype": "float16"}
        assert product([[3]], [[1]], [1 / 3], **more) == [[0]]
        scales = {"pertoken_scale": [2.0**75], "output_dtype": "float16"}
        assert product([[32]], [[32]], [2.0**-75], **scales) == [[1024]]
        assert product([[32]], [[32]], [2.0**-149], **scales) == [[0]]

    def test_sums_beyond_float32_are_rounded(self) -> None:
        """2**24 + 1 is a tie, and becomes 2**24."""
        bias = np.array([2**24, 2**24 + 2], np.int32)
        y = npu_quant_matmul(
            X1[:1, :1], X1[:1, :1].repeat(2, 1), F32([1]), bias=bias, output_dtype=15
        )
        assert y.tolist() == [[2**24, 2**24]]

    def test_ends_of_the_range(self) -> None:
        assert product([[100]], [[100]], [7], output_dtype="float16") == [[INF]]
        assert product([[-100]], [[100, 0]], [INF]) == [[-128, 0]]
        assert product([[100]], [[100]], [NAN]) == [[0]]
        assert product([[1]], [[3]], [2.0**-25], output_dtype="float16") == [[2.0**-23]]
        assert math.copysign(1, product([[0]], [[1]], [-1], output_dtype=5)[0][0]) == -1

    def test_codes_that_are_no_numbers(self) -> None:
        """Infinity times 0 is NaN, and a block with NaN is NaN."""
        x1 = np.array([[INF, 1], [1, INF]], ml_dtypes.float8_e5m2)
        x2 = np.array([[2, 0], [1, 1]], ml_dtypes.float8_e5m2)
        y = npu_quant_matmul(x1, x2, F32([1]), output_dtype="float32")
        assert y[1].tolist() == [INF, INF]
        assert y[0, 0] == INF
        assert np.isnan(y[0, 1])

    def test_without_k(self) -> None:
        x1, x2 = np.zeros((2, 0), np.int8), np.zeros((0, 3), np.int8)
        y = npu_quant_matmul(x1, x2, F32([1]), offset=F32([1, 2, 3]))
        assert y.tolist() == [[1, 2, 3]] * 2
        bias = np.array([1, 2, 3], np.int32)
        assert (
            npu_quant_matmul(x1, x2, F32([1]), bias=bias, output_dtype=3).tolist()
            == [[1, 2, 3]] * 2
        )

    def test_batches_without_elements(self) -> None:
        """However many there are, nothing is asked for each."""
        x1 = np.broadcast_to(X1[:1], (2**40, 1, 2))
        y = npu_quant_matmul(x1, X2[:, :0], F32([1]), pertoken_scale=F32([1]), output_dtype=5)
        assert y.shape == (2**40, 1, 0)

    def test_batches(self) -> None:
        """Leading axes broadcast; each has its own bias."""
        x1, x2 = np.stack([X1, -X1])[:, None], X2[None].repeat(3, 0)
        y = npu_quant_matmul(x1, x2, F32([1]), output_dtype="int32")
        assert y.shape == (2, 3, 2, 3)
        assert (y[1] == -y[0]).all()
        assert (y[0, 2] == [[21, 12, -13], [17, 54, -61]]).all()
        bias = np.array([[[1, 2, 3]], [[0, 0, 100]]], np.int32)
        y = npu_quant_matmul(x1[:, 0], X2, F32([1]), bias=bias, output_dtype="int32")
        assert y[:, 0].tolist() == [[22, 14, -10], [-21, -12, 113]]

    @pytest.mark.parametrize("m", [1, 3])
    @pytest.mark.parametrize(
        ("made", "batched"),
        [
            (partial(of_integers, to="float16", pertoken=True), ["x1"]),
            (partial(in_groups, to="float16"), ["x1"]),
            (partial(in_groups, to="bfloat16", codes="int8"), ["x1"]),
            (partial(of_floats, to="float32", codes="mx float8_e4m3fn"), ["x1", "pertoken_scale"]),
        ],
        ids=["whole", "groups", "int8 by int4", "mx"],
    )
    def test_batches_with_one_x2(
        self, rng: np.random.Generator, made: Any, batched: list[str], m: int
    ) -> None:
        """Each gives what it gives alone, however its rows lie."""
        all_six = [made(rng, (m, 8)) for _ in range(6)]
        places = np.arange(6).reshape(2, 3)
        for view in (
            lambda a: a,
            lambda a: a.swapaxes(0, 1),
            lambda a: a[:, ::2],
            lambda a: a[::-1, ::-1],
        ):
            given = {name: np.stack([one[name] for one in all_six]) for name in batched}
            given = {name: view(a.reshape(2, 3, *a.shape[1:])) for name, a in given.items()}
            y = npu_quant_matmul(**all_six[0] | given)
            for place, i in np.ndenumerate(view(places)):
                alone = all_six[0] | {name: all_six[i][name] for name in batched}
                assert (y[place] == npu_quant_matmul(**alone)).all()


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("n", [15, 63, 64, 65, 300])
def test_columns_that_lie_backwards(rng: np.random.Generator, n: int) -> None:
    a = of_integers(rng, (3, n), "int32", k=70)
    backwards = {name: np.ascontiguousarray(a[name][:, ::-1])[:, ::-1] for name in ("x1", "x2")}
    assert (npu_quant_matmul(**a | backwards) == npu_quant_matmul(**a)).all()


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("codes", ["int8", "int4"])
def test_sums_against_float64(rng: np.random.Generator, codes: str) -> None:
    """BLAS adds up numbers below 2**53 exactly, in whatever order."""
    for m, n, k in ((1, 257, 1000), (130, 64, 4097), (7, 520, 8200)):
        a = of_integers(rng, (m, n), "int32", codes, k=k)
        wide = [a[name] if codes == "int8" else _codes.int4_of(a[name]) for name in ("x1", "x2")]
        if codes == "int4" and n % 8:
            wide[1] = _codes.int4_of(a["x2"].T).T
        sums = wide[0].astype(float) @ wide[1].astype(float)
        assert (npu_quant_matmul(**a) == sums).all()


def rounded(value: Fraction, to: str = "float32") -> Fraction:
    found = nearest(value, to)
    assert found is not None
    return found


def value_of(number: Any) -> Fraction:
    return Fraction(float(number))


@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_reference_against_fractions(rng: np.random.Generator, to: str) -> None:
    """The reference itself, against exact arithmetic that shares nothing with it."""
    a = of_integers(rng, (4, 40), to, pertoken=True, bias=np.dtype(np.float16), k=9)
    y = reference(**a).astype(float)
    for m, n in np.ndindex(y.shape):
        acc = sum(int(x) * int(w) for x, w in zip(a["x1"][m], a["x2"][:, n], strict=True))
        v = rounded(rounded(Fraction(acc)) * value_of(a["scale"][n]))
        v = rounded(rounded(v * value_of(a["pertoken_scale"][m])) + value_of(a["bias"][n]))
        assert y[m, n] == float(rounded(v, to))


@pytest.mark.parametrize("codes", ["int4", "int8"])
def test_reference_of_groups_against_fractions(rng: np.random.Generator, codes: str) -> None:
    a = in_groups(rng, (3, 16), "float16", codes, g=8, groups=3)
    x = a["x1"].astype(int) - 8 if codes == "int8" else _codes.int4_of(a["x1"]).astype(int)
    w, y = _codes.int4_of(a["x2"]).astype(int), reference(**a).astype(float)
    scale = (a["scale"] & 0xFFFFFFFF).astype(np.uint32).view(F32) if codes == "int8" else a["scale"]
    for m, n in np.ndindex(y.shape):
        total = Fraction(0)
        for j in range(3):
            own = range(8 * j, 8 * j + 8)
            p = rounded(Fraction(sum(int(x[m, k] * w[k, n]) for k in own)))
            if codes == "int4":
                r = Fraction(sum(int(x[m, k]) for k in own))
                p = rounded(p - rounded(r * value_of(a["offset"][j, n])))
            total = rounded(total + rounded(p * value_of(scale[j, n])))
        if codes == "int8":
            total = rounded(total + value_of(a["offset"][n]))
        v = rounded(total * value_of(a["pertoken_scale"][m, 0]))
        assert y[m, n] == float(rounded(v, "float16"))


@pytest.mark.parametrize("codes", ["float8_e4m3fn", "float8_e5m2", "hifloat8", "mx float4_e2m1"])
def test_reference_of_small_floats_against_float64(rng: np.random.Generator, codes: str) -> None:
    """A loop over elements, in Python's floats; NumPy rounds them to float32."""
    a = of_floats(rng, (3, 8), "float32", codes, k=70, bias=None)
    name = codes.rpartition(" ")[2]
    x, w = _codes.decode(a["x1"], name).tolist(), _codes.decode(a["x2"], name).tolist()
    y = reference(**a)
    for m, n in np.ndindex(y.shape):
        total = F32(0)
        for j in range(0, 70, 32):
            p = [x[m][k] * w[k][n] for k in range(j, min(70, j + 32))]
            p += [0.0] * (32 - len(p))
            while len(p) > 1:
                half = len(p) // 2
                p = [p[i] + p[i + half] for i in range(half)]
            block = F32(p[0])
            if codes.startswith("mx"):
                c, i = divmod(j // 32, 2)
                exponent = int(a["pertoken_scale"][m, c, i]) + int(a["scale"][c, n, i]) - 254
                block = F32(math.ldexp(float(block), exponent))
            total = F32(total + block)
        if not codes.startswith("mx"):
            total = F32(F32(total * a["scale"][n]) * a["pertoken_scale"][m])
        assert y[m, n] == total


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize(
    "codes",
    ["float8_e4m3fn", "float8_e5m2", "hifloat8", "mx float8_e4m3fn", "mx float4_e2m1"],
)
def test_small_floats_are_near_every_order(rng: np.random.Generator, codes: str) -> None:
    """Of K products whose sizes add up to S, with u = 2**-24 (docs/numerics.md 20.2).

    A block is rounded once, and its total at each of the later blocks: an error of at most
    (blocks + 1) u S. Any other order in float32 rounds each product at most K times: K u S.
    Second orders are below one u S more of each. The powers of two of MX round nothing: they are
    of the products.
    """
    k, u, name = 1000, 2.0**-24, codes.rpartition(" ")[2]
    a = of_floats(rng, (4, 16), "float32", codes, k=k, bias=None)
    x, w = (_codes.decode(a[factor], name).astype(float) for factor in ("x1", "x2"))
    if codes.startswith("mx"):
        of_rows = a["pertoken_scale"].reshape(4, -1)
        of_columns = a["scale"].transpose(0, 2, 1).reshape(-1, 16)
        x = np.ldexp(x, np.repeat(of_rows.astype(int) - 127, 32, axis=1)[:, :k])
        w = np.ldexp(w, np.repeat(of_columns.astype(int) - 127, 32, axis=0)[:k])
    else:
        a |= {"scale": np.ones(1, F32), "pertoken_scale": None}
    products = x[:, :, None] * w[None]
    size = np.abs(products).sum(axis=1)
    ours = npu_quant_matmul(**a).astype(float)
    blocks = -(-k // 32)
    exact = np.vectorize(math.fsum, signature="(k)->()")(np.moveaxis(products, 1, -1))
    assert (np.abs(ours - exact) <= (blocks + 2) * u * size).all()
    for order in (np.arange(k), rng.permutation(k), np.argsort(-np.abs(x[0]))):
        total = np.zeros(size.shape, F32)
        for i in order:
            total = total + products[:, i].astype(F32)
        assert (np.abs(ours - total) <= (k + blocks + 3) * u * size).all()
