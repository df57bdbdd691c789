"""Safetensors files of the tests' own: no line of the package's reader and writer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
Tensors = dict[str, Array]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT8, E5M2, E8M0 = (
    np.dtype(getattr(ml_dtypes, f"float8_{name}")) for name in ("e4m3fn", "e5m2", "e8m0fnu")
)
DTYPES = {"BF16": BFLOAT16, "F8_E4M3": FLOAT8, "F8_E5M2": E5M2, "F8_E8M0": E8M0}
DTYPES |= {f"{kind.upper()}{8 * n}": np.dtype(f"{kind}{n}") for kind in "iu" for n in (1, 2, 4, 8)}
DTYPES |= {f"F{8 * n}": np.dtype(f"f{n}") for n in (2, 4, 8)}
WORDS = {dtype: word for word, dtype in DTYPES.items()}


def by_width(tensors: Mapping[str, Array]) -> Tensors:
    """Return tensors in the order of a written file: the widest first, and then by name."""
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    return {name: tensors[name] for name in order}


def head(tensors: Mapping[str, Array]) -> dict[str, Any]:
    """Return the header of a file that holds tensors in this order."""
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, a in tensors.items():
        offsets = [end, end := end + a.nbytes]
        entries[name] = {"dtype": WORDS[a.dtype], "shape": [*a.shape], "data_offsets": offsets}
    return entries


def packed(entries: Mapping[str, Any]) -> bytes:
    """Return a header with its length: JSON without blanks, then blanks to 8 bytes."""
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def write(path: Path, tensors: Mapping[str, Array], *, is_sorted_header: bool = False) -> None:
    """Write tensors in this order; the header names them in it too, or else by name."""
    entries = head(tensors)
    with path.open("wb") as file:
        file.write(packed(dict(sorted(entries.items())) if is_sorted_header else entries))
        for a in tensors.values():
            file.write(np.ascontiguousarray(a).tobytes())


def header(path: Path) -> dict[str, Any]:
    """Return the header of a file."""
    with path.open("rb") as file:
        return json.loads(file.read(int.from_bytes(file.read(8), "little")))


def read(path: Path) -> Tensors:
    """Return the tensors of a file, in the order of their offsets."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:start])
    entries.pop("__metadata__", None)
    ends = sorted(t["data_offsets"] for t in entries.values())
    if [0, *(e for _, e in ends)] != [*(b for b, _ in ends), len(data) - start]:
        raise ValueError(f"{path}: its tensors are not all of its {len(data) - start} bytes")
    result = {}
    for name, t in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = (start + offset for offset in t["data_offsets"])
        result[name] = np.frombuffer(data[begin:end], DTYPES[t["dtype"]]).reshape(t["shape"])
    return result


def change(path: Path, edit: Callable[[Tensors], object]) -> None:
    """Read a file, have its tensors changed, and write it anew, in the order of a writer."""
    tensors = {name: a.copy() for name, a in read(path).items()}
    edit(tensors)
    write(path, by_width(tensors))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write JSON as every written file has it: UTF-8, 2 blanks, a newline at the end."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", "utf-8")
