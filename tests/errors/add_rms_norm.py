"""Every message of npu_rms_norm and npu_add_rms_norm, and the order of their checks."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.common import FLOATS, NUMBER, Takes, of_function, of_kinds
from npu_quant import DTypeError, ParamError, npu_add_rms_norm, npu_rms_norm

X = np.ones((2, 4), np.float16)
G = np.ones(4, np.float16)
Y = np.zeros((2, 4), np.float16)
RSTD = np.zeros((2, 1), np.float32)
SUM = Y.copy()
UNWRITTEN = (Y, RSTD, SUM)
P, A = "npu_rms_norm: ", "npu_add_rms_norm: "
alone = partial(npu_rms_norm, self=X, gamma=G)
added = partial(npu_add_rms_norm, x1=X, x2=X, gamma=G)
RANKS = "expected 1 to 8."
OF_SELF = {"self": Takes(FLOATS, RANKS), "gamma": Takes("float32 or the dtype of self (float16).", RANKS, "np.float32")}  # fmt: skip
OF_SUM = {
    "x1": Takes(FLOATS, RANKS),
    "x2": Takes("the dtype of x1 (float16).", "expected the shape of x1, (2, 4).", is_shaped=True),
    "gamma": Takes("the dtype of x1 (float16).", RANKS),
}


def of_gammas(call: partial[Any], prefix: str, x: str) -> list[Any]:
    """Return what is said of weights that have not the shape of x's last axes."""
    return [
        (f"{prefix}gamma shape {shape}", partial(call, gamma=np.ones(shape, np.float16)), ParamError, 161002, f"{prefix}gamma has shape {shape}, expected the last axes of {x} of shape (2, 4).")
        for shape in ((3,), (1,), (1, 4), (4, 1), (2, 2), (1, 2, 4), (0,))
    ]  # fmt: skip


# Name, call, exception, code, message (from its beginning).
ERRORS = [
    *of_function(alone, OF_SELF, {"y": Y, "rstd": RSTD}),
    *of_function(added, OF_SUM, {"y": Y, "rstd": RSTD, "x": SUM}),
    *of_gammas(alone, P, "self"),
    *of_gammas(added, A, "x1"),
    *of_kinds(alone, P, epsilon=NUMBER),
    *of_kinds(added, A, epsilon=NUMBER),
    ("self rank 0", lambda: alone(self=X[0, 0]), DTypeError, 161002, P + "self is a numpy.float16, expected a numpy.ndarray."),
    ("gamma rank 0", lambda: alone(gamma=np.ones((), np.float16)), ParamError, 161002, P + "gamma has 0 dimensions, expected 1 to 8."),
    ("gamma other 16 bits", lambda: alone(gamma=G.astype(ml_dtypes.bfloat16)), DTypeError, 161002, P + "gamma has dtype bfloat16, expected float32 or the dtype of self (float16)."),
    ("gamma float32 of a sum", lambda: added(gamma=G.astype(np.float32)), DTypeError, 161002, A + "gamma has dtype float32, expected the dtype of x1 (float16). Convert it with gamma.astype(x1.dtype)."),
    ("x2 dtype", lambda: added(x2=X.astype(np.float32)), DTypeError, 161002, A + "x2 has dtype float32, expected the dtype of x1 (float16). Convert it with x2.astype(x1.dtype)."),
    ("x2 shape", lambda: added(x2=X[:1]), ParamError, 161002, A + "x2 has shape (1, 4), expected the shape of x1, (2, 4)."),
    ("out rstd shape", lambda: alone(out=(Y, RSTD[:, 0])), ParamError, 161002, P + "out[rstd] has shape (2,), expected (2, 1)."),
    ("out rstd of all axes", lambda: added(gamma=X, out=(Y, RSTD, SUM)), ParamError, 161002, A + "out[rstd] has shape (2, 1), expected (1, 1)."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = {
    "npu_rms_norm": (
        alone,
        [
            ({"gamma": None}, DTypeError, "gamma is None"),
            ({"self": [1.0]}, DTypeError, "self is a list"),
            ({"self": X.astype(float)}, DTypeError, "self has dtype"),
            ({"gamma": G.astype(float)}, DTypeError, "gamma has dtype"),
            ({"gamma": np.ones((), np.float16)}, ParamError, "gamma has 0 dimensions"),
            ({"gamma": G[:3]}, ParamError, "gamma has shape"),
            ({"out": (Y[0], None)}, ParamError, "out[y] has shape"),
        ],
    ),
    "npu_add_rms_norm": (
        added,
        [
            ({"x2": None}, DTypeError, "x2 is None"),
            ({"gamma": [1.0]}, DTypeError, "gamma is a list"),
            ({"x2": X.astype(float)}, DTypeError, "x2 has dtype"),
            ({"gamma": G.astype(np.float32)}, DTypeError, "gamma has dtype"),
            ({"x1": np.ones((), np.float16)}, ParamError, "x1 has 0 dimensions"),
            ({"x2": X[:1]}, ParamError, "x2 has shape"),
            ({"gamma": G[:3]}, ParamError, "gamma has shape"),
            ({"out": ()}, ParamError, "out has 0 entries"),
        ],
    ),
}
