"""``torch_npu.testing``: what op-plugin's tests of operators import."""
