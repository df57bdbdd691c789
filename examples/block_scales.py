"""The demo's picture: the scale of every block of a tensor, and what it buys each token."""

from pathlib import Path

import numpy as np
from activations import BLOCK, Array, from_blocks, from_tokens, sqnr
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

import npu_quant

TOKEN_COLOUR, BLOCK_COLOUR = "#c8553d", "#1f6f8b"
LARGE_GAIN = 10  # dB; such gains are written beside their token


def draw(name: str, x: Array, tokens: list[str], path: Path) -> None:
    """Write the picture of x, whose rows are tokens, as PNG."""
    y_token, scale_token = npu_quant.npu_dynamic_quant(x)
    y_block, scale_block = npu_quant.npu_dynamic_block_quant(x)
    by_token, by_block = from_tokens(y_token, scale_token), from_blocks(y_block, scale_block)
    figure = Figure(figsize=(11, 11.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    figure.text(0.012, 0.985, "Why int8 wants a scale per block", size=17, weight="bold", va="top")
    summary = (
        f"\n\n{name} of all-MiniLM-L6-v2, {len(x)} tokens x {x.shape[1]} channels. With one scale "
        "per token, the largest block (white dot) sets the step of all;\nwith a scale each, it "
        f"keeps its coarse step to itself. Whole tensor: {sqnr(x, by_token):.1f} dB with a scale "
        f"per token, {sqnr(x, by_block):.1f} dB with one per block."
    )
    figure.suptitle(summary, size=10.5, x=0.012, ha="left", linespacing=1.4)
    draw_scales(left, scale_block, tokens)
    draw_gain(right, sqnr(x, by_token, axis=1), sqnr(x, by_block, axis=1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def draw_scales(axes: Axes, scale: Array, tokens: list[str]) -> None:
    """Draw the heat map, tokens x blocks, with a dot on each token's largest scale."""
    image = axes.imshow(scale, aspect="auto", cmap="magma", norm=LogNorm())
    rows, largest = range(len(scale)), scale.argmax(axis=1)
    axes.plot(largest, rows, "wo", ms=3.6, mec="black", mew=0.6, label="the token's largest")
    axes.set_xticks(range(scale.shape[1]))
    axes.set_yticks(rows, tokens, fontsize=6.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"block of {BLOCK} channels")
    axes.set_ylabel("token")
    axes.set_title("Scale of every block", loc="left", weight="bold")
    axes.legend(loc="lower right", bbox_to_anchor=(1.01, 0.993), frameon=False, handletextpad=0.2)
    bar = axes.figure.colorbar(image, ax=axes, location="bottom", pad=0.01, aspect=40, shrink=0.95)
    ticks = [tick for tick in (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15) if tick < scale.max()]
    bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    bar.ax.minorticks_off()
    bar.set_label("scale = max |x| / 127 = the step from one int8 code to the next (log axis)")


def draw_gain(axes: Axes, token: Array, block: Array) -> None:
    """Draw each token's SQNR with one scale and with block scales, and the largest gains."""
    rows = np.arange(len(token))
    axes.hlines(rows, token, block, color="0.82", lw=1.5, zorder=2)
    axes.scatter(token, rows, s=16, color=TOKEN_COLOUR, zorder=3, label="one scale per token")
    axes.scatter(block, rows, s=16, color=BLOCK_COLOUR, zorder=3, label=f"one per {BLOCK} channels")
    paper = {"color": "white", "pad": 0.5}
    for row in np.flatnonzero(block - token > LARGE_GAIN).tolist():
        gain = f"{block[row] - token[row]:+.1f} dB"
        axes.text(
            token[row] + 2.3, row, gain, size=7.5, ha="center", va="center_baseline", bbox=paper
        )
    axes.set_xlabel("SQNR of the token in dB (6 dB more is half the error)")
    axes.set_title("What it buys", loc="left", weight="bold")
    axes.xaxis.set_major_locator(MultipleLocator(5))
    axes.grid(axis="x", color="0.9")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0, labelleft=False)
    # Below the axes, beside the colour bar: no room is to be made for it.
    legend = axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.045), frameon=False, ncols=2)
    legend.set_in_layout(False)
