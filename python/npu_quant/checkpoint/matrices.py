"""The weights of a model's modules: where their rows lie, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from .. import formats
from ..files.common import File
from ..files.safetensors import NUMPY
from .config import Config
from .folder import FLOATS, CheckpointError, Tensor

TRANSPOSED = frozenset(("qwen3_vl_moe", "llama4", "llama4_text", "gpt_oss"))
STRAIGHT = frozenset(("qwen3_5_moe", "qwen3_next", "glm4v_moe", "glm4_moe_lite"))
STACKS = ("gate_up_proj", "down_proj")
FP8 = {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
"""The formats of codes that need scales, by safetensors' words."""
SCALES = ("F32", "BF16", "F16", "F8_E8M0", "U8")
"""The dtypes of scales that float32 holds exactly; U8 are the bytes of E8M0."""
PIECE_BYTES = 16 << 20
"""Of the rows that one task makes."""
BAND_BYTES = 1 << 20
"""Of the rows that are made at once: they stay in the cache."""


@dataclass(frozen=True)
class Matrix:
    """The weight of a module: rows of a tensor, or of one expert of a stack."""

    module: str
    tensor: Tensor
    shape: tuple[int, int]
    """(N, K): output and input features."""
    scale: Tensor | None = None
    """Of FP8."""
    block: tuple[int, int] = (0, 0)
    """Rows and columns that share an element of the scale."""
    start: int = 0
    """The element of the tensor that is the weight's first."""
    strides: tuple[int, int] = (0, 0)
    """In elements, of which one is 1."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return NUMPY[self.tensor.kind].itemsize

    @property
    def row_bytes(self) -> int:
        """Bytes of a row in the source."""
        return self.shape[1] * self.itemsize

    @property
    def is_blocked(self) -> bool:
        """Whether its elements are FP8 with a scale for each block, row, or for all."""
        return self.scale is not None

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its tensor, as it lies there."""
        return self.shape == self.tensor.shape

    def bands(
        self, folder: Path, begin: int, end: int, *, as_bytes: bool = False
    ) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Yield bands of rows: the first row, the one after the last, and what they hold.

        Args:
            folder: the model's.
            begin: the first row.
            end: the one after the last.
            as_bytes: yield bytes [rows, bytes of a row], and not numbers: as the source has them,
                float64 and FP8 blocks as float32.
        """
        convert = _unchanged if as_bytes else self._numbers
        if self.strides[1] == 1:
            for at, to in bands(begin, end, self.row_bytes):
                yield at, to, convert(folder, self._rows(folder, at, to), at)
            return
        for first, last in pieces(begin, end, self.row_bytes):
            gathered = self._gathered(folder, first, last)
            for at, to in bands(first, last, self.row_bytes):
                yield at, to, convert(folder, gathered[at - first : to - first], at)

    def _rows(self, folder: Path, begin: int, end: int) -> NDArray[np.uint8]:
        first = (self.start + begin * self.strides[0]) * self.itemsize
        raw = bytes_of(folder, self.tensor, first, (end - begin) * self.row_bytes)
        return raw.reshape(end - begin, self.row_bytes)

    def _gathered(self, folder: Path, begin: int, end: int) -> NDArray[np.uint8]:
        """Rows that are columns of the tensor.

        It is read in long stretches, of which those columns are taken::

            tensor [K, ..]   . . x x x . .      each row of it is as long as the stride
                             . . x x x . .      a stretch ends with its last x
        """
        rows, k, size, stride = end - begin, self.shape[1], self.itemsize, self.strides[1]
        result = np.empty((rows, k), f"u{size}")
        first = self.start + begin * self.strides[0]
        for at, to in bands(0, k, stride * size):
            count = (to - at - 1) * stride + rows
            raw = bytes_of(folder, self.tensor, (first + at * stride) * size, count * size)
            values = raw.view(result.dtype)
            taken = as_strided(values, (to - at, rows), (stride * size, size), writeable=False)
            result[:, at:to] = taken.T
        return result.view(np.uint8)

    def _numbers(self, folder: Path, raw: NDArray[np.uint8], begin: int) -> NDArray[Any]:
        if self.scale is not None:
            return self._scaled(folder, raw, begin)
        values = raw.view(NUMPY[self.tensor.kind])
        with np.errstate(over="ignore"):
            return values.astype(np.float32) if self.tensor.kind == "F64" else values

    @np.errstate(over="ignore", invalid="ignore")
    def _scaled(self, folder: Path, raw: NDArray[np.uint8], begin: int) -> NDArray[np.float32]:
        """Return codes by the scales of their blocks: one rounding."""
        values = formats.decode(raw, FP8[self.tensor.kind])
        high, wide = self.block
        first, last = begin // high, -(-(begin + len(raw)) // high)
        by_block = self._scales(folder, first, last)
        for row, factors in enumerate(by_block, first) if high > 1 else ():
            band = values[max(row * high - begin, 0) : (row + 1) * high - begin]
            self._check_scales(factors[None], band, row)
            band *= np.repeat(factors, min(wide, self.shape[1]))[: self.shape[1]]
        if high == 1:
            self._check_scales(by_block, values, first)
            each = min(wide, self.shape[1]) if by_block.shape[1] > 1 else 1
            values *= np.repeat(by_block, each, axis=1)[:, : self.shape[1]]
        return values

    def _scales(self, folder: Path, first: int, last: int) -> NDArray[np.float32]:
        """Some rows of the scale, as a matrix whatever its shape."""
        assert self.scale is not None
        kind, across = self.scale.kind, -(-self.shape[1] // self.block[1])
        size = across * NUMPY[kind].itemsize
        raw = bytes_of(folder, self.scale, first * size, (last - first) * size)
        stored = raw.view(NUMPY["F8_E8M0" if kind == "U8" else kind])
        return stored.astype(np.float32).reshape(last - first, across)

    def _check_scales(
        self, scales: NDArray[np.float32], codes: NDArray[np.float32], first: int
    ) -> None:
        """Refuse scales that give no number, or 0 for a code that is not 0."""
        bad = ~(np.isfinite(scales) & (scales > 0))
        if not bad.any():
            return
        zero = np.repeat(scales == 0, min(self.block[1], self.shape[1]), axis=1)
        if (bad == (scales == 0)).all() and not (codes * zero[:, : self.shape[1]]).any():
            return
        row, column = (int(i[0]) for i in np.nonzero(bad))
        assert self.scale is not None
        raise CheckpointError(
            f"{self.scale.name} is {scales[row, column]} for block {[first + row, column]} of "
            f"{self.tensor.name}, expected a positive number: download the model anew."
        )


def _unchanged(_: Path, raw: NDArray[np.uint8], __: int) -> NDArray[np.uint8]:
    return raw


def pieces(begin: int, end: int, each: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches of rows that tasks are of."""
    return cut(begin, end, each, PIECE_BYTES)


def bands(begin: int, end: int, each: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches of rows that are made at once."""
    return cut(begin, end, each, BAND_BYTES)


def cut(begin: int, end: int, each: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield stretches of rows of so many bytes each, of `size` bytes or a little less.

    They have an even number of rows, two at least: int4 packs two of them.
    """
    step = max(2, size // max(each, 1) // 2 * 2)
    for at in range(begin, end, step):
        yield at, min(at + step, end)


def bytes_of(folder: Path, tensor: Tensor, begin: int, count: int) -> NDArray[np.uint8]:
    """Read some of a tensor's bytes."""
    result = np.empty(count, np.uint8)
    file = File(folder / tensor.file)
    try:
        file.fill(result, tensor.begin + begin)
    finally:
        file.close()
    return result


def is_stack(tensor: Tensor) -> bool:
    """Say whether a tensor holds a projection of all experts of a layer."""
    base = tensor.name.removesuffix(".weight")
    return len(tensor.shape) == 3 and base.endswith(tuple(f".experts.{s}" for s in STACKS))


def experts_in(tensor: Tensor, config: Config) -> Iterator[Matrix]:
    """Yield the weights of a stack: of each expert gate and up, or down.

    Raises:
        CheckpointError: it is not known which axis is which.
    """
    if tensor.kind not in FLOATS:
        raise CheckpointError(f"{tensor.name} is {tensor.kind}: stacked experts must be floats.")
    count, rows, columns = tensor.shape
    parent, _, which = tensor.name.removesuffix(".weight").rpartition(".")
    is_transposed = _is_transposed(tensor, which == "gate_up_proj", config)
    n, k = (columns, rows) if is_transposed else (rows, columns)
    names = ("gate_proj", "up_proj") if which == "gate_up_proj" else ("down_proj",)
    if n % len(names):
        raise CheckpointError(f"{tensor.name} has shape {tensor.shape}: {n} rows cannot be halved.")
    each = n // len(names)
    strides = (1, columns) if is_transposed else (columns, 1)
    for expert in range(count):
        for part, name in enumerate(names):
            start = expert * rows * columns + part * each * strides[0]
            module = f"{parent}.{expert}.{name}"
            yield Matrix(module, tensor, (each, k), start=start, strides=strides)


def _is_transposed(tensor: Tensor, is_gate_up: bool, config: Config) -> bool:
    """Say whether an expert's matrix has its inputs along the first axis."""
    if config.model_type in TRANSPOSED | STRAIGHT:
        return config.model_type in TRANSPOSED
    hidden, inner = config.number("hidden_size"), config.number("moe_intermediate_size")
    if hidden is not None and inner is not None:
        n, k = (2 * inner, hidden) if is_gate_up else (hidden, inner)
        fits = [tensor.shape[1:] == (k, n), tensor.shape[1:] == (n, k)]
        if sum(fits) == 1:
            return fits[0]
    raise CheckpointError(
        f"{tensor.name} has shape {tensor.shape}: which axis has the inputs is not known for "
        f"model_type {config.model_type!r}, hidden_size {hidden}, moe_intermediate_size {inner}: "
        "config.json must give both, so that only one way fits."
    )
