"""Quantize real transformer activations; print a table and draw why int8 wants block scales.

Every row of the table is a `Case`. A new operator is one more `Case` in `cases()`.
"""

import io
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from activations import Array, from_blocks, from_tokens, load, sqnr
from block_scales import draw
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

import npu_quant
from npu_quant.ops import (
    add_rms_norm_quant,
    dynamic_block_quant,
    dynamic_quant,
    fake_quantize_per_channel,
)

PICTURE = Path(__file__).resolve().parents[1] / "build" / "demo" / "block_scales.png"
PICTURED = "layer0_ffn_gelu"
CALLS, NUMPY_CALLS = 201, 21
SECONDS = 0.2  # of measuring the formula, which takes its time for float8
FORMATS = {"int8": 127, "float8_e4m3fn": 448, "int4": 7}
"""What the dynamic quantizers are asked for, and the greatest code of each."""
PLAIN_WIDTH = 100  # columns, where the output is no terminal
CALIBRATION_SENTENCES = 3
EPSILON = 1e-12  # the model's own
CAPTION = f"""
time       median of {CALLS} calls that write into given arrays (out=), with all data in cache
vs NumPy   how many times faster than the NumPy formula, npu_quant.ops.<operator>.reference, which
           looks every value of e4m3fn up
SQNR       signal to quantization noise of the whole tensor; 6 dB more is half the error
saturated  share of codes at an end; a value that a scale was computed from always is at one
same bits  all outputs asked for have the shape, dtype and bytes of the NumPy formula's

inputs         the GELU's and the norm's are bfloat16, all others float16
fake quantize  one scale per output channel; the SQNR is the output's, the codes are output / scale
x1 + x2        a LayerNorm's addends, gamma and beta, in the RMS form (no mean is subtracted); one
               scale per channel, calibrated on other sentences, so some values lie beyond it"""

Operator = Callable[..., tuple[Array, ...]]


def first(*outputs: Array) -> Array:
    """Return the first output."""
    return outputs[0]


def decoded(format: str, restore: Callable[[Array, Array], Array], y: Array, scale: Array) -> Array:
    """Return the values that codes of a format stand for."""
    return restore(npu_quant.formats.decode(y, format), scale)


class Case(NamedTuple):
    """One row of the table: an operator on a tensor, and how to judge its result."""

    tensor: str
    x: Array
    """An input, for its shape and dtype."""
    exact: Array
    """The values that the result stands for."""
    operator: str
    run: Operator
    """Takes out=."""
    reference: Operator
    dequantize: Callable[..., Array]
    """Takes the wanted outputs; what it returns should be near the exact values."""
    codes: Callable[..., Array] = first
    """Takes the wanted outputs; the codes as numbers."""
    format: str = "int8"
    wanted: tuple[int, ...] = (0, 1)
    """Which outputs to compute and compare; in out=, the others are None."""


class Row(NamedTuple):
    """What was measured of a case."""

    case: Case
    seconds: float
    numpy_seconds: float
    sqnr: float
    saturated: float
    identical: bool


def dynamic_cases(data: dict[str, Array]) -> list[Case]:
    """Return every tensor in three formats, with one scale per token and with one per block."""
    names = ["layer0_ffn_gelu", "layer3_norm_output", "layer3_residual_x1", "layer3_attention_x2"]
    tensors = {name: data[name] for name in names}
    # A scale per output channel: the operators reduce the last axis, and take any strides.
    tensors["ffn_down_weight.T"] = data["layer0_ffn_down_weight"].T
    operators: list[tuple[Operator, Operator, Callable[..., Array]]] = [
        (npu_quant.npu_dynamic_quant, dynamic_quant.reference, from_tokens),
        (npu_quant.npu_dynamic_block_quant, dynamic_block_quant.reference, from_blocks),
    ]
    return [
        Case(
            tensor,
            x,
            x,
            run.__name__,
            partial(run, x, dst_type=format),
            partial(reference, x, dst_type=format),
            dequantize=partial(decoded, format, restore),
            codes=partial(decoded, format, first),
            format=format,
        )
        for tensor, x in tensors.items()
        for format in FORMATS
        for run, reference, restore in operators
        if (format, run.__name__) != ("int4", "npu_dynamic_quant")  # too coarse without blocks
    ]


def fake_quantize_case(data: dict[str, Array]) -> Case:
    """Return the weight, moved to the grids of one scale per output channel."""
    weight = data["layer0_ffn_down_weight"]
    scale = np.abs(weight).max(axis=0).astype(np.float32) / np.float32(127)
    zero_point = np.zeros(scale.shape, np.int32)
    run = npu_quant.fake_quantize_per_channel_affine_cachemask
    arguments = weight, scale, zero_point, 1, -128, 127
    return Case(
        "ffn_down_weight",
        weight,
        weight,
        run.__name__,
        partial(run, *arguments),
        partial(fake_quantize_per_channel.reference, *arguments),
        dequantize=first,
        codes=lambda output, mask: np.rint(output / scale),
    )


def norm_case(data: dict[str, Array]) -> Case:
    """Return a sum and its norm, quantized with scales calibrated on other sentences.

    The model's norm is a LayerNorm. Its addends, gamma and beta are real input for the RMS form
    too, which subtracts no mean; but the result is not what the model computes.
    """
    addends = data["layer3_residual_x1"], data["layer3_attention_x2"]
    gamma, beta = data["layer3_norm_gamma"], data["layer3_norm_beta"]
    total = np.add(*addends, dtype=np.float64)
    rms = np.sqrt((total**2).mean(axis=-1, keepdims=True) + EPSILON)
    exact = total / rms * gamma + beta
    # The first sentences calibrate, the others are quantized.
    begin = int(np.searchsorted(data["sentence_index"][: len(exact)], CALIBRATION_SENTENCES))
    scales = (np.abs(exact[:begin]).max(axis=0) / 127).astype(np.float32)
    x1, x2 = (addend[begin:] for addend in addends)
    run, arguments = npu_quant.npu_add_rms_norm_quant, (x1, x2, gamma, scales, None, beta)
    return Case(
        "layer3 x1 + x2",
        x1,
        exact[begin:],
        run.__name__,
        partial(run, *arguments, epsilon=EPSILON),
        partial(add_rms_norm_quant.reference, *arguments, epsilon=EPSILON),
        dequantize=lambda y1, x: np.asarray(y1 * scales),
        wanted=(0, 2),
    )


def cases(data: dict[str, Array]) -> list[Case]:
    """Return what the demo runs, a row of the table each."""
    return [*dynamic_cases(data), fake_quantize_case(data), norm_case(data)]


def same_bits(a: Array, b: Array) -> bool:
    """Tell whether two arrays agree in shape, dtype and every bit."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def median_seconds(call: Callable[[], object], calls: int) -> float:
    """Return the median time of a call, after one to warm up; of fewer where they take long."""
    call()
    times: list[float] = []
    while len(times) < calls and (len(times) < 3 or sum(times) < SECONDS):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return statistics.median(times)


def measure(case: Case) -> Row:
    """Run a case: its time against the formula's, its quality, and its bits."""
    result, golden = case.run(), case.reference()
    out = tuple(a if i in case.wanted else None for i, a in enumerate(result))
    seconds = median_seconds(lambda: case.run(out=out), CALLS)
    outputs, right = ([arrays[i] for i in case.wanted] for arrays in (result, golden))
    return Row(
        case,
        seconds,
        median_seconds(case.reference, NUMPY_CALLS),
        float(sqnr(case.exact, case.dequantize(*outputs))),
        float((np.abs(case.codes(*outputs).astype(np.float32)) >= FORMATS[case.format]).mean()),
        len(result) == len(golden) and all(map(same_bits, outputs, right)),
    )


def table(rows: list[Row]) -> Table:
    """Return the table, a section per tensor."""
    made = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
    )
    made.title, made.title_justify = "Real transformer activations, quantized", "left"
    for name in ("tensor", "shape", "codes", "operator"):
        made.add_column(name, vertical="bottom", overflow="fold")
    for name in ("time\nµs", "vs\nNumPy", "SQNR\ndB", "satu-\nrated", "same\nbits"):
        made.add_column(name, justify="right", vertical="bottom")
    previous = rows[0].case.tensor
    for row in rows:
        case, micros, speed = row.case, row.seconds * 1e6, row.numpy_seconds / row.seconds
        if case.tensor != previous:
            made.add_section()
        previous = case.tensor
        made.add_row(
            Text(case.tensor, "cyan"),
            " x ".join(map(str, case.x.shape)),
            case.format.removeprefix("float8_"),
            case.operator.replace("_per_", "_per_\n"),  # the one name that is too long
            f"{micros:.1f}" if micros < 100 else f"{micros:.0f}",
            f"{speed:.1f}x" if speed < 10 else f"{speed:.0f}x",
            Text(f"{row.sqnr:.2f}", "bold"),
            f"{row.saturated:.2%}",
            Text("yes", "green") if row.identical else Text("no", "bold red"),
        )
    return made


def what_to_see(rows: list[Row]) -> str:
    """Return the table's message in two sentences, with the measured gains."""
    found = {(row.case.tensor, row.case.format, row.case.operator): row.sqnr for row in rows}
    token, block = "npu_dynamic_quant", "npu_dynamic_block_quant"
    gains = {
        format: {
            tensor: found[tensor, format, block] - found[tensor, format, token]
            for tensor, *_ in found
            if (tensor, format, token) in found
        }
        for format in ("int8", "float8_e4m3fn")
    }
    int8, float8 = gains.values()
    most, least = max(int8, key=int8.__getitem__), min(int8, key=int8.__getitem__)
    wins = {
        by: sum(found[t, "float8_e4m3fn", by] > found[t, "int8", by] for t in int8)
        for by in (token, block)
    }
    return (
        f"What to see: in int8 a scale per block helps most where a few large values set a whole "
        f"token's scale ({most}: {int8[most]:+.1f} dB), least where there are none "
        f"({least}: {int8[least]:+.1f} dB). e4m3fn, whose steps follow the values, gains "
        f"{max(float8.values()):.1f} dB at most; per token it beats int8 on {wins[token]} of "
        f"{len(int8)} tensors, per block on {wins[block]}."
    )


def report(rows: list[Row]) -> int:
    """Print the table and what to make of it; return the exit status."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    info = npu_quant.info()
    different = [
        f"{row.case.operator} on {row.case.tensor} ({row.case.format})"
        for row in rows
        if not row.identical
    ]
    here = Path.cwd()
    picture = PICTURE.relative_to(here) if PICTURE.is_relative_to(here) else PICTURE
    build = (
        f"npu_quant  version {info['version']}, target {info['target']} "
        f"(of {', '.join(info['targets'])}), threads {info['threads']}"
    )
    console.print(table(rows))
    console.print(Text(CAPTION, "dim"))
    console.print(f"\n{what_to_see(rows)}\n")
    console.print(Text(f"picture    {picture}"), soft_wrap=True)
    console.print(build)
    verdict = Text("no", "bold red") if different else Text("yes", "bold green")
    console.print(Text("identical to the NumPy reference, bit for bit: ").append_text(verdict))
    if different:
        console.print(Text("Outputs that differ: " + ", ".join(different), "red"))
    return 1 if different else 0


def main() -> int:
    """Measure, draw, report; return 1 if a bit differs from the reference, else 0."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # not every terminal knows the micro sign
        sys.stdout.reconfigure(errors="replace")
    # malloc keeps freed memory from here on, so that no page fault slows the NumPy formula down.
    np.empty(30 << 20, np.uint8)
    data = load()
    x = data[PICTURED]
    with npu_quant.numerics("reference"):
        rows = [measure(case) for case in cases(data)]
        draw(PICTURED, x, data["tokens"][: len(x)].tolist(), PICTURE)
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
