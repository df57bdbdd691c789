"""What the command says where the package is not imported to the end: importing it comes first."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

NEEDED = ("numpy", "ml_dtypes")  # and rich, where a table is drawn
_UNUSABLE, _INTERRUPTED = 2, 130


@contextmanager
def ending_the_command() -> Iterator[None]:
    """End the command with a line and a status of its own where an import fails, or at Ctrl-C.

    Such as for a bad NPU_QUANT_TARGET. Whoever else imports the package gets the exception. Ctrl-C
    is taken until :func:`begin_command`: what comes after these imports takes its time, too.
    """
    if not _is_command() or os.environ.get("NPU_QUANT_TRACEBACK") == "1":
        yield
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    try:
        yield
    except ImportError as error:
        text = str(error).removeprefix("npu_quant: ")
        print(f"npu-quant: {text}", file=sys.stderr)
        raise SystemExit(_UNUSABLE) from None


def require_packages() -> None:
    """Say in a line what is not installed: an import further in would only say that it failed."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise ImportError(
            f"npu_quant: {' and '.join(missing)} {are} not installed. "
            f"Run: {shlex.quote(sys.executable)} -m pip install {' '.join(missing)}"
        )


def begin_command() -> None:
    """Have Ctrl-C raise KeyboardInterrupt from here on, which the command answers."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> None:
    """End at once: an exception would become another one in an extension that is imported."""
    print("npu-quant: interrupted", file=sys.stderr, flush=True)
    os._exit(_INTERRUPTED)


def _is_command() -> bool:
    """Tell whether this process is npu-quant, or python -m npu_quant."""
    script = os.path.basename(sys.argv[0]) if sys.argv else ""
    if script != "-m":  # so it is until the module is found
        return script == "npu-quant"
    module = sys.orig_argv[-len(sys.argv)]  # the word before the arguments, such as -Imnpu_quant
    return re.fullmatch(r"(-\w*m)?npu_quant", module) is not None
