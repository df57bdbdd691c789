"""What is written, down to each tensor's place in its file: known before a number is read.

A model's tensors become groups, in the order of the source's files and of the bytes in them. A
group is what comes of one weight; it stays in one file::

    model-00001-of-00002.safetensors           quant_model_weights-00001-of-00003.safetensors
      embed_tokens.weight         ->  group 1    lm_head.weight ... by width, then by name
      q_proj.weight               ->  group 2    q_proj.weight, .weight_scale, .weight_offset
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from .._runtime import __version__
from .._text import clean
from ..files.safetensors import BITS
from . import names
from .choices import Choice, Wanted, choose
from .config import Config, params_dtype
from .folder import SOURCE_INDEX, CheckpointError, Shard, Tensor, json_bytes
from .layout import Layout, layout_of
from .matrices import Matrix
from .schemes import ASCEND, FLOAT, GROUP, WIDTHS, Output, model_quant_type, outputs_of, recipe_of
from .sources import sources_of
from .weights import Rule

COPY, WIDEN, PARAMS, CODES = "copy", "widen", "params", "codes"
"""How a group is made: bytes as they are, bias to float32, FP8 to params dtype, or quantized."""


class Group(NamedTuple):
    """What comes of one weight, or of a tensor that is none."""

    how: str
    source: Tensor | Matrix
    type: str
    outputs: tuple[Output, ...]

    @property
    def size(self) -> int:
        """Bytes of its outputs."""
        return sum(map(size_of, self.outputs))


class OutputShard(NamedTuple):
    """A file that is written."""

    name: str
    header: bytes
    """All that stands before the elements."""
    size: int
    groups: tuple[Group, ...]
    places: dict[str, int]
    """Of each tensor's first byte in the file."""


@dataclass(frozen=True)
class Plan:
    """All that is written, and why."""

    wanted: Wanted
    params: str
    """The params dtype: bfloat16 or float16."""
    shards: tuple[OutputShard, ...]
    choices: dict[str, Choice]
    """Of every Linear."""
    unknown: tuple[str, ...]
    """Matrices that are left FLOAT since nothing says that they are Linears."""
    modules: tuple[str, ...]
    """All modules with a 2-D weight that is not quantized, embeddings and norms apart."""
    layout: Layout
    unread: tuple[str, ...]
    """Tensors of the source that say how its activations were quantized: they are left out."""

    @property
    def rule(self) -> Rule:
        """What the arithmetic depends on."""
        return Rule(self.wanted.format, self.params, self.wanted.mx_scale)

    @property
    def groups(self) -> Iterator[Group]:
        """All groups, in the order of planning."""
        return (group for shard in self.shards for group in shard.groups)

    @property
    def types(self) -> set[str]:
        """The types of the Linears."""
        return {choice.type for choice in self.choices.values()}

    @property
    def sha256(self) -> str:
        """The SHA-256 of all headers: of each file's tensors, their dtypes and shapes."""
        return hashlib.sha256(b"".join(shard.header for shard in self.shards)).hexdigest()


def size_of(output: Output) -> int:
    """Return the bytes of a tensor."""
    count = 1
    for n in output.shape:
        count *= n
    return count * BITS[output.kind] // 8


def plan_of(shards: list[Shard], config: Config, wanted: Wanted) -> Plan:
    """Plan what is written.

    Args:
        shards: the source's, by name.
        config: the source's.
        wanted: what is asked for.

    Raises:
        CheckpointError: the model cannot be quantized so.
    """
    tensors = {t.name: t for shard in shards for t in shard.tensors}
    if not tensors:
        raise CheckpointError("the model has no tensors: its *.safetensors are empty.")
    sources, unread = sources_of(tensors, config)
    matrices = {s.module: s for s in sources if isinstance(s, Matrix)}
    modules = [*dict.fromkeys([*names.modules_of(tensors), *matrices])]
    rows = {module: matrix.shape[0] for module, matrix in matrices.items()}
    layout = layout_of(rows, config.first_draft, config.model_type)
    choices = choose(matrices, modules, layout, wanted)
    params = params_dtype(config, {c.type for c in choices.values()}, wanted.dtype)
    quantized = {m for m, c in choices.items() if c.type != FLOAT}
    groups = [_group(s, choices, quantized, wanted, WIDTHS[params]) for s in sources]
    rest = [m for m in matrices if m not in quantized]
    left = [m for m in rest if m not in choices and not names.is_other(m)]
    kept = [m for m in rest if not names.is_embedding_or_norm(m)]
    written = tuple(_packed(groups, wanted))
    return Plan(wanted, params, written, choices, tuple(left), tuple(kept), layout, unread)


def _group(
    source: Tensor | Matrix,
    choices: dict[str, Choice],
    quantized: set[str],
    wanted: Wanted,
    params: str,
) -> Group:
    if isinstance(source, Tensor):
        is_bias = source.name.removesuffix(".bias") in quantized and source.name.endswith(".bias")
        if is_bias and wanted.format == ASCEND and source.kind in ("BF16", "F16", "F32"):
            output = Output(source.name, "F32", source.shape)
            return Group(WIDEN, source, FLOAT, (output,))
        return Group(COPY, source, FLOAT, (Output(source.name, source.kind, source.shape),))
    module, name = source.module, f"{source.module}.weight"
    if module in quantized:
        type = choices[module].type
        outputs = outputs_of(module, type, source.shape, wanted.format, params)
        return Group(CODES, source, type, outputs)
    if source.is_blocked:
        return Group(PARAMS, source, FLOAT, (Output(name, params, source.shape),))
    whole = source.tensor if source.is_whole else source
    return Group(COPY, whole, FLOAT, (Output(name, source.tensor.kind, source.shape),))


def _packed(groups: list[Group], wanted: Wanted) -> Iterator[OutputShard]:
    """Yield the files that groups fill; what comes of one tensor of the source stays together."""
    files: list[list[Group]] = [[]]
    filled = 0
    for _, of_one in groupby(groups, lambda g: tensor_of(g.source).name):
        some = list(of_one)
        size = sum(group.size for group in some)
        if files[-1] and filled + size > wanted.shard_size:
            files.append([])
            filled = 0
        files[-1] += some
        filled += size
    for number, some in enumerate(files, 1):
        of_all = f"-{number:05d}-of-{len(files):05d}.safetensors"
        if wanted.format == ASCEND:
            name = f"quant_model_weights{of_all}"
        else:
            name = f"model{of_all}" if len(files) > 1 else "model.safetensors"
        yield _laid_out(name, some)


def tensor_of(source: Tensor | Matrix) -> Tensor:
    """Return the tensor that a group comes of."""
    return source.tensor if isinstance(source, Matrix) else source


def _encoded(entries: dict[str, object]) -> bytes:
    for name in entries:
        if any("\ud800" <= c <= "\udfff" for c in name):
            raise CheckpointError(f"{clean(name, 100)} is not a tensor name in UTF-8.")
    return json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()


def _laid_out(name: str, groups: list[Group]) -> OutputShard:
    """Give each tensor its place: the widest first, then by name, without holes."""
    outputs = sorted(
        (output for group in groups for output in group.outputs),
        key=lambda o: (-BITS[o.kind], o.name),
    )
    for name_, same in groupby(sorted(o.name for o in outputs)):
        if len(list(same)) > 1:
            raise CheckpointError(f"{name_} would be written twice.")
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    begin: dict[str, int] = {}
    at = 0
    for output in outputs:
        begin[output.name] = at
        end = at + size_of(output)
        offsets = [at, end]
        entries[output.name] = {
            "dtype": output.kind,
            "shape": list(output.shape),
            "data_offsets": offsets,
        }
        at = end
    text = _encoded(entries)
    text += b" " * (-len(text) % 8)
    header = len(text).to_bytes(8, "little") + text
    places = {output_name: len(header) + place for output_name, place in begin.items()}
    return OutputShard(name, header, len(header) + at, tuple(groups), places)


DESCRIPTION = "quant_model_description.json"
ASCEND_INDEX = "quant_model_weights.safetensors.index.json"
HEAD = f"{names.HEAD}.weight"
_INT4_TARGET = r"re:.*\.experts\.\d+\.(gate_proj|up_proj|down_proj|w1|w2|w3)$"


def index_of(plan: Plan) -> dict[str, Any]:
    """Return which file each tensor is in, and the bytes of all."""
    files = {o.name: s.name for s in plan.shards for g in s.groups for o in g.outputs}
    size = sum(group.size for group in plan.groups)
    return {"metadata": {"total_size": size}, "weight_map": dict(sorted(files.items()))}


def json_files_of(config: Config, plan: Plan) -> dict[str, bytes]:
    """Return the JSON files by name; last the one without which the folder is no model.

    Raises:
        CheckpointError: a tensor's name cannot be described.
    """
    config_json = json_bytes(config.written(plan.params, _quantization(plan)))
    index = json_bytes(index_of(plan))
    if plan.wanted.format == ASCEND:
        description = json_bytes(description_of(plan))
        return {ASCEND_INDEX: index, "config.json": config_json, DESCRIPTION: description}
    has_index = len(plan.shards) > 1
    return ({SOURCE_INDEX: index} if has_index else {}) | {"config.json": config_json}


def description_of(plan: Plan) -> dict[str, Any]:
    """Return quant_model_description.json: the type of each tensor, and of the model."""
    types: dict[str, Any] = {o.name: g.type for g in plan.groups for o in g.outputs}
    types.setdefault(HEAD, FLOAT)  # vLLM looks it up in tied models too
    made_by = {
        "version": __version__,
        "scheme": plan.wanted.scheme,
        "recipe": recipe_of(plan.types, plan.wanted.mx_scale),
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
    """The quantization_config that compressed-tensors reads."""
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
