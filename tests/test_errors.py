"""Every message the package can give, who raises it, and that nothing is written when it does.

The operators' messages are tables named ERRORS in their own test files; this file goes through all.
"""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_quant
from npu_quant import DTypeError, ParamError, npu_dynamic_quant

X = np.ones((2, 4), np.float16)


def cases() -> Iterator[Any]:
    """Yield every row of every ERRORS table, with what the row's file says must stay unwritten."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if "\nERRORS = " not in path.read_text():
            continue
        module = importlib.import_module(path.stem)
        op = "npu_" + path.stem.removeprefix("test_")
        for name, call, error, code, text in module.ERRORS:
            outputs = (module.Y, module.S)
            yield pytest.param(call, error, code, f"{op}: {text}", outputs, id=f"{op}-{name}")


@pytest.mark.parametrize(("call", "error", "code", "text", "outputs"), list(cases()))
def test_message(
    call: Callable[[], Any], error: type, code: int | None, text: str, outputs: tuple[Any, ...]
) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(text)
    assert len(str(caught.value)) < 400
    assert isinstance(caught.value, RuntimeError) == (code is not None)
    assert getattr(caught.value, "code", None) == code
    assert not any(output.any() for output in outputs)


def test_torch_tensors_are_told_how() -> None:
    """A torch tensor gets the way to NumPy; recognised by its class's name, so a stand-in serves."""
    tensor = type("Tensor", (), {"__module__": "torch"})()
    with pytest.raises(
        DTypeError, match=r"input is a torch\.Tensor.*input\.detach\(\)\.cpu\(\)\.numpy\(\)"
    ):
        npu_dynamic_quant(tensor)


def test_subclasses_count_as_arrays() -> None:
    assert npu_dynamic_quant(X.view(np.recarray)).y.tolist() == npu_dynamic_quant(X).y.tolist()


def test_the_first_fault_is_reported() -> None:
    """Missing before array before dtype before rank before attributes before shapes before out."""
    bad = {"smooth_scales": np.ones(3, np.float32), "quant_mode": "x", "out": ()}
    with pytest.raises(DTypeError, match="input is None"):
        npu_dynamic_quant(None, **bad)
    with pytest.raises(DTypeError, match="smooth_scales has dtype"):
        npu_dynamic_quant(X[0], **bad)
    bad["smooth_scales"] = np.ones(3, np.float16)
    with pytest.raises(ParamError, match="input has 1 dimension"):
        npu_dynamic_quant(X[0], **bad)
    with pytest.raises(ParamError, match="quant_mode"):
        npu_dynamic_quant(X, **bad)
    bad["quant_mode"] = "pertoken"
    with pytest.raises(ParamError, match="smooth_scales has shape"):
        npu_dynamic_quant(X, **bad)


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(ParamError("text", 561002)))
    assert (str(error), error.code, type(error)) == ("text", 561002, ParamError)


def test_classes() -> None:
    assert issubclass(DTypeError, TypeError)
    assert issubclass(DTypeError, RuntimeError)
    assert issubclass(ParamError, ValueError)
    assert issubclass(ParamError, RuntimeError)


@pytest.mark.parametrize("n", [0, -1, 5000, 10**20])
def test_set_num_threads_range(n: int) -> None:
    with pytest.raises(ParamError, match="expected a whole number from 1 to 4096"):
        npu_quant.set_num_threads(n)


@pytest.mark.parametrize("n", ["2", 2.0, None])
def test_set_num_threads_kind(n: Any) -> None:
    with pytest.raises(TypeError, match="expected an int"):
        npu_quant.set_num_threads(n)


def test_unknown_numerics_in_with() -> None:
    with pytest.raises(ParamError, match=r"numerics: numerics is 'x', available: reference"):  # noqa: SIM117
        with npu_quant.numerics("x"):
            pass


def test_out_of_memory_is_memory_error_and_writes_nothing() -> None:
    """Under a limit of address space, in a process of its own."""
    program = textwrap.dedent("""
        import resource
        import numpy as np
        import npu_quant
        x = np.zeros((1 << 14, 1 << 14), np.float16)
        scale = np.full(1 << 14, 5, np.float32)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
        for op in (npu_quant.npu_dynamic_quant, npu_quant.npu_dynamic_block_quant):
            try:
                op(x)
            except MemoryError:
                print("MemoryError")
        npu_quant.npu_dynamic_quant(x, out=(None, scale))
        print(scale.any())
    """)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["MemoryError", "MemoryError", "False"]
