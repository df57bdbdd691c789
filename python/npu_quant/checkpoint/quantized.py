"""A quantized model as it stands in its folder, read as far as it can be read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import names
from .config import Config
from .findings import Findings
from .folder import FLOATS, Tensor
from .schemes import ASCEND, FLOAT

PARTS = [
    "weight",
    "weight_scale",
    "weight_offset",
    "scale_bias",
    "deq_scale",
    "quant_bias",
    "input_scale",
    "input_offset",
]
"""The last names of the tensors that a quantized module may have."""


@dataclass
class Model:
    """A quantized model."""

    folder: Path
    format: str
    config: Config
    tensors: dict[str, Tensor]
    """All whose headers can be read, by name."""
    keys: dict[str, Any] = field(default_factory=dict)
    """quant_model_description.json, with the prefix that tensors have."""
    has_keys: bool = True
    """Whether that file could be read."""
    damaged: set[str] = field(default_factory=set)
    """Shards whose elements cannot be read."""
    lost: set[str] = field(default_factory=set)
    """Tensors that the index puts in files that cannot be read."""
    types: dict[str, str] = field(default_factory=dict)
    """Of each module that has a type other than FLOAT."""
    bad: set[str] = field(default_factory=set)
    """Tensors whose dtype or shape is wrong, so that their elements mean nothing."""

    @property
    def params(self) -> str:
        """The dtype that consumers read scales in."""
        return self.config.params

    @property
    def is_ascend(self) -> bool:
        """Whether it is described in AscendV1."""
        return self.format == ASCEND

    def is_readable(self, name: str) -> bool:
        """Say whether there is a tensor whose elements can be read, and mean what they should."""
        tensor = self.tensors.get(name)
        return tensor is not None and tensor.file not in self.damaged and name not in self.bad

    def part(self, module: str, part: str) -> Tensor | None:
        """Return a readable tensor of a module."""
        name = f"{module}.{part}"
        return self.tensors[name] if self.is_readable(name) else None

    def type_of(self, name: str) -> str:
        """Return the type of a tensor."""
        module, _, last = name.rpartition(".")
        return self.types.get(module, FLOAT) if last in PARTS else FLOAT


def compressed_types(model: Model, found: Findings) -> dict[str, str]:
    """Return the types that quantization_config gives to the modules that have matrices."""
    said = model.config.quantization or {}
    ignore = [str(i) for i in _list(said.get("ignore"))]
    given = said.get("config_groups")
    groups = [g for g in given.values() if isinstance(g, dict)] if isinstance(given, dict) else []
    if not groups:
        found.error("config", "config.json", "quantization_config has no config_groups to read")
    for number, group in enumerate(groups):
        if (type := _type_of(group)).startswith("unknown"):
            text = f"group {number} is {type}: no Ascend consumer reads it as compressed-tensors"
            found.error("unknown-type", "config.json", text)
    matrices = [
        module
        for name, tensor in model.tensors.items()
        if (module := name.removesuffix(".weight")) != name
        and len(tensor.shape) == 2
        and not names.is_embedding_or_norm(module)
    ]
    head = f"{names.HEAD}.weight"
    if head not in model.tensors and head not in model.lost and model.config.has_tied_head:
        matrices.append(names.HEAD)
    result = {}
    for module in matrices:
        if any(_matches(i, module) for i in ignore):
            continue
        by_name = [g for g in groups if any(_matches(t, module) for t in _targets(g))]
        by_class = [g for g in groups if "Linear" in _targets(g)]
        for group in [*by_name, *by_class][:1]:
            if _is_float(model, module):
                _not_ignored(module, found)
            else:
                result[module] = _type_of(group)
    return result


def _is_float(model: Model, module: str) -> bool:
    """Say whether a module has floats and no scales; a tied head has what the embedding has."""
    weight, scale = model.tensors.get(f"{module}.weight"), f"{module}.weight_scale"
    is_scaled = scale in model.tensors or scale in model.lost
    return not is_scaled and (weight is None or weight.kind in FLOATS)


def _not_ignored(module: str, found: Findings) -> None:
    text = "is not quantized, but ignore of quantization_config does not name it"
    if names.is_linear(module) or names.last_of(module) == names.HEAD:
        text += ": consumers multiply by a scale that is not there, and compute NaN or anything"
        found.error("ignore", module, text)
    else:
        text += ": if it is a Linear, consumers multiply by a scale that is not there"
        found.warning("ignore", module, text)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _targets(group: dict[str, Any]) -> list[str]:
    return [str(t) for t in _list(group.get("targets"))]


def _matches(target: str, module: str) -> bool:
    if not target.startswith("re:"):
        return target == module
    try:
        return re.match(target[3:], module) is not None
    except re.error:
        return False


def _type_of(group: dict[str, Any]) -> str:
    weights, inputs = group.get("weights"), group.get("input_activations")
    if isinstance(weights, dict):
        bits, kind = weights.get("num_bits"), weights.get("type")
        is_ours = kind == "int" and weights.get("strategy") == "channel"
        if is_ours and isinstance(inputs, dict) and bits in (4, 8):
            return f"W{bits}A8_DYNAMIC"
        return f"unknown (type {kind}, {bits} bits, strategy {weights.get('strategy')})"[:100]
    return "unknown"
