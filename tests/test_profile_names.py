"""Where a device's profile may be named, with which parameters, and what it refuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import npu_quant
from npu_quant import DTypeError, ParamError

Array = np.ndarray[Any, np.dtype[Any]]
S2, A5 = "ascend910b:scale_form=S2", "ascend950"
ONES = np.ones((2, 128), np.float32)
HALVES = ONES.astype(np.float16)
REFUSED = [
    (
        "npu_dynamic_quant",
        ONES,
        {},
        A5,
        DTypeError,
        "input is float32; ascend950 takes float16 and bfloat16.",
    ),
    (
        "npu_dynamic_quant_asymmetric",
        ONES,
        {},
        "ascend910b",
        DTypeError,
        "input is float32; ascend910b takes float16 and bfloat16.",
    ),
    (
        "npu_dynamic_block_quant",
        ONES,
        {},
        "ascend910b",
        DTypeError,
        "x is float32; ascend910b takes float16 and bfloat16.",
    ),
    (
        "npu_dynamic_quant",
        HALVES,
        {"dst_type": "float8_e5m2"},
        "ascend910b",
        ParamError,
        "dst_type is float8_e5m2; ascend910b takes int8 and int4.",
    ),
    (
        "npu_dynamic_quant",
        HALVES,
        {"quant_mode": "perchannel"},
        "ascend910b",
        ParamError,
        "quant_mode is 'perchannel'; ascend910b takes 'pertoken'.",
    ),
    (
        "npu_dynamic_block_quant",
        HALVES,
        {"dst_type": "int4"},
        A5,
        ParamError,
        "dst_type is int4; ascend950 takes int8, hifloat8, float8_e5m2 and float8_e4m3fn.",
    ),
    (
        "npu_dynamic_block_quant",
        HALVES,
        {"dst_type": "float8_e5m2"},
        "ascend910b",
        ParamError,
        "dst_type is float8_e5m2; ascend910b takes int8.",
    ),
    (
        "npu_dynamic_block_quant",
        HALVES,
        {"row_block_size": 64},
        "ascend910b",
        ParamError,
        "row_block_size is 64; ascend910b takes 1.",
    ),
    (
        "npu_dynamic_block_quant",
        HALVES,
        {"col_block_size": 64},
        "ascend910b",
        ParamError,
        "col_block_size is 64; ascend910b takes 128.",
    ),
]


@pytest.mark.parametrize(("name", "x", "options", "numerics", "error", "words"), REFUSED)
def test_what_a_device_refuses(
    name: str, x: Array, options: dict[str, Any], numerics: str, error: type[Exception], words: str
) -> None:
    operator = getattr(npu_quant, name)
    with pytest.raises(error, match=f"^{name}: {re.escape(words)}$"):
        operator(x, **options, numerics=numerics)
    operator(x, **options)


KEYS_910B = (
    "ascend910b:vector_cores=1..1024,ub_size=65536..16777216,scale_form=auto|S1|S2,"
    "norm_template=auto|normal|split_d|single_n"
)
KEYS_950 = "ascend950:ub_size=65536..16777216,norm_template=auto|full|normal"


@pytest.mark.parametrize(
    ("name", "available"),
    [
        ("ascend", "reference, ascend910b, ascend950"),
        ("Ascend950", "reference, ascend910b, ascend950"),
        ("ascend950:", KEYS_950),
        ("ascend950:ub_size", KEYS_950),
        ("ascend950:ub_size=65535", KEYS_950),
        ("ascend950:ub_size=0x10000", KEYS_950),
        ("ascend950:ub_size=65536,", KEYS_950),
        ("ascend950:ub_size=65536,ub_size=65536", KEYS_950),
        ("ascend950:scale_form=S1", KEYS_950),
        ("ascend910b:scale_form=s1", KEYS_910B),
        ("ascend910b:vector_cores=1025", KEYS_910B),
        ("reference:ub_size=65536", "reference (it has no parameters)"),
    ],
)
def test_names_that_there_are_not(name: str, available: str) -> None:
    words = f"numerics: numerics is '{name}', available: {available}."
    with pytest.raises(ParamError, match=f"^{re.escape(words)}$"), npu_quant.numerics(name):
        pass
    with pytest.raises(ParamError, match=re.escape(f"available: {available}.")):
        npu_quant.npu_dynamic_quant(HALVES, numerics=name)


def test_a_context_and_the_environment_choose_it() -> None:
    x = np.array([[1.125, 0.5625]], np.float16)
    with npu_quant.numerics("ascend910b:scale_form=S2,vector_cores=48"):
        assert npu_quant.npu_dynamic_quant(x).y.tolist() == [[127, 64]]
        assert npu_quant.npu_dynamic_quant(x, numerics="reference").y.tolist() == [[127, 63]]
    assert npu_quant.npu_dynamic_quant(x).y.tolist() == [[127, 63]]
    code = "import numpy as np, npu_quant as q; x = np.array([[1.125, .5625]], np.float16);"
    code += "print(q.npu_dynamic_quant(x).y.tolist(), q.info()['numerics'])"
    environment = os.environ | {"NPU_QUANT_NUMERICS": S2}
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.split("\n")[0] == f"[[127, 64]] {S2}"
