"""A quantized model as it stands in its folder, read as far as it can be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .._text import clean
from . import names
from .config import Config
from .findings import Findings
from .folder import FLOATS, Tensor
from .patterns import Patterns
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
    is_typed: bool = True
    """Whether it is known which type each module has: what says so could be read."""
    has_config: bool = True
    """Whether config.json could be read."""
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
    ignore = Patterns((name, 0) for name in _strings(said.get("ignore"), "ignore", found))
    groups = _groups(said.get("config_groups"), found)
    targets = Patterns((t, n) for n, group in enumerate(groups) for t in group.targets)
    of_linears = next((n for n, group in enumerate(groups) if "Linear" in group.targets), None)
    result: dict[str, str] = {}
    not_ignored: list[str] = []
    for module in _with_matrices(model):
        if ignore.first(module) is not None:
            continue
        by_name = targets.first(module)
        number = of_linears if by_name is None else by_name
        if number is not None and _is_float(model, module):
            not_ignored.append(module)
        elif number is not None:
            result[module] = groups[number].type
    model.is_typed = _all_tried({"ignore": ignore, "targets": targets}, found)
    for module in not_ignored if model.is_typed else ():
        _not_ignored(module, found)
    return result


class _Group(NamedTuple):
    """Modules that are quantized alike."""

    type: str
    targets: list[str]


def _groups(given: Any, found: Findings) -> list[_Group]:
    groups = [*given.values()] if isinstance(given, dict) else []
    if not groups:
        found.error("config", "config.json", "quantization_config has no config_groups to read")
    result = []
    for number, group in enumerate(groups):
        if not isinstance(group, dict):
            text = f"group {number} of config_groups is no object: vLLM cannot read it"
            found.error("config", "config.json", text)
            continue
        if (type := _type_of(group)).startswith("unknown"):
            text = f"group {number} is {type}: no Ascend consumer reads it as compressed-tensors"
            found.error("unknown-type", "config.json", text)
        targets = _strings(group.get("targets"), f"targets of group {number}", found)
        result.append(_Group(type, targets))
    return result


def _strings(value: Any, what: str, found: Findings) -> list[str]:
    """Return a list of names; an empty one where there is none."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        text = f"{what} in quantization_config is no list of names: vLLM cannot read it"
        found.error("config", "config.json", text)
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _with_matrices(model: Model) -> list[str]:
    """Return the modules that a group may be of; a head that is tied has no tensor."""
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
    return matrices


def _all_tried(lists: dict[str, Patterns], found: Findings) -> bool:
    """Say whether all patterns were tried; if not, nobody knows which modules they name."""
    for what, patterns in lists.items():
        for fault in patterns.faults:
            text = f"{clean(fault.pattern, 60)} of {what} {clean(fault.text, 100)}"
            if fault.severity == "error":
                text += ": vLLM, which gives it to Python's re, stops or hangs"
            else:
                text += ", which is not tried here: vLLM gives it to Python's re"
            found.add(fault.severity, "pattern", "config.json", text)
        if patterns.gave_up:
            text = f"the patterns of {what} take too long to try: vLLM tries them on every layer"
            found.error("pattern", "config.json", text)
    return not any(patterns.faults or patterns.gave_up for patterns in lists.values())


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


def _type_of(group: dict[str, Any]) -> str:
    weights, inputs = group.get("weights"), group.get("input_activations")
    if isinstance(weights, dict):
        bits, kind = weights.get("num_bits"), weights.get("type")
        is_ours = kind == "int" and weights.get("strategy") == "channel"
        if is_ours and isinstance(inputs, dict) and bits in (4, 8):
            return f"W{bits:.0f}A8_DYNAMIC"
        return f"unknown (type {kind}, {bits} bits, strategy {weights.get('strategy')})"[:100]
    return "unknown"
