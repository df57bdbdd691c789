"""Every operator on memory of every layout: its arguments, its results, and what lies around these."""

from __future__ import annotations

import itertools

import numpy as np
from cases import every_case, every_kind
from cases.case import GUARDED, Arguments, Case, check
from cases.case import settings as grid
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import Array, guarded, layouts, out_layouts


def arrays(a: Arguments) -> dict[str, Array]:
    return {name: value for name, value in a.items() if isinstance(value, np.ndarray)}


def pairs(counts: list[int], rank: int) -> list[tuple[int, int]]:
    """Return places in the first list and in the second, if there is one; of high ranks some."""
    if len(counts) == 1:
        return [(i, 0) for i in range(counts[0])]
    if rank > 3:
        return [(i, j) for i in range(counts[0]) for j in {0, i % counts[1]}]
    return list(itertools.product(range(counts[0]), range(counts[1])))


@every_kind
def test_arguments_of_every_layout(case: Case, kind: Arguments, rng: np.random.Generator) -> None:
    """Each layout of the first with each of the second, while the others take the next ones."""
    for setting in case.layouts:
        a = case.tried(rng, setting, **kind)[-1]
        expected = case.expected(a)
        views = {
            name: [(layout, view) for layout, view in layouts(value) if case.takes(view)]
            for name, value in arrays(a).items()
        }
        for i, j in pairs([len(of_name) for of_name in views.values()], len(setting[0])):
            chosen = {
                name: of_name[(j + nth - 1 if nth else i) % len(of_name)]
                for nth, (name, of_name) in enumerate(views.items())
            }
            where = ", ".join(f"{name} {layout}" for name, (layout, _) in chosen.items())
            laid_out = {name: view for name, (_, view) in chosen.items()}
            check(case, a | laid_out, expected, where=where)


@every_kind
def test_arguments_that_repeat(case: Case, kind: Arguments, rng: np.random.Generator) -> None:
    """A stride of 0 stands for a row or an element that is there once; an array may serve twice."""
    for setting in case.layouts:
        a = case.tried(rng, setting, **kind)[-1]
        for name, value in arrays(a).items():
            for part in (value[:1], value[(slice(0, 1),) * value.ndim]) if value.ndim > 0 else ():
                check(case, a | {name: np.broadcast_to(part, value.shape)}, where=name)
        for (one, value), (other, like) in itertools.combinations(arrays(a).items(), 2):
            if (value.dtype, value.shape) == (like.dtype, like.shape):
                check(case, a | {other: value}, where=f"{other} is {one}")


@every_kind
def test_results_of_every_layout(case: Case, kind: Arguments, rng: np.random.Generator) -> None:
    """Each layout of one with each of another, for arguments in rows and in columns."""
    for setting in case.outs:
        a = case.tried(rng, setting, **kind)[-1]
        expected = case.expected(a)
        ways = [
            [(layout, out) for layout, out in out_layouts(e.shape, e.dtype) if case.takes(out)]
            for e in expected
        ]
        for i, j in pairs([5] * len(ways), len(setting[0])):
            chosen = [way[(i + nth * j) % len(way)] for nth, way in enumerate(ways)]
            where, out = " and ".join(name for name, _ in chosen), tuple(o for _, o in chosen)
            check(case, a, expected, out, where)
            check(case, case.in_columns(a), expected, out, f"in columns, {where}")


@every_kind
def test_nothing_is_written_outside(case: Case, kind: Arguments, rng: np.random.Generator) -> None:
    """Into any of the results, aligned or not; what is not wanted is None."""
    for setting, offset in itertools.product(grid(*GUARDED, **case.guards), (0, 1, 16)):
        a = case.tried(rng, setting, **kind)[-1]
        expected = case.expected(a)
        for wanted in itertools.product((True, False), repeat=len(expected)):
            if not all(wanted) and (case.in_c or not case.fields):
                continue
            with guarded([e if w else None for e, w in zip(expected, wanted, strict=True)], offset) as out:  # fmt: skip
                check(case, a, expected, out, f"{wanted} at {offset}")


@every_kind
def test_without_elements(case: Case, kind: Arguments, rng: np.random.Generator) -> None:
    """Any axis may be empty."""
    for shape, options in case.layouts if case.may_be_empty else ():
        for axis in range(len(shape)):
            empty = (*shape[:axis], 0, *shape[axis + 1 :])
            check(case, case.tried(rng, (empty, options), **kind)[-1], where=str(empty))


@every_kind
def test_an_earlier_result_serves_as_out(
    case: Case, kind: Arguments, rng: np.random.Generator
) -> None:
    a, b = (case.tried(rng, case.outs[0], **kind)[0] for _ in range(2))
    check(case, b, out=case.run(a))


@every_case
def test_results_have_their_names(case: Case, rng: np.random.Generator) -> None:
    kind = next(iter(case.kinds.values()))
    result = case.operator(**case.given(case.tried(rng, case.outs[0], **kind)[0]))
    assert getattr(result, "_fields", ()) == case.fields
    assert all(getattr(result, name) is result[i] for i, name in enumerate(case.fields))


def strided(rng: np.random.Generator, value: Array, least: int) -> Array:
    """Return an array equal to value, with steps of any size and sign from least on, and gaps."""
    if value.ndim == 0:
        return value
    order = rng.permutation(value.ndim)
    steps = rng.choice([step for step in range(least, 4) if step != 0], value.ndim)
    gaps = rng.integers(0, 3, value.ndim)
    shape = [int(n * abs(s) + g) for n, s, g in zip(value.shape, steps, gaps, strict=True)]
    memory = np.zeros([shape[axis] for axis in order], value.dtype).transpose(np.argsort(order))
    view = memory[tuple(slice(None, n * abs(s), abs(s)) for n, s in zip(value.shape, steps, strict=True))]  # fmt: skip
    view = view[tuple(slice(None, None, int(np.sign(s))) for s in steps)]
    view[...] = value
    return view


@every_case
@settings(max_examples=60, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 6), n=st.integers(1, 300))  # fmt: skip
def test_rows_of_any_length_are_independent_and_strides_never_matter(
    case: Case, data: st.DataObject, seed: int, rows: int, n: int
) -> None:
    kind = data.draw(st.sampled_from(list(case.kinds.values())))
    rng = np.random.default_rng(seed)
    a = case.tried(rng, ((rows, n), {}), **kind)[-1]
    expected = case.expected(a)
    case.same(case.run(a), expected)
    if case.in_order:
        order = rng.permutation(rows)
        moved = a | {name: a[name][order] for name in case.rows}
        # A result without rows is of all of them.
        case.same(
            case.run(moved), tuple(e[order] if e.shape[:1] == (rows,) else e for e in expected)
        )
    least = 1 if case.in_c else -3
    anyhow = a | {name: strided(rng, value, least) for name, value in arrays(a).items()}
    case.same(case.run(anyhow), expected)
