"""Every message of npu_swiglu, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import FLOATS, INT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_swiglu

OP = "npu_swiglu"
X = np.ones((2, 4), np.float16)
Y = np.zeros((2, 2), np.float16)
UNWRITTEN = (Y,)
GIVEN = {"self": X}
call = partial(npu_swiglu, **GIVEN)

TAKES = {"self": Takes(FLOATS, "expected 1 to 8.")}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    *of_kinds(call, dim=INT),
    ("int8", lambda: npu_swiglu(X.astype(np.int8)), DTypeError, 161002, "self has dtype int8, expected float16, bfloat16 or float32."),
    ("rank 0", lambda: npu_swiglu(X[0, 0, ...]), ParamError, 161002, "self has 0 dimensions, expected 1 to 8."),
    *[(f"dim {dim}", lambda dim=dim: call(dim=dim), ParamError, 161002, f"dim is {dim}, expected -2 to 1: self has 2 dimensions.") for dim in (2, -3, 2**62)],
    ("odd", lambda: npu_swiglu(X[:, :3]), ParamError, 161002, "self has shape (2, 3), expected an even length along axis -1."),
    ("odd axis", lambda: npu_swiglu(X[:1], 0), ParamError, 161002, "self has shape (1, 4), expected an even length along axis 0."),
    ("out whole", lambda: call(out=X), ParamError, 161002, "out has shape (2, 4), expected (2, 2)."),
    ("out, axis", lambda: call(dim=0, out=Y), ParamError, 161002, "out has shape (2, 2), expected (1, 4)."),
    ("out float32", lambda: call(out=Y.astype(np.float32)), DTypeError, 161002, "out has dtype float32, expected float16."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"dim": 0.5}, TypeError, "dim is a float"),
    ({"dim": 2}, ParamError, "dim is 2"),
    ({"self": X[:1, :3]}, ParamError, "self has shape (1, 3)"),
    ({"out": Y[0]}, ParamError, "out has shape (2,)"),
]

ACCEPTED = [
    {"dim": np.int64(-2)},
    {"dim": True},
    {"self": X.view(np.recarray)},
    {"numerics": "reference"},
]
