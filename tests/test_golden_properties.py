"""What holds of every comparison, whatever the arrays."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import npu_quant
from npu_quant.golden import compare

Array = NDArray[Any]
DTYPES = [np.int8, np.uint8, np.int32, np.int64, np.float16, np.float32, np.float64, np.bool_]
DTYPES += [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


@st.composite
def arrays(draw: st.DrawFn) -> Array:
    """Arrays of any bytes: NaN of all payloads, infinities, subnormals."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=7))
    if dtype.kind == "b":
        return draw(hnp.arrays(dtype, shape))
    bits = draw(hnp.arrays(f"u{dtype.itemsize}", shape, elements=None))
    return np.asarray(bits).reshape(shape).view(dtype) if bits.ndim else bits.view(dtype)


def plain_differences(a: Array, g: Array) -> int:
    """Count by Python, element by element."""
    pairs = zip(a.reshape(-1), g.reshape(-1), strict=True)
    return sum(x.tobytes() != y.tobytes() and not (x != x and y != y) for x, y in pairs)


@settings(deadline=None, max_examples=150)
@given(a=arrays(), seed=st.integers(0, 2**32 - 1))
def test_two_arrays(a: Array, seed: int) -> None:
    golden = np.random.default_rng(seed).permutation(a.reshape(-1)).reshape(a.shape)
    comparison = compare(a, golden)
    metrics = comparison.outputs[0].metrics
    assert metrics is not None
    assert metrics.mismatches == plain_differences(a, golden)
    assert (comparison.rung == "identical") == (metrics.mismatches == 0)
    assert comparison.rung in ("identical", "different")
    assert comparison.passed == (metrics.mismatches == 0)
    assert len(str(comparison).splitlines()) <= 12
    assert len(comparison.worst(1000)) == min(metrics.mismatches, 100)
    assert compare(golden, golden.copy()).rung == "identical"
    if metrics.mismatches:
        assert comparison.where is not None
        assert int(comparison.where.row_counts.sum()) == metrics.mismatches
        assert int(comparison.where.column_counts.sum()) == metrics.mismatches


@settings(deadline=None, max_examples=80)
@given(
    x=hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=9),
        elements=st.floats(-(2.0**100), 2.0**100, width=32),
    ),
    place=st.integers(0, 10**6),
    by=st.integers(1, 200),
    op=st.sampled_from(["npu_dynamic_quant", "npu_dynamic_block_quant"]),
)
def test_a_changed_code_never_becomes_identical(x: Array, place: int, by: int, op: str) -> None:
    name = "input" if op == "npu_dynamic_quant" else "x"
    y, scale = getattr(npu_quant, op)(x)
    inputs = {name: x}
    assert compare((y.copy(), scale.copy()), op=op, inputs=inputs).rung == "identical"
    wrong = y.copy()
    flat = wrong.reshape(-1)
    flat[place % flat.size] = np.int8((int(flat[place % flat.size]) + by + 128) % 256 - 128)
    comparison = compare((wrong, scale.copy()), op=op, inputs=inputs)
    output = comparison.output("y")
    assert output.metrics is not None
    assert output.metrics.mismatches == 1
    if output.rung == "tie":
        assert output.metrics.max_steps == 1
        assert output.ties is not None
        assert output.ties.farthest <= 4
    else:
        assert output.rung in ("variant", "different")
    assert not comparison.passed or comparison.rung in ("tie", "variant")


@pytest.mark.parametrize("layout", ["transposed", "reversed", "sliced", "read-only", "unaligned"])
def test_layouts_do_not_matter(layout: str, rng: np.random.Generator) -> None:
    golden = rng.standard_normal((40, 30)).astype(np.float32)
    actual = golden.copy()
    actual[3, 4] += 1
    expected = compare(actual, golden).to_dict()
    if layout == "transposed":
        laid = np.asfortranarray(actual)
    elif layout == "reversed":
        laid = actual[::-1, ::-1].copy()[::-1, ::-1]
    elif layout == "sliced":
        wide = np.zeros((40, 60), np.float32)
        wide[:, ::2] = actual
        laid = wide[:, ::2]
    elif layout == "unaligned":
        laid = np.frombuffer(b"x" + actual.tobytes(), np.float32, offset=1).reshape(40, 30)
    else:
        laid = actual.copy()
        laid.flags.writeable = False
    assert compare(laid, golden).to_dict() == expected


def test_threads_and_targets_do_not_matter(
    target: str, threads: None, rng: np.random.Generator
) -> None:
    golden = rng.standard_normal((500, 700)).astype(np.float32)
    actual = (golden * np.float32(1.0001)).astype(np.float32)
    results = []
    for n in (1, 2, 5):
        npu_quant.set_num_threads(n)
        results.append(compare(actual, golden).to_dict())
    assert results[0] == results[1] == results[2]
