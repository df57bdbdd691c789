"""The faults of SHA256SUMS and of the files that it names: CHECKSUMS, by name."""

from __future__ import annotations

import os

from .faults import FIRST, Fault, after
from .spoiling import SUMS, sums


def flipped(data: bytes) -> bytes:
    """Flip a bit of the last code."""
    return data[:-1] + bytes([data[-1] ^ 1])


CHECKSUMS = {
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
