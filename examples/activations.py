"""What the demo and the notebooks share: the data, and the way back from codes."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from npu_quant import formats

Array = NDArray[Any]
BLOCK = 128
DATA = Path(__file__).resolve().parent / "data" / "minilm.npz"
BFLOAT16_BITS = "__bfloat16"


def load() -> dict[str, Array]:
    """Return every array of data/minilm.npz (see data/README.md), bfloat16 bits as bfloat16.

    The keys lose their ``__bfloat16``: ``load()["layer0_ffn_gelu"]``.
    """
    arrays: dict[str, Array] = {}
    with np.load(DATA) as stored:
        for key in stored.files:
            name = key.removesuffix(BFLOAT16_BITS)
            arrays[name] = stored[key] if name == key else stored[key].view(ml_dtypes.bfloat16)
    return arrays


def numbers(y: Array, format: str) -> Array:
    """Return the numbers that codes stand for, before any scale."""
    return y.astype(np.float32) if format == "int8" else formats.decode(y, format)


def from_tokens(y: Array, scale: Array) -> Array:
    """Return the values that codes, as numbers, with one scale per row stand for."""
    return np.asarray(y * scale[..., None])


def from_blocks(y: Array, scale: Array, rows: int = 1, columns: int = BLOCK) -> Array:
    """Return the values that codes, as numbers, with one scale per block stand for."""
    scales = np.repeat(np.repeat(scale, rows, axis=-2), columns, axis=-1)
    return np.asarray(y * scales[..., : y.shape[-2], : y.shape[-1]])


def sqnr(x: Array, restored: Array, axis: int | None = None) -> Any:
    """Return the signal-to-quantization-noise ratio in dB: 6 dB more is half the error."""
    signal = x.astype(np.float64)
    noise = signal - restored
    return 10 * np.log10((signal**2).sum(axis=axis) / (noise**2).sum(axis=axis))
