"""What is no formula, but called: devices' profiles, and other operators with the same inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import NpuQuantError
from ..operators.formula import Variant
from ..operators.inputs import parameters_of
from ..operators.model import Model
from .trial import Actual, Array, Trial, difference

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
    model = actual.model
    golden = model.golden()
    seen = [(actual.differing(golden), golden)]
    siblings = {"": model.operator.function, **model.form.siblings}
    for name, function in siblings.items():
        for profile in (*([None] if name else []), *PROFILES):
            outputs = _outputs_of(model, function, profile)
            if outputs is None:
                continue
            left = actual.differing(outputs)
            # What differs from the actual outputs in other numbers of places is not the same.
            alike = (other for theirs, other in seen if np.array_equal(left, theirs))
            if any(_is_same(outputs, other) for other in alike):
                continue
            seen.append((left, outputs))
            yield Trial(_called_variant(name, function, profile), left, np.zeros_like(left))


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


def _is_same(one: Sequence[Array | None], other: Sequence[Array | None]) -> bool:
    """Tell whether outputs have the same bytes."""
    return all(
        (a is None) == (b is None) and (a is None or b is None or not difference(a, b))
        for a, b in zip(one, other, strict=True)
    )
