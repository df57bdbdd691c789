"""What a comparison in a test is asked for: its arguments, and the marker's where it has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ..errors import ParamError
from ..golden.judge.request import Limits, Request

__tracebackhide__ = True

Settings = dict[str, Any]
"""The arguments of a comparison by their names."""

_NAMES = ("op", "inputs", "numerics", "atol", "rtol", "preset", "variant", "names")
_ALL = (*_NAMES, "allow_constant")
# What an argument of the test makes meaningless in the marker.
_REPLACES = {
    "preset": ("atol", "rtol"),
    "atol": ("preset",),
    "rtol": ("preset",),
    "op": ("names",),
    "names": ("op", "inputs", "variant", "numerics"),
}
# What belongs to a golden that is computed.
_OF_COMPUTED = ("inputs", "variant", "numerics")


def marked(item: pytest.Item) -> dict[str, Any]:
    """Return what the markers `npu_golden` of a test say, the closest first to be heard.

    Raises:
        ParamError: one has an argument that there is not.
    """
    defaults: dict[str, Any] = {}
    for mark in item.iter_markers("npu_golden"):
        if mark.args:
            raise ParamError(f"@pytest.mark.npu_golden{mark.args}: arguments are given by name.")
        _check_names(mark.kwargs, "@pytest.mark.npu_golden")
        defaults = _merged(mark.kwargs, defaults)
    return defaults


def settings_of(
    arguments: Mapping[str, Any], defaults: Mapping[str, Any], *, computed: bool
) -> Settings:
    """Return the settings of a comparison.

    Args:
        arguments: what the test said.
        defaults: what its markers say.
        computed: whether the golden is computed, not given.

    Raises:
        ParamError: there is no such argument.
    """
    _check_names(arguments, "npu_golden")
    if not computed:
        defaults = {n: value for n, value in defaults.items() if n not in _OF_COMPUTED}
    return _merged(defaults, arguments)


def request_of(asked: Settings, **more: Any) -> Request:
    """Return settings as a request."""
    values = {name: asked.get(name) for name in _NAMES}
    limits = Limits(*(values.pop(name) for name in ("atol", "rtol", "preset")))
    more["allow_constant"] = bool(asked.get("allow_constant"))
    return Request(limits=limits, **{**values, **more})


def _merged(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """Return both, `inner` where they disagree."""
    replaced = {name for given in inner for name in _REPLACES.get(given, ())}
    return {**{n: value for n, value in outer.items() if n not in replaced}, **inner}


def _check_names(arguments: Mapping[str, Any], what: str) -> None:
    for name in arguments:
        if name not in _ALL:
            raise ParamError(f"{what}: there is no {name}; expected {', '.join(_ALL)}.")
