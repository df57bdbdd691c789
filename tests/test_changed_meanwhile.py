"""What user code changes while a call looks at its arguments or computes: lists, tensors, `out`.

A call works on what it was given when it began, whatever runs meanwhile: other threads, handlers of signals,
the `__index__` of an attribute.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest
from witnesses import Array

import npu_quant

pytestmark = pytest.mark.usefixtures("threads")
Call = Callable[[dict[str, Any]], Any]


class Index:
    """A number that runs code when it is read."""

    def __init__(self, number: int, change: Callable[[], object]) -> None:
        self.number, self.change = number, change

    def __index__(self) -> int:
        self.change()
        return self.number


def grouped(rng: np.random.Generator, rows: int = 2, k: int = 8, n: int = 8) -> dict[str, Any]:
    shape = (k, n)
    return {
        "x": [rng.standard_normal((rows, k)).astype(np.float32) for _ in range(3)],
        "weight": [rng.standard_normal(shape).astype(np.float32) for _ in range(3)],
        "bias": [rng.standard_normal(n).astype(np.float32) for _ in range(3)],
        "split_item": 0,
        "group_type": -1,
    }


def by_experts(rng: np.random.Generator, rows: int = 2, k: int = 8, n: int = 8) -> dict[str, Any]:
    return {
        "x": rng.integers(-128, 128, (rows, k), np.int8),
        "weight": [rng.integers(-128, 128, (1, k, n), np.int8)],
        "weight_scale": [np.ones((1, n), np.float32)],
        "x_scale": np.ones(rows, np.float32),
        "group_list": np.array([rows]),
        "dequant_mode": 0,
    }


OPERATORS = {
    "grouped": (npu_quant.npu_grouped_matmul, grouped, ("x", "weight", "bias"), "split_item"),
    "by_experts": (
        npu_quant.npu_grouped_matmul_swiglu_quant_v2,
        by_experts,
        ("weight", "weight_scale"),
        "dequant_mode",
    ),
}
CHANGES: dict[str, Callable[[list[Any]], object]] = {
    "emptied": lambda some: some.clear(),
    "shorter": lambda some: some.pop(),
    "other": lambda some: some.__setitem__(0, None),
    "longer": lambda some: some.append(some[0]),
    "in_reverse": lambda some: some.__setitem__(slice(None), [np.ones_like(a) for a in some]),
}
every_operator = pytest.mark.parametrize("name", OPERATORS)
every_change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


def flat(result: Any) -> list[bytes]:
    return [np.asarray(one).tobytes() for one in result]


@every_operator
@every_change
def test_lists_that_an_attribute_changes(
    name: str, change: Callable[[list[Any]], object], rng: np.random.Generator
) -> None:
    operator, make, lists, attribute = OPERATORS[name]
    a = make(rng)
    expected = flat(operator(**a))
    number = a[attribute]
    a[attribute] = Index(number, lambda: [change(a[of]) for of in lists])
    assert flat(operator(**a)) == expected


def test_a_list_of_numbers_that_one_of_them_changes() -> None:
    x = np.full((2, 4), 0x11111111, np.int32)
    scale = np.arange(1, 17, dtype=np.float32).reshape(2, 8)
    given = {"output_dtype": np.float16, "pertoken_scale": np.ones((2, 1), np.float32)}
    w = np.full((32, 1), 0x11111111, np.int32)
    expected = npu_quant.npu_quant_matmul(x, w, scale, group_sizes=[0, 0, 16], **given)
    sizes: list[Any] = [0, 0, 16]
    sizes[0] = Index(0, sizes.clear)
    result = npu_quant.npu_quant_matmul(x, w, scale, group_sizes=sizes, **given)
    np.testing.assert_array_equal(result, expected)


def test_a_list_of_outputs_that_an_attribute_changes(rng: np.random.Generator) -> None:
    """They are taken when the attributes have been read, all at once."""
    a = grouped(rng)
    out = [np.empty((2, 8), np.float32) for _ in range(3)]
    others = [np.empty((2, 8), np.float32) for _ in range(3)]
    a["split_item"] = Index(0, lambda: out.__setitem__(slice(None), others))
    result = npu_quant.npu_grouped_matmul(**a, out=out)
    assert all(one is other for one, other in zip(result, others, strict=True))


LONG = {"grouped": (64, 2048, 1024), "by_experts": (256, 2048, 2048)}


@contextmanager
def while_it_computes(change: Callable[[], object]) -> Iterator[None]:
    """Let another thread put something in the place of its like, again and again."""
    done = threading.Event()

    def run() -> None:
        while not done.wait(0.001):
            change()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@every_operator
def test_lists_that_a_thread_changes(name: str, rng: np.random.Generator) -> None:
    operator, make, lists, _ = OPERATORS[name]
    npu_quant.set_num_threads(1)
    a = make(rng, *LONG[name])
    expected = flat(operator(**a))

    def replace() -> None:
        for of in lists:
            a[of][:] = [one.copy() for one in a[of]]
        [np.full(shape, 7, np.float32) for shape in ((2048, 1024), (1024, 1024))]

    with while_it_computes(replace):
        assert flat(operator(**a)) == expected


@every_operator
def test_lists_that_a_signal_handler_changes(name: str, rng: np.random.Generator) -> None:
    operator, make, lists, attribute = OPERATORS[name]
    npu_quant.set_num_threads(1)
    a = make(rng, *LONG[name])
    expected = flat(operator(**a))
    called = []

    def handler(_number: int, _frame: FrameType | None) -> None:
        called.append(True)
        for of in lists:
            a[of].clear()

    before = signal.signal(signal.SIGALRM, handler)
    start = Index(a[attribute], lambda: signal.setitimer(signal.ITIMER_REAL, 0.001))
    try:
        assert flat(operator(**a | {attribute: start})) == expected
        assert called
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "change",
    [
        lambda array: setattr(array, "shape", (-1,)),
        lambda array: setattr(array, "dtype", np.uint8),
        lambda array: array.setflags(write=False),
    ],
    ids=["shape", "dtype", "flags"],
)
def test_arrays_that_a_thread_looks_at_otherwise(
    change: Callable[[Array], object], rng: np.random.Generator
) -> None:
    """A thread that comes before the call has looked, as on a busy machine, is waited for again."""
    npu_quant.set_num_threads(1)
    x = rng.standard_normal((512, 8192)).astype(np.float32)
    expected = npu_quant.npu_dynamic_quant(x)
    out = (np.empty(x.shape, np.int8), np.empty(x.shape[:1], np.float32))
    computed = False
    for _ in range(20):
        views = [x.view(), *(one.view() for one in out)]
        with (
            contextlib.suppress(npu_quant.NpuQuantError),
            while_it_computes(lambda own=views: [change(v) for v in own if v.flags.writeable]),
        ):
            npu_quant.npu_dynamic_quant(views[0], out=tuple(views[1:]))
            computed = True
        if computed:
            break
    assert computed
    for one, other in zip(out, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.needs("torch")
def test_tensors_whose_data_a_thread_replaces(rng: np.random.Generator) -> None:
    """As whoever loads other weights into a running model does: `parameter.data = other`."""
    import torch

    npu_quant.set_num_threads(1)
    a = {name: [torch.from_numpy(one) for one in some] for name, some in grouped(rng, *LONG["grouped"]).items() if isinstance(some, list)}  # fmt: skip
    expected = flat(npu_quant.npu_grouped_matmul(**a, split_item=0, group_type=-1))

    def replace() -> None:
        for some in a.values():
            for one in some:
                one.data = one.clone()
                torch.full_like(one, 7)

    a = {name: [one.clone() for one in some] for name, some in a.items()}
    with while_it_computes(replace):
        assert flat(npu_quant.npu_grouped_matmul(**a, split_item=0, group_type=-1)) == expected
