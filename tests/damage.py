"""What is done to files that tests read: random, from a fixed seed.

With NPU_QUANT_FUZZ=N there is N times as much of it, each time other: `make fuzz`.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

TIMES = int(os.environ.get("NPU_QUANT_FUZZ", "1"))


def rng_of(seed: str | int) -> random.Random:
    return random.Random(seed if TIMES == 1 else f"{seed} {random.SystemRandom().random()}")


def flip(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def overwrite(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, *b"09-,()[]{}'\"LRQbcu"])


def extreme(data: bytearray, rng: random.Random) -> None:
    at, value = rng.randrange(len(data)), rng.choice([b"\xff", b"\x00", b"\x7f", b"9"])
    data[at : at + rng.choice([2, 4, 8])] = value * rng.choice([2, 4, 8])


def truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def cut(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.randrange(1, 20)]


def repeat(data: bytearray, rng: random.Random) -> None:
    at, to = rng.randrange(len(data)), rng.randrange(len(data))
    data[to:to] = data[at : at + rng.randrange(1, 40)]


def insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.randrange(1, 9))


def number(data: bytearray, rng: random.Random) -> None:
    """Put another number in the place of one in the text."""
    digits = [i for i, c in enumerate(data) if 48 <= c < 58] or [0]
    at = rng.choice(digits)
    numbers = ["-1", "0", "1e9", "4294967296", "9223372036854775807", "18446744073709551616", "1.5"]
    data[at : at + 1] = rng.choice(numbers).encode()


MUTATIONS: list[Callable[[bytearray, random.Random], None]] = [
    flip,
    overwrite,
    extreme,
    truncate,
    cut,
    repeat,
    insert,
    number,
]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return a file with one to three things done to it."""
    result = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 3])):
        if result:
            rng.choice(MUTATIONS)(result, rng)
    return bytes(result)
