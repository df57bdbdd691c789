"""A model's config.json: what of it decides, and how it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .folder import CheckpointError
from .schemes import INT8_ACTIVATIONS, WIDTHS

_QUANTIZED = ("quantization_config", "compression_config")
_NESTED = ("text_config", "vision_config")
_DTYPES = ("torch_dtype", "dtype")
_BLOCK, _MX = (128, 128), (1, 32)
_WITH_HEAD = ("ForCausalLM", "ForConditionalGeneration")


@dataclass(frozen=True)
class Config:
    """The configuration of a model."""

    data: dict[str, Any]

    @property
    def model_type(self) -> str:
        """Its model_type; "" where it has none."""
        return str(self.data.get("model_type") or "")

    def number(self, name: str) -> int | None:
        """Return a number of the language model, wherever it stands."""
        for part in (self.data, _part(self.data, "text_config")):
            if isinstance(part.get(name), int):
                return int(part[name])
        return None

    @property
    def first_draft(self) -> int | None:
        """The number of the first draft layer, after all others; None if it has no such layers."""
        has_drafts = (self.number("num_nextn_predict_layers") or 0) > 0
        return self.number("num_hidden_layers") if has_drafts else None

    @property
    def dtype(self) -> str | None:
        """The params dtype that it says."""
        return next((str(part[key]) for part, key in _dtypes(self.data)), None)

    @property
    def has_dtype(self) -> bool:
        """Whether it says one at its top, where every consumer looks first.

        Without one vLLM and transformers guess by the dtypes of tensors, scales among them.
        """
        return any(isinstance(self.data.get(key), str) for key in _DTYPES)

    @property
    def may_be_tied(self) -> bool:
        """Whether lm_head may have the embedding's weight; it has by default."""
        parts = self.data, _part(self.data, "text_config")
        said = [p["tie_word_embeddings"] for p in parts if "tie_word_embeddings" in p]
        return not said or any(said)

    @property
    def has_tied_head(self) -> bool:
        """Whether it is of a class that has lm_head, whose weight may be the embedding's."""
        classes = self.data.get("architectures")
        named = classes if isinstance(classes, list) else []
        return self.may_be_tied and any(str(c).endswith(_WITH_HEAD) for c in named)

    @property
    def params(self) -> str:
        """The params dtype that consumers take from that: float16 or bfloat16."""
        is_half = self.dtype in ("float16", "torch.float16", "half")
        return "float16" if is_half else "bfloat16"

    @property
    def quantization(self) -> dict[str, Any] | None:
        """How it says that weights are quantized."""
        for part in (self.data, *(_part(self.data, name) for name in _NESTED)):
            for key in _QUANTIZED:
                if isinstance(part.get(key), dict):
                    return dict(part[key])
        return None

    def fp8_blocks(self) -> list[tuple[int, int]]:
        """Return rows and columns that the blocks of FP8 weights may have.

        Raises:
            CheckpointError: the model is quantized in another way, or the block is no two numbers.
        """
        quantization = self.quantization or {"quant_method": "fp8"}
        method = quantization.get("quant_method") or quantization.get("quant_type") or "unknown"
        if (why := _why_not_fp8(method, quantization)) is not None:
            raise CheckpointError(f"config.json: the model is already quantized ({method}){why}.")
        blocks = [block for block in _blocks_in(quantization) if block is not None]
        for block in blocks:
            if not (isinstance(block, list) and len(block) == 2 and all(map(_is_extent, block))):
                text = f"config.json: weight_block_size is {block!r:.60}"
                raise CheckpointError(f"{text}, expected two numbers such as [128, 128].")
        return [*dict.fromkeys([*((high, wide) for high, wide in blocks or [_BLOCK]), _MX])]

    def written(self, params: str, quantization: dict[str, Any] | None) -> dict[str, Any]:
        """Return what config.json of the result holds."""
        data: dict[str, Any] = _with_dtype(_without(self.data, _QUANTIZED), params)
        if not self.has_dtype:
            data[next((key for key in _DTYPES if key in data), _DTYPES[0])] = params
        for name in _NESTED:
            if isinstance(data.get(name), dict):
                data[name] = _without(data[name], _QUANTIZED)
        if quantization is not None:
            data["quantization_config"] = quantization
        return data


def _why_not_fp8(method: Any, said: dict[str, Any]) -> str | None:
    """Say why weights are not codes of FP8 by scales alone; "" if the method says so itself."""
    if method in ("fp8", "fbgemm_fp8"):
        return None
    if method in ("modelopt", "modelopt_mxfp8"):
        inner = _part(said, "quantization") or said
        is_read = str(inner.get("quant_algo")).upper().startswith(("FP8", "MXFP8"))
        return None if is_read else f": quant_algo is {inner.get('quant_algo')!r:.40}"
    if method != "compressed-tensors":
        return ""
    for key in ("transform_config", "sparsity_config"):
        if (part := _part(said, key)) and part.get("format") != "dense":
            return f": it has a {key}, by which weights are not code * scale"
    for weights in _group_weights(said):
        is_float = weights.get("type") == "float" and weights.get("num_bits") == 8
        if not is_float or weights.get("symmetric") is False:
            return f": {weights.get('num_bits')!r:.20} bits of type {weights.get('type')!r:.20}"
    return None


def _group_weights(said: dict[str, Any]) -> list[dict[str, Any]]:
    groups = _part(said, "config_groups").values()
    return [_part(group, "weights") for group in groups if isinstance(group, dict)]


def _blocks_in(said: dict[str, Any]) -> Iterator[Any]:
    """Yield what a quantization_config says of blocks, None where it says nothing."""
    yield said.get("weight_block_size")
    for weights in _group_weights(said):
        yield weights.get("block_structure")
        size = weights.get("group_size")
        yield [1, size] if isinstance(size, int) and size > 0 else None


def _part(data: dict[str, Any], name: str) -> dict[str, Any]:
    part = data.get(name)
    return part if isinstance(part, dict) else {}


def _is_extent(value: Any) -> bool:
    return type(value) is int and value > 0


def _without(data: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


def _dtypes(data: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each place that says a dtype, the topmost first."""
    if isinstance(data, list):
        for value in data:
            yield from _dtypes(value)
    if not isinstance(data, dict):
        return
    yield from ((data, key) for key in _DTYPES if isinstance(data.get(key), str))
    for value in data.values():
        yield from _dtypes(value)


def _with_dtype(data: Any, params: str) -> Any:
    """Data with a dtype in every place that says one."""
    if isinstance(data, list):
        return [_with_dtype(value, params) for value in data]
    if not isinstance(data, dict):
        return data
    return {
        key: params if key in _DTYPES and isinstance(value, str) else _with_dtype(value, params)
        for key, value in data.items()
    }


def params_dtype(config: Config, types: set[str], wanted: str | None) -> str:
    """Return the dtype that the result's scales are read in, and that its config.json says.

    npu_quant_matmul refuses float16 scales (EZ1001; vllm-ascend issues 7443, 12907, 624), so
    activations of int8 make it bfloat16.

    Raises:
        CheckpointError: ``wanted`` is neither bfloat16 nor float16.
    """
    if wanted is not None:
        if wanted not in WIDTHS:
            raise CheckpointError(f"dtype is {wanted!r}, available: {', '.join(WIDTHS)}.")
        return wanted
    return "bfloat16" if types & INT8_ACTIVATIONS else config.params
