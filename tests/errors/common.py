"""What every operator refuses of arrays, in the same words."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from witnesses import Array

from errors.arrays import frozen, nine, on_itself, overlapping
from npu_quant import DTypeError, ParamError, list_numerics

Row = tuple[str, Callable[[], Any], type, int | None, str]
Fault = tuple[dict[str, Any], type, str]
ARRAY = "expected a numpy.ndarray."
FLOATS = "float16, bfloat16 or float32."
PROFILES = ", ".join(list_numerics())
HAVE_PROFILES = ("npu_dynamic_quant", "npu_dynamic_quant_asymmetric", "npu_dynamic_block_quant")
TO_WRITE = f"{ARRAY} Pass an array to be written."


@dataclass(frozen=True)
class Takes:
    """What an argument that is an array may be, in the words of the messages."""

    dtypes: str
    ranks: str
    list_to: str = "np.float16"  # what a list is to become, where the message says it rightly
    optional: bool = False
    is_shaped: bool = False  # like another, and judged with the shapes


INT, NUMBER, STR, BOOL = "an int", "a number", "a str", "a bool"
FORMAT = "an int code, a dtype or a dtype's name"
# Of other kinds.
WRONG: dict[str, list[Any]] = {
    INT: [1.5, "a", np.array(1), None],
    NUMBER: ["a", 1j, np.array(1.0), None],
    STR: [0, None],
    BOOL: ["yes", 1, np.array(True), None],
    FORMAT: [1.5, True, [1], object(), None],
}


def kind_of(value: Any) -> str:
    """Return how messages name the kind of a value."""
    if value is None:
        return "None"
    name = "numpy.ndarray" if isinstance(value, np.ndarray) else type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def of_kinds(
    call: partial[Any], prefix: str = "", optional: Sequence[str] = (), **expected: str
) -> Iterator[Row]:
    """Yield what a call refuses for arguments that are no arrays, each of which expects a kind."""
    for name, kind in expected.items():
        for value in WRONG[kind]:
            if value is not None or name not in optional:
                found = kind_of(value)
                text = f"{prefix}{name} is {found}, expected {kind}."
                yield f"{prefix}{name}, {found}", partial(call, **{name: value}), TypeError, None, text  # fmt: skip


def of_arrays(call: partial[Any], takes: Mapping[str, Takes], code: int = 161002) -> Iterator[Row]:
    """Yield what a call refuses for each of its arguments; code is that of a wrong value."""
    for name, t in takes.items():
        good, dtype = call.keywords[name], f"expected {t.dtypes}"
        swapped = good.astype(good.dtype.newbyteorder(">"))
        rows = [
            ("list", [1.0], 161002, f"is a list, {ARRAY} Convert it, e.g. with np.asarray({name}, dtype={t.list_to}"),
            ("scalar", np.float32(1), 161002, f"is a numpy.float32, {ARRAY}"),
            ("int", 3, 161002, f"is an int, {ARRAY}"),
            ("float", 0.5, 161002, f"is a float, {ARRAY}"),
            ("masked", np.ma.masked_array(good), 161002, f"is a numpy.ma.MaskedArray, {ARRAY} Its mask would be lost: pass {name}.filled(0) or {name}.data."),
            ("complex", good.astype(np.complex64), 161002, f"has dtype complex64, {dtype}"),
            ("objects", good.astype(object), 161002, f"has dtype object, {dtype}"),
            ("text", good.astype(float).astype("U3"), 161002, f"has dtype <U3, {dtype}"),
        ]  # fmt: skip
        rows += [] if t.optional else [("None", None, 161001, f"is None, {ARRAY}")]
        rows += [("swapped", swapped, 161002, f"has dtype {swapped.dtype.str}, {dtype}")] * (good.itemsize > 1)  # fmt: skip
        if t.dtypes == FLOATS:
            convert = f"Convert it, e.g. with {name}.astype(np.float32)"
            as_bits = f"if it holds the bits of bfloat16, pass {name}.view(ml_dtypes.bfloat16)."
            swap = f"Its bytes are swapped: pass {name}.astype({name}.dtype.newbyteorder('='))."
            for kind, remedy in {"f8": f"{convert}.", "i4": f"{convert}.", "u2": f"{convert}; {as_bits}", "i2": f"{convert}; {as_bits}", ">f2": swap, ">f4": swap, ">i4": swap}.items():  # fmt: skip
                value = good.astype(kind)
                rows.append((kind, value, 161002, f"has dtype {value.dtype}, {dtype} {remedy}"))
        for what, value, number, text in rows:
            yield f"{name} {what}", partial(call, **{name: value}), DTypeError, number, f"{name} {text}"  # fmt: skip
        shape = (2**53, *good.shape[1:])
        huge, most = np.broadcast_to(good[:1] if good.ndim else good, shape), 2**52
        text = f"{name} has shape {shape}, expected at most {most} elements, counting axes of length 0 as 1."
        yield f"{name} huge", partial(call, **{name: huge}), ParamError, code, text
        text = f"{name} has 9 dimensions, {t.ranks}"
        yield f"{name} rank 9", partial(call, **{name: nine(good)}), ParamError, code, text
    profiles = PROFILES if call.func.__name__ in HAVE_PROFILES else "reference"
    yield "numerics", partial(call, numerics="x"), ParamError, 161002, f"numerics is 'x', available: {profiles}."  # fmt: skip
    yield "numerics kind", partial(call, numerics=3), TypeError, None, "numerics is an int, expected a str."  # fmt: skip


def faults_of(call: partial[Any], takes: Mapping[str, Takes]) -> Iterator[Fault]:
    """Yield what is wrong of a call's arrays, in the order in which that is reported."""
    given = {name: call.keywords[name] for name in takes if name in call.keywords}
    for name in [name for name in given if not takes[name].optional]:
        yield {name: None}, DTypeError, f"{name} is None"
    for name in given:
        yield {name: [1.0]}, DTypeError, f"{name} is a list"
    for name in given:
        yield {name: given[name].astype(np.complex64)}, DTypeError, f"{name} has dtype"
    for name in [name for name in given if not takes[name].is_shaped]:
        yield {name: nine(given[name])}, ParamError, f"{name} has 9 dimensions"


def of_results(call: partial[Any], outs: Mapping[str, Array], code: int = 161002) -> Iterator[Row]:
    """Yield what is refused of out, of each result in its turn; one that is alone has no name."""
    names, arrays = list(outs), list(outs.values())
    inputs = {n: a for n, a in call.keywords.items() if isinstance(a, np.ndarray) and n != "out"}
    alone = names == [""]

    def called(argument: Any = (), **others: Any) -> Any:
        out = tuple(others.get(name, outs[name]) for name in names)
        return call(**dict(argument), out=out[0] if alone else out)

    for name, good in outs.items():
        label = "out" if alone else f"out[{name}]"
        rows = [
            ("list", [0], DTypeError, 161002, f"is a list, {TO_WRITE}"),
            ("dtype", good.astype(np.complex64), DTypeError, 161002, f"has dtype complex64, expected {good.dtype}."),
            ("shape", good[None], ParamError, code, f"has shape {(1, *good.shape)}, expected {good.shape}."),
            ("rank 9", nine(good), ParamError, code, f"has 9 dimensions, expected shape {good.shape}."),
            ("read-only", frozen(good), ParamError, code, "is read-only. Pass a writable array."),
        ]  # fmt: skip
        if good.ndim > 0:
            text = "overlaps itself: some of its elements share memory. Pass a copy."
            rows.append(("on itself", on_itself(good), ParamError, code, text))
        for what, out, error, number, text in rows:
            yield f"{label} {what}", partial(called, **{name: out}), error, number, f"{label} {text}"  # fmt: skip
        for argument, value in inputs.items():
            a, out = overlapping(value, good)
            text = f"{label} shares memory with {argument}. Pass a fresh array."
            yield f"{label} on {argument}", partial(called, {argument: a}, **{name: out}), ParamError, code, text  # fmt: skip
    for (one, first), (other, second) in itertools.combinations(outs.items(), 2):
        pair = dict(zip((one, other), overlapping(first, second), strict=True))
        text = f"out[{other}] shares memory with out[{one}]."
        yield f"out[{other}] on {one}", partial(called, **pair), ParamError, code, text
    fields, n = f"({', '.join(names)})", len(names)
    several = [
        ("array", arrays[0], DTypeError, 161002, f"is a numpy.ndarray, expected a tuple {fields} of arrays, with None for an output that is not wanted."),
        ("list", arrays, DTypeError, 161002, f"is a list, expected a tuple {fields}"),
        ("length", tuple(arrays[1:]), ParamError, code, f"has {n - 1} {'entry' if n == 2 else 'entries'}, expected {n}: {fields}, with None for an output that is not wanted."),
    ]  # fmt: skip
    single = [("tuple", (arrays[0],), DTypeError, 161002, f"is a tuple, {TO_WRITE}")]
    for what, out, error, number, text in single if alone else several:
        yield f"out {what}", partial(call, out=out), error, number, f"out {text}"


def of_function(
    call: partial[Any], takes: Mapping[str, Takes], outs: Mapping[str, Array], prefix: str = ""
) -> Iterator[Row]:
    """Yield both for a function of a family, which its rows name."""
    prefix = prefix or f"{call.func.__name__}: "
    for name, refused, error, code, text in [*of_arrays(call, takes), *of_results(call, outs)]:
        yield f"{prefix}{name}", refused, error, code, f"{prefix}{text}"
