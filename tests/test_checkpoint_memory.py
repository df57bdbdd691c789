"""Memory of a run: 256 MiB and 6 times the largest matrix that is quantized, whatever is copied."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from checkpoints import models, tensor_files

MODEL_BYTES = 320 << 20  # of one tensor that is copied: more than a process may have
PROGRAM = """
import sys
from npu_quant import checkpoint
from npu_quant.checkpoint.quantizing import peak_rss
source, out = sys.argv[1:]
report = checkpoint.quantize(source, out, "W8A8_DYNAMIC", workers=2, verify=False)
assert report.peak_rss_bytes == peak_rss()
assert checkpoint.check(out, source, workers=2).passed
print(max(peak_rss(), report.peak_rss_bytes))
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a small model and a large tensor of zeros, which takes no room on the disk."""
    folder = models.make(tmp_path / "model", "llama", shards=1)
    shape = [MODEL_BYTES // 2 // 1024, 1024]
    tensor = {"dtype": "BF16", "shape": shape, "data_offsets": [0, MODEL_BYTES]}
    header = json.dumps({"model.more.weight": tensor}).encode()
    with open(folder / "more.safetensors", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + MODEL_BYTES)
    names = tensor_files.header(folder / "model.safetensors").keys() - {"__metadata__"}
    where = dict.fromkeys(names, "model.safetensors") | {"model.more.weight": "more.safetensors"}
    tensor_files.write_json(folder / "model.safetensors.index.json", {"weight_map": where})
    return folder


def test_the_peak(model: Path, tmp_path: Path) -> None:
    """Of a program's processes alone: a shell in between has forgotten what this process has."""
    command = [sys.executable, "-c", PROGRAM, str(model), str(tmp_path / "out")]
    forked = ["sh", "-c", '"$@"; exit $?', "sh", *command]
    done = subprocess.run(forked, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    largest = 2 * models.FAMILIES["llama"][1]["hidden"] * models.FAMILIES["llama"][1]["inner"]
    assert 0 < int(done.stdout) <= (256 << 20) + 6 * largest
