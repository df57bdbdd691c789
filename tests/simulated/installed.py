"""What holds after ``install``: test_torch_npu_device.py runs it, in a process of its own."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from unittest.mock import patch

import pytest
import torch
import torch_npu

import npu_quant
from npu_quant.torch_npu import install


def test_it_is_a_module() -> None:
    spec = importlib.util.find_spec("torch_npu")
    assert spec is not None
    assert spec.name == "torch_npu"
    assert spec.submodule_search_locations
    assert torch_npu is sys.modules["torch_npu"] is install() is install()
    assert list(torch_npu.__path__) == spec.submodule_search_locations
    assert torch_npu.__version__ == f"2.13.0+npu_quant{npu_quant.__version__}"
    assert importlib.import_module("torch_npu.npu") is torch_npu.npu is torch.npu
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'torch_npu\.nothing'"):
        importlib.import_module("torch_npu.nothing")


def test_operators_are_the_dispatcher_s() -> None:
    for name in npu_quant.__all__:
        if name.startswith("npu_"):
            assert getattr(torch_npu, name) is getattr(torch.ops.npu, name)


def test_numbers_of_dtypes() -> None:
    names = (
        "int4 hifloat8 float8_e5m2 float8_e4m3fn float8_e8m0fnu float4_e2m1fn_x2 float4_e1m2fn_x2"
    )
    numbers = [getattr(torch_npu, name) for name in names.split()]
    assert numbers == [285, 290, 291, 292, 293, 296, 297]
    assert (torch_npu.int8, torch_npu.bfloat16, torch_npu.float32) == (258, 283, 256)


def test_there_is_no_device() -> None:
    assert not torch.npu.is_available()
    assert torch.npu.device_count() == 0
    assert torch.npu.get_soc_version() == -1
    assert not hasattr(torch.Tensor, "npu")
    assert "npu" not in str(torch.accelerator.current_accelerator())
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        torch.ones(2).to("npu")
    for ask in (
        torch.npu.current_device,
        torch.npu.synchronize,
        torch.npu.get_device_name,
        torch.npu.Stream,
    ):
        with pytest.raises(
            RuntimeError, match=r"^There is no NPU, and none is simulated. Call npu_quant"
        ):
            ask()


def test_what_is_not_here_says_so_and_can_be_patched() -> None:
    text = r"^torch_npu\.npu_grouped_matmul_finalize_routing belongs to torch_npu and is not in npu_quant"
    for module in (torch_npu, torch.ops.npu):
        with pytest.raises(NotImplementedError, match=text):
            module.npu_grouped_matmul_finalize_routing(torch.ones(2), 1)
    with patch("torch_npu.npu_grouped_matmul_finalize_routing", return_value=7) as mock:
        assert torch_npu.npu_grouped_matmul_finalize_routing(1) == 7
        mock.assert_called_once_with(1)
    with patch("torch_npu.npu_dynamic_quant", return_value=8):
        assert torch_npu.npu_dynamic_quant() == 8
    assert torch_npu.npu_dynamic_quant is torch.ops.npu.npu_dynamic_quant
    with patch("torch.ops.npu.npu_grouped_matmul_finalize_routing", return_value=9):
        assert torch.ops.npu.npu_grouped_matmul_finalize_routing() == 9
    with pytest.raises(
        NotImplementedError, match=r"^torch_npu\.profiler\.profile belongs to torch_npu"
    ):
        torch_npu.profiler.profile()
    with pytest.raises(
        NotImplementedError, match=r"^torch_npu\.npu_moe_gating_top_k\.default belongs to torch_npu"
    ):
        torch.ops.npu.npu_moe_gating_top_k.default(torch.ones(2))
    for module in (torch_npu, torch.ops.npu):
        with pytest.raises(AttributeError, match="npu_nonsense"):
            module.npu_nonsense  # noqa: B018


def test_others_may_define_what_is_not_here() -> None:
    library = torch.library.Library("npu", "FRAGMENT")
    library.define("npu_mish(Tensor x) -> Tensor")
    library.impl("npu_mish", lambda x: x + 1, "CPU")
    assert torch.ops.npu.npu_mish(torch.ones(1)).item() == 2
    assert torch_npu.npu_mish is torch.ops.npu.npu_mish


def test_missing_classes_may_be_derived_from() -> None:
    class Graph(torch.npu.NPUGraph): ...

    assert not isinstance(torch.ones(1), torch.npu.FloatTensor)
    assert (torch.npu.NPUGraph | None) is not None
    with pytest.raises(NotImplementedError, match=r"^torch\.npu\.NPUGraph belongs to torch_npu"):
        Graph(1)


def test_modules_of_upstream() -> None:
    for name in ("torch_npu.npu.amp", "torch.npu.amp", "torch_npu.contrib", "torch_npu.profiler"):
        importlib.import_module(name)
    from torch_npu.profiler import profile

    with pytest.raises(
        NotImplementedError, match=r"^torch_npu\.profiler\.profile belongs to torch_npu"
    ):
        profile()
    with pytest.raises(NotImplementedError, match='say "npu" where the code says "cuda"'):
        from torch_npu.contrib import transfer_to_npu  # noqa: F401
