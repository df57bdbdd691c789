"""A pair that is an earlier one once more: an output of one operator, which goes into the next."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack

from ..._shown import plain as plain_data
from ..api import run
from ..folder_results import FolderRow
from ..judge.request import Request
from .pairs import Pair
from .rows import FAULTS, Pass


class Carried:
    """Gives pairs that are an earlier one, byte for byte, that one's verdict.

    An output that passes as a tie goes into the next operator: there it is the same tie.
    """

    def __init__(self, pass_: Pass) -> None:
        self._pass = pass_
        self._earlier: dict[tuple[object, ...], Pair] = {}

    def judge(self, pair: Pair, plain: FolderRow, rows: dict[str, FolderRow]) -> None:
        """Judge a pair; to be called for all of them, in the order of execution.

        Args:
            pair: the pair.
            plain: what it was found to be by itself.
            rows: what all were judged to be, by the actual file.
        """
        if plain.rung == "identical" or plain.metrics is None:
            return
        # Arrays whose differences are measured to be the same may be the same.
        origin = self._earlier.setdefault(
            (plain.dtype, plain.shape, str(plain_data(plain.metrics))), pair
        )
        row, first = rows[pair.actual.file], rows[origin.actual.file]
        if origin is pair or row.op is not None or not self._same(pair, origin):
            return
        rows[pair.actual.file] = dataclasses.replace(
            row,
            rung=first.rung,
            passed=first.passed,
            margin=first.margin,
            notes=(f"the same arrays as {first.name}",),
            report="" if first.passed else row.report,
        )

    def _same(self, pair: Pair, origin: Pair) -> bool:
        """Say whether both sides of a pair have the bytes of an earlier one's."""
        try:
            with ExitStack() as stack:
                both = (self._pass.opened(one, stack) for one in (pair, origin))
                sides = zip(*both, strict=True)
                return all(run(one, other, Request()).rung == "identical" for one, other in sides)
        except FAULTS:
            return False
