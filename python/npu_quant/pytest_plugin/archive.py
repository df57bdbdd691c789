"""Arrays in a .npz file: the same bytes for the same arrays, and no dtype lost.

A dtype of ml_dtypes, which a .npy file cannot name, is stored as uint8 or uint16 with its name
beside it: of ``y.npy`` in ``y.dtype``, as text. NumPy alone reads the codes.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

_EPOCH = (1980, 1, 1, 0, 0, 0)
_LARGE = 1 << 30
_REGISTERED = 2  # np.dtype.isbuiltin of a dtype that another package added


def is_carried(dtype: np.dtype) -> bool:
    """Say whether a dtype is stored as integers, with its name beside them."""
    return dtype.isbuiltin == _REGISTERED


def write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays, so that the file is the old or the new one whatever happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(".tmp", f".{path.name}-", path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                _write_member(archive, name, array)
        # mkstemp's files are their owner's alone, which a file to be shared is not.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o644 << 16
    return info


def _write_member(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    array = np.asarray(array, order="C")
    if is_carried(array.dtype):
        archive.writestr(_member(f"{name}.dtype"), array.dtype.name)
        array = array.view(f"u{array.dtype.itemsize}")
    large = array.nbytes > _LARGE
    with archive.open(_member(f"{name}.npy"), "w", force_zip64=large) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)


def read(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file by name, in their dtypes.

    Raises:
        ValueError: it is not what :func:`write` writes.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            members = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: cannot be read as goldens: {error}") from error
    arrays = {n: a for n, a in members.items() if isinstance(a, np.ndarray)}
    for name, array in arrays.items():
        carried = members.get(f"{name}.dtype")
        if isinstance(carried, bytes):
            arrays[name] = array.view(_dtype_of(carried.decode("utf-8", "replace"), array, path))
    return arrays


def _dtype_of(name: str, array: NDArray[Any], path: Path) -> np.dtype:
    """Return the dtype that an array of integers stands for."""
    scalar = getattr(ml_dtypes, name, None)
    if isinstance(scalar, type) and scalar.__name__ == name and issubclass(scalar, np.generic):
        dtype = np.dtype(scalar)
        if is_carried(dtype) and dtype.itemsize == array.dtype.itemsize:
            return dtype
    raise ValueError(f"{path}: {name!r} is not a dtype of ml_dtypes that {array.dtype} stands for")
