"""The golden comparison of two arrays that an assertion of NumPy or torch has refused.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from contextlib import suppress
from numbers import Real
from types import TracebackType
from typing import Any

_ROOMS = ("numpy.testing", "torch.testing")
_OF_ORDER = "assert_array_less"  # where neither side is what the other should be
_SIDES = (("actual", "desired"), ("actual", "expected"), ("x", "y"))


def sections_of(traceback: TracebackType | None) -> list[tuple[str, str]]:
    """Return a section for the report of a failing test; none where no arrays were refused."""
    given = _refused(traceback)
    if given is None:
        return []
    with suppress(Exception):  # what was refused may be anything, and npu_quant may be broken
        from npu_quant.golden import compare

        found = compare(**given)
        # A number may be meant for each element, and of two all has been said.
        told = any(o.notes or (o.metrics and o.metrics.count > 1) for o in found.outputs)
        if told and not found.passed:
            return [("npu_quant golden comparison", str(found))]
    return []


def _refused(traceback: TracebackType | None) -> dict[str, Any] | None:
    """Return what the outermost assertion on arrays was called with, as `compare` takes it."""
    while traceback is not None:
        frame = traceback.tb_frame
        room, name = str(frame.f_globals.get("__name__", "")), frame.f_code.co_name
        if room.startswith(_ROOMS) and name.startswith("assert_"):
            if name == _OF_ORDER:
                return None
            given = frame.f_locals
            for actual, golden in _SIDES:
                if actual in given and golden in given:
                    limits = {name: _limit(given.get(name)) for name in ("atol", "rtol")}
                    return {"actual": given[actual], "golden": given[golden], **limits}
        traceback = traceback.tb_next
    return None


def _limit(value: object) -> float | None:
    return float(value) if isinstance(value, Real) else None
