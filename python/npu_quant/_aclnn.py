"""Where the C API is: headers, libraries and package files for programs that link with it."""

from __future__ import annotations

from pathlib import Path

from . import _core


def aclnn_prefix() -> str:
    """Return the folder of the C API: ``include/``, ``lib64/`` and ``share/`` are in it.

    A program is compiled with ``-I<prefix>/include`` and linked with ``-L<prefix>/lib64
    -Wl,-rpath,<prefix>/lib64`` and the names it has always been linked with, such as
    ``-lopapi_nn -lascendcl``. ``CMAKE_PREFIX_PATH=<prefix>`` makes CMake find the package
    ``npu_quant``, ``PKG_CONFIG_PATH=<prefix>/share/pkgconfig`` makes pkg-config find it.

    Raises:
        FileNotFoundError: this build has no C API.

    Example:
        >>> import os, npu_quant
        >>> sorted(os.listdir(npu_quant.aclnn_prefix()))
        ['include', 'lib64', 'share']
    """
    prefix = Path(_core.__file__).resolve().parent / "aclnn"
    if not (prefix / "lib64").is_dir():
        raise FileNotFoundError(
            f"npu_quant was built without its C API: {prefix} is missing. "
            "Install it again with pip install -C cmake.define.NPU_QUANT_ACLNN=ON."
        )
    return str(prefix)
