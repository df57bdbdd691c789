"""A model in compressed-tensors' format is what transformers computes with.

Tried with transformers 5.23.0 and compressed-tensors 0.20.0. They change torch for the rest of a
process: NPU_QUANT_TRANSFORMERS=1 says that this one has no other tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.arithmetic import rounded, widened
from checkpoints.expected import expect
from checkpoints.models import make
from checkpoints.spoiling import edit_json, replace
from checkpoints.tensor_files import BFLOAT16, Array, Tensors

from npu_quant.checkpoint import check, quantize

pytestmark = [pytest.mark.needs("NPU_QUANT_TRANSFORMERS"), pytest.mark.filterwarnings("ignore")]
TOKENS = [list(range(3, 35))]
MODELS = pytest.mark.parametrize(
    ("family", "tied"), [("llama", False), ("llama", True), ("qwen2", True)]
)


def loaded(folder: Path) -> tuple[Any, dict[str, Any]]:
    """Return a model, and what it misses or has left over."""
    from transformers import AutoModelForCausalLM

    model, said = AutoModelForCausalLM.from_pretrained(
        folder, dtype="auto", output_loading_info=True
    )
    return model.eval(), {key: found for key, found in said.items() if found}


def logits_of(model: Any) -> Array:
    import torch

    with torch.no_grad():
        found: Array = model(torch.tensor(TOKENS)).logits.float().numpy()
    return found


def inputs_of(model: Any, modules: list[str]) -> dict[str, Array]:
    """Return what modules are given, [tokens, K], and take the hooks away again."""
    found: dict[str, Array] = {}

    def note(name: str) -> Any:
        return lambda _, given: found.update({name: given[0][0].float().numpy()})

    hooks = [model.get_submodule(m).register_forward_pre_hook(note(m)) for m in modules]
    logits_of(model)
    for hook in hooks:
        hook.remove()
    return found


def noise(x: Array, error: Array) -> float:
    """Return the energy of an error, as a share of x's."""
    return float((error.astype(np.float64) ** 2).sum() / (x.astype(np.float64) ** 2).sum())


def noise_of_tokens(x: Array) -> float:
    """Return what int8 per token makes of activations: 255 steps from -amax to amax."""
    step = np.abs(x).max(axis=1, keepdims=True) / np.float32(127.5)
    step[step == 0] = 1
    return noise(x, x - np.clip(np.rint(x / step), -128, 127) * step)


def check_logits(source: Path, out: Path, lost: dict[str, float]) -> None:
    """Check that logits are as near as the layers' SQNR say, if each adds its noise to the others'.

    Both factors of each layer add a share to the energy of the noise. What the model makes of them
    on the way is neither twice as large nor half as large as that, which is 6 dB.
    """
    original, _ = loaded(source)
    expected = logits_of(original)
    tokens = inputs_of(original, [*lost])
    shares = [10 ** (-lost[m] / 10) + noise_of_tokens(tokens[m]) for m in lost]
    model, said = loaded(out)
    assert said == {}
    found = noise(expected, expected - logits_of(model))
    assert sum(shares) / 4 < found < sum(shares) * 4


def check_weights(model: Any, tensors: Tensors, modules: list[str]) -> None:
    """Check what a model made of codes and scales when it first ran."""
    for module in modules:
        scale = widened(tensors[f"{module}.weight_scale"])
        expected = rounded(widened(tensors[f"{module}.weight"]) * scale, BFLOAT16)
        found = model.get_submodule(module).weight.detach().float().numpy()
        assert np.array_equal(found, expected), module


def made(root: Path, family: str, tied: bool) -> tuple[Path, Path, dict[str, float]]:
    """Return a model, what it is quantized to, and the SQNR of each layer."""
    source, out = make(root / "source", family, tied=tied), root / "quantized"
    options: dict[str, Any] = {"format": "compressed-tensors", "shard_size": "100KB"}
    report = quantize(source, out, "W8A8_DYNAMIC", **options)
    return source, out, {layer.name: layer.sqnr_db or 0 for layer in report.layers}


@MODELS
def test_dense_models(family: str, tied: bool, tmp_path: Path) -> None:
    """Codes times scales in bfloat16, and logits as near as 8 bits of both factors leave them."""
    source, out, lost = made(tmp_path, family, tied)
    check_logits(source, out, lost)
    model, _ = loaded(out)
    logits_of(model)
    e = expect(source, "W8A8_DYNAMIC", "compressed-tensors", shard_size=100_000)
    check_weights(model, e.tensors, list(e.types))


@pytest.mark.parametrize("module", ["layers.0.self_attn.q_proj", "layers.1.mlp.down_proj"])
def test_swapped_scales_are_seen(module: str, tmp_path: Path) -> None:
    source, out, lost = made(tmp_path, "llama", tied=False)
    replace(out, f"model.{module}.weight_scale", lambda a: a[::-1].copy())
    with pytest.raises(AssertionError):
        check_logits(source, out, lost)


@MODELS
def test_a_head_that_is_not_ignored(family: str, tied: bool, tmp_path: Path) -> None:
    """Its scales are memory that nothing was written to, as `npu-quant check` says."""
    source, out, _ = made(tmp_path, family, tied)
    edit_json(out / "config.json", lambda c: c["quantization_config"].update(ignore=[]))
    (found,) = check(out, source, 1).findings
    assert (found.rule, found.name) == ("ignore", "lm_head")
    _, said = loaded(out)
    assert said == {"missing_keys": {"lm_head.weight_scale"}}
