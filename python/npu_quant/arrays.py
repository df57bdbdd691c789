"""What an argument that is an array may be, as type checkers see it: also what is torch's."""

from __future__ import annotations

from typing import Any, Protocol, Union

from numpy.typing import NDArray


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
