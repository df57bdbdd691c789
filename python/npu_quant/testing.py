"""assert_golden: a comparison that fails the test, and that cannot pass by accident."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ._kinds import check
from ._names import dir_of
from .errors import NpuQuantError
from .golden.api import Comparison, Sides, compared, sides_of
from .golden.judge.request import Arguments, Limits, OperatorName, Request
from .golden.judge.tolerance import Preset

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["GoldenFixture", "GoldenMismatch", "GoldenRefused", "assert_golden"]

__dir__ = dir_of(__name__)


class GoldenFixture(Protocol):
    """What the pytest fixture ``npu_golden`` gives: :func:`assert_golden`, recorded.

    For the annotations of tests::

        def test_rows(npu_golden: npu_quant.testing.GoldenFixture) -> None: ...
    """

    def __call__(
        self, actual: Any, golden: Any = None, **arguments: Unpack[Arguments]
    ) -> Comparison:
        """Compare: :func:`assert_golden`'s arguments, with the marker ``npu_golden``'s defaults."""
        ...

    def stored(self, actual: Any, name: str = "y", **arguments: Unpack[Arguments]) -> Comparison:
        """Compare with what this test gave when ``--npu-golden-update`` stored its goldens."""
        ...


class GoldenRefused(NpuQuantError, ValueError):  # noqa: N818 (beside GoldenMismatch)
    """A comparison that could only pass: it proves nothing."""

    comparison: Comparison | None

    def __init__(self, text: str, comparison: Comparison | None = None) -> None:
        super().__init__(text)
        self.comparison = comparison


class GoldenMismatch(NpuQuantError, AssertionError):  # noqa: N818 (what it is called in tests)
    """A comparison did not pass; its text is the report."""

    comparison: Comparison

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(str(comparison))
        self.comparison = comparison

    def __repr__(self) -> str:
        return f"GoldenMismatch({self.comparison!r})"


def assert_golden(
    actual: Any,
    golden: Any = None,
    *,
    op: OperatorName | Callable[..., Any] | None = None,
    inputs: Any = None,
    numerics: str | None = None,
    atol: float | Mapping[str, float] | None = None,
    rtol: float | Mapping[str, float] | None = None,
    preset: Preset | None = None,
    variant: str | None = None,
    names: Sequence[str] | None = None,
    allow_constant: bool = False,
) -> Comparison:
    """Fail unless results equal their golden, or rounding explains the difference.

    The arguments are those of :func:`npu_quant.golden.compare`. These rungs pass: `identical`,
    `tie`, `tolerated`, and a `variant` that is the same formula in real numbers or is named by
    `variant`. Every output must pass; an output that only one side has does not pass.

    Args:
        actual: what is to be judged: an array, or a tuple or dict of arrays; None for an output
            that is not to be compared.
        golden: what it should be, in the same form; None where `op` computes it.
        op: the operator, as a name or a function.
        inputs: the operator's arguments by name, attributes included; or a tuple or list of them in
            the operator's order, or its first argument alone.
        numerics: the arithmetic profile to compute the golden with.
        atol: the greatest difference that is tolerated; a dict gives one per output.
        rtol: the same relative to the golden.
        preset: the acceptance rule of another tool, such as ``"cann"`` or ``"双千分之一"``.
        variant: the name of a formula that is accepted too.
        names: names of the outputs, where no operator gives them.
        allow_constant: accept a golden that holds one value only.

    Returns:
        The comparison that passed.

    Raises:
        GoldenMismatch: it did not pass; the text says where and how, and what is not the cause.
        GoldenRefused: it could only pass: the same array twice, no elements, a constant golden, or
            a tolerance that would also accept zeros or shuffled rows.
        DTypeError: an argument is not an array, or its dtype cannot be compared.
        ParamError: an argument does not fit the others.

    Example:
        >>> import numpy as np
        >>> from npu_quant.testing import assert_golden
        >>> x = np.array([[0, 1, -2, 4]], dtype=np.float16)
        >>> y = np.array([[0, 32, -62, 127]], dtype=np.int8)
        >>> assert_golden(y, op="npu_dynamic_quant", inputs={"input": x})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        npu_quant.testing.GoldenMismatch: DIFFERENT: [0, 2] actual -62, golden -64 (y, 1 of 4 codes)
          npu_dynamic_quant y int8 (1, 4)  actual=array  golden=computed
          1 of 4 codes differs (25 %); steps -1: 0  +1: 0  beyond: 1
          not rounding: up to 262,144 ulp from a tie, rounding explains 4
        ...
    """
    __tracebackhide__ = True
    check("assert_golden", "allow_constant", allow_constant, bool | None, "a bool")
    limits = Limits(atol, rtol, preset)
    constant = bool(allow_constant)
    request = Request(op, inputs, numerics, limits, variant, names, allow_constant=constant)
    return checked(sides_of(actual, golden, request), request, "assert_golden")


def checked(sides: Sides, request: Request, who: str) -> Comparison:
    """Compare two sides; raise unless they pass and could have failed."""
    __tracebackhide__ = True
    comparison = compared(sides, request)
    if not comparison.passed:
        raise GoldenMismatch(comparison)
    if comparison.refusal is not None:
        raise GoldenRefused(f"{who} refuses: {comparison.refusal}", comparison)
    return comparison
