"""Names in the pickles of torch's files: storages and dtypes."""

from __future__ import annotations

STORAGES = {
    "torch.FloatStorage": "float32",
    "torch.DoubleStorage": "float64",
    "torch.HalfStorage": "float16",
    "torch.BFloat16Storage": "bfloat16",
    "torch.CharStorage": "int8",
    "torch.ByteStorage": "uint8",
    "torch.ShortStorage": "int16",
    "torch.IntStorage": "int32",
    "torch.LongStorage": "int64",
    "torch.BoolStorage": "bool",
    "torch.storage.UntypedStorage": "",
    "torch.storage.TypedStorage": "",
}
"""Names of storages, with the dtype they have; bytes or unknown: none."""

_FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn_x2")
_INTEGERS = tuple(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64))
DTYPES = {
    f"torch.{name}": name
    for name in ("float16", "bfloat16", "float32", "float64", "bool", *_INTEGERS, *_FLOAT8)
}
UNREAD = (
    *("complex32", "complex64", "complex128", "float8_e4m3fnuz", "float8_e5m2fnuz"),
    *("qint8", "quint8", "qint32", "quint4x2", "quint2x4"),
    *("bits8", "bits16", "bits1x8", "bits2x4", "bits4x2"),
    *(f"{u}int{bits}" for u in ("", "u") for bits in range(1, 8)),
)
"""Dtypes of tensors that are not read."""
DTYPES |= {f"torch.{name}": name for name in UNREAD}
STORAGES |= {
    f"torch.{word}Storage": name
    for word, name in (
        *(("ComplexFloat", "complex64"), ("ComplexDouble", "complex128"), ("QInt8", "qint8")),
        *(("QUInt8", "quint8"), ("QInt32", "qint32"), ("QUInt4x2", "quint4x2")),
        ("QUInt2x4", "quint2x4"),
    )
}
STORAGES |= {  # as torch before 1.11 has them of tensors on a GPU
    name.replace("torch.", "torch.cuda."): dtype
    for name, dtype in STORAGES.items()
    if "storage" not in name and not dtype.startswith("q")
}
