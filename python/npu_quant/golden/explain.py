"""explain: by which named formula an output was made, or by which almost."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import get_num_threads
from ..errors import DTypeError, ParamError
from .arguments import as_outputs
from .words import count

if TYPE_CHECKING:
    from .operators import Model, Part, Variant
    from .operators.matching import Actual

Array = NDArray[Any]

LINES = 12
"""How long the text of an explanation is at most."""
_HTML_ROWS = 24


@dataclass(frozen=True)
class VariantResult:
    """A named formula, and how many elements it has otherwise than the actual outputs."""

    name: str
    benign: bool
    """Whether it is the same formula over the real numbers."""
    summary: str
    """The formula, in a line."""
    source: str
    """Where it is met."""
    differing: dict[str, int]
    """Of each output that was given, by its name."""

    @property
    def total(self) -> int:
        """Differing elements of all outputs."""
        return sum(self.differing.values())

    @property
    def kind(self) -> str:
        """What a table says of it: "benign" or "other"."""
        return "benign" if self.benign else "other"


@dataclass(frozen=True)
class Explanation:
    """Every named formula of an operator against its actual outputs."""

    op: str
    outputs: dict[str, int]
    """The outputs that were given, by name: how many elements they have."""
    ranked: tuple[VariantResult, ...]
    """The nearest first; at the same number the reference, then benign ones."""
    _shapes: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def matches(self) -> tuple[VariantResult, ...]:
        """The formulas that give exactly the actual outputs."""
        return tuple(result for result in self.ranked if result.total == 0)

    def __str__(self) -> str:
        head = f"explain {self.op}: {', '.join(self._shapes.values())}"
        widths = {name: max(len(name), len(count(n))) for name, n in self.outputs.items()}
        columns = "  ".join(name.rjust(width) for name, width in widths.items())
        lines = [head, self._verdict(), f"  {columns}  kind    formula (elements that differ)"]
        alike = self._alike()
        shown = alike[: LINES - len(lines) - 1]
        for first, others in shown:
            counts = "  ".join(count(first.differing[k]).rjust(w) for k, w in widths.items())
            more = f"  (+{others} alike)" if others else ""
            lines.append(f"  {counts}  {first.kind:6}  {first.name}{more}")
        rest = sum(1 + others for _, others in alike[len(shown) :])
        if rest:
            lines.append(f"  {count(rest)} more: .ranked has all")
        return "\n".join(lines)

    def _alike(self) -> list[tuple[VariantResult, int]]:
        """Return the first of those that differ by the same numbers, and how many follow it."""
        groups: dict[tuple[int, ...], list[VariantResult]] = {}
        for result in self.ranked:
            groups.setdefault(tuple(result.differing.values()), []).append(result)
        return [(group[0], len(group) - 1) for group in groups.values()]

    def _verdict(self) -> str:
        """Say in a line which formula it is."""
        matches = self.matches
        if not matches:
            return f"  none of {count(len(self.ranked))} formulas gives exactly these outputs"
        first = matches[0]
        others = f", and {len(matches) - 1} more" if len(matches) > 1 else ""
        return f"  exactly {first.name!r} ({first.kind}): {first.summary}{others}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON takes."""
        return {
            "schema_version": 1,
            "op": self.op,
            "outputs": dict(self.outputs),
            "matches": [result.name for result in self.matches],
            "ranked": [
                {
                    "name": result.name,
                    "benign": result.benign,
                    "summary": result.summary,
                    "source": result.source,
                    "differing": dict(result.differing),
                }
                for result in self.ranked
            ],
        }

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str = "td") -> str:
            inside = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
            return f"<tr>{inside}</tr>"

        rows = [row([*self.outputs, "kind", "formula", "", "source"], "th")]
        for result in self.ranked[:_HTML_ROWS]:
            counts = [count(result.differing[name]) for name in self.outputs]
            rows.append(row([*counts, result.kind, result.name, result.summary, result.source]))
        rest = len(self.ranked) - _HTML_ROWS
        more = f"<p>{count(rest)} more: <code>.ranked</code> has all</p>" if rest > 0 else ""
        head = f"explain {self.op}: {', '.join(self._shapes.values())}"
        return (
            f"<p><strong>{html.escape(head)}</strong><br>{html.escape(self._verdict().strip())}"
            f"</p><table>{''.join(rows)}</table>{more}"
        )


def explain(
    actual: Any,
    op: str | Callable[..., Any],
    inputs: Mapping[str, Any],
    *,
    numerics: str | None = None,
) -> Explanation:
    """Try every named formula of an operator on its inputs, and rank them by what they get right.

    Args:
        actual: what the operator gave: its first output, a tuple in its order with None for what
            is not at hand, or a dict by the outputs' names.
        op: the operator or its name.
        inputs: its arguments by their names, attributes too.
        numerics: the arithmetic profile of the golden, by default the current one; the formulas
            do not depend on it.

    Returns:
        An :class:`Explanation`: print it, or look at ``matches`` and ``ranked``.

    Raises:
        ParamError: `op` or `inputs` do not fit, or an actual output has another shape.
        DTypeError: an actual output has another dtype.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0.3, 1, -2, 4], [5, 2.6, 1.2, -3.4]], dtype=np.float16)
        >>> y = np.array([[9, 31, -63, 127], [127, 66, 30, -86]], dtype=np.int8)
        >>> explanation = npu_quant.golden.explain(y, "npu_dynamic_quant", {"input": x})
        >>> explanation.matches[0].name
        'truncation'
    """
    from .operators import model_of
    from .operators.matching import Actual

    model = model_of(op, inputs, numerics)
    given = as_outputs(actual, model.outputs, "actual")
    sources = [given.get(name) for name in model.outputs]
    arrays = [None if source is None else source.array() for source in sources]
    if all(array is None for array in arrays):
        raise ParamError("explain: actual has no array.")
    _check(model, arrays)
    results = _ranked(model, Actual(model, arrays))
    shapes = {
        name: f"{name} {array.dtype} {array.shape}"
        for name, array in zip(model.outputs, arrays, strict=False)
        if array is not None
    }
    sizes = {
        name: int(array.size)
        for name, array in zip(model.outputs, arrays, strict=False)
        if array is not None
    }
    return Explanation(model.op, sizes, results, shapes)


def _check(model: Model, arrays: Sequence[Array | None]) -> None:
    """Complain of outputs that the operator does not give."""
    for name, array, golden in zip(model.outputs, arrays, model.golden(), strict=False):
        if array is None or golden is None:
            continue
        if array.dtype != golden.dtype:
            raise DTypeError(
                f"explain: actual {name} has dtype {array.dtype}, {model.op} gives {golden.dtype}."
            )
        if array.shape != golden.shape:
            raise ParamError(
                f"explain: actual {name} has shape {array.shape}, {model.op} gives {golden.shape}."
            )


def _ranked(model: Model, actual: Actual) -> tuple[VariantResult, ...]:
    """Count for every formula what it has otherwise."""
    from .operators import applicable
    from .operators.matching import Work

    variants = applicable(model)

    def counts(part: Part) -> NDArray[np.int64]:
        work = Work(part, actual)
        table = [[work.count(variant, output) for output in actual.given] for variant in variants]
        part.forget()
        return np.array(table, np.int64).reshape(len(variants), len(actual.given))

    totals = np.zeros((len(variants), len(actual.given)), np.int64)
    with ThreadPoolExecutor(get_num_threads()) as pool:
        for table in pool.map(counts, model.parts()):
            totals += table
    order = sorted(range(len(variants)), key=lambda i: _rank(variants[i], int(totals[i].sum()), i))
    names = [model.outputs[output] for output in actual.given]
    return tuple(_result(variants[i], dict(zip(names, totals[i], strict=True))) for i in order)


def _rank(variant: Variant, total: int, place: int) -> tuple[int, bool, bool, int]:
    return total, variant.name != "reference", not variant.benign, place


def _result(variant: Variant, differing: Mapping[str, Any]) -> VariantResult:
    counts = {name: int(n) for name, n in differing.items()}
    return VariantResult(variant.name, variant.benign, variant.summary, variant.source, counts)
