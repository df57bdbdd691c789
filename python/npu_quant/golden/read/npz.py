"""NumPy's .npz: a zip archive of .npy files.

A text member ``y.dtype`` beside ``y.npy`` names the dtype that integers stand for: so the pytest
plugin stores bfloat16 and float8, which .npy has no name for.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from .archive import Member, region
from .common import Arrays, File, Stored, clean, row_of, take
from .npy import stored_of

SUFFIX = ".npy"
_LONGEST_NAME = 40


def arrays(file: File, members: dict[str, Member]) -> Arrays:
    """Return the arrays by their names; other members are passed over."""

    def opener(member: Member) -> Stored:
        stored = stored_of(file, region(file, member, check=True), f"{clean(member.name, 60)} ")
        name = members.get(f"{member.name.removesuffix(SUFFIX)}.dtype")
        return stored if name is None else _named(file, stored, name)

    return {
        name.removesuffix(SUFFIX): partial(opener, member)
        for name, member in members.items()
        if name.endswith(SUFFIX)
    }


def _named(file: File, stored: Stored, member: Member) -> Stored:
    """See integers as the dtype whose name stands beside them."""
    data = region(file, member, check=True)
    text = take(data, 0, min(data.size, _LONGEST_NAME)).decode("ascii", "replace")
    name, carrier = row_of(text, file)
    if stored.dtype is None or carrier is None or carrier.itemsize != stored.dtype.itemsize:
        what = f"{clean(member.name, 60)} is {clean(text, 40)}"
        raise file.fault(f"{what}, which {stored.kind} does not stand for")
    return dataclasses.replace(stored, dtype=carrier, kind=name)
