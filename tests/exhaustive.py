"""Which tests run: those of every change, or also the exhaustive proofs and full-size cases.

`make test-exhaustive` sets the variable; the GoogleTests read it, too (cpp/reference.h).
"""

import os

VARIABLE = "NPU_QUANT_EXHAUSTIVE"
IS_ASKED_FOR = bool(os.environ.get(VARIABLE))


def every(step: int) -> int:
    """Return the step through values of which `make test` tries every `step`-th."""
    return 1 if IS_ASKED_FOR else step
