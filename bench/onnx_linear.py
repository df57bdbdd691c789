"""ONNX Runtime's QuantizeLinear and DequantizeLinear on given memory.

A model of one node is some hundred bytes: they are written here, so that `onnx` is not needed.
The numbers are those of the fields in onnx.proto, version 1.14.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .operators import Linear

_IR_VERSION, _OPSET = 9, 19
_ELEMENT_TYPES = {"float32": 1, "int8": 3, "float16": 10, "bfloat16": 16}


def bind(
    onnxruntime: ModuleType, linear: Linear, x: NDArray[Any], y: NDArray[Any], threads: int
) -> tuple[Any, Any] | None:
    """A session and what its run_with_iobinding() takes; None where it does not know the dtype."""
    # The scale has the type of what is not a code.
    scale = np.array(linear.scale, y.dtype if x.dtype == np.int8 else x.dtype)
    arrays = {"x": x, "scale": scale, "zero_point": np.array(linear.zero_point, np.int8), "y": y}
    try:
        session = onnxruntime.InferenceSession(
            _model(linear.name, arrays), _options(onnxruntime, threads), ["CPUExecutionProvider"]
        )
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return None
    binding = session.io_binding()
    for name, a in arrays.items():
        bind_one = binding.bind_output if name == "y" else binding.bind_input
        bind_one(name, "cpu", 0, _ELEMENT_TYPES[a.dtype.name], list(a.shape), a.ctypes.data)
    binding.arrays = arrays  # which it does not keep
    return session, binding


def _options(onnxruntime: ModuleType, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Its threads would spin on beside what is measured next.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _model(operator: str, arrays: dict[str, NDArray[Any]]) -> bytes:
    """A ModelProto: y = operator(x, scale, zero_point)."""
    *inputs, output = arrays
    node = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, operator)
    graph = _field(1, node) + _field(2, operator)
    for name, array in arrays.items():
        tensor_type = _field(1, _field(1, _ELEMENT_TYPES[array.dtype.name]))
        graph += _field(12 if name == output else 11, _field(1, name) + _field(2, tensor_type))
    return _field(1, _IR_VERSION) + _field(7, graph) + _field(8, _field(2, _OPSET))


def _field(number: int, value: bytes | str | int) -> bytes:
    """Protocol Buffers' wire format: an integer, or the length of a string and the string."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(high) if high else bytes([low])
