"""What holds under ``simulate``: test_torch_npu_device.py runs it, in a process of its own."""

from __future__ import annotations

import io
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch_npu

import npu_quant

NAMES = ["npu", "npu:0", torch.device("npu"), torch.device("npu:0"), torch.device("npu", 0)]


def test_the_module() -> None:
    assert torch_npu.npu is torch.npu
    assert torch.npu.is_available()
    assert torch.npu.is_initialized()
    assert (torch.npu.device_count(), torch.npu.current_device()) == (1, 0)
    assert torch.npu.get_device_name() == torch.npu.get_device_name("npu:0") == "Ascend910B1"
    assert torch_npu.npu.get_soc_version() == 220
    properties = torch.npu.get_device_properties(0)
    assert properties.name == "Ascend910B1"
    assert properties.total_memory == torch.npu.mem_get_info()[1]


def test_another_chip_is_a_name() -> None:
    npu_quant.torch_npu.simulate("Ascend910_9391")
    assert (torch.npu.get_device_name(), torch.npu.get_soc_version()) == ("Ascend910_9391", 250)
    npu_quant.torch_npu.simulate("Ascend910B1")
    with pytest.raises(
        npu_quant.ParamError, match=r"^soc is 'A100', available: Ascend310P, Ascend910B, "
    ):
        npu_quant.torch_npu.simulate("A100")
    with pytest.raises(TypeError, match=r"^soc has type int, expected a str"):
        npu_quant.torch_npu.simulate(910)  # type: ignore[arg-type]


@pytest.mark.parametrize("device", NAMES, ids=repr)
def test_a_device_in_any_of_its_ways(device: object) -> None:
    x = torch.randn(2, 8)
    made = [
        torch.empty(2, device=device),
        torch.zeros(2, device=device),
        torch.full((2,), 1.0, device=device),
        torch.randn(2, device=device),
        torch.arange(2, device=device),
        torch.tensor([1.0], device=device),
        torch.as_tensor([1.0], device=device),
        torch.ones_like(x, device=device),
        x.new_zeros(2, device=device),
        torch.nn.Parameter(torch.ones(2, device=device)),
        torch.nn.Linear(8, 2, device=device).weight,
        torch.nn.Linear(8, 2).to(device).weight,
        torch.nn.Linear(8, 2).to(device=device, dtype=torch.float16).weight,
    ]
    with torch.device(device):  # type: ignore[arg-type]
        made.append(torch.empty(2))
    assert all(t.is_npu and t.device.type == "cpu" for t in made)
    assert x.to(device) is x
    assert x.to(device, torch.float16).dtype == torch.float16
    assert x.to(device=device) is x
    assert x.to(device, non_blocking=True) is x
    torch.npu.set_device(device)
    with torch.npu.device(device):
        assert torch.npu.current_device() == 0


def test_tensors_and_modules_have_npu() -> None:
    x, layer = torch.randn(2, 8), torch.nn.Linear(8, 2)
    assert x.npu() is x
    assert x.npu(0) is x
    assert x.npu("npu:0", non_blocking=True) is x
    assert layer.npu() is layer
    assert layer.npu(0) is layer
    assert x.npu().cpu() is x
    assert x.is_npu


@pytest.mark.parametrize("device", ["npu:1", torch.device("npu:7")])
def test_there_is_one_device(device: object) -> None:
    for use in (
        lambda: torch.empty(2, device=device),
        lambda: torch.ones(2).to(device),
        lambda: torch.ones(2).npu(device),
        lambda: torch.npu.set_device(device),
    ):
        with pytest.raises(RuntimeError, match=r"invalid device npu:\d: the simulated machine"):
            use()


def test_other_devices_are_as_they_were() -> None:
    assert torch.empty(2, device="meta").is_meta
    assert not torch.empty(2, device="meta").is_npu
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        torch.empty(2, device="nothing")
    assert torch.einsum("npu,npu->", torch.ones(1, 1, 1), torch.ones(1, 1, 1)).item() == 1


def test_pinned_memory_is_memory() -> None:
    x = torch.ones(2)
    assert x.pin_memory() is x
    assert torch.empty(2, pin_memory=True).device.type == "cpu"


def test_new_threads_know_the_device() -> None:
    made = []
    thread = threading.Thread(target=lambda: made.append(torch.zeros(2, device="npu")))
    thread.start()
    thread.join()
    assert len(made) == 1
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda i: torch.full((), i, device="npu").item(), range(3))) == [
            0,
            1,
            2,
        ]


def test_autocast() -> None:
    layer, x = torch.nn.Linear(8, 2), torch.randn(3, 8)
    for context, dtype in (
        (torch.autocast("npu"), torch.float16),
        (torch.autocast("npu", dtype=torch.bfloat16), torch.bfloat16),
        (torch.amp.autocast(device_type="npu"), torch.float16),
        (torch.npu.amp.autocast(), torch.float16),
        (torch.autocast("npu", enabled=False), torch.float32),
        (torch.autocast("cpu"), torch.bfloat16),
    ):
        with context:
            assert layer(x).dtype == dtype
    scaler = torch.npu.amp.GradScaler()
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    scaler.scale(layer(x).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**16


def test_streams_and_events_have_no_effect() -> None:
    stream, default = torch.npu.Stream(), torch.npu.current_stream()
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    assert default is torch.npu.default_stream()
    with torch.npu.stream(stream), torch.npu.stream(None):
        assert torch.npu.current_stream() is stream
        start.record()
    assert torch.npu.current_stream() is default
    stream.wait_stream(default)
    stream.wait_event(stream.record_event(end))
    end.synchronize()
    stream.synchronize()
    torch.npu.synchronize()
    assert start.query()
    assert stream.query()
    assert start.elapsed_time(end) >= 0
    torch.ones(2).record_stream(stream)
    with pytest.raises(RuntimeError, match="must be recorded"):
        torch.npu.Event().elapsed_time(end)


def test_memory_is_the_machine_s() -> None:
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    free, total = torch.npu.mem_get_info()
    assert 0 < free <= total
    assert torch.npu.memory_allocated() == torch.npu.max_memory_allocated("npu:0") == 0


def test_seeds() -> None:
    for seed in (torch.manual_seed, torch.npu.manual_seed, torch.npu.manual_seed_all):
        seed(3)
        first = torch.rand(2, device="npu")
        seed(3)
        assert torch.equal(first, torch.rand(2))
    assert torch.npu.initial_seed() == 3
    state = torch.npu.get_rng_state()
    first = torch.rand(2)
    torch.npu.set_rng_state(state)
    assert torch.equal(first, torch.rand(2))
    generator = torch.Generator(device="npu").manual_seed(5)
    assert isinstance(generator, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator)
    first = torch.rand(2, generator=generator, device="npu")
    assert torch.equal(first, torch.rand(2, generator=torch.Generator().manual_seed(5)))


def test_state_dicts() -> None:
    layer = torch.nn.Linear(8, 2, device="npu")
    for place in (
        "npu",
        "npu:0",
        torch.device("npu"),
        {"cpu": "npu:0"},
        lambda storage, at: storage,
    ):
        file = io.BytesIO()
        torch.save(layer.state_dict(), file)
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        torch.nn.Linear(8, 2).npu().load_state_dict(loaded)
        assert torch.equal(loaded["weight"], layer.weight)


class Layer(torch.nn.Module):
    """A W8A8 layer as it is written for an NPU."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(64, dtype=torch.float16, device="npu"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, scale = torch.ops.npu.npu_dynamic_quant(x.npu() * self.weight)
        zeros = torch.zeros(64, device="npu")
        return y.float() * scale.unsqueeze(-1) + zeros


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(dynamic: bool) -> None:
    layer = Layer()
    compiled = torch.compile(layer, fullgraph=True, dynamic=dynamic)
    for rows in (3, 5) if dynamic else (3,):
        x = torch.randn(rows, 64, dtype=torch.float16)
        with torch.no_grad():
            assert torch.equal(compiled(x), layer(x))


def test_exported() -> None:
    x = torch.randn(3, 64, dtype=torch.float16)
    program = torch.export.export(Layer(), (x,))
    assert torch.equal(program.module()(x), Layer()(x))


def test_fake_tensors() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        y, scale = torch.ops.npu.npu_dynamic_quant(torch.empty(4, 64, device="npu"))
        assert (y.shape, y.dtype, scale.shape) == ((4, 64), torch.int8, (4,))


def test_backward() -> None:
    x = torch.randn(3, device="npu", requires_grad=True)
    (x.npu() * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2]


def test_what_is_not_simulated_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"^torch\.npu\.NPUGraph belongs to torch_npu"):
        torch.npu.NPUGraph()
    with pytest.raises(AttributeError):
        torch.npu.nonsense  # noqa: B018


def test_what_tests_of_operators_import() -> None:
    """Ascend's own derive from its TestCase, and are skipped on other chips."""
    from torch_npu.testing import common_utils, testcase

    class Case(testcase.TestCase):
        def runTest(self) -> None:  # noqa: N802
            x = torch.tensor([1.0, 2.0, float("nan")])
            self.assertRtolEqual(x, x.clone())
            self.assertRtolEqual(x.numpy(), x.numpy() * (1 + 1e-5))
            self.assertEqual(x, x.clone())
            self.assertEqual(x.shape, (3,))
            for wrong in (x * 1.01, x[:2], x.double(), x.nan_to_num()):
                with pytest.raises(AssertionError):
                    self.assertRtolEqual(x, wrong)
                with pytest.raises(AssertionError):
                    self.assertEqual(x, wrong)

        @common_utils.SupportedDevices(["Ascend910B"])
        def test_here(self) -> None: ...

        @common_utils.SupportedDevices(["Ascend950", "Ascend910_93"])
        def test_elsewhere(self) -> None: ...

    for name, skipped in (("runTest", 0), ("test_here", 0), ("test_elsewhere", 1)):
        result = unittest.TestResult()
        Case(name).run(result)
        assert (result.wasSuccessful(), len(result.skipped)) == (True, skipped), result.failures
    cpu, npu = common_utils.create_common_tensor(["float16", 2, (3, 4)], -1, 1)
    assert cpu.dtype == npu.dtype == torch.float16
    assert torch.equal(cpu, npu)
    assert npu.data_ptr() != cpu.data_ptr()


def test_what_takes_no_part_in_torch_functions() -> None:
    """The default device, storages, the accelerator, and a loader that pins memory."""
    torch.set_default_device("npu")
    assert torch.empty(2).device == torch.get_default_device() == torch.device("cpu")
    torch.set_default_device(None)
    assert torch.UntypedStorage(4, device="npu").device.type == "cpu"
    assert torch.nn.Linear(2, 2, device="meta").to_empty(device="npu").weight.is_npu
    assert torch.accelerator.is_available()
    torch.accelerator.synchronize()
    torch.accelerator.empty_cache()
    assert torch.accelerator.memory_allocated() == 0
    assert torch.accelerator.get_memory_info()[1] == torch.npu.mem_get_info()[1]
    loader = torch.utils.data.DataLoader(torch.arange(8), batch_size=2, pin_memory=True)
    assert torch.equal(torch.cat(list(loader)), torch.arange(8))


def test_autocast_in_a_graph() -> None:
    layer, x = torch.nn.Linear(8, 2), torch.randn(3, 8)

    def in_bfloat16(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("npu", dtype=torch.bfloat16):
            return layer(x)

    with torch.no_grad():
        y = torch.compile(in_bfloat16, fullgraph=True, backend="aot_eager")(x)
        assert torch.equal(y, in_bfloat16(x))
    assert y.dtype == torch.bfloat16
