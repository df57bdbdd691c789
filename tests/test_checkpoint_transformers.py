"""A model in compressed-tensors' format is what transformers computes with.

Tried with transformers 5.23.0 and compressed-tensors 0.20.0, and with 4.57.1 and 0.13.0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.arithmetic import rounded, widened
from checkpoints.expected import expect
from checkpoints.models import make
from checkpoints.tensor_files import BFLOAT16, Array, Tensors

from npu_quant.checkpoint import quantize

pytestmark = [pytest.mark.needs("torch", "transformers"), pytest.mark.filterwarnings("ignore")]
TOKENS = [list(range(3, 35))]


def loaded(folder: Path) -> tuple[Any, Array]:
    """Return a model that misses nothing and has nothing left over, and its logits."""
    import torch
    from transformers import AutoModelForCausalLM

    model, said = AutoModelForCausalLM.from_pretrained(
        folder, dtype="auto", output_loading_info=True
    )
    assert {key: found for key, found in said.items() if found} == {}
    with torch.no_grad():
        return model, model.eval()(torch.tensor(TOKENS)).logits.float().numpy().ravel()


@pytest.mark.parametrize(("family", "tied"), [("llama", False), ("llama", True), ("qwen2", True)])
def test_dense_models(family: str, tied: bool, tmp_path: Path) -> None:
    """Codes times scales in bfloat16, and logits as near as 8 bits of both factors leave them."""
    source = make(tmp_path / "source", family, tied=tied)
    e = expect(source, "W8A8_DYNAMIC", "compressed-tensors", shard_size=100_000)
    out = tmp_path / "quantized"
    quantize(source, out, "W8A8_DYNAMIC", format="compressed-tensors", shard_size="100KB")
    (_, original), (model, logits) = loaded(source), loaded(out)
    check_weights(model, e.tensors, list(e.types))
    near = original @ logits / np.sqrt((original @ original) * (logits @ logits))
    assert 0.99 < near < 1


def check_weights(model: Any, tensors: Tensors, modules: list[str]) -> None:
    """Check what a model made of codes and scales when it first ran."""
    for module in modules:
        scale = widened(tensors[f"{module}.weight_scale"])
        expected = rounded(widened(tensors[f"{module}.weight"]) * scale, BFLOAT16)
        found = model.get_submodule(module).weight.detach().float().numpy()
        assert np.array_equal(found, expected), module
