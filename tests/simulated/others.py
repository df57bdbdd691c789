"""What holds under ``simulate`` of code that torch calls, and of what others register."""

from __future__ import annotations

import _thread
import ctypes
import queue
import threading
from typing import Any

import pytest
import torch

import npu_quant


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x * torch.full((3,), 2.0, device="npu")

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        return grad * torch.full((3,), 2.0, device="npu")


@pytest.mark.parametrize("reentrant", [True, False])
def test_what_torch_calls_back_knows_the_device(reentrant: bool) -> None:
    """Backward, hooks, what a checkpoint computes again."""
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda grad: grad + torch.ones(3, device="npu"))

    def again(x: torch.Tensor) -> torch.Tensor:
        return Twice.apply(x * torch.ones(3, device="npu"))

    torch.utils.checkpoint.checkpoint(again, x, use_reentrant=reentrant).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 3, 3]
    (grad,) = torch.autograd.grad(Twice.apply(x).sum(), x)
    assert grad.tolist() == [3, 3, 3]


@pytest.mark.parametrize("key", ["CPU", "CompositeExplicitAutograd", "PrivateUse1", "custom_op"])
def test_kernels_of_others_know_the_device(key: str) -> None:
    """One for the NPU is called, as tensors of the CPU are what it is for."""

    def kernel(x: torch.Tensor, kind: str) -> torch.Tensor:
        return x + torch.ones(3, device=kind)

    if key == "custom_op":
        operator = torch.library.custom_op(
            "others::made", kernel, mutates_args=(), device_types="npu"
        )
    else:
        library = torch.library.Library("others", "FRAGMENT")
        library.define(f"of_{key}(Tensor x, str kind) -> Tensor")
        library.impl(f"of_{key}", kernel, key)
        operator = getattr(torch.ops.others, f"of_{key}")
    assert operator(torch.ones(3), kind="npu").tolist() == [2, 2, 2]  # a word, and no device
    assert operator(torch.ones(3), "npu").tolist() == [2, 2, 2]


def test_a_number_is_that_of_a_device() -> None:
    at = torch.npu.current_device()
    x = torch.ones(2)
    assert x.to(at) is x.to(device=at) is x.npu(at) is x
    assert torch.empty(2, device=at).is_npu
    assert torch.nn.Linear(2, 2).to(at).weight.is_npu
    assert torch.ops.prims.device_put(x, torch.device("npu")).device.type == "cpu"
    with pytest.raises(RuntimeError, match="invalid device npu:1"):
        torch.empty(2, device=1)


@pytest.mark.parametrize("device", ["cuda", "npux", 3.5, "cpu"])
def test_what_is_no_npu(device: object) -> None:
    for use in (torch.ones(2).npu, torch.nn.Linear(2, 2).npu, torch.npu.set_device):
        if device != "cpu" or use is torch.npu.set_device:
            with pytest.raises((RuntimeError, TypeError)):
                use(device)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        torch.ones(2, device="meta").npu()


def test_a_second_call_mends_what_a_mode_took_away() -> None:
    with torch.device("meta"):
        npu_quant.torch_npu.simulate("Ascend910B1")
        assert torch.zeros(2).is_meta
    assert torch.zeros(2, device="npu").is_npu


@pytest.mark.parametrize("start", ["threading", "_thread", "C"])
def test_threads_know_the_device(start: str) -> None:
    """What C starts, once it has called simulate for itself."""
    made: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def elsewhere() -> None:
        try:
            if start == "C":
                npu_quant.torch_npu.simulate("Ascend910B1")
            made.put(torch.zeros(2, device="npu"))
        except BaseException as error:
            made.put(error)

    if start == "threading":
        threading.Thread(target=elsewhere).start()
    elif start == "_thread":
        _thread.start_new_thread(elsewhere, ())
    else:
        call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: elsewhere())
        thread, library = ctypes.c_ulong(), ctypes.CDLL(None)
        assert library.pthread_create(ctypes.byref(thread), None, call, None) == 0
        library.pthread_join(thread, None)
    assert made.get(timeout=60).is_npu


def test_the_state_of_autocast() -> None:
    x = torch.ones(2, 2)
    with torch.autocast("npu:0", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.get_autocast_dtype("npu") == torch.npu.get_autocast_dtype()
        assert torch.is_autocast_enabled("npu")
        assert torch.npu.is_autocast_enabled()
    assert not torch.is_autocast_enabled("npu")

    class Cast(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="npu", cast_inputs=torch.float16)
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            assert x.dtype == torch.float16
            return x.clone()

    with torch.autocast("npu"):
        Cast.apply(x)


def test_generators_are_arguments_of_operators() -> None:
    @torch.library.custom_op("others::random", mutates_args=())
    def random(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        return torch.rand(x.shape, generator=generator)

    assert random(torch.ones(2), torch.Generator("npu").manual_seed(1)).shape == (2,)
    assert issubclass(type(torch.Generator()), torch.Generator)


def test_chips_of_a_series() -> None:
    for name in ("Ascend950PR_9599", "Ascend950DT_95A", "Ascend950"):
        npu_quant.torch_npu.simulate(name)
        assert (torch.npu.get_device_name(), torch.npu.get_soc_version()) == (name, 260)
    npu_quant.torch_npu.simulate("Ascend910B1")
