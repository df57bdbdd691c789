"""``npu-quant aclnn-prefix``: where the C API is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .. import aclnn_prefix
from .console import write, write_error


def run(words: Sequence[str]) -> int:
    """Print the folder of the C API."""
    description = "Print the folder that holds the include/, lib64/ and share/ of the C API."
    argparse.ArgumentParser(
        prog="npu-quant aclnn-prefix", description=description, allow_abbrev=False
    ).parse_args(words)
    try:
        write(aclnn_prefix())
    except FileNotFoundError as error:
        write_error("npu-quant", str(error))
        return 1
    return 0
