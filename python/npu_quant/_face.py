"""Who reads what is said: the author of a Python program, or somebody at a prompt."""

from __future__ import annotations

from contextvars import ContextVar

AT_PROMPT: ContextVar[bool] = ContextVar("npu_quant.at_prompt", default=False)
"""Whether the command line is running, whose options are none of Python's arguments."""


def either(python: str, prompt: str) -> str:
    """Return how the reader calls something."""
    return prompt if AT_PROMPT.get() else python
