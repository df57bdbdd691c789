"""The table of faults: FAULTS, by name, at least one of every rule of `npu-quant check`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .arithmetic import halves
from .compressed_faults import COMPRESSED
from .faults import (
    FIRST,
    OTHERS,
    E,
    Fault,
    K,
    O,
    Q,
    after,
    config,
    flip,
    float8,
    half_rows,
    index,
    int4_elsewhere,
    keys,
    odd_blocks,
    overlap,
    renamed,
    stack,
    stray_index,
    stray_weights,
)
from .number_faults import INT4, MX, NUMBERS
from .spoiling import (
    DESCRIPTION,
    INDEX,
    add,
    as_float,
    as_type,
    remove,
    replace,
    retype,
    tensor,
)
from .tensor_files import BFLOAT16
from .unreadable_faults import UNREADABLE

MOE: Mapping[str, Any] = {"family": "qwen3_moe"}
EH = "model.layers.1.eh_proj"
STRAYS = frozenset({"stray-weights", "missing-tensor", "index"})
SUMS = frozenset({"scale-bias"})


FILES = {
    "no config": Fault("config", "config.json", lambda f: (f / "config.json").unlink()),
    "config is no JSON": Fault("config", "config.json", after("config.json", lambda b: b[:-9])),
    "config is empty": Fault(
        "config", "config.json", config(lambda c: c.clear()), also=frozenset({"missing-tensor"})
    ),
    "no model_type": Fault(
        "config", "config.json", config(lambda c: c.pop("model_type")), "warning"
    ),
    "quantization_config is no object": Fault(
        "config", "config.json", config(lambda c: c.update(quantization_config=["fp8"]))
    ),
    "no description": Fault("not-quantized", "", lambda f: (f / DESCRIPTION).unlink()),
    "unfinished": Fault("unfinished", "", lambda f: (f / ".npu-quant").mkdir(), is_noticed=False),
    "missing shard": Fault("missing-shard", FIRST, lambda f: (f / FIRST).unlink(), also=OTHERS),
    "short shard": Fault("truncated", FIRST, after(FIRST, lambda b: b[:-100]), also=OTHERS),
    "long shard": Fault("truncated", FIRST, after(FIRST, lambda b: b + b"\0"), also=OTHERS),
    "header is no JSON": Fault(
        "header", FIRST, after(FIRST, lambda b: b[:8] + b"[" + b[9:]), also=OTHERS
    ),
    "offsets overlap": Fault("header", FIRST, overlap, also=OTHERS),
    "index names another file": Fault(
        "index",
        f"{Q}.weight",
        index(lambda i: i["weight_map"].update({f"{Q}.weight": FIRST.replace("1-of", "2-of")})),
        is_noticed=False,
    ),
    "index has one more": Fault(
        "index",
        "x.weight",
        index(lambda i: i["weight_map"].update({"x.weight": FIRST})),
        is_noticed=False,
    ),
    "index lacks one": Fault(
        "index",
        f"{Q}.weight",
        index(lambda i: i["weight_map"].pop(f"{Q}.weight")),
        is_noticed=False,
    ),
    "index is empty": Fault("index", INDEX, index(lambda i: i.clear())),
    "index names nothing": Fault(
        "missing-shard",
        "quantized",
        index(lambda i: i["weight_map"].clear()),
        is_noticed=False,
        also=STRAYS,
    ),
    "index names what no file can be called": Fault(
        "missing-shard",
        "xxx",
        index(lambda i: i["weight_map"].update({f"{Q}.weight": "x" * 300})),
        also=OTHERS,
    ),
    "total_size": Fault(
        "index", INDEX, index(lambda i: i["metadata"].update(total_size=1)), "warning"
    ),
    "no index": Fault("index", "", lambda f: (f / INDEX).unlink(), "warning"),
    "stray weights": Fault("stray-weights", "zz.safetensors", stray_weights),
    "stray weights that vLLM loads instead": Fault(
        "stray-weights",
        "consolidated.safetensors",
        lambda f: [
            stray_weights(f),
            (f / "zz.safetensors").rename(f / "consolidated.safetensors"),
        ],
        is_noticed=False,
    ),
    "ModelOpt's description of the source": Fault(
        "two-formats",
        "hf_quant_config.json",
        lambda f: (f / "hf_quant_config.json").write_text("{}"),
        is_noticed=False,
    ),
    "stray .bin": Fault(
        "stray-weights", "a.bin", lambda f: (f / "a.bin").write_bytes(b"x"), "warning"
    ),
    "stray index": Fault(
        "stray-index",
        "model.safetensors.index.json",
        lambda f: stray_index(f, with_shards=False),
        also=frozenset({"missing-shard"}),
    ),
    "stray index and shards": Fault(
        "stray-index",
        "model.safetensors.index.json",
        lambda f: stray_index(f, with_shards=True),
        also=frozenset({"stray-weights"}),
    ),
    "two formats": Fault(
        "two-formats", "", config(lambda c: c.update(quantization_config={"quant_method": "fp8"}))
    ),
}
KEYS = {
    "key of a Linear": Fault("missing-key", f"{Q}.weight", keys(lambda k: k.pop(f"{Q}.weight"))),
    "keys of a Linear, but one": Fault(
        "missing-key",
        f"{Q}.weight_offset",
        keys(lambda k: [k.pop(f"{Q}.{n}") for n in ("weight", "weight_offset")]),
    ),
    "key of a norm": Fault(
        "missing-key",
        "model.norm.weight",
        keys(lambda k: k.pop("model.norm.weight")),
        is_noticed=False,
    ),
    "no keys": Fault(
        "missing-key",
        f"{Q}.weight",
        keys(lambda k: k.clear()),
        also=frozenset({"meta", "dtype"}),
    ),
    "key of a head": Fault(
        "missing-key", "lm_head.weight", keys(lambda k: k.pop("lm_head.weight"))
    ),
    "key of a tied head": Fault(
        "missing-key", "lm_head.weight", keys(lambda k: k.pop("lm_head.weight")), tied=True
    ),
    "keys lack model.": Fault("prefix", "", renamed("model.", "")),
    "one key lacks model.": Fault(
        "missing-key",
        "model.norm.weight",
        keys(lambda k: k.update({"norm.weight": k.pop("model.norm.weight")})),
        also=frozenset({"missing-tensor"}),
    ),
    "keys have one more": Fault("prefix", "", renamed("", "language_model.")),
    "a former name of the description": Fault(
        "description",
        "quant_model_description_w8a8.json",
        lambda f: (f / DESCRIPTION).rename(f / "quant_model_description_w8a8.json"),
    ),
    "a setting that is misspelt": Fault(
        "missing-tensor",
        "model.layers.0.self_attn.quant_tpye",
        keys(lambda k: k.update({"model.layers.0.self_attn.quant_tpye": "INT8"})),
        also=frozenset({"unknown-type"}),
    ),
    "no such type": Fault("unknown-type", O, lambda f: retype(f, f"{O}[.].*", "W8A8_DYNAMIK")),
    "a type that is no word": Fault(
        "unknown-type",
        "model.norm.weight",
        keys(lambda k: k.update({"model.norm.weight": None})),
    ),
    "WFP8AFP8_DYNAMIC": Fault("unknown-type", O, float8, "warning"),
    "no version": Fault("meta", "version", keys(lambda k: k.pop("version")), "warning"),
    "no model_quant_type": Fault(
        "meta", "model_quant_type", keys(lambda k: k.pop("model_quant_type")), "warning"
    ),
    "no group_size": Fault("meta", "group_size", keys(lambda k: k.pop("group_size")), "warning"),
    "group_size of MX": Fault("meta", "group_size", keys(lambda k: k.update(group_size=0)), **MX),
    "no number of a group_size of MX": Fault(
        "meta", "group_size", keys(lambda k: k.update(group_size=None)), **MX
    ),
    "no number of a group_size of int4": Fault(
        "meta", "group_size", keys(lambda k: k.update(group_size=None)), **INT4
    ),
    "group_size of int4": Fault(
        "meta", "group_size", keys(lambda k: k.update(group_size=64)), **INT4
    ),
    "k is FLOAT": Fault("mixed-group", "layers.0.self_attn", lambda f: as_float(f, K)),
    "up is FLOAT": Fault(
        "mixed-group", "layers.0.mlp", lambda f: as_float(f, "model.layers.0.mlp.up_proj")
    ),
    "an expert is FLOAT": Fault(
        "mixed-group",
        "experts",
        lambda f: [as_float(f, f"{E}.2.{n}_proj") for n in ("gate", "up", "down")],
        **MOE,
    ),
    "kv_b_proj": Fault(
        "forbidden-type",
        "kv_b_proj",
        lambda f: as_type(f, "model.layers.0.self_attn.kv_b_proj", "W8A8_DYNAMIC"),
        family="deepseek_v3",
    ),
    "a router": Fault(
        "forbidden-type",
        "mlp.gate",
        lambda f: as_type(f, "model.layers.0.mlp.gate", "W8A8_DYNAMIC"),
        **MOE,
    ),
    "eh_proj": Fault(
        "forbidden-type",
        EH,
        lambda f: (
            add(f, {f"{EH}.weight": tensor(f, f"{Q}.weight").astype(BFLOAT16)}, "FLOAT"),
            as_type(f, EH, "W8A8_DYNAMIC"),
        ),
    ),
    "a norm": Fault(
        "forbidden-type",
        "model.norm",
        keys(lambda k: k.update({"model.norm.weight": "W8A8_DYNAMIC"})),
        also=frozenset({"dtype", "shape", "missing-tensor"}),
    ),
    "experts of W8A16": Fault(
        "forbidden-type", "experts", lambda f: retype(f, ".*[.]experts[.].*", "W8A16"), **MOE
    ),
    "W4A8_DYNAMIC elsewhere": Fault("forbidden-type", O, int4_elsewhere),
    "embedding": Fault(
        "forbidden-type",
        "embed_tokens",
        lambda f: as_type(f, "model.embed_tokens", "W8A8_DYNAMIC"),
        "warning",
    ),
    "lm_head": Fault(
        "forbidden-type", "lm_head", lambda f: as_type(f, "lm_head", "W8A8_DYNAMIC"), "warning"
    ),
}
TENSORS = {
    "no weight_scale": Fault("missing-tensor", Q, lambda f: remove(f, f"{Q}.weight_scale")),
    "no weight_offset": Fault("missing-tensor", Q, lambda f: remove(f, f"{Q}.weight_offset")),
    "no weight_scale of FP8": Fault(
        "missing-tensor",
        f"{O}.weight_scale",
        lambda f: (
            float8(f),
            retype(f, f"{O}.weight.*", "W8A8FP8_DYNAMIC"),
            remove(f, f"{O}.weight_scale"),
        ),
    ),
    "no scale_bias": Fault(
        "missing-tensor", f"{E}.0", lambda f: remove(f, f"{E}.0.up_proj.scale_bias"), **INT4
    ),
    "no tensor of a key": Fault(
        "missing-tensor",
        "model.norm.weight",
        lambda f: remove(f, "model.norm.weight", keeps_keys=True),
    ),
    "int8 of a FLOAT": Fault(
        "dtype",
        f"{O}.weight",
        lambda f: (remove(f, f"{O}.weight_.*"), retype(f, f"{O}.weight", "FLOAT")),
    ),
    "float16 scales": Fault(
        "dtype",
        f"{Q}.weight_scale",
        lambda f: replace(f, f"{Q}.weight_scale", lambda a: a.astype(np.float16)),
        also=frozenset({"scale"}),
    ),
    "int4 in bytes of float8": Fault(
        "dtype",
        f"{O}.weight",
        lambda f: retype(f, f"{O}[.].*", "W4A4_MXFP4"),
        also=frozenset({"shape"}),
        **MX,
    ),
    "flat scales": Fault(
        "shape", f"{Q}.weight_scale", lambda f: replace(f, f"{Q}.weight_scale", np.ravel)
    ),
    "no last row": Fault("shape", Q, lambda f: replace(f, f"{Q}.weight", lambda a: a[:-1])),
    "no last block": Fault(
        "shape", Q, lambda f: replace(f, f"{Q}.weight_scale", lambda a: a[:, :-1]), **MX
    ),
    "unpacked int4": Fault(
        "shape", f"{E}.0", lambda f: replace(f, f"{E}.0.up_proj.weight", halves), **INT4
    ),
    "odd blocks": Fault("alignment", "down_proj", odd_blocks, scheme="W8A8_MXFP8", **MOE),
    "44 rows of int4": Fault("alignment", "_proj", half_rows, also=SUMS, **INT4),
    "40 columns of int4": Fault(
        "alignment",
        f"{E}.0.down_proj",
        lambda f: replace(f, f"{E}.0.down_proj.weight", lambda a: a[:, :40]),
        also=SUMS,
        **INT4,
    ),
    "stacked experts": Fault(
        "stacked-experts", "down_proj", stack, also=frozenset({"mixed-group"}), **MOE
    ),
    "a scale of floats": Fault(
        "leftover",
        "lm_head.weight_scale",
        lambda f: add(f, {"lm_head.weight_scale": np.ones((320, 1), np.float32)}),
        is_noticed=False,
    ),
    "leftover": Fault(
        "leftover",
        f"{Q}.weight_scale_inv",
        lambda f: add(f, {f"{Q}.weight_scale_inv": np.ones((1, 1), np.float32)}),
        is_noticed=False,
    ),
}
FUSED = {
    "bias of other rows": Fault(
        "shape",
        f"{Q}.bias",
        lambda f: add(f, {f"{Q}.bias": np.zeros(3, BFLOAT16)}),
    ),
    "other inputs in one layer": Fault(
        "shape",
        f"q_proj, k_proj and v_proj of {Q.rpartition('.')[0]}",
        lambda f: replace(f, f"{K}[.]weight", lambda a: a[:, : a.shape[1] // 2]),
    ),
}
COMPARED = {
    "one code": Fault("codes", Q, flip),
    "scale of one row": Fault(
        "codes",
        Q,
        lambda f: replace(
            f,
            f"{Q}.weight_scale",
            lambda a: a * (1 + (np.arange(len(a)) == 7)[:, None]).astype(a.dtype),
        ),
    ),
    "other weights": Fault("codes", Q, lambda f: replace(f, f"{Q}.weight", lambda a: a[:, ::-1])),
    "a float": Fault(
        "float-changed",
        "model.norm.weight",
        lambda f: replace(f, "model.norm.weight", lambda a: -a),
    ),
    "missing layer": Fault("missing-layer", O, lambda f: remove(f, f"{O}[.].*")),
    "extra tensor": Fault(
        "extra-tensor", "extra", lambda f: add(f, {"model.extra.weight": np.ones(3, np.float32)})
    ),
    "no file to copy": Fault(
        "missing-file",
        "assets/vocab.txt",
        lambda f: (f / "assets/vocab.txt").unlink(),
        "warning",
    ),
    "hidden_act": Fault(
        "config-changed", "hidden_act", config(lambda c: c.update(hidden_act="gelu")), "warning"
    ),
}
ASCEND = {**FILES, **UNREADABLE, **KEYS, **TENSORS, **NUMBERS, **FUSED, **COMPARED}
FAULTS = {**ASCEND, **{f"{name}, compressed": fault for name, fault in COMPRESSED.items()}}
