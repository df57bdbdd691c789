"""The operators against PyTorch's arithmetic: live where torch is installed, else by stored vectors.

torch has no such operators; what is compared is the documents' formula, written in torch. The vectors hold what torch
2.13 computed on a CPU; ``python tests/test_torch.py`` makes them anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from witnesses import Array, assert_same_bits, normal, with_specials

import npu_quant

VECTORS = Path(__file__).parent / "data/torch_vectors.npz"
CASES = [(d, s) for d in ("float16", "bfloat16", "float32") for s in ((6, 96), (4, 300))]


def to_torch(x: Array) -> Any:
    """Return a tensor with the same bits."""
    import torch

    if x.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(x.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(x.copy())


def torch_quantize(v: Any) -> tuple[Any, Any]:
    """Quantize along the last axis: the formula of docs/numerics.md 2, in torch."""
    import torch

    amax = v.abs().amax(dim=-1)
    scale = amax / torch.tensor(127.0)
    scale = torch.where(scale.isnan(), torch.tensor(float("nan")), scale)
    q = torch.clamp(torch.round(v / scale.unsqueeze(-1)), -128, 127)
    return torch.where(q.isnan(), torch.zeros(()), q).to(torch.int8), scale


def torch_per_token(x: Array, smooth: Array | None = None) -> tuple[Array, Array]:
    """npu_dynamic_quant in torch."""
    v = to_torch(x).float()
    y, scale = torch_quantize(v if smooth is None else v * to_torch(smooth).float())
    return y.numpy(), scale.numpy()


def torch_per_block(x: Array) -> tuple[Array, Array]:
    """npu_dynamic_block_quant in torch."""
    import torch

    n = x.shape[-1]
    v = torch.nn.functional.pad(to_torch(x).float(), (0, -n % 128))
    y, scale = torch_quantize(v.reshape(*x.shape[:-1], -1, 128))
    return y.reshape(v.shape)[..., :n].contiguous().numpy(), scale.numpy()


def inputs(name: str, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return a case's input and smooth_scales, specials included."""
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    rng = np.random.default_rng(list(name.encode()) + list(shape))
    x = with_specials(rng, normal(rng, shape, dtype))
    return x, normal(rng, shape[-1:], dtype)


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_stored_vectors(name: str, shape: tuple[int, ...]) -> None:
    with np.load(VECTORS) as vectors:
        stored = {
            k.rsplit("/", 1)[1]: v
            for k, v in vectors.items()
            if k.startswith(f"{name}/{shape[-1]}/")
        }
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    x, smooth = stored["x"].view(dtype), stored["smooth"].view(dtype)
    assert_same_bits(npu_quant.npu_dynamic_quant(x), (stored["token_y"], stored["token_scale"]))
    smoothed = npu_quant.npu_dynamic_quant(x, smooth_scales=smooth)
    assert_same_bits(smoothed, (stored["smooth_y"], stored["smooth_scale"]))
    assert_same_bits(
        npu_quant.npu_dynamic_block_quant(x), (stored["block_y"], stored["block_scale"])
    )


@pytest.mark.needs("torch")
@pytest.mark.usefixtures("target")
@pytest.mark.parametrize(
    ("name", "shape"), [*CASES, ("float16", (512, 4096)), ("bfloat16", (512, 4096))]
)
def test_live(name: str, shape: tuple[int, ...]) -> None:
    x, smooth = inputs(name, shape)
    assert_same_bits(npu_quant.npu_dynamic_quant(x), torch_per_token(x))
    smoothed = npu_quant.npu_dynamic_quant(x, smooth_scales=smooth)
    assert_same_bits(smoothed, torch_per_token(x, smooth))
    assert_same_bits(npu_quant.npu_dynamic_block_quant(x), torch_per_block(x))


def main() -> None:
    """Make the stored vectors."""
    arrays: dict[str, Array] = {}
    for name, shape in CASES:
        x, smooth = inputs(name, shape)
        key = f"{name}/{shape[-1]}/"
        bits = f"u{x.dtype.itemsize}"
        arrays |= {key + "x": x.view(bits), key + "smooth": smooth.view(bits)}
        arrays |= dict(zip((key + "token_y", key + "token_scale"), torch_per_token(x), strict=True))
        arrays |= dict(
            zip((key + "smooth_y", key + "smooth_scale"), torch_per_token(x, smooth), strict=True)
        )
        arrays |= dict(zip((key + "block_y", key + "block_scale"), torch_per_block(x), strict=True))
    VECTORS.parent.mkdir(exist_ok=True)
    np.savez_compressed(VECTORS, **arrays)


if __name__ == "__main__":
    main()
