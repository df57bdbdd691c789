"""Arrays in a .npz file: the same bytes for the same arrays, and no dtype lost.

A dtype of ml_dtypes, which a .npy file cannot name, is stored as uint8 or uint16 with its name
beside it: of ``y.npy`` in ``y.dtype``, as text. NumPy alone reads the codes.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ..files import list_arrays, load

Arrays = dict[str, NDArray[Any]]

_EPOCH = (1980, 1, 1, 0, 0, 0)
_ARRAY, _DTYPE = ".npy", ".dtype"
_LARGE = 1 << 30
_REGISTERED = 2  # np.dtype.isbuiltin of a dtype that another package added


def problem_of_name(name: str) -> str | None:
    """Say why an array cannot have a name in a file that np.load should read as we do."""
    if name.endswith((_ARRAY, _DTYPE)):
        return f"a name does not end in {_ARRAY} or {_DTYPE}"
    if "\0" in name or (not name.isascii() and name != name.encode("utf-8", "replace").decode()):
        return "a name in a file has neither NUL nor lone surrogates"
    return None


def write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays, so that the file is the old or the new one whatever happens.

    Args:
        path: of the file, whose folder is made.
        arrays: by name.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{uuid4().hex}.tmp")
    try:
        # It must be new: a link of that name would be followed.
        with open(temporary, "xb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                _write_member(archive, name, np.asarray(array, order="C"))
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write_member(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    if array.dtype.isbuiltin == _REGISTERED:
        archive.writestr(_member(name + _DTYPE), array.dtype.name)
        array = array.view(f"u{array.dtype.itemsize}")
    large = array.nbytes > _LARGE
    with archive.open(_member(name + _ARRAY), "w", force_zip64=large) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o644 << 16
    return info


def read(path: Path) -> Arrays:
    """Return the arrays of a file by name, in their dtypes.

    Members are found by their exact names, where np.load takes "y" and "y.npy" for each other.

    Raises:
        FileError: it is not what :func:`write` writes; a FileNotFoundError where there is none.
    """
    return {key: load(path, key=key).array() for key, _, _ in list_arrays(path)}
