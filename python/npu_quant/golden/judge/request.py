"""What a comparison is asked for, besides the arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict, Union

import numpy as np

from ... import _kinds
from ..._kinds import Progress
from ...errors import ParamError
from .tolerance import Preset, rule_of

if TYPE_CHECKING:
    from ...ops import _Operator

    OperatorName = _Operator  # each name is a Literal
else:
    OperatorName = str

# Union, since these are evaluated and Python 3.10 lacks some | of them.
Limit = Union[float, Mapping[str, float], None]  # noqa: UP007


class Arguments(TypedDict, total=False):
    """What a comparison in a test is asked for, besides the arrays."""

    op: OperatorName | Callable[..., Any] | None
    inputs: Any
    numerics: str | None
    atol: Limit
    rtol: Limit
    preset: Preset | None
    variant: str | None
    names: Sequence[str] | None
    allow_constant: bool | None


@dataclass(frozen=True)
class Limits:
    """The tolerance that was asked for."""

    atol: Limit = None
    rtol: Limit = None
    preset: str | None = None

    def of(self, name: str) -> tuple[float, float] | None:
        """Return (atol, rtol) of an output; None where nothing was asked for."""
        atol, rtol = (
            limit.get(name) if isinstance(limit, Mapping) else limit
            for limit in (self.atol, self.rtol)
        )
        return None if atol is None and rtol is None else (atol or 0.0, rtol or 0.0)

    def text(self, name: str) -> str:
        """Return it in words."""
        if self.preset is not None:
            return f"preset {self.preset}"
        limits = self.of(name) or (0.0, 0.0)
        return f"atol={limits[0]:g}, rtol={limits[1]:g}"

    def check_names(self, outputs: Sequence[str]) -> None:
        """Raise ParamError if a limit is for an output that there is not."""
        for kind, limit in (("atol", self.atol), ("rtol", self.rtol)):
            for name in limit if isinstance(limit, Mapping) else ():
                if name not in outputs:
                    listed = ", ".join(filter(None, outputs)) or "one without a name"
                    raise ParamError(f"{kind} is for {name!r}, the outputs are {listed}.")

    def check(self) -> None:
        """Raise ParamError unless these are limits."""
        if self.preset is not None:
            _kinds.check("compare", "preset", self.preset, str | None, "a name")
            rule_of(self.preset)
            if self.atol is not None or self.rtol is not None:
                raise ParamError("preset comes with its own limits; leave atol and rtol out.")
        for name, limit in (("atol", self.atol), ("rtol", self.rtol)):
            for value in limit.values() if isinstance(limit, Mapping) else [limit]:
                if value is None:
                    continue
                numbers = (int, float, np.integer, np.floating)
                if isinstance(value, bool) or not isinstance(value, numbers):
                    raise _kinds.wrong("compare", name, value, "a number")
                if not 0 <= value <= sys.float_info.max:
                    given = _kinds.told(value if isinstance(value, int) else float(value))
                    raise ParamError(f"{name} is {given}, expected a number of 0 or more.")


@dataclass(frozen=True)
class Request:
    """The arguments of a comparison but the arrays; `compare`'s and what its faces add."""

    op: str | Callable[..., Any] | None = None
    inputs: Any = None
    numerics: str | None = None
    limits: Limits = field(default_factory=Limits)
    variant: str | None = None
    names: Sequence[str] | None = None
    actual_name: str = ""
    golden_name: str = ""
    rerun: str = ""
    progress: Progress | None = None
    axis: int | None = None
    """An axis along which to say where differences lie, besides rows and columns."""
    allow_constant: bool = False
    """Whether a golden of one value only is meant."""

    def check(self, who: str = "compare") -> None:
        """Raise TypeError of an argument of a wrong kind, ParamError of a limit that is none."""
        if not callable(self.op):
            _kinds.check(who, "op", self.op, str | None, "an operator or its name")
        _kinds.check(who, "numerics", self.numerics, str | None, "a profile's name")
        _kinds.check(who, "variant", self.variant, str | None, "a formula's name")
        _kinds.check_callable(who, "progress", self.progress)
        _kinds.check(who, "allow_constant", self.allow_constant, bool, "a bool")
        if self.axis is not None:
            _kinds.whole(who, "axis", self.axis)
        self.limits.check()
