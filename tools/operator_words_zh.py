"""What each row of README.zh-CN.md's table of operators says in Chinese, by operator."""

WORDS = {
    "npu_dynamic_quant": "对称动态量化：per-token（每行）、per-channel 或 per-tensor。",
    "npu_dynamic_quant_asymmetric": (
        "非对称动态量化（按最小值和最大值）：per-token（每行）、per-channel 或 per-tensor。"
    ),
    "npu_dynamic_block_quant": "对矩阵逐块对称量化，每块一个缩放因子。",
    "npu_grouped_dynamic_block_quant": "对矩阵逐块量化，每个行分组内重新划块。",
    "npu_dynamic_mx_quant": "MX 量化：沿指定轴分块，每块一个 2 的幂。",
    "npu_dynamic_mx_quant_with_dual_axis": (
        "MX 量化：沿尾轴每 32 个元素一块，再沿倒数第二轴另做一次。"
    ),
    "npu_dynamic_block_mx_quant": "MX 量化：每 32 x 32 一块，每块一个 2 的幂，按两种排布输出。",
    "npu_dynamic_dual_level_mx_quant": (
        "两级 MX 量化：每 512 个元素一个缩放因子，每 32 个元素一个 2 的幂。"
    ),
    "npu_grouped_dynamic_mx_quant": "MX 量化：每列每 32 行一块，每个行分组内重新划块。",
    "npu_moe_init_routing_v2": "MoE 路由：把 token 分发给所选专家，按专家排序，可同时量化。",
    "npu_moe_token_permute": "把 T 个 token 各复制 K 份，并按下标排序。",
    "npu_moe_token_unpermute": "把重排后的各行还原到原 token：按 probs 加权累加。",
    "npu_moe_finalize_routing": "合并各专家对每个 token 的输出。",
    "npu_quant_scatter": "用给定的缩放因子量化 updates，写入量化值数组的副本。",
    "npu_quantize": "静态量化：用给定的缩放因子和零点量化，per-tensor 或 per-channel。",
    "npu_group_quant": "用给定的缩放因子按行分组量化，每个行分组对应一行缩放因子。",
    "npu_anti_quant": "反量化：per-tensor 或 per-channel。",
    "npu_anti_mx_quant": "MX 反量化：沿指定轴每 32 个量化值一个 2 的幂。",
    "npu_rms_norm": "RmsNorm：除以均方根，再乘 gamma。",
    "npu_add_rms_norm": "先相加，再做 RmsNorm。",
    "npu_add_rms_norm_quant": "先相加，再做 RmsNorm，最后量化。",
    "npu_add_rms_norm_dynamic_quant": "先相加，再做 RmsNorm，最后逐行动态量化。",
    "npu_rms_norm_quant": "RmsNorm，加 beta，再量化。",
    "npu_rms_norm_dynamic_quant": "RmsNorm，再逐行动态量化。",
    "npu_swiglu": "SwiGLU：指定轴前半部分的 Swish 乘后半部分。",
    "npu_swiglu_group_quant": "SwiGLU：每行一半的 Swish 乘另一半，再逐块量化。",
    "npu_swiglu_quant": "SwiGLU：每行一半乘另一半的 Swish，再量化。",
    "npu_dequant_swiglu_quant": "反量化 int32 累加和，一半乘另一半的 Swish，再量化。",
    "npu_grouped_matmul_swiglu_quant": "各行量化值乘所属专家的矩阵，做 SwiGLU，再量化。",
    "npu_dequant_bias": "反量化：量化矩阵乘的 int32 累加和乘缩放因子、加 bias，转换为浮点。",
    "npu_dual_level_quant_matmul": (
        "float4_e2m1 矩阵乘：沿 k 轴每 32 个和每 512 个量化值各一个缩放因子。"
    ),
    "npu_quant_matmul": "量化矩阵乘：累加和以浮点、int8 量化值或 int32 输出。",
    "npu_dtype_cast": "数据类型转换：32、16、8、4 比特浮点与 int4 之间。",
    "npu_convert_weight_to_int4pack": "打包 int4 或 float4_e2m1 量化值：每个元素由 1 个变为 8 个。",
    "npu_trans_quant_param": "把量化矩阵乘的缩放因子和 offset 打包为 64 比特。",
    "npu_grouped_matmul": "分组矩阵乘：每个行分组乘各自的权重，即一层中各专家的计算。",
    "npu_weight_quant_batchmatmul": "伪量化矩阵乘：权重为 int8、int4 或 float4，计算时反量化。",
    "fake_quantize_per_tensor_affine": "per-tensor 伪量化：量化后立即反量化。",
    "fake_quantize_per_channel_affine": "per-channel 伪量化：量化后立即反量化。",
    "quantize_val": "用一个缩放因子和零点量化单个数或数组。",
}
