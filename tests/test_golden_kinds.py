"""Arguments of a wrong kind: the message names the argument, what came and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npu_quant import golden
from npu_quant.errors import DTypeError, NpuQuantError, ParamError
from npu_quant.golden import compare, compare_folders, explain, list_variants, load, loss
from npu_quant.testing import assert_golden

X = np.linspace(-1, 1, 12, dtype=np.float16).reshape(3, 4)
Y = np.arange(12, dtype=np.int8).reshape(3, 4)
OP = "npu_dynamic_quant"
NUMBERS = np.linspace(0.123456, 1, 5)
"""What no message may show."""
KINDS: list[Any] = [5, 1.5, "a", b"a", True, [1], {"a": 1}, {1}, object(), NUMBERS, 1j, 10**400]


class Odd:
    """An object whose name is none."""

    __name__ = 5


TABLE: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: compare(None, None), ParamError, "give a golden, or op and inputs"),
    (lambda: compare(None, Y), ParamError, "each one is None in actual or in golden"),
    (lambda: compare("y.npy", Y), DTypeError, "actual is a str, expected an array"),
    (lambda: compare(Y, op=5, inputs=X), TypeError, "op is 5, expected an operator or its name"),
    (lambda: compare(Y, op=NUMBERS, inputs=X), TypeError, "op is a ndarray, expected an operator"),
    (lambda: compare(Y, op=Odd(), inputs=X), TypeError, "op is an Odd, expected an operator"),
    (lambda: compare(Y, op=OP, inputs=5), DTypeError, "input"),
    (lambda: compare(Y, op=OP, inputs={5: X}), ParamError, "has no parameter '5' for inputs"),
    (lambda: compare(Y, op=OP, inputs=()), ParamError, "needs inputs['input']"),
    (lambda: compare(Y, op=OP, inputs=X, numerics=5), TypeError, "numerics is 5, expected a prof"),
    (lambda: compare(Y, op=OP, inputs=X, variant=5), TypeError, "variant is 5, expected a form"),
    (lambda: compare(Y, op=OP, inputs=X, variant=NUMBERS), TypeError, "variant is a ndarray, exp"),
    (lambda: compare(Y, Y, atol="a"), TypeError, "atol is 'a', expected a number"),
    (lambda: compare(Y, Y, rtol=NUMBERS), TypeError, "rtol is a ndarray, expected a number"),
    (lambda: compare(Y, Y, rtol={"": [1]}), TypeError, "rtol is a list, expected a number"),
    (lambda: compare(Y, Y, atol=10**400), ParamError, "expected a number of 0 or more"),
    (lambda: compare(Y, Y, preset=["exact"]), TypeError, "preset is a list, expected a name"),
    (lambda: compare(Y, Y, names=5), ParamError, "names is 5, expected a sequence of strings"),
    (lambda: compare(Y, Y, names=NUMBERS), ParamError, "names is a ndarray, expected a sequence"),
    (lambda: compare(Y, Y, axis="a"), TypeError, "axis is 'a', expected an int"),
    (lambda: compare(Y, Y, axis=0.0), TypeError, "axis is 0.0, expected an int"),
    (lambda: compare(Y, Y, progress=5), TypeError, "progress is 5, expected a function of (done, total), or None."),
    (lambda: compare(Y, Y).worst("a"), TypeError, "k is 'a', expected an int"),
    (lambda: compare(Y, Y).output(NUMBERS), KeyError, "a ndarray, compared: "),
    (lambda: explain(Y, 5, X), TypeError, "explain: op is 5, expected an operator or its name"),
    (lambda: explain(Y, OP, X, progress=5), TypeError, "explain: progress is 5, expected"),
    (lambda: explain(Y, OP, X, numerics=5), TypeError, "explain: numerics is 5, expected"),
    (lambda: list_variants(5), ParamError, "op is 5, expected an operator or its name"),
    (lambda: list_variants(Odd()), ParamError, "op is an Odd, expected an operator"),
    (lambda: loss(X, X, 4), TypeError, "block is 4, expected a tuple of ints, such as (1, 32)"),
    (lambda: loss(X, X, "ab"), TypeError, "block is 'ab', expected a tuple of ints"),
    (lambda: loss(X, X, (1.5, 2)), TypeError, "block is a tuple, expected a tuple of ints"),
    (lambda: loss(None, X, (2,)), DTypeError, "actual is a NoneType, expected an array"),
    (lambda: loss(X, X.view("V2"), (2,)), DTypeError, "have dtype |V2, expected bool"),
    (lambda: loss(X, X, (2,)).worst("a"), TypeError, "k is 'a', expected an int"),
    (lambda: compare_folders(".", ".", ops=[OP]), ParamError, "ops is not an object of names"),
    (lambda: compare_folders(".", ".", ops="no"), ParamError, "op is 'no', expected one of"),
    (lambda: compare_folders(".", ".", ops={5: OP}), ParamError, "ops is not an object of names"),
    (lambda: compare_folders(".", ".", mapping=5), ParamError, "mapping is not an object of names"),
    (lambda: compare_folders(".", ".", ops={"a": 5}), ParamError, "mapping 'a': op is 5, expected"),
    (lambda: compare_folders(".", ".", atol="a"), TypeError, "atol is 'a', expected a number"),
    (lambda: compare_folders(".", ".", dtype=5), TypeError, "dtype is 5, expected a dtype's name"),
    (lambda: compare_folders(".", ".", progress=5), TypeError, "progress is 5, expected a func"),
    (lambda: assert_golden(Y, Y, allow_constant="no"), TypeError, "allow_constant is 'no', exp"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), TABLE)
def test_what_came_and_what_is_allowed(
    call: Callable[[], Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert message in text
    assert len(text) <= 400
    assert "\n" not in text
    assert "0.123456" not in text


def test_files(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", Y)
    with pytest.raises(TypeError, match="load: key is 5, expected a name"):
        load(tmp_path / "y.npy", key=5)  # type: ignore[arg-type]
    with pytest.raises(golden.FileError, match="shape is 5, not a tuple of integers"):
        load(tmp_path / "y.npy", shape=5)  # type: ignore[arg-type]


ARGUMENTS = {
    "op": lambda v: compare(Y, op=v, inputs={"input": X}),
    "inputs": lambda v: compare(Y, op=OP, inputs=v),
    "input": lambda v: compare(Y, op=OP, inputs={"input": v}),
    "actual": lambda v: compare(v, Y),
    "golden": lambda v: compare(Y, v),
    "of an operator": lambda v: compare(v, op=OP, inputs=X),
    "numerics": lambda v: compare(Y, op=OP, inputs=X, numerics=v),
    "atol": lambda v: compare(Y, Y, atol=v),
    "preset": lambda v: compare(Y, Y, preset=v),
    "variant": lambda v: compare(Y, op=OP, inputs=X, variant=v),
    "names": lambda v: compare(Y, Y, names=v),
    "axis": lambda v: compare(Y, Y, axis=v),
    "progress": lambda v: compare(Y, Y, progress=v),
    "explained": lambda v: explain(v, OP, X),
    "explain op": lambda v: explain(Y, v, X),
    "explain inputs": lambda v: explain(Y, OP, v),
    "block": lambda v: loss(X, X, v),
    "loss": lambda v: loss(v, X, (2,)),
    "ops": lambda v: compare_folders(".", ".", ops=v),
    "mapping": lambda v: compare_folders(".", ".", mapping=v),
    "ops' value": lambda v: compare_folders(".", ".", ops={"a": v}),
    "mapping's inputs": lambda v: compare_folders(".", ".", mapping={"a": {"op": OP, "inputs": v}}),
    "list_variants": lambda v: list_variants(v),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_whatever_comes_ends_in_no_error_from_inside(name: str) -> None:
    """It is taken, or refused by an error of ours or a TypeError that names what is expected."""
    for value in KINDS:
        try:
            ARGUMENTS[name](value)
        except (NpuQuantError, TypeError, OSError) as error:
            text = str(error)
            assert len(text) <= 400, (value, text)
            ours = isinstance(error, (NpuQuantError, OSError))
            assert ours or "expected" in text, (value, text)
            assert "0.123456" not in text
