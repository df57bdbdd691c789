"""Faults planted in every format and operator, on top of a device's ordinary ties: what is named.

A row of the tables says what a report must say of the cause and of the place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from exhaustive import every
from planted import Device, Kind, calls, devices, places, said, verdict_of
from planted.formats import KINDS as IN_FORMATS
from planted.formats import without
from planted.operators import KINDS as IN_OPERATORS

KINDS = (*IN_FORMATS, *IN_OPERATORS, *places.KINDS)
DEAR = [pytest.param(kind, marks=pytest.mark.exhaustive) for kind in places.DEAR]
DEVICES = list(dict.fromkeys(kind.device for kind in KINDS))
OF_ONE_FORMAT = [devices.int8, devices.int4, devices.e4m3, devices.e5m2, devices.hif8]
every_device = pytest.mark.parametrize("make", DEVICES, ids=lambda make: make.__name__)


@pytest.mark.parametrize("kind", [*KINDS, *DEAR], ids=str)
def test_of_each_kind(kind: Kind) -> None:
    """No other cause than the right one is named of any; of most it is, with its place."""
    comparison = kind.compare()
    assert not comparison.passed
    verdict = verdict_of(kind, comparison)
    assert verdict == "right" if kind.is_named else verdict in ("place only", "half", "silent")
    if kind in places.ALL:
        lines = str(comparison).splitlines()
        assert len(lines) <= 15 + 3 * (len(comparison.outputs) - 1)
        assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("kinds", "least", "share"),
    [(IN_FORMATS, 100, 1), (IN_OPERATORS, 139, 0.99), (places.KINDS, 139, 1)],
)
def test_most_kinds_are_named(kinds: tuple[Kind, ...], least: int, share: float) -> None:
    assert len(kinds) >= least
    assert len({str(kind) for kind in kinds}) == len(kinds)
    assert sum(kind.is_named for kind in kinds) >= share * len(kinds)


@every_device
def test_ties_are_no_fault(make: Callable[[], Device]) -> None:
    comparison = make().compare({})
    metrics = comparison.outputs[0].metrics
    assert metrics is not None
    assert metrics.mismatches > 32 or make not in OF_ONE_FORMAT
    assert [cause for output in comparison.outputs for cause in output.causes] == []
    if make().op is not None:  # ties of float4 are no rounding's, but those of a rule with a name
        assert comparison.rung in ("identical", "tie", "variant")


@pytest.mark.parametrize("make", DEVICES[:: every(3)], ids=lambda make: make.__name__)
def test_noise_has_no_cause(make: Callable[[], Device]) -> None:
    """One element in twenty is another one's: no rule makes them. `make test` has a third of it."""
    device, rng = make(), np.random.default_rng(11)
    name, first = next(iter(device.outputs.items()))
    at = rng.random(first.shape) < 0.05
    noisy = np.where(at, rng.permutation(first.reshape(-1)).reshape(first.shape), first)
    comparison = device.compare({name: noisy})
    assert not comparison.passed
    assert said(comparison) == []


@pytest.mark.parametrize("make", OF_ONE_FORMAT, ids=lambda make: make.__name__)
def test_of_another_input_no_more_is_named(make: Callable[[], Device]) -> None:
    device = make()
    x = calls.activations(device.inputs["dst_type"], seed=12)
    other = calls.of_call(device.op, {**device.inputs, "input": x}).outputs
    named = said(device.compare(other))
    assert all(text.startswith("another input's") for text in named)


def test_codes_are_named_though_half_of_their_columns_are_left_out() -> None:
    """Of these nothing is known: the call has 0 there."""
    device = devices.int8()
    comparison = device.compare(without(np.s_[500:])(device))
    text = "columns 500 to 999 are left out of the amax of each group"
    assert [output.causes for output in comparison.outputs] == [(text,), (text,)]
