"""``torch_npu.contrib.transfer_to_npu``, which has "npu" meant where code says "cuda"."""

raise NotImplementedError(
    'torch_npu.contrib.transfer_to_npu is not in npu_quant: say "npu" where the code says "cuda".'
)
