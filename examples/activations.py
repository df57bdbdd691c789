"""What the demo and the notebooks share: the data, the way back from codes, and pictures."""

import io
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

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


GREY = "#808080"
PICTURES = {
    "figure.constrained_layout.use": True,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "grid.alpha": 0.3,
    "grid.color": GREY,
    "legend.frameon": False,
    "text.color": GREY,
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), GREY),
}
"""How matplotlib draws in notebooks: on the page's own ground, light or dark."""


def show(figure: Any, words: str) -> None:
    """Show a figure in a notebook, with words for those who cannot see it."""
    import PIL.Image
    from IPython.display import Image, display
    from matplotlib import pyplot

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, dpi=120)
    PIL.Image.open(drawn).quantize(64).save(small, "png", optimize=True)
    width = round(80 * figure.get_figwidth())
    display(Image(small.getvalue(), alt=words, width=width))
    pyplot.close(figure)
