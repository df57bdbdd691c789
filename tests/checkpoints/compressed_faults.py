"""The faults of checkpoints of compressed-tensors: COMPRESSED, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .faults import (
    OTHERS,
    Fault,
    O,
    Q,
    after,
    config,
    flip,
    ignore_less,
    ignored,
    quantization,
    stray_weights,
)
from .spoiling import as_float, put, remove, replace

OURS: Mapping[str, Any] = {"format": "compressed-tensors", "is_noticed": False}
ONE = "model-00001-of-00002.safetensors"
COMPRESSED = {
    "missing shard": Fault("missing-shard", ONE, lambda f: (f / ONE).unlink(), also=OTHERS, **OURS),
    "short shard": Fault("truncated", ONE, after(ONE, lambda b: b[:-100]), also=OTHERS, **OURS),
    "stray weights": Fault("stray-weights", "zz.safetensors", stray_weights, **OURS),
    "unfinished": Fault("unfinished", "", lambda f: (f / ".npu-quant").mkdir(), **OURS),
    "no weight_scale": Fault("missing-tensor", Q, lambda f: remove(f, f"{Q}.weight_scale"), **OURS),
    "no last row": Fault("shape", Q, lambda f: replace(f, f"{Q}.weight", lambda a: a[:-1]), **OURS),
    "scale of nan": Fault(
        "scale", f"{Q}.weight_scale", lambda f: put(f, f"{Q}.weight_scale", 7, np.nan), **OURS
    ),
    "float16 model": Fault("fp16", "", config(lambda c: c.update(torch_dtype="float16")), **OURS),
    "one code": Fault("codes", Q, flip, **OURS),
    "a FLOAT Linear is not ignored": Fault("ignore", O, lambda f: as_float(f, O), **OURS),
    "no groups": Fault(
        "config",
        "config.json",
        quantization(lambda q: q.update(config_groups={})),
        "warning",
        also=frozenset({"dtype"}),
        **OURS,
    ),
    "a group that is no object": Fault(
        "config",
        "config.json",
        quantization(lambda q: q["config_groups"].update(group_1=["Linear"])),
        **OURS,
    ),
    "targets that are no list": Fault(
        "config",
        "config.json",
        quantization(lambda q: q["config_groups"]["group_0"].update(targets="Linear")),
        also=frozenset({"dtype"}),
        **OURS,
    ),
    "a pattern that hangs": Fault("pattern", "config.json", ignored("(([a-z._0-9])+)+$X"), **OURS),
    "a pattern that ends nowhere": Fault("pattern", "config.json", ignored("((((.."), **OURS),
    "a pattern of large numbers": Fault("pattern", "config.json", ignored("a{4294967296}"), **OURS),
    "a number is ignored": Fault(
        "config", "config.json", quantization(lambda q: q["ignore"].append(5)), **OURS
    ),
    "no head is ignored": Fault(
        "ignore", "lm_head", quantization(ignore_less("lm_head")), "warning", **OURS
    ),
    "no tied head is ignored": Fault(
        "ignore", "lm_head", quantization(ignore_less("lm_head")), "warning", tied=True, **OURS
    ),
    "no router is ignored": Fault(
        "ignore",
        "model.layers.0.mlp.gate",
        quantization(ignore_less("model.layers.0.mlp.gate")),
        "warning",
        family="qwen3_moe",
        **OURS,
    ),
    "a float": Fault(
        "float-changed",
        "model.norm.weight",
        lambda f: replace(f, "model.norm.weight", lambda a: -a),
        **OURS,
    ),
}
