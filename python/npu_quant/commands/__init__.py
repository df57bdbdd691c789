"""The commands of ``npu-quant``, one module each, of which `npu_quant.cli` imports one.

Each has ``run(words)``, which takes the words after the command's name and returns the exit status.
"""
