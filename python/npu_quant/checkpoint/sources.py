"""What of a source's tensors is a weight, and by which scales: floats, stacked experts, FP8.

Four names are in use for the scale of an FP8 ``X.weight``; by all of them weight = code * scale. An
element of the scale is for a block of the weight, and a row or all of the weight are blocks, too::

    scale [] or [1] or [1, 1]          one block of N x K      static FP8, ModelOpt
    scale [N] or [N, 1]                blocks of 1 x K         FBGEMM, compressed-tensors by channel
    scale [ceil(N/128), ceil(K/128)]   blocks of 128 x 128     DeepSeek; or as weight_block_size is
    scale [N, ceil(K/32)]              blocks of 1 x 32        MX
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from . import names
from .config import Config
from .folder import FLOATS, CheckpointError, Tensor
from .matrices import FP8, SCALES, Matrix, experts_in, is_stack

_NAMES = ("weight_scale_inv", "weight_scale", "scale_inv", "scale")
_ACTIVATIONS = frozenset(
    names.words("""
    input_scale activation_scale act_scale input_scale_ub activation_scale_ub output_scale
    k_scale v_scale q_scale kv_scale prob_scale prob_output_scale
    """)
)
"""The last names of tensors that FP8 models have for activations and for the cache of keys."""
_Parts = Mapping[str, Tensor]
"""The tensors of one module, by their last names."""


class Sources(NamedTuple):
    """What a model's tensors are."""

    all: list[Tensor | Matrix]
    """What groups come of, in order: matrices, experts split, and other tensors."""
    unread: tuple[str, ...]
    """Tensors that say how activations were quantized: weights do not depend on them."""


def sources_of(tensors: dict[str, Tensor], config: Config) -> Sources:
    """Return what a model's tensors are.

    Raises:
        CheckpointError: it is not known of a tensor, or it cannot be read exactly.
    """
    blocks = config.fp8_blocks()
    has_fp8 = any(tensor.kind in FP8 for tensor in tensors.values())
    read: list[Tensor | Matrix] = []
    unread = []
    modules: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        module, _, last = name.rpartition(".")
        modules.setdefault(module, {})[last] = tensor
    for name, tensor in tensors.items():
        module, _, last = name.rpartition(".")
        if has_fp8 and last in _ACTIVATIONS:
            unread.append(name)
        elif is_stack(tensor):
            read += experts_in(tensor, config)
        elif not _is_scale(last, tensor, modules[module]):
            read.append(_source(module, last, tensor, modules[module], blocks))
    return Sources(read, tuple(unread))


def _source(
    module: str, last: str, tensor: Tensor, parts: _Parts, blocks: list[tuple[int, int]]
) -> Tensor | Matrix:
    """Return the weight of a module; the tensor itself if it is of no floats and no Linear."""
    if last != "weight" or len(tensor.shape) != 2:
        _check_plain(tensor)
        return tensor
    n, k = tensor.shape
    if tensor.kind in FP8:
        scale = _scale(tensor, parts)
        return Matrix(module, tensor, (n, k), scale, _block(scale, n, k, blocks), strides=(k, 1))
    if tensor.kind in FLOATS:
        return Matrix(module, tensor, (n, k), strides=(k, 1))
    if names.is_linear(module):
        raise CheckpointError(f"{tensor.name} is {tensor.kind}: the model is already quantized.")
    return tensor


def _check_plain(tensor: Tensor) -> None:
    if tensor.kind in FP8:
        text = f"{tensor.name} is {tensor.kind} of shape {tensor.shape}"
        raise CheckpointError(f"{text}: FP8 is read of a matrix named .weight, with its scale.")
    is_of_experts = ".experts." in tensor.name and len(tensor.shape) == 2
    if is_of_experts and tensor.name.endswith(("_proj_bias", "_proj.bias")):
        text = "a bias of stacked experts cannot be split, and no option leaves it out"
        raise CheckpointError(f"{tensor.name}: {text}: save the model with separate experts.")


def _is_scale(last: str, tensor: Tensor, parts: _Parts) -> bool:
    """Say whether a tensor is the scale of an FP8 weight.

    Raises:
        CheckpointError: it is a scale by its name, and its weight is missing or needs none.
    """
    weight = parts.get("weight")
    if last in _NAMES and weight is not None and weight.kind in FP8:
        return True
    if last not in ("weight_scale", "weight_scale_inv"):  # other modules have a scale, too
        return False
    if weight is None:
        raise CheckpointError(f"{tensor.name} is the scale of a weight that is not there.")
    if weight.kind in FLOATS:
        text = f"{tensor.name} is a scale, but {weight.name} is {weight.kind}, which needs none"
        raise CheckpointError(f"{text}: which of them is right is not known: save it anew.")
    return False  # the weight is refused if it is a Linear's


def _scale(weight: Tensor, parts: _Parts) -> Tensor:
    """Return the only scale of an FP8 weight."""
    said = {last: t for last, t in parts.items() if "scale" in last or last.endswith("zero_point")}
    found = [last for last in said if last in _NAMES]
    others = [last for last in said if last not in _NAMES and last not in _ACTIVATIONS]
    if len(found) == 1 and not others:
        return said[found[0]]
    what = " and ".join(sorted(said[last].name for last in (*found, *others))) or "none"
    how = "with" if found else "without scale: found"
    known = ", ".join(f".{name}" for name in _NAMES)
    raise CheckpointError(
        f"{weight.name} is FP8 {how} {what}; expected one of {known} alone: weight = code * scale."
    )


def _block(scale: Tensor, n: int, k: int, blocks: list[tuple[int, int]]) -> tuple[int, int]:
    """Return rows and columns of the blocks that a scale is for."""
    whole, row = (max(n, 1), max(k, 1)), (1, max(k, 1))
    shapes: dict[tuple[int, ...], tuple[int, int]] = {(): whole, (1,): whole, (n,): row}
    for high, wide in (whole, row, *blocks):
        shapes.setdefault((-(-n // high), -(-k // wide)), (high, wide))
    if scale.kind in SCALES and scale.shape in shapes:
        return shapes[scale.shape]
    of_blocks = " or ".join(f"{[-(-n // h), -(-k // w)]} ({h} x {w})" for h, w in blocks)
    raise CheckpointError(
        f"{scale.name} is {scale.kind} of shape {scale.shape}: of a weight {[n, k]}, expected "
        f"{', '.join(SCALES)} (E8M0), of one element, {[n, 1]} for rows, or for blocks {of_blocks}."
    )
