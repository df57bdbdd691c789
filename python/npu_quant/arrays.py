"""What an array may be, as type checkers see it: one of torch's, or one that is read in pieces."""

from __future__ import annotations

from typing import Any, Protocol, Union

import numpy as np
from numpy.typing import NDArray

from ._names import dir_of

__all__ = ["Array", "Source", "Tensor", "TorchDType"]

__dir__ = dir_of(__name__)


class Tensor(Protocol):
    """torch.Tensor, by what no array has: torch is not imported, nor need it be there."""

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        ...

    def is_contiguous(self) -> bool:
        """Say whether the elements lie in order, without gaps."""
        ...


class TorchDType(Protocol):
    """torch.dtype, likewise."""

    @property
    def is_floating_point(self) -> bool:
        """Whether it is one of floats."""
        ...


# Union, since this is evaluated and Python 3.10 lacks | of a generic alias and a class.
Array = Union[NDArray[Any], Tensor]  # noqa: UP007
"""An array, or one of torch's CPU tensors (:mod:`npu_quant.ops`)."""


class Source(Protocol):
    """An array that is read in pieces of its elements in C order."""

    name: str
    """Where it comes from, such as a file's name; empty for an array in memory."""

    @property
    def dtype(self) -> np.dtype:
        """The elements' dtype."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        ...

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """Return elements ``[begin, end)``, counted in C order, contiguous and 1-D."""
        ...

    def array(self) -> NDArray[Any]:
        """Return all of it, in its shape."""
        ...
