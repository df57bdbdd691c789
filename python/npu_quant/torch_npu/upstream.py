"""Names that torch_npu makes public, as data: what npu_quant has not of them, says so.

Of operators: the section ``custom`` of op_plugin_functions.yaml (Ascend/op-plugin at 0066e6b, and
those for quantization at 517f2e7), and what Ascend/pytorch defines itself; vllm-ascend calls
npu_rms_norm_dynamic_quant by that name. Of ``torch.npu``: ``__all__`` of torch_npu/npu/__init__.py
(Ascend/pytorch at 0037c39).
"""

from __future__ import annotations

_OPERATORS = """
    _amp_foreach_non_finite_check _conv_depthwise2d_backward _dropout_with_byte_mask
    _dropout_with_byte_mask_backward _npu_ciou _npu_distribute_barrier _npu_dropout
    _npu_dropout_gen_mask _npu_dtype_cast _npu_dtype_cast_backward
    _npu_fused_infer_attention_score_get_max_workspace
    _npu_fused_infer_attention_score_v2_get_max_workspace _npu_index_add _npu_index_add_
    _npu_moe_token_unpermute_with_routing_map _npu_silent_check _npu_silent_check_v2
    _npu_silent_check_v3 _quantize_per_channel_impl _quantize_per_tensor_impl
    attention_worker_scheduler attention_worker_scheduler_ batch_norm_gather_stats_update
    batch_norm_reduce crop_and_resize decode_jpeg dropout_with_byte_mask
    empty_with_swapped_memory fast_gelu ffn_worker_scheduler ffn_worker_scheduler_
    fft_c2r_backward fft_r2c_backward fused_cross_entropy_loss_with_max_sum
    fused_linear_cross_entropy_loss_with_max_sum_grad fused_linear_online_max_sum get_npu_format
    image_normalize image_normalize_ img_to_tensor kl_div_backward l1_loss_backward
    matmul_double_backward npu_add_layer_norm npu_add_layer_norm_backward npu_add_rms_norm
    npu_add_rms_norm_cast npu_add_rms_norm_dynamic_mx_quant npu_add_rms_norm_dynamic_quant
    npu_add_rms_norm_quant npu_advance_step_flashattn npu_all_gather_base_mm
    npu_alloc_float_status npu_alltoallv_gmm npu_anchor_response_flags npu_anti_mx_quant
    npu_anti_quant npu_apply_adam npu_apply_adam_w npu_apply_rotary_pos_emb npu_attention_update
    npu_attention_worker_combine npu_attn_softmax_ npu_attn_softmax_backward_
    npu_batch_gather_matmul npu_batch_gather_matmul_ npu_batch_nms npu_bert_apply_adam
    npu_binary_cross_entropy_with_logits_backward npu_bmmV2 npu_bmm_v2_mat1_backward
    npu_bmm_v2_mat2_backward npu_bounding_box_decode npu_bounding_box_encode npu_broadcast
    npu_ciou npu_ciou_backward npu_clear_float_status npu_clipped_swiglu npu_confusion_transpose
    npu_confusion_transpose_backward npu_conv2d npu_conv2d_backward npu_conv3d
    npu_conv3d_backward npu_conv_transpose2d npu_conv_transpose2d_backward
    npu_conv_transpose3d_backward npu_convert_weight_to_int4pack npu_convolution
    npu_convolution_backward npu_convolution_transpose npu_convolution_transpose_backward
    npu_cross_entropy_loss npu_cross_entropy_loss_backward npu_deep_norm npu_deep_norm_backward
    npu_deformable_conv2d npu_deformable_conv2dbk npu_dequant_bias
    npu_dequant_rope_quant_kvcache npu_dequant_swiglu_quant npu_diou npu_diou_backward
    npu_dropout_backward npu_dropout_do_mask npu_dropout_gen_mask npu_dropout_with_add_softmax
    npu_dropout_with_add_softmax_backward npu_dtype_cast npu_dtype_cast_ npu_dtype_cast_backward
    npu_dual_level_quant_matmul npu_dynamic_block_mx_quant npu_dynamic_block_quant
    npu_dynamic_dual_level_mx_quant npu_dynamic_mx_quant npu_dynamic_mx_quant_with_dual_axis
    npu_dynamic_quant npu_dynamic_quant_asymmetric npu_fast_gelu npu_fast_gelu_backward npu_ffn
    npu_ffn_worker_batching npu_format_cast npu_format_cast_
    npu_fused_attention_layernorm_qkv_fwd npu_fused_attention_qkv_grad npu_fused_attention_score
    npu_fused_attention_score_backward npu_fused_attention_score_fwd
    npu_fused_attention_score_grad npu_fused_infer_attention_score
    npu_fused_infer_attention_score_v2 npu_fusion_attention npu_fusion_attention_grad
    npu_fusion_attention_grad_v2 npu_fusion_attention_v2 npu_gather_backward
    npu_gather_sparse_index npu_gather_sparse_index_backward npu_geglu npu_geglu_grad npu_gelu
    npu_gelu_backward npu_gelu_mul npu_gemma_rms_norm npu_get_float_status npu_giou
    npu_giou_backward npu_gmm_alltoallv npu_grid_assign_positive npu_group_norm_silu
    npu_group_norm_swish npu_group_norm_swish_grad npu_group_quant
    npu_grouped_dynamic_block_quant npu_grouped_dynamic_mx_quant npu_grouped_matmul
    npu_grouped_matmul_add_ npu_grouped_matmul_finalize_routing npu_grouped_matmul_swiglu_quant
    npu_grouped_matmul_swiglu_quant_v2 npu_gru npu_gru_backward npu_hans_decode npu_hans_encode
    npu_ifmr npu_incre_flash_attention npu_indexing npu_indexing_trans_contiguous
    npu_interleave_rope npu_iou npu_kronecker_quant npu_kv_rmsnorm_rope_cache
    npu_kv_rmsnorm_rope_cache_v2 npu_kv_rmsnorm_rope_cache_v2_functional npu_layer_norm_eval
    npu_layernorm_grad npu_linear npu_linear_backward npu_lstm npu_lstm_backward npu_lstm_cell
    npu_lstm_cell_backward npu_lstm_data npu_lstm_data_backward npu_masked_fill_range
    npu_masked_softmax_with_rel_pos_bias npu_max npu_max_backward npu_min npu_min_backward
    npu_mish npu_mish_backward npu_mla_prolog npu_mla_prolog_v2 npu_mla_prolog_v3
    npu_mla_prolog_v3_functional npu_mm_all_reduce_base npu_mm_reduce_scatter_base
    npu_moe_compute_expert_tokens npu_moe_distribute_combine
    npu_moe_distribute_combine_add_rms_norm npu_moe_distribute_combine_v2
    npu_moe_distribute_dispatch npu_moe_distribute_dispatch_v2 npu_moe_finalize_routing
    npu_moe_gating_top_k npu_moe_gating_top_k_softmax npu_moe_init_routing
    npu_moe_init_routing_quant npu_moe_init_routing_v2 npu_moe_re_routing npu_moe_token_permute
    npu_moe_token_permute_grad npu_moe_token_permute_with_routing_map
    npu_moe_token_permute_with_routing_map_grad npu_moe_token_unpermute
    npu_moe_token_unpermute_grad npu_moe_token_unpermute_with_routing_map
    npu_moe_token_unpermute_with_routing_map_grad npu_moe_update_expert npu_mrope
    npu_multi_head_attention npu_multi_head_attention_backward npu_nms_rotated npu_nms_v4
    npu_nms_with_mask npu_normalize_batch npu_nsa_compress npu_nsa_compress_attention
    npu_nsa_compress_attention_infer npu_nsa_compress_grad npu_nsa_compress_infer
    npu_nsa_select_attention npu_nsa_select_attention_grad npu_nsa_select_attention_infer
    npu_one_hot npu_pad npu_prefetch npu_prompt_flash_attention npu_ps_roi_pooling
    npu_ps_roi_pooling_backward npu_ptiou npu_quant_conv2d npu_quant_grouped_matmul_dequant
    npu_quant_lightning_indexer npu_quant_matmul npu_quant_matmul_dequant npu_quant_matmul_gelu
    npu_quant_matmul_reduce_sum npu_quant_scatter npu_quant_scatter_ npu_quantize
    npu_random_choice_with_mask npu_reshape npu_rms_norm npu_rms_norm_backward
    npu_rms_norm_dynamic_mx_quant npu_rms_norm_dynamic_quant npu_rms_norm_quant
    npu_rms_norm_quant_v2 npu_roi_align npu_roi_alignbk npu_rope_quant_kvcache npu_rotary_mul
    npu_rotary_mul_backward npu_rotate_quant npu_rotated_box_decode npu_rotated_box_encode
    npu_rotated_iou npu_rotated_overlaps npu_scaled_masked_softmax
    npu_scaled_masked_softmax_backward npu_scatter npu_scatter_list npu_scatter_list_
    npu_scatter_nd_update npu_scatter_nd_update_ npu_scatter_pa_cache npu_scatter_pa_kv_cache
    npu_scatter_pa_kv_cache_functional npu_sign_bits_pack npu_sign_bits_unpack npu_silu
    npu_silu_ npu_silu_backward npu_slice npu_softmax_cross_entropy_with_logits
    npu_softmax_cross_entropy_with_logits_backward npu_sort_v2 npu_stride_add npu_stride_copy
    npu_sub_sample npu_swiglu npu_swiglu_backward npu_swiglu_group_quant
    npu_swiglu_group_quant_backward npu_swiglu_mx_quant npu_swiglu_mx_quant_with_dual_axis
    npu_swiglu_quant npu_top_k_top_p npu_top_k_top_p_sample npu_trans_quant_param npu_transpose
    npu_transpose_batchmatmul npu_transpose_quant_batchmatmul npu_transpose_trans_contiguous
    npu_view_copy npu_weight_quant_batchmatmul npu_yolo_boxes_encode obfuscation_calculate
    obfuscation_finalize obfuscation_initialize one_ repeat_interleave_backward_int
    repeat_interleave_backward_tensor reverse scatter_update scatter_update_
    slow_conv_dilated2d_backward slow_conv_transpose2d_backward stft_backward
"""
_NPU = """
    BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CharStorage
    CharTensor CubeMathType DoubleStorage DoubleTensor Event ExternalEvent FloatStorage
    FloatTensor HalfStorage HalfTensor IntStorage IntTensor LongStorage LongTensor MemPool
    NPUGraph NPUPluggableAllocator NpuGraphOpHandler ShortStorage ShortTensor Stream
    StreamContext SyncLaunchStream are_compatible_impl_enabled caching_allocator_alloc
    caching_allocator_delete can_device_access_peer change_current_allocator check_uce_in_memory
    clear_npu_overflow_flag config conv current_blas_handle current_device current_stream
    default_stream device device_count device_of disable_deterministic_with_backward empty_cache
    empty_virt_addr_cache enable_deterministic_with_backward finalize_dump get_allocator_backend
    get_amp_supported_dtype get_autocast_dtype get_device_capability get_device_limit
    get_device_name get_device_properties get_mm_bmm_format_nd get_npu_overflow_flag
    get_per_process_memory_fraction get_rng_state get_rng_state_all get_stream_limit
    get_sync_debug_mode graph graph_pool_handle graph_task_group_begin graph_task_group_end
    graph_task_update_begin graph_task_update_end host_empty_cache host_memory_stats
    host_memory_stats_as_nested_dict init init_dump initial_seed ipc_collect is_autocast_enabled
    is_available is_bf16_supported is_current_stream_capturing is_initialized
    is_jit_compile_false make_graphed_callables manual_seed manual_seed_all matmul
    max_memory_allocated max_memory_cached max_memory_reserved mem_get_info memory_allocated
    memory_cached memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict
    memory_summary mstx npurt obfuscation_calculate obfuscation_finalize obfuscation_initialize
    register_npu_graph_handler reset_accumulated_host_memory_stats
    reset_accumulated_memory_stats reset_max_memory_allocated reset_max_memory_cached
    reset_peak_host_memory_stats reset_peak_memory_stats reset_stream_limit restart_device seed
    seed_all set_aoe set_autocast_dtype set_autocast_enabled set_compile_mode
    set_deterministic_level set_device set_device_limit set_dump set_mm_bmm_format_nd
    set_op_timeout_ms set_option set_per_process_memory_fraction set_rng_state set_rng_state_all
    set_stream set_stream_limit set_sync_debug_mode stop_device stream stress_detect
    super_kernel_scope_begin super_kernel_scope_end synchronize use_compatible_impl use_mem_pool
    utilization
"""

MODULES = ("distributed", "dynamo", "jit", "optim", "profiler", "utils")
OPERATORS = frozenset(_OPERATORS.split())
NPU = frozenset(_NPU.split())
