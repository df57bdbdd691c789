"""Kinds of faults in each format: of npu_dynamic_quant, and of npu_dynamic_mx_quant."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from planted import Array, Device, Fault, Kind, Outputs, calls, faults
from planted.devices import (
    e4m3,
    e5m2,
    experts,
    hif8,
    int4,
    int8,
    mx_columns,
    mxfp4,
    mxfp8,
    smooth,
)  # fmt: skip
from planted.faults import (
    COLUMNS,
    CORE,
    ROWS,
    TAIL,
    TILE,
    both,
    by,
    called,
    codes,
    moved,
    negated,
    nibbles,
    numbers,
    plus,
    plus_8,
    random,
    scales,
    transposed,
    trunc,
    within,
    words,
    zero,
)  # fmt: skip

SQUARE = np.s_[64:128, 64:128]
ROW_17 = np.s_[17]
F32 = np.float32


def without(columns: slice, *, wraps: bool = False) -> Fault:
    """Leave columns out of amax: others' scales, and codes of these."""

    def fault(device: Device) -> Outputs:
        x = calls.smoothed(device.inputs)
        name = device.inputs["dst_type"]
        amax = np.abs(np.delete(x, columns, axis=1)).max(-1, keepdims=True)
        scale = amax / F32(calls.MOST[name])
        v = x / scale
        y = faults.wrapped(v).astype(np.int8) if wraps else device.encode(v)
        return {"y": y, "scale": scale[:, 0]}

    return fault


def wrong_scale(part: object, factor: float) -> Fault:
    """Take other scales for some rows, which are handed over, too."""
    return both(numbers(by(1 / factor), part), scales(by(factor), part))


def stale(part: object, seed: int = 5) -> Fault:
    """Leave another input's codes in a part."""

    def fault(device: Device) -> Outputs:
        x = calls.activations(device.inputs["dst_type"], seed=seed)
        other = calls.call(device.op, **{**device.inputs, "input": x})
        return other.outputs

    return within(fault, part)


def copied(device: Device) -> Outputs:
    """Write one tile twice."""
    y = device.outputs["y"].copy()
    y[:, 512:640] = y[:, 256:384]
    return {"y": y}


def shifted(by: int) -> Fault:
    """Read a tile of columns from some columns before."""

    def fault(device: Device) -> Outputs:
        y = device.outputs["y"].copy()
        y[:, 256:384] = device.outputs["y"][:, 256 - by : 384 - by]
        return {"y": y}

    return fault


def flushed(part: object = faults.ALL) -> Fault:
    """Let subnormals be zero."""

    def change(y: Array) -> Array:
        name = y.dtype.name
        if y.dtype == np.uint8:  # of HiF8 those below 2^-15, which have one bit
            from npu_quant.formats import decode

            return np.where(np.abs(decode(y, "hifloat8")) < 2.0**-15, np.uint8(0), y)
        tiny = float(ml_dtypes.finfo(name).smallest_normal)
        return np.where(np.abs(y.astype(F32)) < tiny, np.zeros_like(y), y)

    return codes(change, part)


def small(name: str) -> Device:
    """Return a device for rows of which most numbers are near 0, as beside an outlier."""
    x = calls.activations(name)
    if name == "float8_e4m3fn":
        x[:, :990] = (x[:, :990].astype(F32) * 2.0**-12).astype(x.dtype)
        x[:, 994] = 6
    else:
        x = (x.astype(F32) * 2.0**-23).astype(F32)
        x[:, 994] = 6
    return calls.call("npu_dynamic_quant", input=x, dst_type=name)


def small_e4m3() -> Device:
    return small("float8_e4m3fn")


def small_hif8() -> Device:
    return small("hifloat8")


def bytes_of(name: str) -> Fault:
    """Write another format's bytes: its own scales, and its codes."""

    def fault(device: Device) -> Outputs:
        other = calls.call(device.op, **{**device.inputs, "dst_type": name})
        y = device.outputs["y"]
        return {**other.outputs, "y": other.outputs["y"].view(y.dtype)}

    return fault


WORDS_ZERO = "0 everywhere"
RIGHT_ROW = r"scale.* row 17 .*\+3 %|factor of 1.03 .*17"
IN_ROWS, IN_COLUMNS = "rows 64 to 127", "columns 256 to 383"
EIGHTH = r"rows 5, 13, \.\.\. \(every 8th"
IN_TILE = r"(?s)(?=.*rows 64 to 127)(?=.*columns 256(-| to )383)"
IN_SQUARE = r"(?s)(?=.*rows 64 to 127)(?=.*columns 64(-| to )127)"
UNRELATED = "another input|nothing to do with"
LEFT_OUT = r"columns? 992 to 999 .*(left out|missing)|(without|leaves? out|not in).* columns? 992"
STEPS_BEFORE = r"0\.25 is added before rounding"


def swapped_lanes(a: Array) -> Array:
    """Write all of the first lanes, then all of the second, of bytes that lie in pairs."""
    return np.ascontiguousarray(a.transpose(0, 2, 1)).reshape(a.shape)


def rows_before(a: Array) -> Array:
    """Write bytes as (blocks, rows) instead of (rows, blocks)."""
    return np.ascontiguousarray(a.reshape(len(a), -1).T).reshape(a.shape)


def one_more(a: Array) -> Array:
    return a + np.uint8(1)


def next_block(a: Array) -> Array:
    return np.roll(a.reshape(len(a), -1), 1, axis=1).reshape(a.shape)


def mxscale(change: object, part: object = faults.ALL) -> Fault:
    return scales(change, part, "mxscale")  # type: ignore[arg-type]


def float4_below(v: Array) -> Array:
    """Return the next number of float4_e2m1 towards 0."""
    grid = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    return np.copysign(grid[np.searchsorted(grid, np.abs(v), "right") - 1], v)


KINDS = (
    Kind(int8, "scale of a row", wrong_scale(ROW_17, 1.03), RIGHT_ROW, "row 17|column 17|place 17"),
    Kind(int8, "scale of a row, codes right", scales(by(1.03), ROW_17), RIGHT_ROW, "17"),
    Kind(int8, "scales of two rows, codes right", scales(by(0.9), [17, 200]), r"factor of 0.9 \(-10 %\)", r"\[17\] and \[200\]"),
    Kind(int8, "last scale 0", scales(zero, np.s_[-1]), r"^scale \[255\] is 0 everywhere: was it ever written\?$"),
    Kind(int8, "scale of rows", wrong_scale(ROWS, 0.9), r"-10 %", IN_ROWS),
    Kind(int8, "scale of all", wrong_scale(faults.ALL, 1.05), r"\+5 %", "every|all"),
    Kind(int8, "rows moved", codes(moved(8, 0), ROWS), r"in wrong places.*golden's|moved", "64"),
    Kind(int8, "rows swapped", codes(lambda a: a[::-1], np.s_[40:42]), r"40 holds the golden's 41", "40"),
    Kind(int8, "tile of columns shifted", shifted(16), "shifted right by 16", IN_COLUMNS),
    Kind(int8, "tile of columns shifted far", shifted(128), "(shifted right by 128|columns 128)", IN_COLUMNS),
    Kind(int8, "tile shifted", codes(moved(-3), TILE), "shifted left by 3", IN_TILE),
    Kind(int8, "tile transposed", codes(transposed, SQUARE), "transposed|swapped", IN_SQUARE),
    Kind(int8, "all transposed", codes(transposed, np.s_[:, :256]), "transposed|swapped", "columns 0 to 255"),
    Kind(int8, "tile unwritten", codes(zero, TILE), WORDS_ZERO, IN_TILE),
    Kind(int8, "tile constant", codes(lambda a: a * 0 - 51, TILE), "-51 everywhere", IN_TILE),
    Kind(int8, "tile garbage", codes(random, TILE), UNRELATED, IN_TILE),
    Kind(int8, "tile stale", stale(TILE), UNRELATED, IN_TILE),
    Kind(int8, "columns stale", stale(COLUMNS), UNRELATED, IN_COLUMNS),
    Kind(int8, "tile written twice", copied, r"columns 256 to 383|left by 256|right by 256", "columns 512 to 639"),
    Kind(int8, "amax without the tail", without(np.s_[992:]), LEFT_OUT),
    Kind(int8, "amax without the tail, wrapped", without(np.s_[992:], wraps=True), LEFT_OUT + "|wrap"),
    Kind(int8, "amax of the first half", without(np.s_[500:]), r"columns 500 to 999.*|first half"),
    Kind(int8, "rows of a core unwritten", codes(zero, CORE), WORDS_ZERO, EIGHTH),
    Kind(int8, "rows of a core negated", codes(negated, CORE), "sign is flipped", EIGHTH),
    Kind(int8, "rows of a core stale", stale(CORE), UNRELATED, EIGHTH),
    Kind(int8, "scales of a core", wrong_scale(CORE, 1.02), r"\+2 %", EIGHTH + "|5, 13"),
    Kind(int8, "tail truncated", numbers(trunc, TAIL), "trunc", "columns 992"),
    Kind(int8, "rows truncated", numbers(trunc, ROWS), "trunc", IN_ROWS),
    Kind(int8, "last rows truncated", numbers(trunc, np.s_[192:]), "trunc", "rows 192 to 255"),
    Kind(int8, "core truncated", numbers(trunc, CORE), "trunc", EIGHTH),
    Kind(int8, "tile rounded up", numbers(np.ceil, TILE), "ceil|round.*up|0.5 is added before", IN_TILE),
    Kind(int8, "trailing scales 0", scales(zero, np.s_[248:]), WORDS_ZERO, "(rows|columns|places) 248 to 255"),
    Kind(int8, "scales shifted by a row", scales(moved(1)), "shifted|wrong places"),
    Kind(int8, "0.25 added", numbers(lambda v: v + F32(0.25)), STEPS_BEFORE),
    Kind(int8, "0.25 added in rows", numbers(lambda v: v + F32(0.25), ROWS), STEPS_BEFORE, IN_ROWS),
    Kind(int8, "negated", codes(negated), "sign is flipped", "everywhere"),
    Kind(int8, "3 added in rows", codes(plus(3), ROWS), "3 is added", IN_ROWS),
    Kind(int8, "columns reversed in a tile", codes(lambda a: a[..., ::-1], TILE), "revers", IN_TILE),
    Kind(int8, "rows reversed in a tile", codes(lambda a: a[::-1], TILE), "revers|wrong places", IN_TILE),
    Kind(int8, "signs lost", codes(np.abs, ROWS), "sign is lost|absolute", IN_ROWS),
    Kind(int8, "lanes unwritten", codes(zero, np.s_[:, 3::16]), WORDS_ZERO, r"columns 3, 19|every 16th"),
    Kind(int8, "last row unwritten", codes(zero, np.s_[-1]), WORDS_ZERO, "row 255"),
    Kind(experts, "smooth_scales of the next group",
         called(smooth_scales=lambda i: np.roll(i["smooth_scales"], 1, 0)), "smooth_scales"),
    Kind(experts, "smooth_scales of a neighbour in a group",
         within(called(smooth_scales=lambda i: np.roll(i["smooth_scales"], 1, 0)), ROWS),
         "smooth_scales", IN_ROWS),
    Kind(smooth, "smooth_scales ignored",
         called(smooth_scales=lambda i: np.ones_like(i["smooth_scales"])), "smooth_scales"),
    Kind(smooth, "smooth_scales shifted",
         called(smooth_scales=lambda i: np.roll(i["smooth_scales"], 1)), "smooth_scales.*(shift|next|neighbour)"),
    Kind(int4, "nibbles swapped", codes(nibbles), "codes of each byte|nibble|pair"),
    Kind(int4, "nibbles swapped in rows", codes(nibbles, ROWS), "codes of each byte|nibble|pair", IN_ROWS),
    Kind(int4, "words reversed", codes(words), "revers.*int32|int32.*revers"),
    Kind(int4, "8 added", codes(plus_8), "8 is added"),
    Kind(int4, "8 added in a tile", codes(plus_8, TILE), "8 is added", IN_TILE),
    Kind(int4, "scale of a row", wrong_scale(ROW_17, 0.8), r"row 17 .*-20 %|factor of 0.8 .*17", "17"),
    Kind(int4, "tile unwritten", codes(zero, TILE), WORDS_ZERO, IN_TILE),
    Kind(int4, "amax without the tail", without(np.s_[992:]), LEFT_OUT),
    Kind(int4, "rows of a core negated", numbers(np.negative, CORE), "sign is flipped", EIGHTH),
    Kind(int4, "columns shifted", codes(moved(1)), "shifted right by 1 column"),
    Kind(int4, "rows truncated", numbers(trunc, ROWS), "trunc", IN_ROWS),
    Kind(e4m3, "scale of a row", wrong_scale(ROW_17, 1.03), RIGHT_ROW, "17"),
    Kind(small_e4m3, "subnormals flushed", flushed(), "subnormal"),
    Kind(small_e4m3, "subnormals flushed in rows", flushed(ROWS), "subnormal", IN_ROWS),
    Kind(e4m3, "e5m2 bytes", bytes_of("float8_e5m2"), "float8_e5m2"),
    Kind(e4m3, "tile stale", stale(TILE), UNRELATED, IN_TILE),
    Kind(e4m3, "rows of a core unwritten", codes(zero, CORE), WORDS_ZERO, EIGHTH),
    Kind(e4m3, "trailing scales 0", scales(zero, np.s_[248:]), WORDS_ZERO, "248 to 255"),
    Kind(e4m3, "amax without the tail", without(np.s_[992:]), LEFT_OUT),
    Kind(e4m3, "tile of columns shifted", shifted(16), "shifted right by 16", IN_COLUMNS),
    Kind(e4m3, "codes doubled", numbers(by(2), ROWS), r"factor of 2|-50 %", IN_ROWS),
    Kind(e4m3, "NaN in a tile", codes(lambda a: np.full_like(a, np.nan), TILE), "NaN everywhere", IN_TILE),
    Kind(e5m2, "scale of a row", wrong_scale(ROW_17, 0.8), r"row 17 .*-20 %|factor of 0.8 .*17", "17"),
    Kind(e5m2, "tile transposed", codes(transposed, SQUARE), "transposed|swapped", IN_SQUARE),
    Kind(e5m2, "e4m3 bytes", bytes_of("float8_e4m3fn"), "float8_e4m3fn"),
    Kind(e5m2, "signs lost", codes(np.abs), "sign is lost|absolute"),
    Kind(hif8, "scale of a row", wrong_scale(ROW_17, 0.8), r"row 17 .*-20 %|factor of 0.8 .*17", "17"),
    Kind(hif8, "tile unwritten", codes(zero, TILE), WORDS_ZERO, IN_TILE),
    Kind(small_hif8, "subnormals flushed", flushed(), "subnormal"),
    Kind(hif8, "signs of rows", codes(negated, ROWS), "sign is flipped", IN_ROWS),
    Kind(hif8, "dst_type_max=15", called(dst_type_max=lambda i: 15.0), "dst_type_max"),
    Kind(hif8, "rows moved", codes(moved(8, 0), ROWS), "golden's", "64"),
    Kind(mxfp8, "mxscale shifted by a block", mxscale(next_block), "shifted right by 1 block"),
    Kind(mxfp8, "mxscale shifted by a row", mxscale(moved(1, 0)), "each row is the golden's row before it"),
    Kind(mxfp8, "mxscale in another order", mxscale(rows_before), r"elements lie in another order: in the order \(1, 0\)"),
    Kind(mxfp8, "mxscale lanes apart", mxscale(swapped_lanes), "elements lie in another order: even columns before odd ones"),
    Kind(mxfp8, "mxscale of a row", mxscale(one_more, np.s_[100]), "1 is added|factor of 2|one more|a step", "row 100"),
    Kind(mxfp8, "mxscale of a block", mxscale(one_more, np.s_[100, 3, 1]), r"factor of 2 \(\+100 %\)", r"row 100.*block 7|\[100, 3, 1\]"),
    Kind(mxfp8, "mxscale of a block and its codes", both(numbers(by(0.5), np.s_[100, 224:256]), mxscale(one_more, np.s_[100, 3, 1])), r"factor of (2|(about )?0.5)", "row 100"),
    Kind(mxfp8, "mxscale of the tail 0", mxscale(zero, np.s_[:, 15, 1]), "0 everywhere|everywhere.*written", "block 31"),
    Kind(mxfp8, "tail unwritten", codes(zero, np.s_[:, 992:]), WORDS_ZERO, "columns 992"),
    Kind(mxfp8, "rows of a core unwritten", codes(zero, CORE), WORDS_ZERO, EIGHTH),
    Kind(mxfp8, "a core's mxscale 0", mxscale(zero, CORE), "everywhere", EIGHTH),
    Kind(mxfp8, "rows moved", codes(moved(8, 0), ROWS), "golden's", "64"),
    Kind(mxfp8, "codes halved in a tile", numbers(by(0.5), TILE), "factor of (about )?0.5", IN_TILE),
    Kind(mxfp8, "tile stale", stale(TILE), UNRELATED, IN_TILE),
    Kind(mx_columns, "mxscale lanes apart", mxscale(swapped_lanes), "bytes in rows"),
    Kind(mxfp4, "nibbles swapped", codes(nibbles), "codes of each byte|nibble|pair"),
    Kind(mxfp4, "nibbles swapped in columns", codes(nibbles, COLUMNS), "codes of each byte|nibble|pair", IN_COLUMNS),
    Kind(mxfp4, "tile transposed", codes(transposed, SQUARE), "transposed|swapped", IN_SQUARE),
    Kind(mxfp4, "tile stale", stale(TILE), UNRELATED, IN_TILE),
    Kind(mxfp4, "mxscale shifted by a block", mxscale(next_block), "shifted right by 1 block"),
    Kind(mxfp4, "rows of a core negated", codes(lambda a: a ^ np.uint8(8), CORE), "sign is flipped", EIGHTH),
    Kind(mxfp4, "signs lost", codes(lambda a: a & np.uint8(7)), "sign is lost|absolute"),
    Kind(mxfp4, "tile truncated", numbers(float4_below, TAIL), "trunc|floor|down", "columns 992"),
)  # fmt: skip
