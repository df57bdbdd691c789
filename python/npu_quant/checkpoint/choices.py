"""Which type each module gets: by its name, by what is asked for, by what consumers read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from . import names
from .folder import CheckpointError
from .layout import Layout
from .matrices import Matrix
from .schemes import ASCEND, FLOAT, TYPES, meant, misfit

MOST_GLOBS = 4
"""Of how many options a message tells that mend a plan."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for."""

    scheme: str
    format: str = ASCEND
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] = ()
    """Globs and the types of what they match; the last that matches counts."""
    mx_scale: str = "up"
    shard_size: int = 4 << 30
    """Bytes of tensors that a file has at most, unless what comes of one tensor is more."""
    dtype: str | None = None
    """The params dtype; None: what the source and the types are for."""


@dataclass(frozen=True)
class Choice:
    """The type of a module, and why it is FLOAT if its name is a Linear's."""

    type: str
    reason: str | None = None


def choose(
    matrices: dict[str, Matrix],
    modules: Sequence[str],
    layout: Layout,
    wanted: Wanted,
) -> dict[str, Choice]:
    """Return the type of each Linear.

    Args:
        matrices: the 2-D float weights by module, experts split.
        modules: all modules that have a weight, for globs.
        layout: of the model.
        wanted: what is asked for.

    Raises:
        CheckpointError: a glob matches nothing, or no consumer reads the result.
    """
    linears = [m for m in matrices if names.is_linear(m)]
    _check_globs(wanted, linears, modules, layout.model_type)
    chosen = {m: _chosen(m, matrices[m], layout, wanted) for m in linears}
    _check_scheme(chosen, wanted)
    _check_groups(chosen, matrices, layout.model_type)
    for module, choice in chosen.items():
        if choice.type != FLOAT:
            _check_shape(matrices[module], choice.type)
    return chosen


def _chosen(module: str, matrix: Matrix, layout: Layout, wanted: Wanted) -> Choice:
    if 0 in matrix.shape:
        return Choice(FLOAT, "it has no elements")
    reason = layout.reason_to_stay(module)
    is_fixed = names.never(module, layout.model_type) is not None
    if reason and (is_fixed or not _matches(module, wanted.include)):
        return Choice(FLOAT, reason)
    type = wanted.scheme
    if type == "W4A8_DYNAMIC" and names.experts_of(module) is None:
        type = "W8A8_DYNAMIC"
    reason = None
    for glob, named in wanted.types:
        if fnmatchcase(module, glob):
            type, reason = named, f"--type {glob}={named}"
    for glob in wanted.exclude:
        if fnmatchcase(module, glob):
            type, reason = FLOAT, f"--exclude {glob}"
            break
    return Choice(type, reason if type == FLOAT else None)


def _matches(module: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(module, glob) for glob in globs)


def _check_globs(
    wanted: Wanted, linears: Sequence[str], modules: Sequence[str], model_type: str
) -> None:
    for glob, type in wanted.types:
        known = [name for name, t in TYPES.items() if wanted.format in t.formats] + [FLOAT]
        if type not in known:
            text = f"--type {glob}={type}: {wanted.format} has {', '.join(known)}"
            raise CheckpointError(text + meant(type, known))
    options = [("--exclude", g, modules) for g in wanted.exclude]
    options += [("--type", g, linears) for g, _ in wanted.types]
    for option, glob, among in options:
        if not any(fnmatchcase(module, glob) for module in among):
            near = difflib.get_close_matches(glob, among, 1, 0)
            what = "module" if option == "--exclude" else "Linear"
            hint = f"; the nearest is {near[0]}" if near else ""
            raise CheckpointError(f"{option} {glob} matches no {what}{hint}.")
    for glob in wanted.include:
        if not any(fnmatchcase(m, glob) and not names.never(m, model_type) for m in linears):
            why = _why_not_taken(glob, modules)
            raise CheckpointError(f"--include {glob} selects no Linear{why}.")


def _why_not_taken(glob: str, modules: Sequence[str]) -> str:
    for last in (names.HEAD, *names.NEVER):
        if any(fnmatchcase(m, glob) and names.last_of(m) == last for m in modules):
            return f": {last} is never quantized"
    near = difflib.get_close_matches(glob, modules, 1, 0)
    return f"; the nearest module is {near[0]}" if near else ""


def _check_scheme(chosen: dict[str, Choice], wanted: Wanted) -> None:
    types = {choice.type for choice in chosen.values()}
    if wanted.scheme == "W4A8_DYNAMIC" and not any(map(names.experts_of, chosen)):
        text = (
            "W4A8_DYNAMIC is for routed experts, and the model has none: use --scheme W8A8_DYNAMIC."
        )
        raise CheckpointError(text)
    if {"W8A8_MXFP8", "W4A8_DYNAMIC"} <= types:
        text = (
            "W8A8_MXFP8 and W4A8_DYNAMIC cannot be in one model: a model has one group_size. "
            "Use W8A8_DYNAMIC in place of either, in --scheme or --type."
        )
        raise CheckpointError(text)
    for module, choice in chosen.items():
        is_expert = names.experts_of(module) is not None
        if choice.type == "W8A16" and is_expert:
            raise CheckpointError(
                f"{module}: vllm-ascend has no experts of W8A16: use --scheme W8A8_DYNAMIC, or "
                "--exclude '*.experts.*'."
            )
        if choice.type == "W4A8_DYNAMIC" and not is_expert:
            raise CheckpointError(
                f"{module}: W4A8_DYNAMIC is for routed experts only: add --type "
                f"{module}=W8A8_DYNAMIC after the option that selects it."
            )


def _check_groups(chosen: dict[str, Choice], modules: Iterable[str], model_type: str) -> None:
    """Refuse groups of several types; the text mends all of them, or says how many it does not."""
    quantized = {m: choice.type for m, choice in chosen.items() if choice.type != FLOAT}
    broken = {
        what: members
        for what, members in names.fused_groups(modules, model_type)
        if len({quantized.get(m, FLOAT) for m in members}) > 1
    }
    if not broken:
        return
    what, members = next(iter(broken.items()))
    types = " and ".join(sorted({quantized.get(m, FLOAT) for m in members}))
    globs = _globs_for([m for some in broken.values() for m in some if m in quantized], quantized)
    mend = " ".join(f"--exclude '{glob}'" for glob in globs[:MOST_GLOBS])
    if len(globs) > MOST_GLOBS:
        mend += f" and {len(globs) - MOST_GLOBS} more"
    raise CheckpointError(
        f"{what} must have one type, because consumers load them as one layer; they have {types}: "
        f"add {mend}."
    )


def _globs_for(modules: Sequence[str], quantized: Iterable[str]) -> list[str]:
    """Return globs that match some modules, and of the quantized no others: the widest first."""
    some = frozenset(modules)
    left, result = dict.fromkeys(modules), []
    for wide in (lambda m: _of_all_layers(_experts(m)), _of_all_layers, _experts):
        for glob in dict.fromkeys(wide(m) for m in left):
            matched = {m for m in quantized if fnmatchcase(m, glob)}
            if matched and matched <= some:
                result.append(glob)
                left = {m: None for m in left if m not in matched}
    return [*result, *left]


def _of_all_layers(module: str) -> str:
    return re.sub(r"\.\d+(?=\.)", ".*", module)


def _experts(module: str) -> str:
    experts = names.experts_of(module)
    return module if experts is None else f"{experts}.*"


def _check_shape(matrix: Matrix, type: str) -> None:
    if fault := misfit(matrix.module, type, matrix.shape):
        raise CheckpointError(
            f"{matrix.module} cannot be {type}: it has {fault}: add --exclude "
            "'*.experts.*', or --type '*.experts.*=W8A8_DYNAMIC'."
        )
