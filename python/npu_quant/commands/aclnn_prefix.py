"""``npu-quant aclnn-prefix``: where the C API is."""

from __future__ import annotations

from collections.abc import Sequence

from .. import aclnn_prefix
from .arguments import Parser
from .console import write, write_error


def run(words: Sequence[str]) -> int:
    """Print the folder of the C API."""
    description = "Print the folder that holds the include/, lib64/ and share/ of the C API."
    Parser("aclnn-prefix", description).parse_args(words)
    try:
        write(aclnn_prefix())
    except FileNotFoundError as error:
        write_error("npu-quant", str(error))
        return 1
    return 0
