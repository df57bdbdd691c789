"""The C functions on memory of every layout, on several threads, and under a named arithmetic."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from aclnn_calls import FLOAT16, INT8, call, recent_message, status_of
from witnesses import Array, assert_same_bits, layouts, on_steps, out_layouts

THREADS = 8


class Case(NamedTuple):
    """A function, its arguments, and which of them are results."""

    name: str
    arguments: tuple[object, ...]
    results: tuple[int, ...]

    def with_argument(self, place: int, value: Array) -> list[object]:
        return [*self.arguments[:place], value, *self.arguments[place + 1 :]]


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Every function, with all of its tensors; shapes that are no multiples of anything."""
    shape = (3, 5, 67)
    x = on_steps(rng, shape, np.dtype(np.float16), 1)
    x2 = on_steps(rng, shape, np.dtype(np.float16), 1)
    half = (rng.random(67) + 0.5).astype(np.float16)
    scale, offset = (rng.random(67) + 0.5).astype(np.float32), np.arange(67, dtype=np.float32) / 2
    zero_point = rng.integers(-9, 9, 67).astype(np.int32)
    y, tokens = np.zeros(shape, np.int8), np.zeros(shape[:-1], np.float32)
    out, mask = np.zeros(shape, np.float16), np.zeros(shape, np.bool_)
    blocks, one = np.zeros((3, 5, 1), np.float32), np.array([0.25], np.float32)
    pertoken = (None, INT8, True, b"pertoken")
    yield Case("aclnnDynamicQuant", (x, half, y, tokens), (2, 3))
    yield Case("aclnnDynamicQuantV2", (x, half, None, INT8, y, tokens, None), (4, 5))
    yield Case("aclnnDynamicQuantV3", (x, half, *pertoken, y, tokens, None), (6, 7))
    yield Case("aclnnDynamicQuantV4", (x, half, *pertoken, 0, y, tokens, None), (7, 8))
    block = (x, 0.5, b"rint", INT8, 1, 128)
    yield Case("aclnnDynamicBlockQuant", (*block, y, blocks), (6, 7))
    yield Case("aclnnDynamicBlockQuantV2", (*block, 0, y, blocks), (7, 8))
    norm = (x, x2, half, scale, scale + 1, zero_point, zero_point)
    rule = (-1, 1e-5, True)
    yield Case("aclnnAddRmsNormQuant", (*norm, *rule, y, y.copy(), out), (10, 11, 12))
    outputs = (y, y.copy(), out, out.copy())
    yield Case("aclnnAddRmsNormQuantV2", (*norm, half, *rule, *outputs), (11, 12, 13, 14))
    per_tensor = (x, one, zero_point[:1], 1, -128, 127, out, mask)
    yield Case("aclnnFakeQuantPerTensorAffineCachemask", per_tensor, (6, 7))
    per_channel = (x, scale, zero_point, 2, -128, 127, out, mask)
    yield Case("aclnnFakeQuantPerChannelAffineCachemask", per_channel, (6, 7))
    yield Case("aclnnAscendQuant", (x, half, half, True, b"floor", INT8, y), (6,))
    yield Case("aclnnAscendQuantV3", (x, half, half, True, b"ceil", INT8, -1, y), (7,))
    codes = rng.integers(-128, 128, shape).astype(np.int8)
    yield Case("aclnnAscendAntiQuant", (codes, scale, offset, FLOAT16, True, out), (5,))


CASES = list(cases(np.random.default_rng(5)))


def results_of(case: Case) -> tuple[Array, ...]:
    """Compute, all of it contiguous; return copies of the results."""
    arguments = list(case.arguments)
    for place in case.results:
        arguments[place] = np.ones_like(arguments[place])
    call(case.name, *arguments)
    return tuple(arguments[place] for place in case.results)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def test_inputs_of_every_layout(case: Case) -> None:
    expected = results_of(case)
    for place, array in enumerate(case.arguments):
        if not isinstance(array, np.ndarray) or place in case.results:
            continue
        for _, view in layouts(array):
            if min((0, *view.strides)) < 0:
                continue
            results = [np.ones_like(case.arguments[i]) for i in case.results]
            arguments = case.with_argument(place, view)
            for i, result in zip(case.results, results, strict=True):
                arguments[i] = result
            call(case.name, *arguments)
            assert_same_bits(tuple(results), expected)


def test_outputs_of_every_layout(case: Case) -> None:
    expected = results_of(case)
    for nth, place in enumerate(case.results):
        whole = case.arguments[place]
        assert isinstance(whole, np.ndarray)
        for _, view in out_layouts(whole.shape, whole.dtype.type):
            if min((0, *view.strides)) >= 0:
                call(case.name, *case.with_argument(place, view))
                assert_same_bits((view,), (expected[nth],))


def test_inputs_that_repeat(case: Case) -> None:
    """A stride of 0 stands for an element that is there once."""
    for place, array in enumerate(case.arguments):
        if not isinstance(array, np.ndarray) or place in case.results:
            continue
        repeated = np.broadcast_to(array[:1], array.shape)
        assert repeated.strides[0] == 0 or array.shape[0] == 1
        dense = Case(case.name, tuple(case.with_argument(place, repeated.copy())), case.results)
        sparse = Case(case.name, tuple(case.with_argument(place, repeated)), case.results)
        assert_same_bits(results_of(sparse), results_of(dense))


def test_negative_strides_are_refused(case: Case) -> None:
    for place, array in enumerate(case.arguments):
        if isinstance(array, np.ndarray) and array.size > 1:
            assert status_of(case.name, *case.with_argument(place, array[::-1])) == 161002
            assert "stride" in recent_message()


def test_results_around_the_view_stay(case: Case) -> None:
    arguments, memories = list(case.arguments), []
    for place in case.results:
        result = arguments[place]
        assert isinstance(result, np.ndarray)
        memory = np.full(result.nbytes + 2048, 85, np.uint8)
        arguments[place] = memory[1024:-1024].view(result.dtype).reshape(result.shape)
        memories.append(memory)
    call(case.name, *arguments)
    for memory in memories:
        assert (memory[:1024] == 85).all()
        assert (memory[-1024:] == 85).all()


def test_threads_do_not_meet() -> None:
    expected = [results_of(case) for case in CASES]

    def repeat(first: int) -> None:
        for nth in range(first, first + 4 * len(CASES)):
            place = nth % len(CASES)
            assert_same_bits(results_of(CASES[place]), expected[place])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(repeat, range(THREADS)))


def test_messages_are_each_threads_own() -> None:
    case = CASES[0]
    assert status_of(case.name, None, *case.arguments[1:]) == 161001
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(recent_message).result() == ""
    assert "x is NULL" in recent_message()
    assert recent_message() == ""


# The variable is set when this package is loaded already, and the C library not yet.
NUMERICS = """
import os, sys

import numpy as np

import npu_quant

os.environ["NPU_QUANT_NUMERICS"] = sys.argv[1]
import aclnn_calls

if sys.argv[2] == "init":
    print(aclnn_calls.RUNTIME.aclInit(None))
    print(aclnn_calls.recent_message())
x = np.float32([[1, -2]])
y, scale = np.zeros((1, 2), np.int8), np.zeros(1, np.float32)
print(aclnn_calls.status_of("aclnnDynamicQuant", x, None, y, scale))
print(aclnn_calls.recent_message())
print(y.tolist())
"""


def run_with_numerics(name: str, init: str) -> list[str]:
    path = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", NUMERICS, name, init],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.splitlines()


def test_known_numerics() -> None:
    assert run_with_numerics("reference", "init") == ["0", "", "0", "", "[[64, -127]]"]


@pytest.mark.parametrize("init", ["init", "no init"])
def test_unknown_numerics(init: str) -> None:
    lines = run_with_numerics("fast", init)
    if init == "init":
        code, message = lines[:2]
        assert code == "100000"
        assert "NPU_QUANT_NUMERICS is 'fast', available: reference" in message
    code, message, y = lines[-3:]
    assert code == "161002"
    assert "NPU_QUANT_NUMERICS is 'fast', available: reference" in message
    assert y == "[[0, 0]]"
