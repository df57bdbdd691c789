"""What a module becomes: the types of the two formats, as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import meant as _meant
from .folder import CheckpointError
from .names import experts_of, is_down

FLOAT = "FLOAT"
ASCEND, COMPRESSED = "ascend", "compressed-tensors"
FORMATS = (ASCEND, COMPRESSED)
WIDTHS = {"bfloat16": "BF16", "float16": "F16"}
"""The params dtypes, in safetensors' words."""


class Output(NamedTuple):
    """A tensor that is written."""

    name: str
    kind: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Type:
    """How modules of a type are quantized."""

    name: str
    codes: str
    """What the codes are: int8, int4 or mxfp8."""
    recipe: str
    formats: tuple[str, ...]
    rank: int = 0
    """Of model_quant_type: the type of the highest rank names the model; 0: it does not count."""


TYPES = {
    t.name: t
    for t in (
        Type("W8A16", "int8", "npu_quant-P-127", (ASCEND,), 1),
        Type("W8A8_DYNAMIC", "int8", "npu_quant-P-127", FORMATS, 2),
        Type("W8A8_MXFP8", "mxfp8", "npu_quant-mx-{}", (ASCEND,), 3),
        Type("W4A8_DYNAMIC", "int4", "npu_quant-7", FORMATS),
    )
}
INT8_ACTIVATIONS = frozenset(("W8A8_DYNAMIC", "W4A8_DYNAMIC"))
"""The types whose scales must not be float16: npu_quant_matmul refuses them (EZ1001)."""
GROUP = 32
"""Columns that share a scale in MXFP8."""
RUNS = 16
"""Runs of columns that each have a scale_bias of their own in down_proj."""


def meant(word: str, known: Iterable[str]) -> str:
    """Return the question whether another type was meant: one whose name has the word, or near."""
    known = [*known]
    having = [name for name in known if len(word) > 3 and word.upper() in name]
    if having:
        return f"; did you mean {having[0]}?"
    return _meant(word, map(str.lower, known)).upper().replace("; DID YOU MEAN", "; did you mean")


def check_pair(scheme: str, format: str) -> None:
    """Refuse a scheme that no consumer reads in a format.

    Raises:
        CheckpointError: there is no such scheme, format, or pair of them.
    """
    if scheme not in TYPES:
        known = ", ".join(TYPES)
        raise CheckpointError(f"scheme is {scheme!r}, available: {known}{meant(scheme, TYPES)}")
    if format not in FORMATS:
        raise CheckpointError(f"format is {format!r}, available: {', '.join(FORMATS)}")
    if format not in TYPES[scheme].formats:
        other = TYPES[scheme].formats[0]
        text = f"no Ascend consumer reads {scheme} as {format}: use --format {other}"
        raise CheckpointError(text)


def outputs_of(
    module: str, type: str, shape: tuple[int, int], format: str, params: str
) -> tuple[Output, ...]:
    """Return the tensors of a quantized module, its bias apart.

    Args:
        module: its name.
        type: one of :data:`TYPES`.
        shape: of the weight, (N, K).
        format: one of :data:`FORMATS`.
        params: safetensors' word for the params dtype.
    """
    n, k = shape

    def output(suffix: str, kind: str, *shape: int) -> Output:
        return Output(f"{module}.{suffix}", kind, shape)

    codes = TYPES[type].codes
    if codes == "mxfp8":
        scale = output("weight_scale", "U8", n, -(-k // GROUP))
        return output("weight", "F8_E4M3", n, k), scale
    if format == COMPRESSED:
        return output("weight", "I8", n, k), output("weight_scale", params, n, 1)
    rows = n // 2 if codes == "int4" else n
    result = [
        output("weight", "I8", rows, k),
        output("weight_scale", "F32", n, 1),
        output("weight_offset", "F32", n, 1),
    ]
    if codes == "int4":
        result.append(output("scale_bias", "F32", n, RUNS if is_down(module) else 1))
    return tuple(result)


def misfit(module: str, type: str, shape: tuple[int, int]) -> str | None:
    """Say what of a weight's shape no consumer takes in a type."""
    n, k = shape
    if type == "W8A8_MXFP8" and experts_of(module) is not None and -(-k // GROUP) % 2:
        return f"{-(-k // GROUP)} blocks of {GROUP} columns, vllm-ascend reshapes pairs of them"
    if type == "W4A16" and (n % GROUP or k % GROUP):
        return f"{n} rows and {k} columns, vllm-ascend wants both in groups of {GROUP}"
    if type == "W4A8_DYNAMIC" and n % 8:
        return f"{n} rows, vllm-ascend packs 8 int4 to a word"
    if type == "W4A8_DYNAMIC" and has_broken_runs(module, k):
        return f"{k} columns, scale_bias is of {RUNS} equal runs of them"
    return None


def has_broken_runs(module: str, k: int) -> bool:
    """Say whether the columns of a down projection are no equal runs."""
    return is_down(module) and bool(k % RUNS)


def model_quant_type(types: set[str]) -> str:
    """Return what names a model of modules of these types."""
    ranked = [TYPES[t] for t in types if t in TYPES and TYPES[t].rank]
    return max(ranked, key=lambda t: t.rank).name if ranked else FLOAT


def recipe_of(types: set[str], mx_scale: str) -> str:
    """Return the name of the arithmetic of these types."""
    return "+".join(sorted({TYPES[t].recipe.format(mx_scale) for t in types if t in TYPES}))
