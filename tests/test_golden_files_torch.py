"""Tensors in the files of torch.save, with torch as the witness; and without torch."""

from __future__ import annotations

import collections
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import ml_dtypes
import numpy as np
import pytest
from golden_files import HOOKS, call, check, put, refusal, storage, torch_file

from npu_quant.files import list_arrays, load

NPU = "torch_npu.utils.storage._rebuild_npu_tensor"
DTYPES = ["bfloat16", "float16", "float64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"]
DTYPES += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.needs("torch")
class TestTorch:
    @pytest.mark.parametrize("protocol", [2, 3, 4, 5])
    def test_what_torch_saves(self, tmp_path: Path, protocol: int) -> None:
        import torch

        x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
        tensors = {
            "plain": x,
            "parameter": torch.nn.Parameter(x + 1),
            "transposed": x.permute(2, 0, 1),
            "window": x[:, 1:, ::2],
            "expanded": x[0, 0].expand(3, 4),
            "scalar": torch.tensor(3.5),
            "empty": torch.empty(0, 3),
            "bool": x > 4,
        }
        for dtype in DTYPES:
            tensors[dtype] = x.to(getattr(torch, dtype))
        torch.save(
            {"in": tensors, "step": 3, "name": "x"}, tmp_path / "x.pt", pickle_protocol=protocol
        )
        assert len(list_arrays(tmp_path / "x.pt")) == len(tensors)
        for key, t in tensors.items():
            t = t.detach().contiguous()
            expected = bytes_of(t).view(getattr(ml_dtypes, str(t.dtype)[6:], str(t.dtype)[6:]))
            check(load(tmp_path / "x.pt", key=f"in.{key}"), expected.reshape(t.shape))

    def test_state_of_a_module_and_tied_weights(self, tmp_path: Path) -> None:
        import torch

        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        model.add_module("tied", model[0])
        torch.save(model.state_dict(), tmp_path / "x.pth")
        for key, value in model.state_dict().items():
            check(load(tmp_path / "x.pth", key=key), value.numpy())
        torch.save(model, tmp_path / "x.pth")
        assert refusal(tmp_path / "x.pth").startswith("refused: ")

    @pytest.mark.parametrize("protocol", [2, 4])
    @pytest.mark.parametrize("what", ["scalar", "defaultdict", "frozenset", "slice"])
    def test_what_torch_load_refuses_is_refused_with_a_way_out(
        self, tmp_path: Path, what: str, protocol: int
    ) -> None:
        import torch

        x = torch.arange(3.0)
        other = {
            "scalar": np.float32(3),
            "defaultdict": collections.defaultdict(list),
            "frozenset": frozenset([1]),
            "slice": slice(1),
        }[what]
        path = tmp_path / "x.pt"
        torch.save({"x": x, "y": other}, path, pickle_protocol=protocol)
        text = refusal(path)
        assert text.startswith("refused: ")
        assert text.endswith("; save tensors only, as torch.save({'x': x}, path)")
        torch.save({"x": x}, path, pickle_protocol=protocol)
        check(load(path), x.numpy())

    NO_ARRAYS: ClassVar = {
        "torch.Size": lambda t: t.shape,
        "a device": lambda t: t.device,
        "a dtype": lambda t: t.dtype,
        "a layout": lambda t: t.layout,
        "a set": lambda t: {1, "a"},
        "a complex number": lambda t: 1 + 2j,
        "bytes": lambda t: b"abc\xff",
        "a bytearray": lambda t: bytearray(b"abc"),
        "a counter": lambda t: collections.Counter("aab"),
        "numbers, text, None": lambda t: [None, True, 1, -(2**70), 1.5, "a", [], (), {}],
        "keys": lambda t: {(1, "a"): 1, t.dtype: 2, None: 3, b"b": 4, t.shape: 5},
    }

    @pytest.mark.parametrize("what", NO_ARRAYS)
    def test_what_is_no_array_is_passed_over(self, tmp_path: Path, what: str) -> None:
        """As SGLang's dumper has it beside its value, in a file that torch.load reads by itself."""
        import torch

        x, path = torch.arange(6.0).reshape(2, 3), tmp_path / "x.pt"
        other = self.NO_ARRAYS[what](x)
        torch.save({"value": x, "meta": {"nested": [other, (other, None)]}}, path)
        torch.load(path, weights_only=True)
        assert list_arrays(path) == [("value", "float32", (2, 3))]
        check(load(path), x.numpy())
        torch.save(other, path)
        assert "has no arrays in it" in refusal(path)

    ARRAYS: ClassVar = {
        "a parameter": lambda t, torch: torch.nn.Parameter(t),
        "a buffer": lambda t, torch: torch.nn.Buffer(t),
        "in an ordered dict": lambda t, torch: collections.OrderedDict(a=t),
        "by a tuple": lambda t, torch: {(1, 2): t},
        "by a dtype": lambda t, torch: {torch.int8: t},
        "by bytes": lambda t, torch: {b"a": t},
    }

    @pytest.mark.parametrize("what", ARRAYS)
    def test_arrays_wherever_they_are(self, tmp_path: Path, what: str) -> None:
        import torch

        x, path = torch.arange(6.0).reshape(2, 3), tmp_path / "x.pt"
        given = self.ARRAYS[what](x, torch)
        if isinstance(given, torch.Tensor):
            given.note = "an attribute"
        torch.save(given, path)
        torch.load(path, weights_only=True)
        check(load(path), x.numpy())

    UNREAD: ClassVar = {
        "a sparse tensor": lambda t, torch: t.to_sparse(),
        "of the device meta": lambda t, torch: t.to("meta"),
        "complex64": lambda t, torch: t.to(torch.complex64),
        "float8_e4m3fnuz": lambda t, torch: t.to(torch.float8_e4m3fnuz),
        "negative bit": lambda t, torch: t.to(torch.complex64).conj().imag,
    }

    @pytest.mark.parametrize("what", UNREAD)
    def test_a_tensor_that_is_not_read_is_not_dropped(self, tmp_path: Path, what: str) -> None:
        import torch

        x, path = torch.arange(6.0).reshape(2, 3), tmp_path / "x.pt"
        torch.save({"x": x, "y": self.UNREAD[what](x, torch)}, path)
        torch.load(path, weights_only=True)
        check(load(path, key="x"), x.numpy())
        (_, plain, _), (_, said, _) = list_arrays(path)
        assert plain == "float32"
        assert said.startswith("unreadable: ")
        assert what in said
        assert what in refusal(path, key="y")

    def test_formats_of_old_and_sums_left_wrong(self, tmp_path: Path) -> None:
        import torch

        torch.save(torch.ones(3), tmp_path / "x.pt", _use_new_zipfile_serialization=False)
        assert "is of torch's format before 1.6" in refusal(tmp_path / "x.pt")
        assert "is of torch's format before 1.6" in refusal(
            (tmp_path / "x.pt").rename(tmp_path / "x.bin")
        )
        torch.serialization.set_crc32_options(False)
        try:
            torch.save(torch.ones(3), tmp_path / "x.pt")
        finally:
            torch.serialization.set_crc32_options(True)
        check(load(tmp_path / "x.pt"), np.ones(3, np.float32))

    def test_a_tensor_yet_to_be_negated(self, tmp_path: Path) -> None:
        import torch

        x = torch.ones(3, dtype=torch.complex64).conj().imag
        assert x.is_neg()
        torch.save(x, tmp_path / "x.pt")
        assert "negative bit is set" in refusal(tmp_path / "x.pt")


def bytes_of(t: Any) -> np.ndarray:
    """Return a contiguous tensor's bytes."""
    import torch

    return np.frombuffer(bytes(t.reshape(-1).view(torch.uint8).tolist()), np.uint8)


WITHOUT = """
import sys
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "torch_npu"):
            raise ImportError(name)
sys.meta_path.insert(0, Wall())
from npu_quant.files import load
assert load(sys.argv[1]).array().tolist() == [list(range(4 * i, 4 * i + 4)) for i in range(3)]
assert "torch" not in sys.modules
print("read")
"""


def test_no_torch_is_needed(tmp_path: Path) -> None:
    root = {
        "x": call(
            NPU, storage("torch.FloatStorage", "0", 12, "npu:0"), 0, (3, 4), (4, 1), False, HOOKS, 2
        )
    }
    path = put(
        tmp_path / "x.pt", torch_file(root, {"0": np.arange(12, dtype=np.float32).tobytes()})
    )
    run = subprocess.run([sys.executable, "-c", WITHOUT, path], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("read\n", "")
