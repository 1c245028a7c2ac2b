"""Padding at the borders: constant, zero, reflection, replication, circular."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.module import Module
from wengert.nn.modules._common import tuple_of


class _Pad(Module):
    """A padding; subclasses set the number of dimensions and the mode."""

    dimensions: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = tuple_of(padding, 2 * self.dimensions)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, self.mode)

    def _check_input_dim(self, input: Tensor) -> None:
        """Check nothing; subclasses may override it."""

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_Pad):
    mode = "reflect"


class _ReplicationPadNd(_Pad):
    mode = "replicate"


class _CircularPadNd(_Pad):
    mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        n = self.dimensions + 1
        if input._outline.ndim not in (n, n + 1):
            raise ValueError(f"expected {n}D or {n + 1}D input (got {input._outline.ndim}D input)")


class ConstantPad1d(_ConstantPadNd):
    """Pads (*, L) with a constant.

    Args:
        padding: elements added at every side: one number, or (left, right).
        value: what is added.

    >>> import wengert
    >>> wengert.nn.ConstantPad1d(1, 7.0)(wengert.zeros(1, 2, 4)).shape
    torch.Size([1, 2, 6])
    """

    dimensions = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads (*, H, W) with a constant.

    Args:
        padding: elements added at every side: one number, or (left, right, top, bottom).
        value: what is added.

    >>> import wengert
    >>> wengert.nn.ConstantPad2d(1, 7.0)(wengert.zeros(1, 2, 4, 4)).shape
    torch.Size([1, 2, 6, 6])
    """

    dimensions = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads (*, D, H, W) with a constant.

    Args:
        padding: elements added at every side: one number, or (left, right, top, bottom, front,
            back).
        value: what is added.

    >>> import wengert
    >>> wengert.nn.ConstantPad3d(1, 7.0)(wengert.zeros(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 6, 6, 6])
    """

    dimensions = 3


class ZeroPad1d(_ZeroPad):
    """Pads (*, L) with zeros.

    Args:
        padding: elements added at every side: one number, or (left, right).

    >>> import wengert
    >>> wengert.nn.ZeroPad1d(1)(wengert.zeros(1, 2, 4)).shape
    torch.Size([1, 2, 6])
    """

    dimensions = 1


class ZeroPad2d(_ZeroPad):
    """Pads (*, H, W) with zeros.

    Args:
        padding: elements added at every side: one number, or (left, right, top, bottom).

    >>> import wengert
    >>> wengert.nn.ZeroPad2d(1)(wengert.zeros(1, 2, 4, 4)).shape
    torch.Size([1, 2, 6, 6])
    """

    dimensions = 2


class ZeroPad3d(_ZeroPad):
    """Pads (*, D, H, W) with zeros.

    Args:
        padding: elements added at every side: one number, or (left, right, top, bottom, front,
            back).

    >>> import wengert
    >>> wengert.nn.ZeroPad3d(1)(wengert.zeros(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 6, 6, 6])
    """

    dimensions = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Pads (*, L) by reflection, without repeating the border.

    Args:
        padding: elements added at every side: one number, or (left, right).

    >>> import wengert
    >>> wengert.nn.ReflectionPad1d(1)(wengert.zeros(1, 2, 4)).shape
    torch.Size([1, 2, 6])
    """

    dimensions = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads (*, H, W) by reflection, without repeating the border.

    Args:
        padding: elements added at every side: one number, or (left, right, top, bottom).

    >>> import wengert
    >>> wengert.nn.ReflectionPad2d(1)(wengert.zeros(1, 2, 4, 4)).shape
    torch.Size([1, 2, 6, 6])
    """

    dimensions = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads (*, D, H, W) by reflection, without repeating the border.

    Args:
        padding: elements added at every side: one number, or (left, right, top, bottom, front,
            back).

    >>> import wengert
    >>> wengert.nn.ReflectionPad3d(1)(wengert.zeros(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 6, 6, 6])
    """

    dimensions = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Pads (*, L) with the values at the borders.

    Args:
        padding: elements added at every side: one number, or (left, right).

    >>> import wengert
    >>> wengert.nn.ReplicationPad1d(1)(wengert.zeros(1, 2, 4)).shape
    torch.Size([1, 2, 6])
    """

    dimensions = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads (*, H, W) with the values at the borders.

    Args:
        padding: elements added at every side: one number, or (left, right, top, bottom).

    >>> import wengert
    >>> wengert.nn.ReplicationPad2d(1)(wengert.zeros(1, 2, 4, 4)).shape
    torch.Size([1, 2, 6, 6])
    """

    dimensions = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads (*, D, H, W) with the values at the borders.

    Args:
        padding: elements added at every side: one number, or (left, right, top, bottom, front,
            back).

    >>> import wengert
    >>> wengert.nn.ReplicationPad3d(1)(wengert.zeros(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 6, 6, 6])
    """

    dimensions = 3


class CircularPad1d(_CircularPadNd):
    """Pads (*, L) by wrapping around.

    Args:
        padding: elements added at every side: one number, or (left, right).

    >>> import wengert
    >>> wengert.nn.CircularPad1d(1)(wengert.zeros(1, 2, 4)).shape
    torch.Size([1, 2, 6])
    """

    dimensions = 1


class CircularPad2d(_CircularPadNd):
    """Pads (*, H, W) by wrapping around.

    Args:
        padding: elements added at every side: one number, or (left, right, top, bottom).

    >>> import wengert
    >>> wengert.nn.CircularPad2d(1)(wengert.zeros(1, 2, 4, 4)).shape
    torch.Size([1, 2, 6, 6])
    """

    dimensions = 2


class CircularPad3d(_CircularPadNd):
    """Pads (*, D, H, W) by wrapping around.

    Args:
        padding: elements added at every side: one number, or (left, right, top, bottom, front,
            back).

    >>> import wengert
    >>> wengert.nn.CircularPad3d(1)(wengert.zeros(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 6, 6, 6])
    """

    dimensions = 3


__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]
