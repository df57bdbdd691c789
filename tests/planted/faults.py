"""The faults: each changes some outputs of a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from planted import Array, Device, Fault, Outputs

ALL = np.s_[:]
ROWS, COLUMNS = np.s_[64:128], np.s_[:, 256:384]
TILE = np.s_[64:128, 256:384]
CORE = np.s_[5::8]
"""The rows of one core of 8."""
TAIL = np.s_[:, 992:]


def first(device: Device) -> str:
    return next(iter(device.outputs))


def codes(change: Callable[[Array], Array], part: Any = ALL, output: str = "") -> Fault:
    """Return a fault of the codes in a part."""

    def fault(device: Device) -> Outputs:
        name = output or first(device)
        changed = device.outputs[name].copy()
        changed[part] = change(changed[part])
        return {name: changed}

    return fault


def numbers(change: Callable[[Array], Array], part: Any = ALL) -> Fault:
    """Return a fault of the numbers before rounding in a part."""

    def fault(device: Device) -> Outputs:
        v = device.v.copy()
        v[part] = change(v[part])
        return {first(device): device.encode(v)}

    return fault


def scales(change: Callable[[Array], Array], part: Any = ALL, output: str = "scale") -> Fault:
    return codes(change, part, output)


def both(*faults: Fault) -> Fault:
    def fault(device: Device) -> Outputs:
        return {name: array for each in faults for name, array in each(device).items()}

    return fault


def called(**inputs: Any) -> Fault:
    """Return a fault that calls with other inputs: each a function of all of them."""

    def fault(device: Device) -> Outputs:
        from planted.calls import of_call

        changed = {name: change(device.inputs) for name, change in inputs.items()}
        return of_call(device.op, {**device.inputs, **changed}).outputs

    return fault


def within(fault: Fault, part: Any) -> Fault:
    """Return a fault that is in a part of the first output alone."""

    def some(device: Device) -> Outputs:
        name = first(device)
        changed, other = device.outputs[name].copy(), fault(device)[name]
        changed[part] = other[part]
        return {name: changed}

    return some


def zero(a: Array) -> Array:
    return np.zeros_like(a)


def negated(a: Array) -> Array:
    """Return the other sign; that of codes in bytes is their first bit, of float4 the fourth."""
    if a.dtype == np.uint8:
        return a ^ np.uint8(0x80 if a.max() > 15 else 8)
    return (-a.astype(np.float32)).clip(-128, 127).astype(a.dtype) if a.dtype.kind == "i" else -a


def by(factor: float) -> Callable[[Array], Array]:
    return lambda a: (a * np.float32(factor)).astype(a.dtype)


def moved(by: int, axis: int = -1) -> Callable[[Array], Array]:
    return lambda a: np.roll(a, by, axis)


def plus(step: int) -> Callable[[Array], Array]:
    return lambda a: np.clip(a.astype(np.int32) + step, -128, 127).astype(a.dtype)


def transposed(a: Array) -> Array:
    return np.swapaxes(a, -1, -2)


def random(a: Array) -> Array:
    """Return bytes that were in memory: a permutation of all."""
    return np.random.default_rng(9).permutation(a.reshape(-1)).reshape(a.shape)


def nibbles(a: Array) -> Array:
    """Swap the two codes of each byte."""
    return a.reshape(*a.shape[:-1], -1, 2)[..., ::-1].reshape(a.shape)


def words(a: Array) -> Array:
    """Reverse the eight codes of each int32."""
    return a.reshape(*a.shape[:-1], -1, 8)[..., ::-1].reshape(a.shape)


def plus_8(a: Array) -> Array:
    """Leave the 8 that offset binary has in a nibble: code ^ 8."""
    return ((a.astype(np.int8) + 16) % 16).astype(np.int8) - 8


def flipped(mask: int, share: float = 1) -> Callable[[Array], Array]:
    """Flip bits of so many elements, at random places."""

    def change(a: Array) -> Array:
        at = np.random.default_rng(8).random(a.shape) < share
        bits = a.view(f"u{a.dtype.itemsize}")
        return np.where(at, bits ^ bits.dtype.type(mask), bits).view(a.dtype)

    return change


def stuck(mask: int) -> Callable[[Array], Array]:
    """Set bits of all elements."""
    return lambda a: (a.view(np.uint8) | np.uint8(mask)).view(a.dtype)


def from_columns(origin: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Take each column from another one."""
    return lambda a: a[..., origin(np.arange(a.shape[-1])) % a.shape[-1]]


def trunc(v: Array) -> Array:
    return np.trunc(v)


def wrapped(v: Array) -> Array:
    """Return whole numbers modulo 256."""
    return (np.rint(v).astype(np.int64) + 128) % 256 - 128
