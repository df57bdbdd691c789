"""What is no formula, but called: devices' profiles, and other operators with the same inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from ...errors import NpuQuantError
from ..operators.formula import Variant
from ..operators.inputs import parameters_of
from ..operators.model import Flat, Model
from .trial import AT_ONCE, Actual, Array, Counts, Trial

Outputs = Sequence[Array | None]
T = TypeVar("T")

PROFILES = (
    "ascend910b",
    "ascend950",
    "ascend910b:scale_form=S1",
    "ascend910b:scale_form=S2",
    "ascend910b:norm_template=normal",
    "ascend910b:norm_template=split_d",
    "ascend910b:norm_template=single_n",
    "ascend950:norm_template=full",
    "ascend950:norm_template=normal",
)
"""Arithmetic profiles, of which one may have made the outputs (docs/numerics.md 4)."""


def called(actual: Actual) -> Iterator[Trial]:
    """Yield the profiles and the other operators that may have made the outputs."""

    def judge(outputs: Outputs) -> tuple[Counts, bytes]:
        return actual.differing(outputs), _digest(outputs)

    seen = [judge(actual.model.golden())]
    for variant, (left, digest) in _judged(actual.model, judge):
        # What differs from the actual outputs in other numbers of places is not the same.
        if not any(np.array_equal(left, theirs) and digest == other for theirs, other in seen):
            seen.append((left, digest))
            yield Trial(variant, left, np.zeros_like(left))


def called_exactly(actual: Actual) -> list[Trial]:
    """Return the first of them that gives every element, unless the golden does."""
    if actual.is_all_of(actual.model.golden()):
        return []
    none = np.zeros(len(actual.given), np.int64)
    gives = (variant for variant, is_all in _judged(actual.model, actual.is_all_of) if is_all)
    return [Trial(variant, none, none) for variant in islice(gives, 1)]


def _judged(model: Model, judge: Callable[[Outputs], T]) -> Iterator[tuple[Variant, T]]:
    """Yield what is found of the outputs of each call that is no refusal.

    No more than one call's outputs are held at a time: what is found of them is small.
    """
    for name, function in {"": model.operator.function, **model.form.siblings}.items():
        for profile in (*([None] if name else []), *PROFILES):
            found = _found(model, function, profile, judge)
            if found is not None:
                yield _called_variant(name, function, profile), found


def _found(
    model: Model, function: Any, profile: str | None, judge: Callable[[Outputs], T]
) -> T | None:
    outputs = _outputs_of(model, function, profile)
    return None if outputs is None else judge(outputs)


def _called_variant(name: str, function: Any, profile: str | None) -> Variant:
    by = f"{function.__name__} by the profile {profile}" if profile else function.__name__
    title = ", ".join(text for text in (name, profile) if text)
    return Variant(title, not name, by, "docs/numerics.md 4" if profile else by)


def _outputs_of(
    model: Model, function: Any, profile: str | None
) -> tuple[Array | None, ...] | None:
    """Return a function's outputs by the model's names; None where it refuses the inputs."""
    known = parameters_of(function)
    inputs = {n: v for n, v in model.inputs.items() if n in known}
    try:
        result = function(**inputs, numerics=profile)
    except NpuQuantError:
        return None
    if function is model.operator.function:
        return model.all_as_elements(result)
    given = result._asdict() if hasattr(result, "_asdict") else {model.outputs[0]: result}
    return model.all_as_elements(tuple(map(given.get, model.outputs)))


def _digest(outputs: Outputs) -> bytes:
    """Return what tells outputs of other bytes apart; all NaN are one."""
    digest = hashlib.blake2b()
    for output in outputs:
        digest.update(b"none" if output is None else f"{output.dtype}{output.shape}".encode())
        flat = None if output is None else Flat(output)
        for begin in range(0, 0 if flat is None else flat.size, AT_ONCE):
            assert flat is not None
            digest.update(_with_one_nan(flat.read(begin, begin + AT_ONCE)).data)
    return digest.digest()


def _with_one_nan(some: Array) -> Array:
    """Return the bits of some elements, those of NaN all alike."""
    bits = some.view(f"u{some.dtype.itemsize}")
    return bits if some.dtype.kind in "iub" else np.where(some == some, bits, ~bits.dtype.type(0))
