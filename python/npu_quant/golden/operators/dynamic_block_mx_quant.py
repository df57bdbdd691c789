"""npu_dynamic_block_mx_quant, by the formulas of mx.py."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .blocks import BlockPart, Blocks
from .dynamic_mx_quant import DynamicMxQuant
from .model import Array, Float32
from .scale_grid import Grid, ScaleGrid

TILE = 32


class TilePart(BlockPart):
    """Some pairs of tiles, one below the other, across all columns."""

    def laid(self, output: int, scales: Array) -> Array:
        """Return bytes as an output has them: for each row in scale1, for each column in scale2."""
        if self.model.outputs[output] == "scale2":
            return scales
        tiles = scales[..., ::TILE]
        rows = self.flat(np.repeat(tiles, TILE, axis=1), tiles.shape[-1])
        rows = rows.reshape(rows.size // max(1, tiles.shape[-1]), tiles.shape[-1])
        return np.pad(rows, ((0, 0), (0, tiles.shape[-1] % 2))).reshape(-1, 2, 1)


class DynamicBlockMxQuant(DynamicMxQuant):
    """npu_dynamic_block_mx_quant: blocks of rows, those of 32 columns beside each other a tile."""

    part = TilePart

    def all_blocks(self) -> tuple[Blocks, ...]:
        """Return how the rows lie in blocks."""
        shape = self.inputs["input"].shape
        self.across = 2 * -(-shape[-1] // (2 * TILE))
        """Bytes of a row in scale1."""
        return (Blocks.along(shape, -2, TILE),)

    def number_of(self, output: int) -> int:
        """Return by which of its blocks an output is: there are no others."""
        return 0

    def of_tiles(self, amax: Float32) -> Float32:
        """Return the amax of the tiles that blocks are parts of."""
        columns = amax.shape[-1]
        tiles = np.maximum.reduceat(amax, np.arange(0, columns, TILE), axis=-1)
        return np.repeat(tiles, TILE, axis=-1)[..., :columns]

    def scale_outputs(self, output: int) -> tuple[int, ...]:
        """Return which outputs have the scales that codes go with: scale2, block by block, or 1."""
        return (output,) if output else (2, 1)

    def bytes_for(self, output: int, index: NDArray[np.int64], scale: Array) -> Array:
        """Return the bytes of either scale output; where both have one shape, they are alike."""
        if scale.shape == self.output_shapes()[2]:
            return super().bytes_for(output, index, scale)
        row, column = np.divmod(index, self.x.shape[-1])
        return np.asarray(scale.reshape(-1)[row * self.across + column // TILE])

    def spans(self, number: int, first: int, last: int) -> tuple[tuple[int, int], ...]:
        """Return the spans of a part."""
        codes, of_columns = self.blocks[0].spans(first, last)
        begin, end = (int(row) * self.across for row in self.blocks[0].edges[[first, last]])
        return codes, (begin, end), of_columns

    def scale_grid(self, output: int) -> Grid | None:
        """Return how bytes are named by the input's rows and columns."""
        if self.outputs[output] == "scale1":
            return ScaleGrid(self.x.shape, TILE)
        return super().scale_grid(output)

    def place_of(self, output: int, index: int) -> str:
        """Say for which tile of the input a byte is."""
        if self.outputs[output] != "scale1":
            return super().place_of(output, index)
        row, tile = divmod(index, self.across)
        begin, end = tile * TILE, min((tile + 1) * TILE, self.x.shape[-1])
        return f"row {row}, columns {begin} to {end - 1}" if begin < end else "no block"
