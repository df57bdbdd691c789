"""The types that compressed-tensors' quantization_config gives to modules, as vllm-ascend has them.

:mod:`.compressed_groups` has what a group means, :mod:`.compressed_layers` who is of which group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .._text import clean
from . import names
from .compressed_groups import EXPERTS, LINEARS, UNKNOWN, Group, GroupError, read_group, type_of
from .compressed_layers import Layer, Rules, layers_of
from .folder import FLOATS
from .quantized import QuantizedModel
from .reports import Findings


def compressed_types(model: QuantizedModel, found: Findings) -> dict[str, str]:
    """Return the types that quantization_config gives to the modules that have matrices."""
    said = model.config.quantization or {}
    _check_keys(said, found)
    ignore = _strings(said.get("ignore", []), "ignore", found)
    groups = _groups(said, found)
    layers = layers_of(_with_matrices(model))
    rules = Rules(ignore, [*groups], layers)
    for pattern, text in rules.faults.items():
        what = "ignore" if pattern in ignore else "targets"
        text = f"{clean(pattern, 60)} of {what} {clean(text, 100)}: vLLM tries it on every layer"
        found.error("pattern", "config.json", f"{text}, and stops or hangs")
    model.is_typed = not rules.faults  # or nobody knows which modules they name
    decision = _Decision(model, rules, groups, found, set())
    return {module: type for layer in layers for module, type in decision.of(layer).items()}


class _Decision(NamedTuple):
    """What vllm-ascend decides of layers, and what is wrong with that."""

    model: QuantizedModel
    rules: Rules
    groups: dict[str, Group | None]
    """Of each target; None if the group cannot be read."""
    found: Findings
    told: set[tuple[str, str]]
    """Groups of which it has been said what is wrong with them, of Linears or of experts."""

    def of(self, layer: Layer) -> dict[str, str]:
        """Return the types of a layer's modules, those that are FLOAT apart."""
        is_ignored, target = self.rules.is_ignored(layer), self.rules.target_of(layer)
        if is_ignored is None:
            text = "is one layer of consumers, of which ignore names some parts and others not"
            self._error("mixed-group", layer.name, f"{text}: vLLM ends with ValueError")
            return self._unknown(layer.modules, "ignore names some parts of its layer only")
        if is_ignored or target is None:
            return {}
        quantized = [module for module in layer.modules if not _is_float(self.model, module)]
        if names.last_of(layer.name) == names.HEAD:  # which vllm-ascend never asks about
            if not quantized and self.model.is_typed:
                _not_ignored(layer.name, layer, self.found)
            return {}
        is_sure = bool(quantized) or any(map(names.is_linear, layer.modules))
        type = self._type(layer, self.groups[target], is_sure=is_sure)
        if type == UNKNOWN:
            return self._unknown(quantized, "vllm-ascend has no type for its group")
        for module in layer.modules if self.model.is_typed else ():
            if _is_float(self.model, module):
                _not_ignored(module, layer, self.found)
        return dict.fromkeys(quantized, type)

    def _unknown(self, modules: Sequence[str], why: str) -> dict[str, str]:
        for module in modules:
            self.model.leave(module, why)
        return dict.fromkeys(modules, UNKNOWN)

    def _type(self, layer: Layer, group: Group | None, *, is_sure: bool) -> str:
        """Return a layer's type; say once what is wrong with its group, if it is a Linear."""
        if group is None:
            return UNKNOWN
        kind = EXPERTS if layer.has_experts else LINEARS
        type, why = type_of(group, kind)
        if is_sure and (group.name, kind) not in self.told:
            self.told.add((group.name, kind))
            which = f"group {group.name!r:.40} of config_groups"
            if why:
                text = f"{which} has no type of vllm-ascend for {kind}: {why}"
                self._error("unknown-type", "config.json", f"{text}. It ends with an error")
            for text in _lost(group, type, self.model.config.quantization or {}):
                self._error("unread", "config.json", f"{which}: {text}")
        return type

    def _error(self, rule: str, name: str, text: str) -> None:
        if self.model.is_typed:
            self.found.error(rule, name, text)


def _lost(group: Group, type: str, said: dict[str, Any]) -> Iterator[str]:
    """Say what a group asks for that vllm-ascend's layer of its type does not do."""
    if type != "W4A16":
        return
    says, taken = group.says, said.get("group_size", 32)
    if not says["weights.symmetric"]:
        yield "weights.symmetric is false, but vllm-ascend reads no weight_zero_point"
    if says["weights.actorder"] == "group":
        yield "weights.actorder is group, but vllm-ascend does not order columns by weight_g_idx"
    if (size := says["weights.group_size"]) != taken:
        text = f"weights.group_size is {size!r:.20}, but vllm-ascend takes {taken!r:.20} (the"
        yield f"{text} group_size of quantization_config, else 32): loading fails"


def group_size_of(model: QuantizedModel) -> int:
    """Return the columns that share a scale in vllm-ascend's W4A16 (methods/w4a16.py)."""
    size = (model.config.quantization or {}).get("group_size", 32)
    return size if isinstance(size, int) and size > 0 else 32


# ---- What config.json says.

_HARMLESS = frozenset(
    names.words("""
    quant_method config_groups format ignore group_size quantization_status version
    global_compression_ratio run_compressed total_num_heads total_num_kv_heads
""")
)
"""Keys that vllm-ascend reads, or that change no number."""
_OF_GROUP = frozenset(names.words("targets weights input_activations format output_activations"))


def _check_keys(said: dict[str, Any], found: Findings) -> None:
    """Find keys that vllm-ascend does not read, though they say something of the model."""
    for key, value in said.items():
        if key in _HARMLESS or not value:
            continue
        if key == "sparsity_config":
            _check_sparsity(value, found)
        elif key == "transform_config":
            if _is_online(value):
                text = "has rotations at run time in transform_config: vllm-ascend leaves them out"
                found.error("unread", "config.json", f"{text}, and computes another model")
        elif key == "kv_cache_scheme":
            text = "has a kv_cache_scheme, which vllm-ascend does not read: the cache stays FLOAT"
            found.warning("unread", "config.json", text)
        else:
            text = f"has {clean(key, 60)!r} in quantization_config, which vllm-ascend does not read"
            found.warning("unread", "config.json", text)


def _check_sparsity(value: Any, found: Findings) -> None:
    """Find weights without their zeros; format dense only says that there are zeros."""
    says = value if isinstance(value, dict) else {"format": value}
    if says.get("format", "dense") != "dense" and says.get("targets") != []:
        text = f"has weights as {says['format']!r:.40} in sparsity_config, which vllm-ascend does"
        found.error("unread", "config.json", f"{text} not unpack: loading fails")


def _is_online(value: Any) -> bool:
    """Say whether a transform_config has transforms that are not in the weights already."""
    try:
        schemes = value["config_groups"].values()
        every = [args for scheme in schemes for args in scheme["apply"]]
        return any(args["location"] not in _OFFLINE for args in every)
    except (AttributeError, KeyError, TypeError):
        return True  # or nobody knows


_OFFLINE = ("weight_input", "weight_output")
"""Where a transform is multiplied into the weights (compressed-tensors' TransformLocation)."""


def _groups(said: dict[str, Any], found: Findings) -> dict[str, Group | None]:
    """Return the group of each target, the last that names it, in the order of the first."""
    given = said.get("config_groups", {})
    if not isinstance(given, dict):
        text = "config_groups of quantization_config is not an object: vLLM cannot read it"
        found.error("config", "config.json", text)
        return {}
    if not given:
        text = "quantization_config has no config_groups: vllm-ascend reads all weights as floats"
        found.warning("config", "config.json", text)
    result: dict[str, Group | None] = {}
    for number, (name, group) in enumerate(given.items()):
        if not isinstance(group, dict):
            text = f"group {number} of config_groups is not an object: vLLM cannot read it"
            found.error("config", "config.json", text)
            continue
        targets = _strings(group.get("targets"), f"targets of group {number}", found)
        if targets:  # else nobody reads the rest
            result |= dict.fromkeys(targets, _group(name, group, said.get("format"), found))
    return result


def _group(name: str, given: dict[str, Any], format: Any, found: Findings) -> Group | None:
    for key, value in given.items():
        if value and (key not in _OF_GROUP or key == "output_activations"):
            text = f"group {name!r:.40} has {clean(key, 60)!r}, which vllm-ascend does not read"
            found.warning("unread", "config.json", text)
    try:
        return read_group(name, given, format)
    except GroupError as error:
        text = f"group {name!r:.40} of config_groups: {error}: vLLM refuses the model"
        found.error("config", "config.json", text)
        return None


def _strings(value: Any, what: str, found: Findings) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        text = f"{what} in quantization_config is not a list of names: vLLM cannot read it"
        found.error("config", "config.json", text)
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


# ---- What is there.


def _with_matrices(model: QuantizedModel) -> list[str]:
    """The modules that a group may be of; a head that is tied has no tensor."""
    matrices = [
        module
        for name, tensor in model.tensors.items()
        for module, _, last in [name.rpartition(".")]
        if last in ("weight", "weight_packed")
        and len(tensor.shape) == 2
        and not names.is_embedding_or_norm(module)
    ]
    head = f"{names.HEAD}.weight"
    if head not in model.tensors and head not in model.lost and model.config.has_tied_head:
        matrices.append(names.HEAD)
    return matrices


def _is_float(model: QuantizedModel, module: str) -> bool:
    """Say whether a module has floats and no scales; a tied head has what the embedding has."""
    codes, scale = model.matrix(module), f"{module}.weight_scale"
    is_scaled = scale in model.tensors or scale in model.lost
    return not is_scaled and (codes is None or codes.kind in FLOATS)


def _not_ignored(module: str, layer: Layer, found: Findings) -> None:
    text = "is not quantized, but ignore of quantization_config does not name "
    text += clean(layer.name, 100) if layer.has_experts else "it"
    if names.last_of(module) == names.HEAD:
        text += ": transformers multiplies by a scale that is not there (vllm-ascend does not)"
        found.warning("ignore", module, text)
    elif names.is_linear(module):
        text += ": consumers multiply by a scale that is not there, and compute NaN or anything"
        found.error("ignore", module, text)
    else:
        text += ": if it is a Linear, consumers multiply by a scale that is not there"
        found.warning("ignore", module, text)
