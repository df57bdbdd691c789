"""compare_folders and what it returns."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ... import _kinds
from ..._kinds import Progress
from ..._text import printable
from ...errors import ParamError, meant
from ...files.folder import Entry, Folder, folder_of
from ..folder_results import FolderComparisonData
from ..judge.request import Limits
from ..operators.dumped import Rule, names_of, rules_of
from ..report import folder
from ..report.reports import Reported
from .by_operator import groups_of, judge, said_by_name
from .carried import Carried
from .computed import rows_of_calls
from .pairs import Pair, alone_of, pairs_of
from .rows import Pass, plain_rows


class FolderComparison(Reported, FolderComparisonData):
    """What :func:`npu_quant.golden.compare_folders` returns: a row per array.

    ``str()`` is the report, with a line for each call that fails; :meth:`to_html` a page with a
    table of all arrays and pictures. It is plain data: later changes of the files do not
    change it, and it can be pickled.
    """

    def to_html(self, below: Reported | None = None) -> str:
        """Return a page that needs nothing else: a table to sort, and pictures of what fails."""
        return folder.page_of(self)

    _report, _data = folder.report_of, folder.data_of

    def __repr__(self) -> str:
        state = "passed" if self.passed else f"{len(self.failing)} differ"
        return f"<FolderComparison of {len(self.rows)} arrays: {state}>"


def compare_folders(
    actual: str | os.PathLike[str],
    golden: str | os.PathLike[str] | None = None,
    *,
    ops: str | Mapping[str, Any] | None = None,
    mapping: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    preset: str | None = None,
    dtype: str | Mapping[str, str] | None = None,
    shape: Mapping[str, Sequence[int]] | None = None,
) -> FolderComparison:
    """Compare the arrays of two folders by their names, and say which differs first.

    Arrays are paired by path and name, whatever their format: ``a/y.pt`` with ``a/y.npy``. Arrays
    in files with several (.npz, .safetensors, .pt) are paired by their keys, too; two such files
    can be compared instead of folders. The order is that of execution if it is known: the order of
    msprobe's dump.json, else the order of the names, with the numbers in them as numbers. One pair
    is read at a time, and in pieces: the folders may hold more than fits in memory.

    The folders that msprobe (Ascend mstt) writes for its tasks tensor and statistics are
    understood, for torch and MindSpore, at the levels L0, L1 and mix: ``dump.json``,
    ``construct.json``, ``dump_tensor_data/``, names such as
    ``NPU.npu_dynamic_quant.0.forward.output.0``, and folders such as ``step0/rank0``. What counts
    processes, steps or calls, as ``rank0`` and SGLang's ``dump_index=7`` do, does not keep apart
    what is the only one in its folder on both sides.

    Nothing is passed over silently. An array without a partner fails the comparison, and so does
    one that cannot be read; a shape or dtype that differs is a row that fails.

    Args:
        actual: the folder of what is to be judged, or a file with several arrays.
        golden: the folder of what it should be, likewise. None where `ops` compute it: then each
            call's outputs are judged by what the operator makes of the inputs beside them.
        ops: operators by the names of calls in the dump, which may have ``*``, such as
            ``{"NPU.npu_dynamic_quant.*": "npu_dynamic_quant"}``. Where outputs of such a call
            differ, each side is judged by what the operator makes of that side's inputs, if the
            dump has them: so ties and variants are told from faults, and a fault from what only
            follows from other inputs. These arrays are in memory, those of one call at a time.
            An operator alone stands for all its calls. Calls are those of a dump, and files that go
            by the names of the operator's outputs and inputs (x is its first one, too), in a folder
            for each call, or with the call's name before them: ``case0/y.bin``, ``case0_y.bin``.
        mapping: the same, as a dict or a JSON file. The value may be an object, with ``op`` and,
            where names do not say it, ``inputs`` and ``outputs`` (names of arrays by the operator's
            parameters and outputs, within the call's folder or as they are), ``attributes``,
            ``numerics`` and ``variant``.
        progress: called with (done, total), in bytes.
        atol: the greatest difference that is tolerated, for all arrays. None: none.
        rtol: the same relative to the golden.
        preset: the acceptance rule of another tool instead, for dtypes it says anything about.
        dtype: the dtype of files that do not say it (V1 in .npy, raw .bin): one for all, or by the
            names of an operator's inputs and outputs. Dtype and shape of a raw file may be in
            ``y.json`` beside ``y.bin`` (``{"dtype": "int8", "shape": [4, 8]}``); else they are
            those of the other side, for an output those of the operator.
        shape: the shapes of raw files, by such names.

    Returns:
        A :class:`FolderComparison`, with ``rows``, ``first``, ``only_actual``, ``only_golden`` and
        ``passed``.

    Raises:
        FileNotFoundError: there is no such folder.
        ParamError: nothing can be compared: a folder has no arrays or both are the same, no name is
            in both, two arrays go by one name; or `ops` and `mapping` do not fit.

    Example:
        >>> import numpy as np, npu_quant, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as work:
        ...     for side, values in ("npu", [1, 2]), ("cpu", [1, 3]):
        ...         folder = pathlib.Path(work, side)
        ...         folder.mkdir()
        ...         for number in (9, 10):
        ...             np.save(folder / f"{number}_y.npy", np.array(values) * (number == 10))
        ...     found = npu_quant.golden.compare_folders(f"{work}/npu", f"{work}/cpu")
        >>> found.passed, found.first.name, [row.rung for row in found.rows]
        (False, '10_y', ['identical', 'different'])
    """
    limits = Limits(atol, rtol, preset)
    if any(isinstance(limit, Mapping) for limit in (atol, rtol)):
        raise ParamError("atol and rtol are numbers, the same for all arrays.")
    limits.check()
    named = isinstance(dtype, Mapping)
    _kinds.check("compare_folders", "dtype", None if named else dtype, str | None, "a dtype's name")
    _kinds.check_callable("compare_folders", "progress", progress)
    rules = rules_of(ops, mapping)
    told = _Told(dict(dtype) if isinstance(dtype, Mapping) else {}, dict(shape or {}))
    told.check(rules)
    plain = dtype if isinstance(dtype, str) else None
    if golden is None:
        return _computed(actual, rules, told, limits, plain, progress)
    sides = _sides(actual, golden)
    pass_ = Pass((told.of(sides[0], rules), told.of(sides[1], rules)), limits, plain)
    return _paired(pass_, rules, progress)


@dataclasses.dataclass(frozen=True)
class _Told:
    """What is said of files that do not say it, by the names of inputs and outputs."""

    dtypes: Mapping[str, str]
    shapes: Mapping[str, Sequence[int]]

    def check(self, rules: Sequence[Rule]) -> None:
        """Raise ParamError of a name that no operator has."""
        known = [name for rule in rules for name in names_of(rule.op)]
        for what, given in (("dtype", self.dtypes), ("shape", self.shapes)):
            for name in given:
                if name not in known:
                    listed = meant(str(name), known) or f"; expected {', '.join(known) or 'none'}."
                    raise ParamError(
                        f"{what} is for {name!r}, which is neither an output nor an input{listed}"
                    )

    def of(self, side: Folder, rules: Sequence[Rule]) -> Folder:
        """Return a folder whose files have what is said of them."""
        shapes = {name: tuple(shape) for name, shape in self.shapes.items()}
        return said_by_name(side, rules, self.dtypes, shapes)


def _computed(
    actual: str | os.PathLike[str],
    rules: Sequence[Rule],
    told: _Told,
    limits: Limits,
    dtype: str | None,
    progress: Progress | None,
) -> FolderComparison:
    if not rules:
        raise ParamError("give a golden folder, or ops for the calls in the folder that is given.")
    side = told.of(_not_empty(folder_of(actual)), rules)
    rows, alone = rows_of_calls(Pass((side, side), limits, dtype), rules, progress)
    name = printable(side.path)
    passed_over = tuple(printable(f"{side.path}: {file}") for file in side.passed_over)
    by = f"computed by {', '.join(dict.fromkeys(rule.op for rule in rules))}"
    return FolderComparison(name, by, tuple(rows), alone, (), passed_over)


def _paired(pass_: Pass, rules: Sequence[Rule], progress: Progress | None) -> FolderComparison:
    sides = pass_.sides
    pairs, *left = pairs_of(sides[0].entries, sides[1].entries)
    if not pairs:
        names = [", ".join(e.file for e in side.entries[:3]) for side in sides]
        raise ParamError(
            "no name is in both folders, nothing can be compared: actual has "
            f"{names[0]} ..., the golden {names[1]} ..."
        )
    groups = groups_of(rules, sides[0], pairs)
    plain = plain_rows(pass_, pairs, progress)
    rows = dict(plain)
    by_output = {p.actual.file: group for group in groups for p in group.outputs.values()}
    waiting, carried = {id(group) for group in groups}, Carried(pass_)
    for pair in pairs:
        group = by_output.get(pair.actual.file)
        if group is not None and id(group) in waiting:
            waiting.remove(id(group))
            judge(pass_, group, rows)
        carried.judge(pair, plain[pair.actual.file], rows)
    data = FolderComparison(
        printable(sides[0].path),
        printable(sides[1].path),
        tuple(rows[pair.actual.file] for pair in pairs),
        alone_of(left[0], left[1]),
        alone_of(left[1], left[0]),
        tuple(printable(f"{side.path}: {file}") for side in sides for file in side.passed_over),
    )
    return dataclasses.replace(data, origin=_origin(data, pairs, left))


def _sides(*paths: str | os.PathLike[str]) -> tuple[Folder, Folder]:
    actual = folder_of(paths[0])
    golden = folder_of(paths[1], actual)
    kinds = ["a folder" if os.path.isdir(side.path) else "a file" for side in (actual, golden)]
    if kinds[0] != kinds[1]:
        raise ParamError(
            f"{actual.path} is {kinds[0]}, {golden.path} is {kinds[1]}; give two of a kind."
        )
    if os.path.samefile(actual.path, golden.path):
        raise ParamError(f"{actual.path} would be compared with itself.")
    return _not_empty(actual), _not_empty(golden)


def _not_empty(side: Folder) -> Folder:
    if not side.entries:
        why = ": its dump.json has statistics only; dump with the task tensor"
        raise ParamError(
            f"{side.path} has no arrays{why * bool(side.calls)}. Nothing compared is not a pass."
        )
    return side


def _origin(data: FolderComparison, pairs: Sequence[Pair], left: Sequence[Sequence[Entry]]) -> str:
    """Say of the first row that differs whether what went into its call agrees."""
    first = data.first
    if first is None:
        return ""
    entry = next(pair.actual for pair in pairs if pair.actual.file == first.actual)
    if not entry.call:
        return ""
    if entry.is_input:
        return "it is an input: what changed it is not in the dumps"
    alone = [e for side in left for e in side if e.call == entry.call and e.is_input]
    inputs = [
        row
        for pair, row in zip(pairs, data.rows, strict=True)
        if pair.actual.call == entry.call and pair.actual.is_input
    ]
    if alone or not inputs or not all(row.passed for row in inputs):
        return ""
    what = "its input is" if len(inputs) == 1 else f"its {len(inputs)} inputs are"
    if any(row.rung != "identical" for row in inputs):
        return f"{what} accepted, but not identical: what differs may follow from that"
    return f"{what} identical: the difference arises in {entry.call.rpartition('/')[2]}"
