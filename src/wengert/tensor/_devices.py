"""Devices that are not there: what the methods of tensors say of them."""

from __future__ import annotations

from typing import Any, NoReturn

from wengert.core.tensor import Tensor

_HERE = "this library computes on 'cpu'"


def xpu(self: Tensor, device: Any = None, non_blocking: bool = False,
        memory_format: Any = None) -> NoReturn:  # fmt: skip
    """Raise AssertionError, as in a PyTorch without that device.

    >>> import wengert
    >>> try:
    ...     wengert.zeros(2).xpu()
    ... except AssertionError:
    ...     print("there is no XPU")
    there is no XPU
    """
    raise AssertionError(f"Torch not compiled with XPU enabled: {_HERE}")


def mtia(self: Tensor, device: Any = None, non_blocking: bool = False,
         memory_format: Any = None) -> NoReturn:  # fmt: skip
    """Raise AssertionError, as in a PyTorch without that device.

    >>> import wengert
    >>> try:
    ...     wengert.zeros(2).mtia()
    ... except AssertionError:
    ...     print("there is no MTIA")
    there is no MTIA
    """
    raise AssertionError(f"Torch not compiled with MTIA enabled: {_HERE}")


def ipu(self: Tensor, device: Any = None, non_blocking: bool = False,
        memory_format: Any = None) -> NoReturn:  # fmt: skip
    """Raise RuntimeError, as in a PyTorch without that device.

    >>> import wengert
    >>> try:
    ...     wengert.zeros(2).ipu()
    ... except RuntimeError:
    ...     print("there is no IPU")
    there is no IPU
    """
    raise RuntimeError(f"PyTorch is not linked with support for ipu devices: {_HERE}")


def record_stream(self: Tensor, s: Any) -> NoReturn:
    """Raise NotImplementedError: there are no streams on the CPU.

    >>> import wengert
    >>> try:
    ...     wengert.zeros(2).record_stream(None)
    ... except NotImplementedError:
    ...     print("there are no streams")
    there are no streams
    """
    raise NotImplementedError(
        "Could not run 'aten::record_stream' with arguments from the 'CPU' backend: there are no"
        " streams"
    )


def bind() -> None:
    """Give Tensor the methods."""
    for function in (xpu, mtia, ipu, record_stream):
        setattr(Tensor, function.__name__, function)
