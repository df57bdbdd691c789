"""Kinds of faults in operators with other inputs, and in two arrays alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planted import Array, Device, Fault, Kind, Outputs
from planted.calls import BF16, F16, F32, normed, of_call
from planted.devices import (
    N,
    add_norm_dynamic,
    add_norm_quant,
    anti,
    anti_mx,
    asymmetric,
    block,
    block_tiles,
    fake_channel,
    fake_small,
    fake_tensor,
    mx_columns,
    mx_dual,
    mx_e5m2,
    mx_grouped,
    mx_tiles,
    norm_dynamic,
    quantize,
    quantize_rows,
    quantize_saturated,
    quantize_square,
    quantize_uint8,
    rms_norm_quant,
    two_float16,
    two_float32,
    two_int8,
    two_small,
)  # fmt: skip
from planted.faults import (
    ALL,
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
    random,
    scales,
    transposed,
    trunc,
    within,
    wrapped,
    zero,
)  # fmt: skip
from planted.formats import (
    EIGHTH,
    IN_COLUMNS,
    IN_ROWS,
    IN_SQUARE,
    IN_TILE,
    LEFT_OUT,
    SQUARE,
    STEPS_BEFORE,
    UNRELATED,
    WORDS_ZERO,
    mxscale,
    next_block,
    one_more,
    swapped_lanes,
)  # fmt: skip


def swapped(first: str, second: str) -> Fault:
    """Call with two inputs for each other."""
    return called(**{first: lambda i: i[second], second: lambda i: i[first]})


def input_(name: str, change: Callable[[Array], Array]) -> Fault:
    return called(**{name: lambda inputs: change(inputs[name])})


def norm_without_the_tail(device: Device) -> Outputs:
    """Leave the last columns out of the mean of squares."""
    inputs = device.inputs
    x = inputs["x"].astype(np.float64)
    root = np.sqrt((x[:, :992] ** 2).sum(-1, keepdims=True) / 1000 + 1e-6)
    t = x / root * inputs["gamma"].astype(np.float64) + inputs["beta"]
    v = t / inputs["scale"].astype(np.float64) + inputs["offset"]
    return {"y": device.encode(v)}


def norm_amax_without(device: Device) -> Outputs:
    inputs = device.inputs
    t = normed(inputs["x"], inputs) * inputs["smooth_scale"]
    scale = np.abs(t[:, :992]).max(-1, keepdims=True) / 127
    return {"y": device.encode(t / scale), "scale": scale[:, 0].astype(F32)}


def minus_128(a: Array) -> Array:
    """Read uint8 as int8, and say so of the bytes."""
    return a ^ np.uint8(0x80)


def block_without(device: Device) -> Outputs:
    """Leave the last columns of each block out of its amax."""
    x = np.zeros((256, 1024), F32)
    x[:, :N] = device.inputs["x"]
    tiles = x.reshape(256, 8, 128)
    scale = np.abs(tiles[:, :, :96]).max(-1, keepdims=True) / F32(448)
    v = (tiles / scale).reshape(256, 1024)[:, :N]
    return {"y": device.encode(v), "scale": scale[..., 0]}


def range_without(device: Device) -> Outputs:
    v = device.inputs["input"].astype(F32) * device.inputs["smooth_scales"].astype(F32)
    hi, lo = (e(v[:, :992], axis=-1, keepdims=True) for e in (np.max, np.min))
    scale = (hi - lo) / F32(255)
    offset = 127 - hi / scale
    return {"y": device.encode(v / scale + offset), "scale": scale[:, 0], "offset": offset[:, 0]}


def multiplied_first(device: Device) -> Outputs:
    i = device.inputs
    return {"y": (i["x"].astype(F32) * i["scale"] + i["offset"]).astype(F16)}


def codes_behind(device: Device) -> Outputs:
    """Hand out the codes, with their zero points."""
    i = device.inputs
    return {"output": np.clip(np.rint(device.v), i["quant_min"], i["quant_max"]).astype(F32)}


def halves(a: Array) -> Array:
    """Write the second half of the columns first."""
    return np.roll(a, a.shape[-1] // 2, -1)


def interleaved(a: Array) -> Array:
    """Write even columns before odd ones."""
    return np.concatenate([a[..., ::2], a[..., 1::2]], -1)


def flushed_16(a: Array) -> Array:
    return np.where(np.abs(a) < F16(6.2e-5), F16(0), a)


ZERO_POINT = "zero.?points?"
IGNORED = "(ignored|left out|1 for|0 for|taken as)"
NEXT = "(shift|next|neighbour)"
FIRST = "first"
INVERTED = "(invert|reciprocal|1 / |multipl|divid|div_mode)"
OLD = r"golden's 1(2|28|20)"

KINDS = (
    Kind(rms_norm_quant, "gamma ignored", input_("gamma", np.ones_like), f"gamma.*{IGNORED}|{IGNORED}.*gamma"),
    Kind(rms_norm_quant, "gamma shifted", input_("gamma", moved(1)), f"gamma.*{NEXT}"),
    Kind(rms_norm_quant, "beta ignored", input_("beta", zero), f"beta.*{IGNORED}|{IGNORED}.*beta"),
    Kind(rms_norm_quant, "gamma inverted", input_("gamma", np.reciprocal), "^1 / gamma is used instead of gamma$"),
    Kind(rms_norm_quant, "beta negated", input_("beta", np.negative), "^beta has the opposite sign$"),
    Kind(rms_norm_quant, "offset ignored", input_("offset", zero), rf"offset.*{IGNORED}|-3 is added|{IGNORED}.*zero_point|{ZERO_POINT}.*{IGNORED}"),
    Kind(rms_norm_quant, "mean without the tail", norm_without_the_tail, LEFT_OUT),
    Kind(rms_norm_quant, "rows of a core unwritten", codes(zero, CORE), WORDS_ZERO, EIGHTH),
    Kind(rms_norm_quant, "tail truncated", numbers(trunc, TAIL), "trunc", "columns 992"),
    Kind(add_norm_quant, "x2 ignored", input_("x2", zero), f"x2.*{IGNORED}"),
    Kind(add_norm_quant, "zero_points1 ignored", input_("zero_points1", zero), f"{ZERO_POINT}1?.*{IGNORED}"),
    Kind(add_norm_quant, "zero_points1 subtracted", input_("zero_points1", np.negative), "zero_points?1?.*(subtracted|sign)|subtracted"),
    Kind(add_norm_quant, "scales1 and scales2 swapped", swapped("scales1", "scales2"), "scales1 and scales2"),
    Kind(add_norm_quant, "scales1 shifted", input_("scales1", moved(1)), f"scales1.*{NEXT}"),
    Kind(add_norm_quant, "tile unwritten", codes(zero, TILE), WORDS_ZERO, IN_TILE),
    Kind(add_norm_quant, "y2 is y1", lambda d: {"y2": d.outputs["y1"]}, "y1"),
    Kind(norm_dynamic, "smooth_scale ignored", input_("smooth_scale", np.ones_like), f"smooth_scale.*{IGNORED}"),
    Kind(norm_dynamic, "amax without the tail", norm_amax_without, LEFT_OUT),
    Kind(norm_dynamic, "scale of a row", both(numbers(by(1 / 1.03), np.s_[17]), scales(by(1.03), np.s_[17])), r"17.*\+3 %|factor of 1.03 .*17|factor of (about )?0.97.*17", "17"),
    Kind(norm_dynamic, "rows of a core stale", within(input_("x", moved(32, 0)), CORE), UNRELATED + "|golden's", EIGHTH),
    Kind(add_norm_dynamic, "smooth scales swapped", swapped("smooth_scale1", "smooth_scale2"), "smooth_scale1 and smooth_scale2"),
    Kind(add_norm_dynamic, "gamma ignored", input_("gamma", np.ones_like), f"gamma.*{IGNORED}"),
    Kind(add_norm_dynamic, "x_out is x1", lambda d: {"x_out": d.inputs["x1"]}, f"x2.*{IGNORED}|x1"),
    Kind(quantize, "scales inverted", input_("scales", np.reciprocal), f"scales.*{INVERTED}|{INVERTED}|x \\* scale"),
    Kind(quantize, "scales shifted", input_("scales", moved(1)), f"scales.*{NEXT}"),
    Kind(quantize, "the first scale for all", input_("scales", lambda a: a[:1] + 0 * a), f"{FIRST}.*scales|scales.*{FIRST}"),
    Kind(quantize, "zero_points ignored", input_("zero_points", zero), f"{ZERO_POINT}.*{IGNORED}"),
    Kind(quantize, "zero_points ignored in rows", within(input_("zero_points", zero), ROWS), f"{ZERO_POINT}.*{IGNORED}", IN_ROWS),
    Kind(quantize, "zero_points subtracted", input_("zero_points", np.negative), "zero_points?.*(subtracted|sign)|subtracted"),
    Kind(quantize, "zero_points shifted", input_("zero_points", moved(1)), f"zero_points.*{NEXT}"),
    Kind(quantize, "scale of a column", numbers(by(0.9), np.s_[:, 7]), r"factor of (about )?0.(9|89\d)|-10 %|\+11 %", "column 7"),
    Kind(quantize, "tile unwritten", codes(zero, TILE), WORDS_ZERO, IN_TILE),
    Kind(quantize, "tile transposed", codes(transposed, SQUARE), "transposed|swapped", IN_SQUARE),
    Kind(quantize, "tile stale", codes(random, TILE), UNRELATED, IN_TILE),
    Kind(quantize, "tile of columns shifted", codes(moved(3), np.s_[:, 256:384]), "shifted right by 3", IN_COLUMNS),
    Kind(quantize, "rows moved", codes(moved(8, 0), ROWS), "golden's", "64"),
    Kind(quantize, "rows of a core unwritten", codes(zero, CORE), WORDS_ZERO, EIGHTH),
    Kind(quantize, "rows truncated", numbers(trunc, ROWS), "trunc", IN_ROWS),
    Kind(quantize, "0.25 added", numbers(lambda v: v + 0.25), STEPS_BEFORE),
    Kind(quantize, "negated", codes(negated), "sign is flipped"),
    Kind(quantize_saturated, "wrapped", numbers(wrapped), "wrap"),
    Kind(quantize_saturated, "wrapped in columns", numbers(wrapped, COLUMNS), "wrap", IN_COLUMNS),
    Kind(quantize_rows, "the scale of row 7", numbers(by(0.9), np.s_[7]), r"factor of (about )?0.(9|89\d)|-10 %|\+11 %", "row 7"),
    Kind(quantize_rows, "scales shifted", input_("scales", moved(1)), f"scales.*{NEXT}"),
    Kind(quantize_rows, "scales shifted in a core", within(input_("scales", moved(1)), CORE), f"scales.*{NEXT}", EIGHTH),
    Kind(quantize_square, "scales along the rows", called(axis=lambda i: 0), "axis"),
    Kind(quantize_uint8, "as int8", codes(minus_128), "128 is added|(top|first|sign) bit|sign is flipped"),
    Kind(quantize_uint8, "zero_points ignored", input_("zero_points", zero), f"{ZERO_POINT}.*{IGNORED}"),
    Kind(mx_columns, "mxscale shifted", mxscale(moved(1, 0)), "golden's block 2 before it"),
    Kind(mx_columns, "mxscale of a column", mxscale(one_more, np.s_[:, 77]), "factor of 2|1 is added|one more|a step", "column 77"),
    Kind(mx_columns, "tile unwritten", codes(zero, TILE), WORDS_ZERO, IN_TILE),
    Kind(mx_columns, "blocks along the rows", lambda d: {"y": of_call(d.op, {**d.inputs, "axis": -1}).outputs["y"]}, "axis"),
    Kind(mx_e5m2, "mxscale shifted", mxscale(next_block), "shifted right by 1 block"),
    Kind(mx_e5m2, "mxscale ones", mxscale(lambda a: a * 0 + 127), "everywhere"),
    Kind(mx_e5m2, "columns negated", codes(negated, COLUMNS), "sign is flipped", IN_COLUMNS),
    Kind(mx_e5m2, "rows of a core unwritten", codes(zero, CORE), WORDS_ZERO, EIGHTH),
    Kind(mx_dual, "y2 is y1", lambda d: {"y2": d.outputs["y1"]}, "y1"),
    Kind(mx_dual, "mxscale2 in another order", scales(swapped_lanes, ALL, "mxscale2"), "bytes in rows"),
    Kind(mx_dual, "tile of y2 unwritten", codes(zero, TILE, "y2"), WORDS_ZERO, IN_TILE),
    Kind(mx_dual, "y1 and y2 swapped", lambda d: {"y1": d.outputs["y2"], "y2": d.outputs["y1"]}, "y1|y2"),
    Kind(mx_tiles, "scale1 shifted", scales(next_block, ALL, "scale1"), "shifted right by 1 block"),
    Kind(mx_tiles, "scale2 of a row of blocks", scales(one_more, np.s_[1, :, 0], "scale2"), "factor of 2|1 is added|one more|a step", "rows 64 to 95"),
    Kind(mx_tiles, "tile transposed", codes(transposed, SQUARE), "transposed|swapped", IN_SQUARE),
    Kind(mx_grouped, "groups ignored", called(group_index=lambda i: np.array([256, 256, 256], np.int32)), "group_index", ""),
    Kind(mx_grouped, "last group unwritten", codes(zero, np.s_[100:]), WORDS_ZERO, "rows 100 to 255"),
    Kind(mx_grouped, "mxscale of a group shifted", mxscale(moved(1, 0)), "golden's block 2 before it"),
    Kind(block, "amax without the end of blocks", block_without, r"left out|leaves out|without"),
    Kind(block, "scale of the block before", scales(moved(1, 1)), "shifted|neighbour|other"),
    Kind(block, "scale of a row", both(numbers(by(0.5), np.s_[17]), scales(by(2), np.s_[17])), r"17.*\+1e\+02 %|\+100 %|factor of (about )?(2|0.5) .*17|factor of 2.*17", "17"),
    Kind(block, "scale of a block, codes right", scales(by(1.03), np.s_[17, 1]), r"factor of 1.03 \(\+3 %\)", r"\[17, 1\]"),
    Kind(block, "scale of a block", both(numbers(by(0.8), np.s_[17, 128:256]), scales(by(1.25), np.s_[17, 1])), r"factor of (1.25|(about )?0.8)|\+25 %", "row 17 columns 128-255"),
    Kind(block, "two scales of all 0", scales(zero, np.s_[3::200, 5]), r"^scales \[3, 5\] and \[203, 5\] are 0 everywhere: were they ever written\?$"),
    Kind(block, "tail block unwritten", codes(zero, np.s_[:, 896:]), WORDS_ZERO, "columns 896 to 999"),
    Kind(block, "rows of a core unwritten", codes(zero, CORE), WORDS_ZERO, EIGHTH),
    Kind(block, "e5m2 bytes", lambda d: {**(o := of_call(d.op, {**d.inputs, "dst_type": "float8_e5m2"}).outputs), "y": o["y"].view(d.outputs["y"].dtype)}, "float8_e5m2"),
    Kind(block_tiles, "a column of scales wrong", scales(by(2), np.s_[:, 3]), "factor of 2", r"\[0, 3\] and \[1, 3\]"),
    Kind(block_tiles, "scale of a tile, codes right", scales(by(1.03), np.s_[1, 3]), r"factor of 1.03 \(\+3 %\)", r"\[1, 3\]"),
    Kind(block_tiles, "scale of a tile", both(numbers(by(1 / 1.03), np.s_[128:, 384:512]), scales(by(1.03), np.s_[1, 3])), r"factor of (1.03|about 0.97)|\+3 %", "columns 384"),
    Kind(block_tiles, "scale transposed", lambda d: {"scale": np.ascontiguousarray(d.outputs["scale"].T).reshape(2, 8)}, r"elements lie in another order: in the order \(1, 0\)"),
    Kind(block_tiles, "rows for tiles", lambda d: {"y": of_call(d.op, {**d.inputs, "row_block_size": 1}).outputs["y"]}, "row_block_size"),
    Kind(block_tiles, "tile shifted", codes(moved(-3), TILE), "shifted left by 3", IN_TILE),
    Kind(asymmetric, "offset ignored", lambda d: {"y": d.encode(d.v - d.outputs["offset"][:, None])}, f"offset.*{IGNORED}"),
    Kind(asymmetric, "offset negated", lambda d: {"offset": -d.outputs["offset"]}, "sign is flipped", ""),
    Kind(asymmetric, "offset shifted", lambda d: {"offset": np.roll(d.outputs["offset"], 1)}, "shifted|wrong places"),
    Kind(asymmetric, "range without the tail", range_without, LEFT_OUT),
    Kind(asymmetric, "smooth_scales ignored", input_("smooth_scales", np.ones_like), f"smooth_scales.*{IGNORED}"),
    Kind(asymmetric, "scale of a row", scales(by(1.03), np.s_[17]), r"factor of 1.03|\+3 %", "17"),
    Kind(asymmetric, "rows truncated", numbers(trunc, ROWS), "trunc", IN_ROWS),
    Kind(asymmetric, "rows of a core unwritten", codes(zero, CORE), WORDS_ZERO, EIGHTH),
    Kind(asymmetric, "tile stale", codes(random, TILE), UNRELATED, IN_TILE, is_named=False),
    Kind(anti, "offset ignored", input_("offset", zero), f"offset.*{IGNORED}"),
    Kind(anti, "offset added last", multiplied_first, "offset|formula"),
    Kind(anti, "offset subtracted", input_("offset", np.negative), "offset.*(sign|subtract|negat)|formula"),
    Kind(anti, "scale shifted", input_("scale", moved(1)), f"scale.*{NEXT}"),
    Kind(anti, "scale ignored", input_("scale", np.ones_like), f"scale.*{IGNORED}"),
    Kind(anti, "a column's scale", codes(by(2), np.s_[:, 7]), r"factor of 2", "column 7"),
    Kind(anti, "rows of a core unwritten", codes(zero, CORE), WORDS_ZERO, EIGHTH),
    Kind(anti, "tile transposed", codes(transposed, SQUARE), "transposed|swapped", IN_SQUARE),
    Kind(anti, "nibbles swapped", codes(nibbles), "neighbours|codes of each byte|nibble|pair"),
    Kind(anti_mx, "mxscale shifted", input_("mxscale", next_block), f"mxscale.*{NEXT}"),
    Kind(anti_mx, "mxscale in another order", input_("mxscale", swapped_lanes), "mxscale.*(layout|order|lane|pair|swap)"),
    Kind(anti_mx, "codes of e5m2", lambda d: {"y": np.ldexp(d.inputs["x"].view("u1").view("float8_e5m2").astype(F32), np.repeat(d.inputs["mxscale"].reshape(256, -1), 32, 1)[:, :N].astype(int) - 127).astype(BF16)}, "src_type|float8_e5m2"),
    Kind(anti_mx, "tile unwritten", codes(zero, TILE), WORDS_ZERO, IN_TILE),
    Kind(fake_channel, "zero_point ignored", input_("zero_point", zero), f"{ZERO_POINT}.*{IGNORED}"),
    Kind(fake_channel, "scale shifted", input_("scale", moved(1)), f"scale.*{NEXT}"),
    Kind(fake_channel, "codes for values", lambda d: {"output": d.outputs["output"] / d.inputs["scale"]}, "codes.*less the zero points"),
    Kind(fake_channel, "codes for values, with zero points", codes_behind, "codes.*instead of values"),
    Kind(fake_channel, "codes for values in rows", within(codes_behind, ROWS), "codes.*instead of values", IN_ROWS),
    Kind(fake_tensor, "codes for values", codes_behind, "codes.*instead of values"),
    Kind(fake_channel, "a column's factor", codes(by(2), np.s_[:, 7]), "factor of 2", "column 7"),
    Kind(fake_channel, "tile unwritten", codes(zero, TILE), WORDS_ZERO, IN_TILE),
    Kind(fake_channel, "rows truncated", numbers(trunc, ROWS), "trunc", IN_ROWS),
    Kind(fake_channel, "core rounded up", numbers(np.ceil, CORE), "ceil", EIGHTH),
    Kind(fake_channel, "quant_min", called(quant_min=lambda i: -127, quant_max=lambda i: 10), "-127 (and|to) 10"),
    Kind(fake_channel, "range of uint8", called(quant_min=lambda i: 0, quant_max=lambda i: 255), "0 (and|to) 255"),
    Kind(fake_channel, "range of int4 in rows", within(called(quant_min=lambda i: -8, quant_max=lambda i: 7), ROWS), "-8 (and|to) 7", IN_ROWS),
    Kind(fake_tensor, "range of int4", called(quant_min=lambda i: -8, quant_max=lambda i: 7), "-8 (and|to) 7"),
    Kind(fake_tensor, "rows truncated", numbers(trunc, ROWS), "trunc", IN_ROWS),
    Kind(fake_tensor, "mask inverted", lambda d: {"mask": ~d.outputs["mask"]}, "invert|flipped|negat|opposite|exchanged"),
    Kind(fake_tensor, "mask all true", lambda d: {"mask": d.outputs["mask"] | True}, "(True|1) everywhere"),
    Kind(fake_tensor, "zero_point ignored", called(zero_point=lambda i: 0), f"{ZERO_POINT}.*{IGNORED}"),
    Kind(fake_small, "quant_max", called(quant_max=lambda i: 10), "-128 (and|to) 10"),
    Kind(fake_small, "rows truncated", numbers(trunc, ROWS), "trunc", IN_ROWS),
    Kind(two_int8, "rows of a core unwritten", codes(zero, CORE), WORDS_ZERO, EIGHTH),
    Kind(two_int8, "rows of a core negated", codes(negated, CORE), "sign is flipped", EIGHTH),
    Kind(two_int8, "tile transposed", codes(transposed, SQUARE), "transposed|swapped", IN_SQUARE),
    Kind(two_int8, "tile stale", codes(random, TILE), UNRELATED, IN_TILE),
    Kind(two_int8, "halves exchanged", codes(halves), "shifted right by 500|halves|columns 500"),
    Kind(two_int8, "columns interleaved", codes(interleaved), "elements lie in another order: even columns before odd ones"),
    Kind(two_int8, "columns reversed", codes(lambda a: a[:, ::-1]), "revers"),
    Kind(two_int8, "factor", numbers(by(0.9)), "factor of about 0.9"),
    Kind(two_float16, "rows moved", codes(moved(8, 0), ROWS), "golden's", "64"),
    Kind(two_float16, "NaN in a tile", codes(lambda a: a * F16(np.nan), TILE), "NaN everywhere", IN_TILE),
    Kind(two_small, "subnormals flushed", codes(flushed_16), "subnormal"),
    Kind(two_float16, "bytes in another order", codes(lambda a: a.byteswap()), "byte"),
    Kind(two_float16, "tile stale", codes(random, TILE), UNRELATED, IN_TILE),
    Kind(two_float32, "rows of a core doubled", codes(by(2), CORE), "factor of 2", EIGHTH),
    Kind(two_float32, "0.5 added in a tile", codes(lambda a: a + F32(0.5), TILE), "0.5 is added", IN_TILE),
    Kind(two_float32, "tile of columns shifted", codes(moved(3), np.s_[:, 256:384]), "shifted right by 3", IN_COLUMNS),
    Kind(two_float32, "signs lost", codes(np.abs), "sign is lost|absolute"),
    Kind(two_float32, "infinities for a tile", codes(lambda a: a * 0 + F32(np.inf), TILE), "inf everywhere", IN_TILE),
)  # fmt: skip
