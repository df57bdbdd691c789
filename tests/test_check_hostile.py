"""Values of wrong kinds and sizes in every JSON file of a checkpoint: a check reports, or refuses."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.expected import quantized
from checkpoints.spoiling import DESCRIPTION, INDEX
from checkpoints.tensor_files import BFLOAT16, WORDS, Tensors, packed, write
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_quant.checkpoint import CheckpointError, check
from npu_quant.checkpoint.layout import Layout

A, E = "model.layers.0.self_attn", "model.layers.0.mlp.experts.0"
SHARDS = {"ascend": "quant_model_weights-00001-of-00001.safetensors"}
SHARDS["compressed-tensors"] = "model.safetensors"
SIZES = {word: dtype.itemsize for dtype, word in WORDS.items()}
SIZES |= {"BOOL": 1, "F8_E5M2": 1, "F8_E8M0": 1, "C64": 8}
TYPES = {f"{A}.q_proj": "W8A8_DYNAMIC", f"{E}.down_proj": "W4A8_DYNAMIC"}
ROWS, COLUMNS = 8, 32
GROUP: dict[str, Any] = {
    "targets": ["Linear", r"re:.*\.q_proj$"],
    "weights": {"num_bits": 8, "type": "int", "strategy": "channel"},
    "input_activations": {"num_bits": 8, "type": "int", "strategy": "token", "dynamic": True},
}
# What stands in JSON where nobody expects it. Python reads 1e999 as infinity, and NaN as such.
ODD = [
    None,
    True,
    0,
    -1,
    5,
    8.0,
    float("nan"),
    float("inf"),
    10**400,
    "",
    "x",
    "re:(",
    "\udc80",
    "a\0b",
]
ODD += ["../x", "x" * 300, [], [None], ["a"], {}, {"a": 1}, {"": {}}, [[]] * 3, "float16", "FLOAT"]


def files(format: str) -> tuple[Tensors, dict[str, Any]]:
    """Return the tensors and the JSON files of a small model."""
    w = np.linspace(-1, 1, ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    tensors: Tensors = {"model.norm.weight": np.ones(COLUMNS, BFLOAT16)}
    keys: dict[str, Any] = {"version": "1.0.0", "model_quant_type": "W8A8_DYNAMIC", "group_size": 0}
    keys |= {"model.norm.weight": "FLOAT", "lm_head.weight": "FLOAT"}
    keys["metadata"] = {"npu_quant": {"recipe": "npu_quant-7"}}
    is_ascend = format == "ascend"
    for module, kind in TYPES.items():
        made = quantized(f"{module}.weight", w, kind, is_ascend, BFLOAT16, "up")
        tensors |= made
        keys |= dict.fromkeys(made, kind)
    config: dict[str, Any] = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    config |= {"torch_dtype": "bfloat16", "text_config": {"dtype": "bfloat16"}}
    if not is_ascend:
        said = {
            "quant_method": format,
            "ignore": ["lm_head", "re:.*x"],
            "config_groups": {"g": GROUP},
        }
        return tensors, {"config.json": config | {"quantization_config": said}}
    weight_map = dict.fromkeys(tensors, SHARDS[format])
    index = {"metadata": {"total_size": 5}, "weight_map": weight_map}
    return tensors, {"config.json": config, DESCRIPTION: keys, INDEX: index}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what holds each value below one, and where."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in [*inner]:
        yield value, key
        if isinstance(below, (dict, list)):
            yield from places(below)


@pytest.fixture(name="root", scope="module")
def _root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small model of each format."""
    root = tmp_path_factory.mktemp("hostile")
    for format, name in SHARDS.items():
        (root / format).mkdir()
        write(root / format / name, files(format)[0])
    return root


def looked_at(folder: Path) -> None:
    """Check a folder, and have the report written in every way."""
    try:
        report = check(folder, None, 1)
    except CheckpointError:
        return
    json.dumps(report.to_dict())
    assert all(line.isprintable() for line in str(report).splitlines())
    assert repr(report).startswith("<CheckReport ")


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(sorted(SHARDS)))
def test_an_odd_value_anywhere(root: Path, data: st.DataObject, format: str) -> None:
    found = copy.deepcopy(files(format)[1])
    for _ in range(data.draw(st.integers(1, 3), "how many")):
        holder, key = data.draw(st.sampled_from([*enumerate(places(found))]), "place")[1]
        odd = copy.deepcopy(data.draw(st.sampled_from(ODD), "value"))
        is_name = holder is not found and isinstance(holder, dict) and isinstance(odd, str)
        if is_name and data.draw(st.booleans(), "as a name"):
            holder[odd] = holder.pop(key)
        else:
            holder[key] = odd
    for file, value in found.items():
        (root / format / file).write_text(json.dumps(value))
    looked_at(root / format)


SHAPES = [[], [0], [8, 0], [0, 32], [4, 0], [1, 1, 1], [8, 32], [256], [2**62, 2**62, 0], [1]]


def reshape(
    folder: Path, format: str, changed: dict[str, tuple[str, list[int]]], fill: int
) -> None:
    """Write a model anew, of some tensors with other dtypes and shapes; each byte is the same."""
    tensors, found = files(format)
    entries: dict[str, Any] = {}
    end = 0
    for name, a in tensors.items():
        kind, shape = changed.get(name, (WORDS[a.dtype], [*a.shape]))
        begin, end = end, end + math.prod(shape) * SIZES[kind]
        entries[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    (folder / SHARDS[format]).write_bytes(packed(entries) + bytes([fill]) * end)
    for file, value in found.items():
        (folder / file).write_text(json.dumps(value))


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(sorted(SHARDS)), st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
def test_odd_shapes_and_dtypes(root: Path, data: st.DataObject, format: str, fill: int) -> None:
    kinds = st.tuples(st.sampled_from(sorted(SIZES)), st.sampled_from(SHAPES))
    changed = data.draw(
        st.dictionaries(st.sampled_from(sorted(files(format)[0])), kinds), "changed"
    )
    reshape(root / format, format, changed, fill)
    looked_at(root / format)


def test_int4_of_no_columns(root: Path) -> None:
    reshape(root / "ascend", "ascend", {f"{E}.down_proj.weight": ("I8", [ROWS // 2, 0])}, 1)
    found = check(root / "ascend", None, 1).findings
    assert [f.rule for f in found if f.severity == "error"] == ["scale-bias"]


def test_a_number_of_a_layer_that_no_int_takes() -> None:
    module = f"model.layers.{'9' * 5000}.mlp.up_proj"
    assert Layout((), 3).reason_to_stay(module) == "draft layer"
    assert Layout(()).reason_to_stay(module) is None
