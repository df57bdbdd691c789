"""The exceptions of npu_quant: one base class, combined with Python's own exception types.

The errors of operators carry ``code``, the status that aclnn would have returned, and are
RuntimeErrors, as torch_npu's are: code written for torch_npu keeps working.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ._face import either
from ._names import dir_of

__all__ = ["DTypeError", "NpuQuantError", "ParamError"]

__dir__ = dir_of(__name__)


def meant(word: str, known: Iterable[str]) -> str:
    """Return the question whether another word was meant; "" where none is near."""
    near = difflib.get_close_matches(word.lower(), list(known), 1, 0.7)
    return f"; did you mean {near[0]}?" if near else ""


class NpuQuantError(Exception):
    """Every error that npu_quant raises itself, including a golden comparison that fails."""


class _CodedError(NpuQuantError):
    """An error with aclnn's status code; its text is that of its fields, one after the other."""

    code: int
    caller: str
    """The function that refuses its arguments; "" where that is not known."""
    argument: str
    """Which of them; "" where the reason names it."""
    reason: str
    """What is wrong with it, and what is expected."""
    remedy: str
    """What to do about it in Python: nothing to be told at a prompt."""

    def __init__(
        self,
        reason: str,
        code: int = 161002,
        *,
        caller: str = "",
        argument: str = "",
        remedy: str = "",
    ) -> None:
        self.code, self.caller, self.argument = code, caller, argument
        self.reason, self.remedy = reason, remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        caller = f"{self.caller}:" if self.caller else ""
        parts = (caller, self.argument, self.reason, either(self.remedy, ""))
        return " ".join(filter(None, parts))


class DTypeError(_CodedError, TypeError, RuntimeError):
    """An argument has the wrong dtype or is not an array; code 161001 if it is missing."""


class ParamError(_CodedError, ValueError, RuntimeError):
    """An argument's shape or value is not allowed."""
