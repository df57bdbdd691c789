"""The faults of files that cannot be read, or are not as SHA256SUMS says: UNREADABLE, by name."""

from __future__ import annotations

import os

from .faults import FIRST, OTHERS, Fault, after
from .spoiling import DESCRIPTION, SUMS, sums


def flipped(data: bytes) -> bytes:
    """Flip a bit of the last code."""
    return data[:-1] + bytes([data[-1] ^ 1])


UNREADABLE = {
    "a link to nothing": Fault(
        "irregular",
        "assets/vocab.json",
        lambda f: (f / "assets/vocab.json").symlink_to("../blobs/1"),
        is_noticed=False,
    ),
    "a shard is a link to nothing": Fault(
        "irregular",
        FIRST,
        lambda f: ((f / FIRST).unlink(), (f / FIRST).symlink_to("blobs/1")),
        also=frozenset({"missing-shard"}) | OTHERS,
    ),
    "a pipe": Fault("irregular", "vocab", lambda f: os.mkfifo(f / "vocab"), is_noticed=False),
    "the description is a link to nothing": Fault(
        "config",
        DESCRIPTION,
        lambda f: ((f / DESCRIPTION).unlink(), (f / DESCRIPTION).symlink_to("blobs/1")),
        also=frozenset({"irregular"}),
    ),
    "a flipped bit": Fault("checksum", FIRST, lambda f: (sums(f), after(FIRST, flipped)(f))),
    "a file that was lost": Fault(
        "checksum",
        "assets/vocab.txt",
        lambda f: (sums(f), (f / "assets/vocab.txt").unlink()),
        is_noticed=False,
    ),
    "a shard without a sum": Fault(
        "checksum",
        FIRST,
        lambda f: (sums(f), after(SUMS, lambda b: b.replace(FIRST.encode(), b"config.json"))(f)),
        "warning",
        also=frozenset({"checksum"}),
    ),
    "sums of nothing": Fault("checksum", SUMS, lambda f: (f / SUMS).touch(), is_noticed=False),
    "sums that are cut off": Fault(
        "checksum",
        SUMS,
        lambda f: (sums(f), after(SUMS, lambda b: b + b[:40])(f)),
        is_noticed=False,
    ),
    "sums that are a pipe": Fault(
        "checksum",
        SUMS,
        lambda f: os.mkfifo(f / SUMS),
        also=frozenset({"irregular"}),
        is_noticed=False,
    ),
    "a sum of another folder's": Fault(
        "checksum",
        "../source/assets/vocab.txt",
        lambda f: (sums(f), after(SUMS, lambda b: b.replace(b"  a", b"  ../source/a"))(f)),
        is_noticed=False,
    ),
}
