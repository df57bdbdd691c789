"""Faults of numbers: scales, offsets and sums that are impossible, and codes that are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .faults import E, Fault, Q, bias_off, config
from .spoiling import put, replace
from .static_faults import STATIC

INT4: Mapping[str, Any] = {"family": "qwen3_moe", "scheme": "W4A8_DYNAMIC"}
MX: Mapping[str, Any] = {"scheme": "W8A8_MXFP8"}
NUMBERS = {
    **{
        f"scale of {value}": Fault(
            "scale", f"{Q}.weight_scale", lambda f, v=value: put(f, f"{Q}.weight_scale", 7, v)
        )
        for value in (np.nan, np.inf, 0, -0.01)
    },
    "scale of 255": Fault(
        "scale", f"{Q}.weight_scale", lambda f: put(f, f"{Q}.weight_scale", (7, 1), 255), **MX
    ),
    "offset": Fault(
        "offset", f"{Q}.weight_offset", lambda f: put(f, f"{Q}.weight_offset", 7, 3), "warning"
    ),
    "offset of NaN": Fault(
        "offset",
        f"{Q}.weight_offset",
        lambda f: put(f, f"{Q}.weight_offset", 7, np.nan),
        is_noticed=False,
    ),
    "scales of float32": Fault(
        "scale-precision",
        "",
        lambda f: replace(f, f"{Q}.weight_scale", lambda a: a * np.float32(1.001)),
        "warning",
    ),
    "float16 model": Fault(
        "fp16",
        "",
        config(lambda c: c.update(torch_dtype="float16")),
        also=frozenset({"scale-precision"}),
    ),
    **STATIC,
    "scale_bias": Fault("scale-bias", f"{E}.0.gate_proj", bias_off, **INT4),
    "codes are NaN": Fault(
        "nonfinite", f"{Q}.weight", lambda f: put(f, f"{Q}[.]weight", (3, 5), np.nan), **MX
    ),
    "nonfinite": Fault(
        "nonfinite",
        "model.norm.weight",
        lambda f: put(f, "model.norm.weight", 3, np.nan),
        "warning",
    ),
}
