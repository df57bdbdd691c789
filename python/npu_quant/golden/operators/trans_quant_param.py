"""npu_trans_quant_param: scales and offsets in words of 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import steps
from .elements import Spread
from .formula import Test, Variant, always
from .model import Array, Flat
from .words import WordModel, row

DOCUMENT = "hicann/ops-nn quant/trans_quant_param_v2"


class TransQuantParam(WordModel):
    """npu_trans_quant_param."""

    offset: Spread | None = None

    def prepare(self) -> None:
        """Read the arguments."""
        scale, offset = self.inputs["scale"], self.inputs["offset"]
        count = scale.size if offset is None or scale.size != 1 else offset.size
        self.elements = Flat(np.broadcast_to(scale.reshape(-1), count))
        self.rounds = self.inputs["round_mode"] == 1
        if offset is not None:
            self.offset = Spread(offset, (count,))


def cut(u: Array) -> Array:
    """Drop 13 bits."""
    return u & 0xFFFFE000


def rounded(u: Array) -> Array:
    """Round to 19 bits, ties to even; what is subnormal becomes 0, and NaN is cut."""
    exponent = u >> 23 & 255
    nearest = np.where(exponent == 255, u, u + 0xFFF + (u >> 13 & 1))
    return np.where(exponent == 0, u & 0x80000000, cut(nearest))


def as_asked(u: Array, model: Any) -> Array:
    """Do as the model's round_mode says."""
    return rounded(u) if model.rounds else cut(u)


def whole(offset: Array, round_: Callable[[Any], Any] = np.rint) -> Array:
    """Return offsets as integers of 9 bits."""
    with np.errstate(all="ignore"):
        held = np.clip(round_(np.nan_to_num(offset, posinf=255, neginf=-256)), -256, 255)
    return np.asarray(held.astype(np.int64) & 0x1FF)


def words(
    model: Any,
    begin: int,
    end: int,
    scale: Callable[[Array, Any], Array] = as_asked,
    offset: Callable[[Array], Array] | None = whole,
    mark: int = 1 << 46,
) -> Array:
    """Return words of some elements; of no offset, where that is None."""
    y = scale(model.elements.read(begin, end).view(np.uint32).astype(np.int64), model) | mark
    if offset is None or model.offset is None:
        return np.asarray(y)
    return np.asarray(y | offset(model.offset.read(begin, end)) << 37)


def has_offset(model: Any) -> bool:
    """Tell whether there is an offset."""
    return model.offset is not None


def rounds(model: Any) -> bool:
    """Tell whether round_mode is 1."""
    return bool(model.rounds)


def other(
    name: str, text: str, source: str = steps.MISTAKE, applies: Test = always, **how: Any
) -> Variant:
    """Return a variant that does one thing otherwise."""
    return row(name, text, source, partial(words, **how), applies)


REST = "2^46 | (clamp(rint(offset), -256, 255) & 0x1FF) << 37"
VARIANTS: tuple[Variant, ...] = (
    row("reference", f"f | {REST}", "docs/numerics.md 16", words),
    other(
        "scale cut",
        f"scale cut to 19 bits | {REST}",
        f"round_mode 0, aclnnTransQuantParamV2 of {DOCUMENT}",
        rounds,
        scale=lambda u, model: cut(u),
    ),
    other(
        "scale rounded",
        f"scale rounded to 19 bits | {REST}",
        f"round_mode 1, aclnnTransQuantParamV3 of {DOCUMENT}",
        lambda model: not rounds(model),
        scale=lambda u, model: rounded(u),
    ),
    other(
        "scale in full",
        f"all bits of scale | {REST}",
        "scripts that view scale as integers",
        scale=lambda u, model: u,
    ),
    other(
        "without bit 46",
        "f | (clamp(rint(offset), -256, 255) & 0x1FF) << 37",
        "scripts that view scale as integers",
        mark=0,
    ),
    other(
        "scale in full, without bit 46",
        "all bits of scale | (clamp(rint(offset), -256, 255) & 0x1FF) << 37",
        "scripts that view scale as integers",
        scale=lambda u, model: u,
        mark=0,
    ),
    other("offset ignored", "f | 2^46", applies=has_offset, offset=None),
    other(
        "offset subtracted",
        "f | 2^46 | (clamp(rint(-offset), -256, 255) & 0x1FF) << 37",
        applies=has_offset,
        offset=lambda o: whole(-o),
    ),
    other(
        "offset cut",
        "f | 2^46 | (clamp(trunc(offset), -256, 255) & 0x1FF) << 37",
        "scripts that cast offset to integers",
        has_offset,
        offset=partial(whole, round_=np.trunc),
    ),
    other(
        "offset not clamped",
        "f | 2^46 | (rint(offset) & 0x1FF) << 37",
        applies=has_offset,
        offset=lambda o: np.rint(np.nan_to_num(o)).astype(np.int64) & 0x1FF,
    ),
)
