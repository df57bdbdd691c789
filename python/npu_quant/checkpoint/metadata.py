"""The JSON files that say what the shards hold: index, description, config.json."""

from __future__ import annotations

from typing import Any

from .._runtime import __version__
from . import names
from .config import Config
from .folder import SOURCE_INDEX, CheckpointError, json_bytes
from .plan import Plan
from .schemes import ASCEND, FLOAT, GROUP, model_quant_type, recipe_of

DESCRIPTION = "quant_model_description.json"
ASCEND_INDEX = "quant_model_weights.safetensors.index.json"
HEAD = f"{names.HEAD}.weight"
_INT4_TARGET = r"re:.*\.experts\.\d+\.(gate_proj|up_proj|down_proj|w1|w2|w3)$"


def index_of(plan: Plan) -> dict[str, Any]:
    """Return which file each tensor is in, and the bytes of all."""
    files = {o.name: s.name for s in plan.shards for g in s.groups for o in g.outputs}
    size = sum(group.size for group in plan.groups)
    return {"metadata": {"total_size": size}, "weight_map": dict(sorted(files.items()))}


def json_files_of(config: Config, plan: Plan, mx_scale: str) -> dict[str, bytes]:
    """Return the JSON files by name; last the one without which the folder is no model.

    Raises:
        CheckpointError: a tensor's name cannot be described.
    """
    config_json = json_bytes(config.written(plan.params, _quantization(plan)))
    index = json_bytes(index_of(plan))
    if plan.wanted.format == ASCEND:
        description = json_bytes(description_of(plan, mx_scale))
        return {ASCEND_INDEX: index, "config.json": config_json, DESCRIPTION: description}
    has_index = len(plan.shards) > 1
    return ({SOURCE_INDEX: index} if has_index else {}) | {"config.json": config_json}


def description_of(plan: Plan, mx_scale: str) -> dict[str, Any]:
    """Return quant_model_description.json: the type of each tensor, and of the model."""
    types: dict[str, Any] = {o.name: g.type for g in plan.groups for o in g.outputs}
    types.setdefault(HEAD, FLOAT)  # vLLM looks it up in tied models too
    made_by = {
        "version": __version__,
        "scheme": plan.wanted.scheme,
        "recipe": recipe_of(plan.types, mx_scale),
    }
    of_model = {
        "version": "1.0.0",
        "model_quant_type": model_quant_type(plan.types),
        "group_size": GROUP if "W8A8_MXFP8" in plan.types else 0,
        "metadata": {"npu_quant": made_by},
        "optional": {},
    }
    for name in types.keys() & of_model.keys():
        text = f"a tensor is named {name}, which {DESCRIPTION} has for the model"
        raise CheckpointError(f"{text}: rename it, or use --format compressed-tensors.")
    return types | of_model


def _quantization(plan: Plan) -> dict[str, Any] | None:
    """Return the quantization_config that compressed-tensors reads."""
    if plan.wanted.format == ASCEND:
        return None
    format = "int-quantized"
    groups = {"group_0": _scheme(8, ["Linear"], format)}
    if "W4A8_DYNAMIC" in plan.types:
        groups["group_1"] = _scheme(4, [_INT4_TARGET], format)
    return {
        "quant_method": "compressed-tensors",
        "format": format,
        "quantization_status": "compressed",
        "global_compression_ratio": None,
        "kv_cache_scheme": None,
        "sparsity_config": {},
        "transform_config": {},
        "version": "0.13.0",
        "ignore": list(dict.fromkeys([*plan.modules, names.HEAD])),
        "config_groups": groups,
    }


def _scheme(bits: int, targets: list[str], format: str) -> dict[str, Any]:
    weights = {
        "num_bits": bits,
        "type": "int",
        "strategy": "channel",
        "symmetric": True,
        "dynamic": False,
        "group_size": None,
        "block_structure": None,
        "actorder": None,
        "observer": "memoryless_minmax",
        "observer_kwargs": {},
    }
    inputs = weights | {"num_bits": 8, "strategy": "token", "dynamic": True, "observer": None}
    return {
        "targets": targets,
        "weights": weights,
        "input_activations": inputs,
        "output_activations": None,
        "format": format,
    }
