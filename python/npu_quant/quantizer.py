"""PyTorch's model of quantizers: a scheme, a type of codes, and the parameters.

After ``QScheme`` (c10), ``Quantizer`` and ``PerTensorAffineQuantizer`` (ATen), which PyTorch
documents but does not show to Python. The C++ classes are in ``csrc/quantizer/``.
"""

from __future__ import annotations

import abc
import enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from .arrays import Array
from .dtypes import DTypeName

__all__ = ["PerChannelAffineQuantizer", "PerTensorAffineQuantizer"]
__all__ += ["QScheme", "Quantizer", "ScalarType"]
__all__ += ["make_per_channel_affine_quantizer", "make_per_tensor_affine_quantizer"]
__all__ += ["per_channel_affine", "per_channel_affine_float_qparams", "per_channel_symmetric"]
__all__ += ["per_tensor_affine", "per_tensor_symmetric", "qint8", "qint32", "quint8"]


class QScheme(enum.Enum):
    """Which elements share parameters, by PyTorch's names and numbers."""

    per_tensor_affine = 0
    per_channel_affine = 1
    per_tensor_symmetric = 2
    per_channel_symmetric = 3
    per_channel_affine_float_qparams = 4

    def __str__(self) -> str:
        return self.name


class ScalarType(enum.IntEnum):
    """A type of codes, by PyTorch's name and number: qint8, quint8 or qint32.

    Its members name a dtype wherever this package takes one: they stand for their storage, int8,
    uint8 and int32.
    """

    qint8 = 12
    quint8 = 13
    qint32 = 14

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)


per_tensor_affine = QScheme.per_tensor_affine
per_channel_affine = QScheme.per_channel_affine
per_tensor_symmetric = QScheme.per_tensor_symmetric
per_channel_symmetric = QScheme.per_channel_symmetric
per_channel_affine_float_qparams = QScheme.per_channel_affine_float_qparams

qint8 = ScalarType.qint8
quint8 = ScalarType.quint8
qint32 = ScalarType.qint32


class Quantizer(abc.ABC):
    """Turns values into codes and codes into values, with the parameters of a subclass.

    Quantizers do not change. Two are equal if their scheme, type and parameters are; they can be
    hashed, copied and pickled.
    """

    _quantizer: _core.Quantizer

    @abc.abstractmethod
    def qscheme(self) -> QScheme:
        """Return which elements share parameters."""

    def scalar_type(self) -> ScalarType:
        """Return the type of the codes."""
        return ScalarType(self._quantizer.scalar_type())

    def quantize(
        self, x: Array, *, out: Array | None = None, numerics: str | None = None
    ) -> NDArray[Any]:
        """Return the codes of an array.

        ::

            q = zero_point + round(x * (1 / scale))     saturated to the range of scalar_type()

        To the bit :func:`npu_quant.quantize_val`, whose page has the order of operations and the
        edge cases (docs/numerics.md 7).

        Args:
            x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 0 to 8 (with channels
                1 to 8), any strides.
            out: where to write the codes: an array of exactly x's shape and the storage type, any
                strides, apart from x.
            numerics: the arithmetic profile; None is the current one
                (:func:`npu_quant.numerics`).

        Returns:
            An array of x's shape, int8, uint8 or int32: the storage of ``scalar_type()``.

        Raises:
            DTypeError: ``x`` is missing (code 161001), is not an ndarray, or has another dtype.
            ParamError: rank, shape or ``out`` is not allowed.
            TypeError: ``numerics`` is no str.
        """
        return self._quantizer.quantize(x, out, numerics)

    def dequantize(
        self,
        q: Array,
        *,
        out: Array | None = None,
        numerics: str | None = None,
    ) -> NDArray[np.float32]:
        """Return the values that an array of codes stands for.

        ::

            x = scale * (q - zero_point)

        To the bit :func:`npu_quant.dequantize_val` (docs/numerics.md 7).

        Args:
            q: of the storage type of ``scalar_type()``, of rank 0 to 8 (with channels 1 to 8), any
                strides.
            out: where to write the values: a float32 array of exactly q's shape, any strides, apart
                from q.
            numerics: the arithmetic profile; None is the current one
                (:func:`npu_quant.numerics`).

        Returns:
            A float32 array of q's shape.

        Raises:
            DTypeError: ``q`` is missing (code 161001), is not an ndarray, or has another dtype.
            ParamError: rank, shape or ``out`` is not allowed.
            TypeError: ``numerics`` is no str.
        """
        return self._quantizer.dequantize(q, out, numerics)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantizer):
            return NotImplemented
        return self._quantizer.equal_to(other._quantizer)

    @abc.abstractmethod
    def __hash__(self) -> int: ...


class PerTensorAffineQuantizer(Quantizer):
    """A quantizer with one scale and zero point for all elements.

    Args:
        scale: the step; the arithmetic rounds it to float32. Any number: the edge cases are
            those of :func:`npu_quant.quantize_val`.
        zero_point: the code of 0, in the range of ``scalar_type``.
        scalar_type: qint8, quint8 or qint32, by any of the names that
            :func:`npu_quant.quantize_val` takes.

    Raises:
        ParamError: ``zero_point`` or ``scalar_type`` is not allowed.
        TypeError: an argument is of the wrong kind, such as ``zero_point=0.0``.

    Example:
        >>> import numpy as np, npu_quant
        >>> quantizer = npu_quant.PerTensorAffineQuantizer(0.1, 10, npu_quant.quint8)
        >>> quantizer
        PerTensorAffineQuantizer(scale=0.1, zero_point=10, scalar_type=quint8)
        >>> str(quantizer.qscheme())
        'per_tensor_affine'
        >>> q = quantizer.quantize(np.array([0, 0.25, -9, 99], dtype=np.float32))
        >>> q
        array([ 10,  12,   0, 255], dtype=uint8)
        >>> quantizer.dequantize(q)
        array([ 0. ,  0.2, -1. , 24.5], dtype=float32)

    Source: ``PerTensorAffineQuantizer`` of PyTorch's documentation
    (``aten/src/ATen/quantized/Quantizer.h``).
    """

    _quantizer: _core.PerTensorAffineQuantizer

    def __init__(self, scale: float, zero_point: int, scalar_type: DTypeName) -> None:
        self._quantizer = _core.PerTensorAffineQuantizer(scale, zero_point, scalar_type)

    def qscheme(self) -> QScheme:
        """Return ``per_tensor_affine``, always."""
        return QScheme(self._quantizer.qscheme())

    def scale(self) -> float:
        """Return the step, as given."""
        return self._quantizer.scale()

    def zero_point(self) -> int:
        """Return the code of 0."""
        return self._quantizer.zero_point()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(scale={self.scale()!r}, zero_point={self.zero_point()}, "
            f"scalar_type={self.scalar_type()})"
        )

    def __hash__(self) -> int:
        return hash((self.scale(), self.zero_point(), self.scalar_type()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.scale(), self.zero_point(), self.scalar_type())


class PerChannelAffineQuantizer(Quantizer):
    """A quantizer with a scale and a zero point for each place along an axis.

    Args:
        scales: the steps, 1-D, float32 or float64; the arithmetic rounds them to float32.
        zero_points: the codes of 0, 1-D, int32 or int64, as many as scales and in the range of
            ``scalar_type``.
        axis: the axis of the channels, -8 to 7; a negative one counts from the end.
        scalar_type: qint8, quint8 or qint32, by any of the names that
            :func:`npu_quant.quantize_val` takes.

    The codes are those of a :class:`PerTensorAffineQuantizer` for each channel.
    ``torch.quantize_per_channel`` (measured: 2.13 on x86) adds the zero point before it rounds; its
    ``dequantize()`` multiplies by the float64 scales, so its last bit differs where a scale is no
    number of float32, and it subtracts in float32, so it rounds qint32 codes beyond 2 ** 24 and
    does not wrap.

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, length, ``axis``, a zero point or ``scalar_type`` is not allowed.
        TypeError: an argument is of the wrong kind, such as ``axis=0.0``.

    Example:
        >>> import numpy as np, npu_quant
        >>> scales, zero_points = np.array([0.5, 2.0]), np.array([0, 3])
        >>> quantizer = npu_quant.PerChannelAffineQuantizer(scales, zero_points, 0, "qint8")
        >>> quantizer
        PerChannelAffineQuantizer(scales=[0.5, 2.0], zero_points=[0, 3], axis=0, scalar_type=qint8)
        >>> q = quantizer.quantize(np.array([[1, 99], [1, 5]], dtype=np.float32))
        >>> q
        array([[  2, 127],
               [  3,   5]], dtype=int8)
        >>> quantizer.dequantize(q)
        array([[ 1. , 63.5],
               [ 0. ,  4. ]], dtype=float32)

    Source: ``PerChannelAffineQuantizer`` of PyTorch (``aten/src/ATen/quantized/Quantizer.h``).
    """

    _quantizer: _core.PerChannelAffineQuantizer

    def __init__(
        self,
        scales: Array,
        zero_points: Array,
        axis: int,
        scalar_type: DTypeName,
    ) -> None:
        self._quantizer = _core.PerChannelAffineQuantizer(scales, zero_points, axis, scalar_type)

    def qscheme(self) -> QScheme:
        """Return ``per_channel_affine``, always."""
        return QScheme(self._quantizer.qscheme())

    def scales(self) -> NDArray[np.float64]:
        """Return the steps, as given, in a fresh float64 array."""
        return self._quantizer.scales()

    def zero_points(self) -> NDArray[np.int64]:
        """Return the codes of 0 in a fresh int64 array."""
        return self._quantizer.zero_points()

    def axis(self) -> int:
        """Return the axis of the channels, as given."""
        return self._quantizer.axis()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(scales={_listed(self.scales())}, "
            f"zero_points={_listed(self.zero_points())}, axis={self.axis()}, "
            f"scalar_type={self.scalar_type()})"
        )

    def __hash__(self) -> int:
        parameters = self.scales().tolist(), self.zero_points().tolist()
        return hash((*map(tuple, parameters), self.axis(), self.scalar_type()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.scales(), self.zero_points(), self.axis(), self.scalar_type())


def _listed(numbers: NDArray[Any]) -> str:
    """Return the first and the last numbers, each with all its digits."""
    texts = [repr(number) for number in numbers.tolist()]
    if len(texts) > 8:
        texts[3:-3] = ["..."]
    return f"[{', '.join(texts)}]"


def make_per_tensor_affine_quantizer(
    scale: float, zero_point: int, scalar_type: DTypeName
) -> PerTensorAffineQuantizer:
    """Return ``PerTensorAffineQuantizer(scale, zero_point, scalar_type)``, as ATen's function does.

    Args:
        scale: the step.
        zero_point: the code of 0, in the range of ``scalar_type``.
        scalar_type: qint8, quint8 or qint32.

    Raises:
        ParamError: ``zero_point`` or ``scalar_type`` is not allowed.
        TypeError: an argument is of the wrong kind.

    Example:
        >>> import npu_quant
        >>> npu_quant.make_per_tensor_affine_quantizer(0.1, 0, "qint8")
        PerTensorAffineQuantizer(scale=0.1, zero_point=0, scalar_type=qint8)
    """
    return PerTensorAffineQuantizer(scale, zero_point, scalar_type)


def make_per_channel_affine_quantizer(
    scales: Array, zero_points: Array, axis: int, scalar_type: DTypeName
) -> PerChannelAffineQuantizer:
    """Return ``PerChannelAffineQuantizer(scales, zero_points, axis, scalar_type)``.

    Args:
        scales: the steps, 1-D, float32 or float64.
        zero_points: the codes of 0, 1-D, int32 or int64, as many as scales.
        axis: the axis of the channels.
        scalar_type: qint8, quint8 or qint32.

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, length, ``axis``, a zero point or ``scalar_type`` is not allowed.
        TypeError: an argument is of the wrong kind.

    Example:
        >>> import numpy as np, npu_quant
        >>> scales, zero_points = np.array([0.5, 2.0]), np.array([0, 3])
        >>> npu_quant.make_per_channel_affine_quantizer(scales, zero_points, -1, "quint8").axis()
        -1
    """
    return PerChannelAffineQuantizer(scales, zero_points, axis, scalar_type)
