"""Where codes may have come from: each move is tried on all of an output, and on the place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ..elements import Elements, Float64, Floats
from ..measure.layout import Layout, every, ranged
from ..measure.parts import Index, Part, elements, some_of
from ..results import Where
from .look import FEW_CODES, FEW_FLOATS, LEFT, Guess, Look, is_varied

_NEEDLES, _MOST_FOUND, _WINDOW = 4, 8, 16
_MOST_AXES = 4
_MOST_SEARCHED = 1 << 26
_MOST_ROWS, _MOST_WIDTH = 1 << 12, 1 << 10
_ROWS_AT_ONCE = 256
_COLUMNS_LOOKED_AT = 64
_MOST_REPEATED = 1 << 18
"""Columns of a row, of which some rows are read whole."""
_FEW_ROWS = 4
"""So many rows at least show a rule."""
_WRONG_ROW = 10
"""A row is wrong, and not off by ties, if one in so many of its elements differs."""
_NEAR = ((0, 1), (0, -1), (1, 0), (-1, 0))
_LANES = tuple((0, way * size) for size in (2, 4, 8, 16, 32, 64) for way in (1, -1))
"""From where single columns may come."""

Origin = Callable[[Index], Index]
"""From which columns some columns come."""


def orders(look: Look) -> Iterator[Guess]:
    """Exchange neighbours; reverse; transpose; within the part."""
    part, where = look.part, look.part.where
    n, rows, columns = part.layout.columns, part.rows, part.columns
    golden = part.values[1]
    is_packed = part.own.name[:6] in ("int4", "float4")
    pairs = (2, "the two codes of each byte") if is_packed else (2, "each two neighbours")
    for size, text in (pairs, (8, "the 8 codes of each int32"))[: 1 + is_packed]:
        at = columns // size * size + size - 1 - columns % size
        # All codes of a group take part: one alone has its neighbour's, which is another cause.
        if n % size == 0 and 2 * np.count_nonzero(np.isin(at, columns)) > len(at):
            yield Guess(f"{text} are in reverse order {where}", _at(look, rows, at))
    if _is_run(columns) and (part.name or len(columns) == n):
        yield Guess(f"{look.axes[1]}s are in reverse order {where}", golden[:, ::-1])
    if _is_run(rows) and len(rows) > 1:
        yield Guess(f"{look.axes[0]}s are in reverse order {where}", golden[::-1])
    if _is_run(rows) and _is_run(columns) and golden.shape[0] == golden.shape[1]:
        yield Guess(f"{part.subject} transposed", golden.T)


def _is_run(places: Index) -> bool:
    return len(places) > 0 and int(places[-1] - places[0]) + 1 == len(places)


def _at(look: Look, rows: Index, columns: Index) -> Float64:
    """Return golden values of rows and columns, which may be in any order."""
    inorder, back = np.unique(columns, return_inverse=True)
    return look.part.own.values(elements(look.part.golden, rows, inorder)[:, back])


def layouts(look: Look) -> Iterator[Guess]:
    """Write all elements with their axes in another order, or even columns before odd ones."""
    part, shape = look.part, look.part.golden.shape
    if part.name or part.golden.shape != part.actual.shape or not part.golden.shape:
        return
    golden, half = part.golden.array(), shape[-1] // 2
    views = [(shape, order, f"in the order {order} of {shape}") for order in _orders(len(shape))]
    if shape[-1] % 2 == 0 and len(shape) < 3:
        views.append(((-1, half, 2), (0, 2, 1), "even columns before odd ones"))
        views.append(((-1, 2, half), (0, 2, 1), "odd columns beside even ones"))
    for own, order, text in views:
        moved = np.transpose(golden.reshape(own), order)
        values = part.own.values(moved[np.unravel_index(part.index, moved.shape)])
        yield Guess(f"elements lie in another order: {text}", values)


def _orders(rank: int) -> list[tuple[int, ...]]:
    """Return all orders of a few axes but their own."""
    return list(permutations(range(rank)))[1:] if rank <= _MOST_AXES else []


def elsewhere(look: Look) -> Iterator[Guess]:
    """Take the golden's elements from some rows and columns away: beyond a row, or round."""
    part = look.part
    height, width = part.layout
    for down, right in offsets(look):
        rows, columns = part.rows - down, part.columns - right
        inside = ((rows >= 0) & (rows < height))[:, None] & (columns >= 0) & (columns < width)
        text = _moved(look, down, right)
        values = _at(look, rows % height, columns % width)
        yield Guess(text, values, inside)
        yield Guess(text, values)
        if part.name and down == 0 and _is_run(part.columns):
            yield Guess(text, np.roll(part.values[1], right, axis=1))


def repeats(look: Look) -> Iterator[Guess]:
    """Write some columns twice, in the place of others."""
    part = look.part
    n, noun = part.layout.columns, look.axes[1]
    if n > _MOST_REPEATED:
        return
    probe = _probe(look)
    for size in (1 << i for i in range(int(n).bit_length() - 1)):
        for text, origin in _doublings(size, noun):
            if probe(origin):
                yield Guess(f"{text} {part.where}", _at(look, part.rows, origin(part.columns) % n))


def _doublings(size: int, noun: str) -> list[tuple[str, Origin]]:
    """Return how runs of columns may be there twice, in words and by where columns come from."""

    def second(at: Index) -> Index:
        return at - size * (at // size % 2)

    def first(at: Index) -> Index:
        return at + size * (1 - at // size % 2)

    def stretched(at: Index) -> Index:
        return at // (2 * size) * size + at % size

    run = f"{size} {noun}s"
    texts = (
        f"each second {run} repeat the {size} before",
        f"each first {run} repeat the {size} behind",
    )
    if size == 1:
        run, texts = noun, (f"odd {noun}s repeat even ones", f"even {noun}s repeat odd ones")
    return [(texts[0], second), (texts[1], first), (f"each {run} twice", stretched)]


def _probe(look: Look) -> Callable[[Origin], bool]:
    """Return what tells of a map of columns whether it gives most that is wrong in a few rows."""
    part, n = look.part, look.part.layout.columns
    fullest = np.argsort(-np.count_nonzero(look.wrong, axis=1), kind="stable")[:_NEEDLES]
    fullest.sort()
    wrong, actual = look.wrong[fullest], part.values[0][fullest]
    golden = part.own.values(elements(part.golden, part.rows[fullest], np.arange(n)))

    def gives_most(origin: Origin) -> bool:
        made = golden[:, origin(part.columns) % n]
        given = np.count_nonzero(wrong & look.alike(actual, made))
        return bool(2 * given > np.count_nonzero(wrong))

    return gives_most


def _moved(look: Look, down: int, right: int) -> str:
    part = look.part
    row, column = look.axes
    if not down:
        way = ("up", "down") if column == "row" else ("left", "right")
        return f"{part.subject} shifted {way[right > 0]} by {_counted(abs(right), column)}"
    if not right:
        ways = "down" if down > 0 else "up"
        return f"{part.subject} shifted {ways} by {_counted(abs(down), row)}"
    return f"{part.subject} shifted by {_counted(down, row)} and {_counted(right, column)}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if abs(count) == 1 else 's'}"


def offsets(look: Look) -> list[tuple[int, int]]:
    """Return how far down and to the right some pieces of the part lie in the golden.

    Floats are looked for without their last bits.
    """
    part, found = look.part, dict[tuple[int, int], None]()
    size = part.layout.rows * part.layout.columns
    if not _is_run(part.columns[:_WINDOW]):
        return [*_NEAR, *_LANES]
    if size > _MOST_SEARCHED:
        return list(_NEAR)
    hay = _keys(part.own, part.golden.read(0, size))
    for row, begin in _pieces(look):
        width = min(_WINDOW, len(part.columns) - begin)
        actual = _keys(part.own, part.codes[0][row, begin : begin + width])
        if not is_varied(actual):
            continue
        at = int(part.index[row, begin])
        for place in _find(hay, actual).tolist():
            down = at // part.layout.columns - place // part.layout.columns
            right = at % part.layout.columns - place % part.layout.columns
            if (down, right) != (0, 0):
                found[down, right] = None
    nearest = sorted(found, key=lambda offset: (abs(offset[0]), abs(offset[1])))
    return [*nearest[:_MOST_FOUND], *_NEAR]


def _pieces(look: Look) -> list[tuple[int, int]]:
    """Return where some pieces of rows begin in which much is wrong."""
    wrong, width = look.wrong, min(_WINDOW, look.wrong.shape[1])
    most = np.lib.stride_tricks.sliding_window_view(wrong, width, axis=1).sum(axis=2)
    at = np.flatnonzero(2 * most > width)
    chosen = at[some_of(len(at), _NEEDLES)]
    return [divmod(int(place), most.shape[1]) for place in chosen]


def _keys(own: Elements, codes: NDArray[Any]) -> NDArray[Any]:
    """Return what elements are looked for by."""
    bits = np.ascontiguousarray(codes).view(f"u{codes.dtype.itemsize}")
    dropped = dropped_bits(own)
    if not dropped:
        return bits
    return np.asarray((bits + (dropped.dtype.type(1) << dropped - 1)) >> dropped)


def dropped_bits(own: Elements) -> Any:
    """Return how many last bits of floats rounding may change, as one of their bits' dtype."""
    size = own.carrier.itemsize
    drop = {2: 3, 4: 12, 8: 32}.get(size, 0) if isinstance(own, Floats) else 0
    return np.dtype(f"u{size}").type(drop)


def _find(hay: NDArray[Any], needle: NDArray[Any]) -> Index:
    """Return where an array begins in another one."""
    at = np.flatnonzero(hay[: len(hay) - len(needle) + 1] == needle[0])
    for i in range(1, len(needle)):
        at = at[hay[at + i] == needle[i]]
        if not len(at):
            break
    return at[:_MOST_FOUND]


def swapped_axes(actual: Source, golden: Source, own: Elements) -> Iterator[str]:
    """Compare some rows of the golden with the columns that would come from them."""
    *batch, n, m = golden.shape if len(golden.shape) > 1 else (0, 0)
    if min(n, m) < 2 or actual.shape != (*batch, m, n):
        return
    ours, theirs = some_of(m), some_of(n)
    a = own.values(elements(actual, ours, theirs))
    g = own.values(elements(golden, theirs, ours)).T
    # Neighbours are as much alike as chance has it; and there may be nothing to swap.
    others = [np.roll(g, 1, axis=0), np.roll(g, 1, axis=1)]
    if n == m:
        others.append(g.T)
    part = Part(actual, golden, own, "", ours, theirs)
    look = Look(part, None, -1, has_ties=False)
    unlike = [int(np.count_nonzero(~look.alike(a, other))) for other in (g, *others)]
    if min(unlike[1:]) >= FEW_CODES and unlike[0] * LEFT <= min(unlike[1:]):
        yield "the last two axes are swapped"


def moved_rows(actual: Source, golden: Source, own: Elements, where: Where) -> Iterator[str]:
    """Find whole rows of the golden at other places."""
    rows, columns = Layout.of(golden.shape)
    begins = np.flatnonzero(where.row_counts * _WRONG_ROW > columns) * where.row_bucket
    every_wrong = (begins[:, None] + np.arange(where.row_bucket)).reshape(-1)
    every_wrong = every_wrong[every_wrong < rows]
    wrong = every_wrong[:_MOST_ROWS]
    if rows < 2 or columns < FEW_FLOATS or not len(wrong):
        return
    some = np.arange(min(columns, _MOST_WIDTH))
    among = np.arange(rows) if rows <= _MOST_ROWS else wrong
    a, g = elements(actual, wrong, some), elements(golden, among, some)
    nearest = _nearest_rows(a, g, own, some_of(len(some), _COLUMNS_LOOKED_AT))
    look = Look(Part(actual, golden, own, "", wrong, some), None, -1, has_ties=False)
    at = nearest, np.searchsorted(among, wrong)
    few = [slice(i, i + _ROWS_AT_ONCE) for i in range(0, len(wrong), _ROWS_AT_ONCE)]
    are_other = np.concatenate(
        [_are_other(look, *map(own.values, (a[i], *(g[j[i]] for j in at)))) for i in few]
    )
    moved = list(zip(wrong[are_other], among[nearest[are_other]], strict=True))
    if not moved or 2 * len(moved) < len(wrong):
        return
    rule = None
    if len(moved) >= _FEW_ROWS:
        ends = int(every_wrong[0]), int(every_wrong[-1])
        at, origin = np.array(moved).T
        rule = _rule_of(at, origin, where.axes[0], rows, ends)
    shown = ", ".join(f"{row} holds the golden's {origin}" for row, origin in moved[:3])
    more = f" and {len(moved) - 3} more" if len(moved) > 3 else ""
    yield rule or f"{where.axes[0]}s are in wrong places: {shown}{more}"


def _rule_of(at: Index, origin: Index, noun: str, rows: int, ends: tuple[int, int]) -> str | None:
    """Say in one sentence where rows come from; None where there is no rule.

    Args:
        at: the rows, in order.
        origin: which row of the golden each is.
        noun: what a row is called.
        rows: how many there are.
        ends: the first and the last row that is wrong.
    """
    steps = set(np.diff(at).tolist())
    where = f"in {ranged(noun, *ends)} "
    if len(steps) == 1 and steps != {1}:
        where = f"in {noun}s {every(steps.pop(), int(at[0]))} "
    down = (at - origin + rows // 2) % rows - rows // 2
    usual = int(np.median(down))
    by = abs(usual)
    if by and np.count_nonzero(down != usual) * LEFT <= len(at):  # some rows are alike
        is_all = ends[0] <= by and ends[1] >= rows - 1 - by and 2 * len(at) > rows
        way = "before it" if usual > 0 else "after it"
        which = f"{noun} {way}" if by == 1 else f"{noun} {by} {way}"
        return f"{'' if is_all else where}each {noun} is the golden's {which}"
    if np.all(at + origin == sum(ends)):
        return f"{'' if ends == (0, rows - 1) else where}{noun}s are in reverse order"
    times = int(at[-1] // max(1, origin[-1]))
    if times > 1 and np.all(origin == at // times):
        return f"each {noun} is there {times} times: {noun} i is the golden's {noun} i // {times}"
    return None


def _nearest_rows(a: NDArray[Any], g: NDArray[Any], own: Elements, columns: Index) -> Index:
    """Return of each row which of some others is nearest to it, by steps in some columns."""
    ours, theirs = (
        own.places(np.ascontiguousarray(side[:, columns])).astype(np.float64) for side in (a, g)
    )
    lengths = (theirs * theirs).sum(axis=1)
    nearest = [
        np.argmin(lengths - 2 * (ours[i : i + _ROWS_AT_ONCE] @ theirs.T), axis=1)
        for i in range(0, len(ours), _ROWS_AT_ONCE)
    ]
    return np.concatenate(nearest)


def _are_other(look: Look, actual: Float64, other: Float64, golden: Float64) -> NDArray[np.bool_]:
    """Say which rows are another one of the golden than their own, and not of one value."""
    left, differing = (np.count_nonzero(~look.alike(actual, g), axis=1) for g in (other, golden))
    varied = (actual != actual[:, :1]).any(axis=1)
    are_other: NDArray[np.bool_] = varied & (differing >= FEW_FLOATS) & (left * LEFT <= differing)
    return are_other
