"""The operators' pages: signatures, types, and all that their help has to say."""

from __future__ import annotations

import inspect
import sys
import typing
from pathlib import Path
from types import ModuleType

import npu_quant
from npu_quant import ops

TESTS = Path(__file__).resolve().parent


def page_of(name: str) -> ModuleType:
    """Return the module that an operator is written in."""
    return sys.modules[inspect.unwrap(getattr(npu_quant, name)).__module__]


def test_public_names_are_documented_and_typed() -> None:
    for name in npu_quant.__all__:
        thing = getattr(npu_quant, name)
        assert inspect.getdoc(thing) or not callable(thing), name
        if inspect.isfunction(thing):
            hints = typing.get_type_hints(inspect.unwrap(thing))
            assert set(hints) == {*inspect.signature(thing).parameters, "return"}, name


# Those whose page refers to another's for the special values.
OF_MX = ("dynamic_mx_quant", "block_mx_quant", "dual_axis")  # have rows of test_mx_vectors.py, too
SHORT_PAGES = {name for name in ops.__all__ if name.endswith(("affine", "backward", "_"))}


def ours_of(name: str) -> list[str]:
    """Return our own arguments of an operator; one that writes in place has no out."""
    return ["numerics"] if name.endswith("_") else ["out", "numerics"]


def test_operators_have_the_whole_page() -> None:
    """Formula, shapes, dtypes, rounding, edge cases, errors, example, source; and a reference."""
    parts = ["::\n", "Args:", "Returns:", "Rounding", "=====", "Raises:", "Example:", ">>> "]
    parts += ["Source:", "docs/"]
    for name in ops.__all__:
        page, ours = inspect.getdoc(getattr(npu_quant, name)) or "", ours_of(name)
        asked = [*parts, *(f"{argument}: " for argument in ours)]
        lacks = [p for p in asked if p not in page and (p != "=====" or name not in SHORT_PAGES)]
        assert lacks == [], name
        assert inspect.isfunction(page_of(name).reference), name
        parameters = inspect.signature(getattr(npu_quant, name)).parameters
        for argument in ours:
            assert parameters[argument].kind is inspect.Parameter.KEYWORD_ONLY, name
            assert parameters[argument].default is None, name
        assert [*parameters][-len(ours) :] == ours, name


def test_every_edge_case_row_has_a_test() -> None:
    """As many tests of special rows, at least, as the page's table has rows."""
    for name in sorted(set(ops.__all__) - SHORT_PAGES):
        page = inspect.getdoc(getattr(npu_quant, name)) or ""
        table = page.split("=====\n")[-2] if page.count("=====\n") >= 3 else ""
        stems = [Path(page_of(name).__file__ or "").stem, *["mx_vectors"] * name.endswith(OF_MX)]
        files = [(TESTS / f"test_{stem}.py").read_text() for stem in stems]
        vectors = [text.split("class TestVectors")[1].split("\nclass ")[0] for text in files]
        assert sum(v.count("def test_") for v in vectors) >= len(table.splitlines()) > 3, name


SIGNATURES = {
    "npu_dynamic_quant": "(input, *, smooth_scales=None, group_index=None, dst_type=None, "
    "quant_mode='pertoken', dst_type_max=0.0)",
    "npu_dynamic_quant_asymmetric": "(input, *, smooth_scales=None, group_index=None, "
    "dst_type=None, quant_mode='pertoken', dst_type_max=0.0)",
    "npu_dynamic_block_quant": "(x, *, min_scale=0.0, round_mode='rint', dst_type=1, "
    "row_block_size=1, col_block_size=128, dst_type_max=0.0)",
    "npu_dynamic_mx_quant": "(input, *, axis=-1, round_mode='rint', dst_type=296, "
    "block_size=32, scale_alg=0, dst_type_max=0.0, max_low_bound=0.0)",
    "npu_dynamic_mx_quant_with_dual_axis": "(input, *, round_mode='rint', dst_type=296, "
    "scale_alg=0, dst_type_max=0.0)",
    "npu_dynamic_block_mx_quant": "(input, *, round_mode='rint', dst_type=296, scale_alg=0, "
    "dst_type_max=0.0)",
    "npu_dynamic_dual_level_mx_quant": "(input, *, smooth_scale=None, round_mode='rint')",
    "npu_grouped_dynamic_block_quant": "(x, group_list, *, min_scale=0.0, round_mode='rint', "
    "dst_type=291, row_block_size=1, col_block_size=128, group_list_type=0, dst_type_max=0.0)",
    "npu_grouped_dynamic_mx_quant": "(x, group_index, *, round_mode='rint', dst_type=23, "
    "blocksize=32, scale_alg=0, dst_type_max=0.0)",
    "npu_rms_norm": "(self, gamma, epsilon=1e-06)",
    "npu_add_rms_norm": "(x1, x2, gamma, epsilon=1e-06)",
    "npu_add_rms_norm_quant": "(x1, x2, gamma, scales1, zero_points1, beta=None, scales2=None, "
    "zero_points2=None, *, axis=-1, epsilon=1e-06, div_mode=True, dst_type=None)",
    "npu_anti_quant": "(x, scale, *, offset=None, dst_dtype=None, src_dtype=None)",
    "npu_anti_mx_quant": "(x, mxscale, *, axis=-1, dst_type=15, src_type=292)",
    "npu_convert_weight_to_int4pack": "(weight, inner_k_tiles=0)",
    "npu_swiglu": "(self, dim=-1)",
    "npu_swiglu_group_quant": "(x, *, weight=None, group_index=None, scale=None, dst_type=291, "
    "quant_mode=0, block_size=0, round_scale=False, clamp_limit=-1.0, dst_type_max=15.0, "
    "output_origin=False)",
    "npu_swiglu_quant": "(x, *, smooth_scales=None, offsets=None, group_index=None, "
    "activate_left=False, quant_mode=0, group_list_type=0, dst_type=None)",
    "npu_dequant_swiglu_quant": "(x, *, weight_scale=None, activation_scale=None, bias=None, "
    "quant_scale=None, quant_offset=None, group_index=None, activate_left=False, quant_mode=0, "
    "dst_type=None, round_mode=None, activate_dim=None, swiglu_mode=0, clamp_limit=7.0, "
    "glu_alpha=1.702, glu_bias=1.0)",
    "npu_quant_matmul": (
        "(x1, x2, scale, *, offset=None, pertoken_scale=None, bias=None, output_dtype=None, "
        "x1_dtype=None, x2_dtype=None, pertoken_scale_dtype=None, scale_dtype=None, "
        "group_sizes=None, y_scale=None)"
    ),
    "npu_grouped_matmul_swiglu_quant_v2": "(x, weight, weight_scale, x_scale, group_list, *, "
    "smooth_scale=None, weight_assist_matrix=None, bias=None, dequant_mode=0, dequant_dtype=0, "
    "quant_mode=0, quant_dtype=1, group_list_type=0, tuning_config=None, x_dtype=None, "
    "weight_dtype=None, weight_scale_dtype=None, x_scale_dtype=None)",
    "npu_grouped_matmul_swiglu_quant": "(x, weight, group_list, weight_scale, x_scale, *, bias=None, "
    "offset=None)",
    "npu_dequant_bias": "(x, weight_scale, activation_scale, bias, *, output_dtype=None)",
    "npu_dual_level_quant_matmul": "(x1, x2, x1_level0_scale, x2_level0_scale, x1_level1_scale, "
    "x2_level1_scale, *, bias=None, output_dtype=15)",
    "npu_dtype_cast": "(self, dtype, input_dtype=None)",
    "npu_trans_quant_param": "(scale, offset=None, round_mode=0)",
    "npu_grouped_matmul": "(x, weight, *, bias=None, scale=None, offset=None, "
    "antiquant_scale=None, antiquant_offset=None, per_token_scale=None, group_list=None, "
    "activation_input=None, activation_quant_scale=None, activation_quant_offset=None, "
    "split_item=0, group_type=None, group_list_type=0, act_type=0, tuning_config=None, "
    "output_dtype=None, x_dtype=None, weight_dtype=None, scale_dtype=None, "
    "per_token_scale_dtype=None)",
    "npu_weight_quant_batchmatmul": "(x, weight, antiquant_scale, antiquant_offset=None, "
    "quant_scale=None, quant_offset=None, bias=None, antiquant_group_size=0, inner_precise=0, "
    "weight_dtype=None)",
    "npu_rms_norm_quant": "(x, gamma, beta, scale, offset, epsilon=1e-06, *, dst_dtype=None)",
    "npu_rms_norm_quant_v2": "(x, gamma, scale, *, offset=None, beta=None, epsilon=1e-06, "
    "div_mode=True, dst_dtype=None)",
    "npu_add_rms_norm_dynamic_quant": "(x1, x2, gamma, *, smooth_scale1=None, smooth_scale2=None, "
    "beta=None, epsilon=1e-06, output_mask=None, y_dtype=None)",
    "npu_rms_norm_dynamic_quant": "(x, gamma, *, smooth_scale=None, beta=None, epsilon=1e-06)",
    "npu_group_quant": "(x, scale, group_index, *, offset=None, dst_dtype=None)",
    "npu_moe_init_routing_v2": "(x, expert_idx, *, scale=None, offset=None, active_num=-1, "
    "expert_capacity=-1, expert_num=-1, drop_pad_mode=0, expert_tokens_num_type=0, "
    "expert_tokens_num_flag=False, quant_mode=-1, active_expert_range=[], row_idx_type=0, "
    "x_dtype=None)",
    "npu_moe_token_permute": "(tokens, indices, num_out_tokens=None, padded_mode=False)",
    "npu_moe_token_unpermute": "(permuted_tokens, sorted_indices, probs=None, padded_mode=False, "
    "restore_shape=None)",
    "npu_moe_finalize_routing": "(expanded_permuted_rows, skip1, skip2, bias, scales, "
    "expanded_src_to_dst_row, export_for_source_row, drop_pad_mode=0, k=1)",
    **dict.fromkeys(
        ("npu_quant_scatter", "npu_quant_scatter_"),
        "(self, indices, updates, quant_scales, quant_zero_points=None, axis=-2, quant_axis=-1, "
        "reduce='update', dst_type=None, round_mode='rint')",
    ),
    "npu_quantize": "(self, scales, zero_points, dtype, axis=1, div_mode=True)",
    "fake_quantize_per_tensor_affine": "(self, scale, zero_point, quant_min, quant_max)",
    "fake_quantize_per_tensor_affine_cachemask": "(self, scale, zero_point, quant_min, quant_max)",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": "(self, scale, zero_point, "
    "fake_quant_enabled, quant_min, quant_max)",
    "fake_quantize_per_tensor_affine_cachemask_backward": "(grad, mask)",
    "fake_quantize_per_channel_affine": "(self, scale, zero_point, axis, quant_min, quant_max)",
    "fake_quantize_per_channel_affine_cachemask": "(self, scale, zero_point, axis, quant_min, "
    "quant_max)",
    "fake_quantize_per_channel_affine_cachemask_backward": "(grad, mask)",
    "quantize_val": "(scale, zero_point, value, scalar_type)",
    "dequantize_val": "(scale, zero_point, value)",
}


def without_ours(name: str) -> str:
    """Return an operator's signature as torch_npu has it: without types and our own arguments."""
    signature = inspect.signature(getattr(npu_quant, name))
    theirs = [p for p in signature.parameters.values() if p.name not in ("out", "numerics")]
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in theirs]
    return str(inspect.Signature(plain))


def test_signatures_are_torch_npus_and_torchs() -> None:
    assert {name: without_ours(name) for name in ops.__all__} == SIGNATURES
