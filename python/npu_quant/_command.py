"""What the command says where the package cannot be imported: importing it comes first."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_UNUSABLE = 2


@contextmanager
def ending_the_command() -> Iterator[None]:
    """End the command with a line and a status of its own where an import fails.

    Such as for a bad NPU_QUANT_TARGET. Whoever else imports the package gets the exception.
    """
    try:
        yield
    except ImportError as error:
        if not _is_command() or os.environ.get("NPU_QUANT_TRACEBACK") == "1":
            raise
        text = str(error).removeprefix("npu_quant: ")
        print(f"npu-quant: {text}", file=sys.stderr)
        raise SystemExit(_UNUSABLE) from None


def _is_command() -> bool:
    """Tell whether this process is npu-quant, or python -m npu_quant."""
    script = os.path.basename(sys.argv[0]) if sys.argv else ""
    if script != "-m":  # so it is until the module is found
        return script == "npu-quant"
    module = sys.orig_argv[-len(sys.argv)]  # the word before the arguments, such as -Imnpu_quant
    return re.fullmatch(r"(-\w*m)?npu_quant", module) is not None
