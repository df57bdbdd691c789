"""The operators of ``torch.ops.npu``: upstream's schemas, verbatim."""

from __future__ import annotations

from . import layouts

# Of op_plugin_functions.yaml (Ascend/op-plugin at 517f2e7); npu_rms_norm_dynamic_quant is of the
# extensions of vllm-ascend and cann-recipes-infer.
_SCHEMAS = """
    npu_dynamic_quant(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None,
        int? dst_type=None, str quant_mode="pertoken", float dst_type_max=0.0)
        -> (Tensor, Tensor)

    npu_dynamic_quant_asymmetric(Tensor input, *, Tensor? smooth_scales=None,
        Tensor? group_index=None, int? dst_type=None, str quant_mode="pertoken",
        float dst_type_max=0.0) -> (Tensor, Tensor, Tensor)

    npu_dynamic_block_quant(Tensor x, *, float min_scale=0.0, str round_mode="rint",
        int dst_type=1, int row_block_size=1, int col_block_size=128, float dst_type_max=0.0)
        -> (Tensor y, Tensor scale)

    npu_grouped_dynamic_block_quant(Tensor x, Tensor group_list, *, float min_scale=0.0,
        str round_mode="rint", int dst_type=291, int row_block_size=1, int col_block_size=128,
        int group_list_type=0, float dst_type_max=0.0) -> (Tensor, Tensor)

    npu_dynamic_mx_quant(Tensor input, *, int axis=-1, str round_mode="rint", int dst_type=296,
        int block_size=32, int? scale_alg=0, float dst_type_max=0.0, float max_low_bound=0.0)
        -> (Tensor, Tensor)

    npu_dynamic_mx_quant_with_dual_axis(Tensor input, *, str round_mode="rint",
        int dst_type=296, int scale_alg=0, float? dst_type_max=0.0)
        -> (Tensor, Tensor, Tensor, Tensor)

    npu_dynamic_block_mx_quant(Tensor input, *, str round_mode="rint", int dst_type=296,
        int scale_alg=0, float dst_type_max=0.0) -> (Tensor, Tensor, Tensor)

    npu_dynamic_dual_level_mx_quant(Tensor input, *, Tensor? smooth_scale=None,
        str round_mode="rint") -> (Tensor, Tensor, Tensor)

    npu_grouped_dynamic_mx_quant(Tensor x, Tensor group_index, *, str round_mode="rint",
        int dst_type=23, int blocksize=32, int? scale_alg=0, float? dst_type_max=0.0)
        -> (Tensor, Tensor)

    npu_moe_init_routing_v2(Tensor x, Tensor expert_idx, *, Tensor? scale=None,
        Tensor? offset=None, int active_num=-1, int expert_capacity=-1, int expert_num=-1,
        int drop_pad_mode=0, int expert_tokens_num_type=0, bool expert_tokens_num_flag=False,
        int quant_mode=-1, int[2] active_expert_range=[], int row_idx_type=0,
        int? x_dtype=None) -> (Tensor, Tensor, Tensor, Tensor)

    npu_moe_token_permute(Tensor tokens, Tensor indices, int? num_out_tokens=None,
        bool padded_mode=False) -> (Tensor, Tensor)

    npu_moe_token_unpermute(Tensor permuted_tokens, Tensor sorted_indices, Tensor? probs=None,
        bool padded_mode=False, int[]? restore_shape=None) -> Tensor

    npu_moe_finalize_routing(Tensor expanded_permuted_rows, Tensor? skip1, Tensor? skip2,
        Tensor? bias, Tensor? scales, Tensor expanded_src_to_dst_row,
        Tensor? export_for_source_row, int? drop_pad_mode=0, int? k=1) -> Tensor

    npu_quant_scatter(Tensor self, Tensor indices, Tensor updates, Tensor quant_scales,
        Tensor? quant_zero_points=None, int axis=-2, int quant_axis=-1, str reduce='update',
        int? dst_type=None, str? round_mode='rint') -> Tensor

    npu_quant_scatter_(Tensor(a!) self, Tensor indices, Tensor updates, Tensor quant_scales,
        Tensor? quant_zero_points=None, int axis=-2, int quant_axis=-1, str reduce='update',
        int? dst_type=None, str? round_mode='rint') -> Tensor(a!)

    npu_quantize(Tensor self, Tensor scales, Tensor? zero_points, int dtype, int axis=1,
        bool div_mode=True) -> Tensor

    npu_group_quant(Tensor x, Tensor scale, Tensor group_index, *, Tensor? offset=None,
        ScalarType? dst_dtype=None) -> Tensor

    npu_anti_quant(Tensor x, Tensor scale, *, Tensor? offset=None, int? dst_dtype=None,
        int? src_dtype=None) -> Tensor

    npu_anti_mx_quant(Tensor x, Tensor mxscale, *, int? axis=-1, int? dst_type=15,
        int? src_type=292) -> Tensor

    npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)

    npu_add_rms_norm(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06)
        -> (Tensor, Tensor, Tensor)

    npu_add_rms_norm_quant(Tensor x1, Tensor x2, Tensor gamma, Tensor scales1,
        Tensor? zero_points1, Tensor? beta=None, Tensor? scales2=None,
        Tensor? zero_points2=None, *, int axis=-1, float epsilon=1e-06, bool div_mode=True,
        int? dst_type=None) -> (Tensor, Tensor, Tensor)

    npu_add_rms_norm_dynamic_quant(Tensor x1, Tensor x2, Tensor gamma, *,
        Tensor? smooth_scale1=None, Tensor? smooth_scale2=None, Tensor? beta=None,
        float epsilon=1e-06, bool[2]? output_mask=None, int? y_dtype=None)
        -> (Tensor, Tensor, Tensor, Tensor, Tensor)

    npu_rms_norm_quant(Tensor x, Tensor gamma, Tensor beta, Tensor scale, Tensor offset,
        float epsilon=1e-06, *, int? dst_dtype=None) -> Tensor

    npu_rms_norm_quant_v2(Tensor x, Tensor gamma, Tensor scale, *, Tensor? offset=None,
        Tensor? beta=None, float epsilon=1e-06, bool div_mode=True, int? dst_dtype=None)
        -> (Tensor, Tensor)

    npu_rms_norm_dynamic_quant(Tensor x, Tensor gamma, *, Tensor? smooth_scale=None,
        Tensor? beta=None, float epsilon=1e-06) -> (Tensor, Tensor)

    npu_swiglu(Tensor self, int dim=-1) -> Tensor

    npu_swiglu_group_quant(Tensor x, *, Tensor? weight=None, Tensor? group_index=None,
        Tensor? scale=None, int dst_type=291, int quant_mode=0, int block_size=0,
        bool round_scale=False, float clamp_limit=-1.0, float dst_type_max=15.0,
        bool output_origin=False) -> (Tensor, Tensor, Tensor)

    npu_swiglu_quant(Tensor x, *, Tensor? smooth_scales=None, Tensor? offsets=None,
        Tensor? group_index=None, bool activate_left=False, int quant_mode=0,
        int group_list_type=0, ScalarType? dst_type=None) -> (Tensor, Tensor)

    npu_dequant_swiglu_quant(Tensor x, *, Tensor? weight_scale=None,
        Tensor? activation_scale=None, Tensor? bias=None, Tensor? quant_scale=None,
        Tensor? quant_offset=None, Tensor? group_index=None, bool activate_left=False,
        int quant_mode=0, int? dst_type=None, int? round_mode=None, int? activate_dim=None,
        int swiglu_mode=0, float clamp_limit=7.0, float glu_alpha=1.702, float glu_bias=1.0)
        -> (Tensor, Tensor)

    npu_grouped_matmul_swiglu_quant_v2(Tensor x, Tensor[] weight, Tensor[] weight_scale,
        Tensor x_scale, Tensor group_list, *, Tensor? smooth_scale=None,
        Tensor[]? weight_assist_matrix=None, Tensor? bias=None, int? dequant_mode=0,
        int? dequant_dtype=0, int? quant_mode=0, int? quant_dtype=1, int? group_list_type=0,
        int[]? tuning_config=None, int? x_dtype=None, int? weight_dtype=None,
        int? weight_scale_dtype=None, int? x_scale_dtype=None) -> (Tensor, Tensor)

    npu_grouped_matmul_swiglu_quant(Tensor x, Tensor weight, Tensor group_list,
        Tensor weight_scale, Tensor x_scale, *, Tensor? bias=None, Tensor? offset=None)
        -> (Tensor, Tensor, Tensor)

    npu_dequant_bias(Tensor x, Tensor weight_scale, Tensor? activation_scale, Tensor? bias, *,
        ScalarType? output_dtype=None) -> Tensor

    npu_dual_level_quant_matmul(Tensor x1, Tensor x2, Tensor x1_level0_scale,
        Tensor x2_level0_scale, Tensor x1_level1_scale, Tensor x2_level1_scale, *,
        Tensor? bias=None, int output_dtype=15) -> Tensor

    npu_quant_matmul(Tensor x1, Tensor x2, Tensor scale, *, Tensor? offset=None,
        Tensor? pertoken_scale=None, Tensor? bias=None, int? output_dtype=None,
        int? x1_dtype=None, int? x2_dtype=None, int? pertoken_scale_dtype=None,
        int? scale_dtype=None, int[]? group_sizes=None, Tensor? y_scale=None) -> Tensor

    npu_dtype_cast(Tensor self, int dtype, int? input_dtype=None) -> Tensor

    npu_trans_quant_param(Tensor scale, Tensor? offset=None, int? round_mode=0) -> Tensor

    npu_convert_weight_to_int4pack(Tensor weight, int inner_k_tiles=0) -> Tensor

    npu_grouped_matmul(Tensor[] x, Tensor[] weight, *, Tensor[]? bias=None, Tensor[]? scale=None,
        Tensor[]? offset=None, Tensor[]? antiquant_scale=None, Tensor[]? antiquant_offset=None,
        Tensor[]? per_token_scale=None, Tensor? group_list=None, Tensor[]? activation_input=None,
        Tensor[]? activation_quant_scale=None, Tensor[]? activation_quant_offset=None,
        int? split_item=0, int? group_type=None, int? group_list_type=0, int? act_type=0,
        int[]? tuning_config=None, int? output_dtype=None, int? x_dtype=None,
        int? weight_dtype=None, int? scale_dtype=None, int? per_token_scale_dtype=None)
        -> Tensor[]

    npu_grouped_matmul.List(Tensor[] x, Tensor[] weight, *, Tensor[]? bias=None,
        Tensor[]? scale=None, Tensor[]? offset=None, Tensor[]? antiquant_scale=None,
        Tensor[]? antiquant_offset=None, Tensor[]? per_token_scale=None, int[]? group_list=None,
        Tensor[]? activation_input=None, Tensor[]? activation_quant_scale=None,
        Tensor[]? activation_quant_offset=None, int? split_item=0, int? group_type=None,
        int? group_list_type=0, int? act_type=0, int? output_dtype=None, int? x_dtype=None,
        int? weight_dtype=None, int? scale_dtype=None, int? per_token_scale_dtype=None)
        -> Tensor[]

    npu_weight_quant_batchmatmul(Tensor x, Tensor weight, Tensor antiquant_scale,
        Tensor? antiquant_offset=None, Tensor? quant_scale=None, Tensor? quant_offset=None,
        Tensor? bias=None, int antiquant_group_size=0, int inner_precise=0,
        int? weight_dtype=None) -> Tensor
"""
_LINES = (" ".join(schema.split()) for schema in _SCHEMAS.split("\n\n"))
SCHEMAS = {schema.partition("(")[0]: schema for schema in _LINES}
"""By name. A kernel is npu_quant's function of that name, a fake that of `fakes` without npu_."""

OPERATORS = {name: schema for name, schema in SCHEMAS.items() if "." not in name}
"""The same without overloads, which stand behind a dot."""

COMPOSITES = {
    "npu_format_cast(Tensor self, int acl_format, *, int? customize_dtype=None, "
    "int? input_dtype=None) -> Tensor": layouts.npu_format_cast,
    "npu_format_cast_(Tensor(a!) self, int acl_format) -> Tensor(a!)": layouts.npu_format_cast_,
    "get_npu_format(Tensor self) -> int": layouts.get_npu_format,
}
"""Operators that are made of torch's own: they need no fake, and have gradients."""
