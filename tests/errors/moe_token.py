"""Every message of npu_moe_token_permute and npu_moe_token_unpermute, and the order of faults."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from errors.common import BOOL, FLOATS, INT, Takes, faults_of, of_function, of_kinds
from npu_quant import DTypeError, ParamError, npu_moe_token_permute, npu_moe_token_unpermute

TOKENS = np.ones((3, 4), np.float16)
INDICES = np.zeros((3, 2), np.int64)
ROWS = np.ones((4, 4), np.float16)
PLACES = np.array([0, 1, 2, 3, 4, 5], np.int32)
PROBS = np.ones((3, 2), np.float32)
PERMUTED = np.zeros((6, 4), np.float16)
SORTED = np.zeros(6, np.int32)
OUT = np.zeros((3, 4), np.float16)
UNWRITTEN = (PERMUTED, SORTED, OUT)
P, U = "npu_moe_token_permute: ", "npu_moe_token_unpermute: "
# Good arguments, and out, so that nothing may be written.
permute = partial(npu_moe_token_permute, tokens=TOKENS, indices=INDICES, out=(PERMUTED, SORTED))
unpermute = partial(npu_moe_token_unpermute, permuted_tokens=ROWS, sorted_indices=PLACES, probs=PROBS, out=OUT)  # fmt: skip

OF_PERMUTE = {
    "tokens": Takes("float16, bfloat16, float32 or int8.", "expected 2."),
    "indices": Takes("int32 or int64.", "expected 1 or 2.", "np.int64"),
}
OF_UNPERMUTE = {
    "permuted_tokens": Takes(FLOATS, "expected 2."),
    "sorted_indices": Takes("int32 or int64.", "expected 1. It holds a row of permuted_tokens for each term.", "np.int64"),
    "probs": Takes(FLOATS, "expected 2. It holds a row for each token.", optional=True),
}  # fmt: skip
ROW = "expected 0 or more: a row of permuted_tokens, or for none a number beyond the last row."
MOST = "expected at most 4503599627370496 elements in the result."

# Name, call, exception, code, message (from its beginning).
ERRORS = [
    *of_function(permute, OF_PERMUTE, {"permuted_tokens": PERMUTED, "sorted_indices": SORTED}),
    *of_function(unpermute, OF_UNPERMUTE, {"": OUT}),
    *of_kinds(permute, P, optional=("num_out_tokens",), num_out_tokens=INT, padded_mode=BOOL),
    *of_kinds(unpermute, U, padded_mode=BOOL),
    ("tokens float64", lambda: permute(tokens=TOKENS.astype(float)), DTypeError, 161002, P + "tokens has dtype float64, expected float16, bfloat16, float32 or int8. Convert it, e.g. with tokens.astype(np.float32)."),
    ("indices rank 0", lambda: permute(indices=np.zeros((), np.int64)), ParamError, 161002, P + "indices has 0 dimensions, expected 1 or 2."),
    ("indices rows", lambda: permute(indices=INDICES[:2]), ParamError, 161002, P + "indices has shape (2, 2), expected (3,) or (3, K): a row for each row of tokens."),
    ("indices, many", lambda: permute(tokens=TOKENS[:1], indices=np.broadcast_to(INDICES[:1, :1], (1, 2**31))), ParamError, 161002, P + "indices has shape (1, 2147483648), expected at most 2147483647 elements."),
    ("tokens, many", lambda: permute(tokens=np.broadcast_to(TOKENS[:, :1], (3, 2**50))), ParamError, 161002, P + f"tokens has shape (3, 1125899906842624), {MOST}"),
    ("padded", lambda: permute(padded_mode=True), ParamError, 161002, P + "padded_mode is True, available: False."),
    ("padded rows", lambda: unpermute(padded_mode=True), ParamError, 161002, U + "padded_mode is True, available: False."),
    ("restored", lambda: unpermute(restore_shape=[3, 4]), ParamError, 161002, U + "restore_shape is given, expected None: padded_mode is False."),
    ("restored, empty", lambda: unpermute(restore_shape=[]), ParamError, 161002, U + "restore_shape is given, expected None: padded_mode is False."),
    ("restored, int", lambda: unpermute(restore_shape=3), TypeError, None, U + "restore_shape is an int, expected a list of ints."),
    ("probs", lambda: unpermute(probs=PROBS[:2]), ParamError, 161002, U + "probs has shape (2, 2), expected 6 elements: one for each entry of sorted_indices."),
    ("rows, many", lambda: unpermute(permuted_tokens=np.broadcast_to(ROWS[:1, :1], (1, 2**52))), ParamError, 161002, U + f"permuted_tokens has shape (1, 4503599627370496), {MOST}"),
    ("negative", lambda: unpermute(sorted_indices=PLACES - 4), ParamError, 161002, U + f"sorted_indices[0] is -4, {ROW}"),
    ("negative, the last", lambda: unpermute(sorted_indices=np.array([0, 1, 2, 3, 4, -(2**62)])), ParamError, 161002, U + f"sorted_indices[5] is -4611686018427387904, {ROW}"),
    ("out float32", lambda: unpermute(out=OUT.astype(np.float32)), DTypeError, 161002, U + "out has dtype float32, expected float16."),
]  # fmt: skip
# In the order in which faults are reported, of each function.
FAULTS: dict[str, Any] = {
    "npu_moe_token_permute": (
        permute,
        [
            *faults_of(permute, OF_PERMUTE),
            ({"padded_mode": True}, ParamError, "padded_mode is True"),
            ({"indices": INDICES[:2]}, ParamError, "indices has shape"),
            ({"out": (PERMUTED[:1], SORTED)}, ParamError, "out[permuted_tokens] has shape"),
        ],
    ),
    "npu_moe_token_unpermute": (
        unpermute,
        [
            *faults_of(unpermute, OF_UNPERMUTE),
            ({"padded_mode": True}, ParamError, "padded_mode is True"),
            ({"restore_shape": [3]}, ParamError, "restore_shape is given"),
            ({"probs": PROBS[:2]}, ParamError, "probs has shape"),
            ({"sorted_indices": PLACES - 1}, ParamError, "sorted_indices[0] is -1"),
            ({"out": OUT[:1]}, ParamError, "out has shape"),
        ],
    ),
}
