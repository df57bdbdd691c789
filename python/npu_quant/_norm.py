"""The RMS norm in plain NumPy, which the ``reference()`` of several operators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def sum64(v: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sum the last axis: element i goes to lane i % 64, in order, then halves are added."""
    lanes = np.zeros((*v.shape[:-1], 64), np.float32)
    for begin in range(0, v.shape[-1], 64):
        part = v[..., begin : begin + 64]
        lanes[..., : part.shape[-1]] += part
    for h in (32, 16, 8, 4, 2, 1):
        lanes[..., :h] += lanes[..., h : 2 * h]
    return lanes[..., 0]


def rms_norm(
    s: NDArray[np.float32], gamma: NDArray[Any], beta: NDArray[Any] | None, epsilon: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the norm of rows of s, and 1 over their roots; a NaN among these is np.nan."""
    ms = sum64(s * s) / np.float32(s.shape[-1])
    rstd = np.float32(1) / np.sqrt(ms + np.float32(epsilon))
    t = s * rstd[..., None] * gamma.astype(np.float32).reshape(-1)
    if beta is not None:
        t = t + beta.astype(np.float32).reshape(-1)
    return t, np.where(np.isnan(rstd), np.float32(np.nan), rstd)


def over_last_axes(
    s: NDArray[np.float32], gamma: NDArray[Any], epsilon: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the same over all axes of gamma, which are s's last, and 1 over roots with ones."""
    lead = s.shape[: s.ndim - gamma.ndim]
    t, rstd = rms_norm(s.reshape(*lead, gamma.size), gamma, None, epsilon)
    return t.reshape(s.shape), rstd.reshape(*lead, *[1] * gamma.ndim)
