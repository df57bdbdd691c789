"""The rules of files: config.json, shards, indices, and what lies about."""

from __future__ import annotations

import os
from pathlib import Path

from .config import Config
from .copied import MODELOPT
from .folder import (
    NOT_A_MODEL,
    SOURCE_INDEX,
    WHOLE,
    CheckpointError,
    Tensor,
    check_folder,
    files_below,
    headed,
    is_regular,
    json_of,
    link_to_nothing,
    misplaced,
    safetensors_in,
    weight_map_of,
)
from .plan import ASCEND_INDEX, DESCRIPTION
from .quantized import QuantizedModel
from .reports import Findings
from .schemes import ASCEND, COMPRESSED


def read(folder: Path, found: Findings) -> QuantizedModel:
    """Read a quantized model as far as it can be read.

    Raises:
        CheckpointError: there is no quantized model.
    """
    check_folder(folder)
    data = _json(folder / "config.json", found)
    config = Config(data or {})
    described = _description(folder, config, found)
    is_ascend = described is not None
    if data is not None:
        _check_config(config, is_ascend, found)
    elif not is_ascend:
        raise CheckpointError(f"{folder} has no {DESCRIPTION}, and {found[0].text}.")
    if not is_ascend:
        _check_quantized(folder, config)
    model = QuantizedModel(folder, ASCEND if is_ascend else COMPRESSED, config, {})
    model.has_config = data is not None
    if described is not None:
        keys = _json(folder / described, found)
        model.keys, model.is_typed = keys or {}, keys is not None
    _read_shards(model, found)
    _check_irregular(folder, found)
    return model


def _description(folder: Path, config: Config, found: Findings) -> str | None:
    """Return the name of the file that says the types of tensors; None if config.json says them."""
    if os.path.lexists(folder / DESCRIPTION):
        return DESCRIPTION
    if config.quantization is not None:
        return None
    former = sorted(path.name for path in folder.glob(f"{Path(DESCRIPTION).stem}_*.json"))
    if len(former) > 1:
        text = f"{folder} has no {DESCRIPTION}, but {' and '.join(former[:3])}"
        raise CheckpointError(f"{text}: keep the one that describes it, under that name.")
    for name in former:
        text = f"is the name that msmodelslim gave formerly: vllm-ascend looks for {DESCRIPTION}"
        found.error("description", name, f"{text} only, and ends with ValueError: rename it")
        return name
    return None


def _check_config(config: Config, is_ascend: bool, found: Findings) -> None:
    data = config.data
    if not isinstance(data.get("model_type"), str) or not data["model_type"]:
        text = "has no model_type, by which consumers choose the model's class"
        if data.get("architectures"):
            found.warning("config", "config.json", text)
        else:
            text = "has neither model_type nor architectures: vLLM refuses the model"
            found.error("config", "config.json", text)
    said = data.get("quantization_config")
    if said is not None and not isinstance(said, dict):
        text = "has a quantization_config that is not an object: vLLM ends with AttributeError"
        found.error("config", "config.json", text)
    elif is_ascend and config.quantization is not None:
        text = f"has a quantization_config beside {DESCRIPTION}: vLLM refuses both"
        found.error("two-formats", "config.json", text)


def _check_quantized(folder: Path, config: Config) -> None:
    said = config.quantization
    if said is None:
        text = f"it has neither {DESCRIPTION} nor a quantization_config in config.json"
        raise CheckpointError(f"{folder} is not quantized: {text}.")
    method = said.get("quant_method")
    if str(method).lower().replace("compressed_tensors", COMPRESSED) != COMPRESSED:
        text = f"its quantization_config is of {str(method)[:60]}, not of {COMPRESSED}"
        raise CheckpointError(f"{folder} is not quantized for Ascend: {text}.")


def _json(path: Path, found: Findings) -> dict[str, object] | None:
    """Return what a file says; None, and a finding, where it cannot be read."""
    try:
        return json_of(path)
    except CheckpointError as error:
        found.error("config", path.name, f"{error} Every consumer reads it first")
        return None


def _read_shards(model: QuantizedModel, found: Findings) -> None:
    folder = model.folder
    index = folder / (ASCEND_INDEX if model.is_ascend else SOURCE_INDEX)
    weight_map, size = _index(index, found)
    there = safetensors_in(folder)
    wanted = sorted({*weight_map.values()}) if weight_map is not None else _unindexed(model, there)
    if not wanted:
        text = f"{index.name} names no file" if weight_map is not None else "has no *.safetensors"
        found.error("missing-shard", folder.name, f"{text}: nothing can be loaded")
    if weight_map is None and len(wanted) > 1 and not index.exists():
        found.warning("index", index.name, "is missing: consumers load all files, in no order")
    for name in wanted:
        _read_shard(model, name, weight_map or {}, found)
    if weight_map is not None:
        _check_index(model, index.name, weight_map, size, found)
    _check_strays(model, set(there) - set(wanted), found)


def _unindexed(model: QuantizedModel, there: list[str]) -> list[str]:
    ours = [name for name in there if name.startswith("quant_model_weight")]
    if model.is_ascend and ours:
        return ours
    return [WHOLE] if WHOLE in there else [n for n in there if not NOT_A_MODEL.fullmatch(n)]


def _index(path: Path, found: Findings) -> tuple[dict[str, str] | None, object]:
    if not path.exists():
        return None, None
    try:
        index = json_of(path)
        weight_map, metadata = weight_map_of(index, path.name), index.get("metadata")
    except CheckpointError as error:
        found.error("index", path.name, f"{error} Consumers cannot find the tensors by it")
        return None, None
    return weight_map, metadata.get("total_size") if isinstance(metadata, dict) else None


def _read_shard(
    model: QuantizedModel, name: str, weight_map: dict[str, str], found: Findings
) -> None:
    path = model.folder / name
    if not is_regular(path):
        found.error("missing-shard", name, "is not there: its tensors cannot be loaded")
    else:
        try:
            shard, whole = headed(path)
        except CheckpointError as error:
            found.error("header", name, f"{error} safetensors refuses to open it")
        else:
            if shard.size != whole:
                text = f"has {shard.size} bytes, its header says {whole}"
                found.error("truncated", name, f"{text}: safetensors refuses to open it")
                model.damaged.add(name)
            _take(model, shard.tensors, found)
            return
    model.lost |= {tensor for tensor, file in weight_map.items() if file == name}


def _take(model: QuantizedModel, tensors: tuple[Tensor, ...], found: Findings) -> None:
    for tensor in tensors:
        first = model.tensors.setdefault(tensor.name, tensor)
        if first is not tensor:
            text = f"is in {first.file} and in {tensor.file}: the one read last counts"
            found.error("index", tensor.name, text)


def _check_index(
    model: QuantizedModel, index: str, weight_map: dict[str, str], size: object, found: Findings
) -> None:
    files = {name: tensor.file for name, tensor in model.tensors.items()}
    for name, file, said in misplaced(files, weight_map):
        if file is None and name in model.lost:
            continue
        if file is None:
            text = f"is not in {said}, where {index} puts it: not loaded"
        elif said is None:
            text = f"is in {file}, but not in {index}: readers by index leave it out"
        else:
            text = f"is in {file}, but {index} puts it in {said}: readers fail"
        found.error("index", name, text)
    total = sum(tensor.size for tensor in model.tensors.values())
    if size is not None and size != total and not model.lost:
        text = f"says total_size {size!r:.30}, the tensors have {total} bytes"
        found.warning("index", index, f"{text}: loaders plan memory by it")


def _check_strays(model: QuantizedModel, strays: set[str], found: Findings) -> None:
    for name in sorted(strays):
        if name.startswith("consolidated"):
            text = "is what vLLM takes for the model, and it reads nothing else: delete it"
        else:
            text = "is not of the model, but vLLM loads all *.safetensors in the order of names: "
            text += "the last one overwrites codes silently: delete it"
        found.error("stray-weights", name, text)
    for path in sorted(model.folder.iterdir()):
        if path.suffix in (".bin", ".gguf") and not path.name.startswith("."):
            text = "holds weights of another format, which some consumers load first"
            found.warning("stray-weights", path.name, text)
    if model.is_ascend and os.path.lexists(model.folder / MODELOPT):
        text = "is how the source was quantized: vLLM takes it for quantization_config"
        found.error("two-formats", MODELOPT, f"{text}, which the model has not: delete it")
    if model.is_ascend and (model.folder / SOURCE_INDEX).exists():
        text = "is the original's: vLLM reads the shards it names, the old ones or none, and"
        found.error("stray-index", SOURCE_INDEX, f"{text} leaves scales uninitialised: delete it")


def _check_irregular(folder: Path, found: Findings) -> None:
    """Find what has a name, but cannot be read: links to nothing, pipes and the like."""
    for name in files_below(folder):
        path = folder / name
        if is_regular(path):
            continue
        if text := link_to_nothing(path):
            text += ": consumers fail on it, or do without it"
        else:
            text = "is not a regular file: consumers that open it may wait for ever"
        found.error("irregular", name, text)
