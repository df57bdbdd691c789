"""npu_trans_quant_param: scales and offsets in words of 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import steps
from .elements import Spread
from .formula import Form, Formula, Made, Other, Step
from .model import Array, Flat, Part
from .words import WordModel

DOCUMENT = "hicann/ops-nn quant/trans_quant_param_v2"


def cut(u: Array) -> Array:
    """Drop 13 bits."""
    return u & 0xFFFFE000


def rounded(u: Array) -> Array:
    """Round to 19 bits, ties to even; what is subnormal becomes 0, and NaN is cut."""
    exponent = u >> 23 & 255
    nearest = np.where(exponent == 255, u, u + 0xFFF + (u >> 13 & 1))
    return np.where(exponent == 0, u & 0x80000000, cut(nearest))


def whole(offset: Array, round_: Callable[[Any], Any] = np.rint) -> Array:
    """Return offsets as integers of 9 bits."""
    with np.errstate(all="ignore"):
        held = np.clip(round_(np.nan_to_num(offset, posinf=255, neginf=-256)), -256, 255)
    return np.asarray(held.astype(np.int64) & 0x1FF)


def has_offset(model: Any) -> bool:
    """Tell whether there is an offset."""
    return model.offset is not None


def rounds(model: Any) -> bool:
    """Tell whether round_mode is 1."""
    return bool(model.rounds)


SCRIPTS = "scripts that view scale as integers"
HELD = "(clamp(rint(offset), -256, 255) & 0x1FF) << 37"
SLOTS = {
    "scale": (
        Step("", "f", lambda u, model: rounded(u) if model.rounds else cut(u)),
        Other(
            "scale cut",
            "scale cut to 19 bits",
            lambda u, model: cut(u),
            f"round_mode 0, aclnnTransQuantParamV2 of {DOCUMENT}",
            rounds,
            attribute="round_mode=0",
        ),
        Other(
            "scale rounded",
            "scale rounded to 19 bits",
            lambda u, model: rounded(u),
            f"round_mode 1, aclnnTransQuantParamV3 of {DOCUMENT}",
            lambda model: not rounds(model),
            attribute="round_mode=1",
        ),
        Other("scale in full", "all bits of scale", lambda u, model: u, SCRIPTS),
    ),
    "mark": (
        Step("", " | 2^46", lambda y: y | 1 << 46),
        Other("without bit 46", "", lambda y: y, SCRIPTS),
    ),
    "offset": (
        Step("", f" | {HELD}", whole),
        Other("offset ignored", "", lambda o: np.int64(0), steps.MISTAKE, has_offset),
        Other(
            "offset subtracted",
            f" | {HELD.replace('offset', '-offset')}",
            lambda o: whole(-o),
            steps.MISTAKE,
            has_offset,
        ),
        Other(
            "offset cut",
            f" | {HELD.replace('rint', 'trunc')}",
            partial(whole, round_=np.trunc),
            "scripts that cast offset to integers",
            has_offset,
        ),
        Other(
            "offset not clamped",
            " | (rint(offset) & 0x1FF) << 37",
            lambda o: np.rint(np.nan_to_num(o)).astype(np.int64) & 0x1FF,
            steps.MISTAKE,
            has_offset,
        ),
    ),
}


def words(formula: Formula, part: Part) -> Array:
    """Return the words of a part."""
    model, (begin, end) = part.model, part.spans[0]
    u = model.elements.read(begin, end).view(np.uint32).astype(np.int64)
    y = formula["mark"].function(formula["scale"].function(u, model))
    if model.offset is None:
        return np.asarray(y)
    return np.asarray(y | formula["offset"].function(model.offset.read(begin, end)) << 37)


def text(formula: Formula) -> str:
    """Return how words come about."""
    return "y = " + "".join(formula[slot].text for slot in SLOTS)


class TransQuantParam(WordModel):
    """npu_trans_quant_param."""

    form = Form(SLOTS, text, (Made(words),), "docs/numerics.md 16")

    offset: Spread | None = None

    def prepare(self) -> None:
        """Read the arguments."""
        scale, offset = self.inputs["scale"], self.inputs["offset"]
        count = scale.size if offset is None or scale.size != 1 else offset.size
        self.elements = Flat(np.broadcast_to(scale.reshape(-1), count))
        self.rounds = self.inputs["round_mode"] == 1
        if offset is not None:
            self.offset = Spread(offset, (count,))
