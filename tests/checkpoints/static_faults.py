"""Faults of W8A8, whose activations have a scale of their own: STATIC, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .faults import E, Fault, K, O, Q
from .models import GATED
from .spoiling import as_static, put, ratio_of_inputs, remove, replace

V = "model.layers.0.self_attn.v_proj"
QUANT_BIAS = frozenset({"quant-bias"})
NO_PRODUCT = frozenset({"static", "quant-bias"})
TWO_AT_9 = np.int32(2) * (np.arange(72) == 9)


def static(spoil: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return what makes a module W8A8, and then breaks it."""
    return lambda folder: (as_static(folder, O), spoil(folder))


def all_static(name: str, change: Callable[[Any], Any]) -> Callable[[Path], object]:
    """Return what makes the last layer's attention W8A8 as msmodelslim, and changes a tensor."""

    def spoil(folder: Path) -> None:
        for part in "qkvo":
            as_static(folder, f"{O.removesuffix('o_proj')}{part}_proj")
        remove(folder, r"model\.layers\.1\.self_attn\..*\.weight_(scale|offset)")
        replace(folder, name, lambda a: change(a).astype(a.dtype))

    return spoil


STATIC = {
    "deq_scale of int64": Fault(
        "static",
        O,
        static(
            lambda f: replace(f, f"{O}.deq_scale", lambda a: a.view(np.uint32).astype(np.int64))
        ),
        also=frozenset({"dtype"}),
    ),
    "deq_scale is no product": Fault("static", O, static(lambda f: put(f, f"{O}.deq_scale", 7, 1))),
    "input_offset": Fault(
        "static", O, static(lambda f: put(f, f"{O}.input_offset", 0, 200)), also=QUANT_BIAS
    ),
    "deq_scale is NaN": Fault(
        "scale", O, static(lambda f: put(f, f"{O}.deq_scale", 7, np.nan)), also=NO_PRODUCT
    ),
    "input_scale is negative": Fault(
        "scale", O, static(lambda f: put(f, f"{O}.input_scale", 0, -0.03125)), also=NO_PRODUCT
    ),
    "a scale of inputs for each row": Fault(
        "shape",
        f"{O}.input_scale",
        static(lambda f: replace(f, f"{O}.input_scale", lambda a: np.resize(a, 72))),
    ),
    "fused layers of two activations": Fault(
        "static",
        "q_proj, k_proj and v_proj of model.layers.0.self_attn",
        lambda f: ([as_static(f, m) for m in (Q, K, V)], ratio_of_inputs(f, K, 2)),
        is_noticed=False,
    ),
    "quant_bias without sums": Fault(
        "quant-bias",
        f"{O}.quant_bias",
        static(lambda f: replace(f, f"{O}.quant_bias", np.zeros_like)),
        is_noticed=False,
    ),
    "one quant_bias": Fault(
        "quant-bias",
        f"{O}.quant_bias",
        static(lambda f: replace(f, f"{O}.quant_bias", lambda a: a + TWO_AT_9)),
        is_noticed=False,
    ),
    "static experts": Fault(
        "forbidden-type",
        E,
        lambda f: [as_static(f, f"{E}.{e}.{n}") for e in range(4) for n in GATED],
        is_noticed=False,
        family="qwen3_moe",
    ),
    "static codes": Fault(
        "codes", O, all_static(f"{O}.weight", lambda a: a[::-1]), also=QUANT_BIAS
    ),
    "static codes with the sums they had": Fault(
        "codes", O, all_static(f"{O}.weight", lambda a: a[:, ::-1])
    ),
    "a static code": Fault(
        "codes",
        O,
        all_static(f"{O}.weight", lambda a: a ^ (np.indices(a.shape).sum(0) == 9)),
        also=QUANT_BIAS,
    ),
}
