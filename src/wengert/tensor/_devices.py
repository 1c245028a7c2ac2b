"""Devices that are not there: what the methods of tensors say of them."""

from __future__ import annotations

from typing import Any, NoReturn

from wengert.core.tensor import Tensor


def xpu(self: Tensor, *args: Any, **options: Any) -> NoReturn:
    """Raise AssertionError, as in a PyTorch without that device.

    >>> import wengert
    >>> try:
    ...     wengert.ones(1).xpu()
    ... except AssertionError:
    ...     print("there is none")
    there is none
    """
    raise _absent("xpu", AssertionError, "Torch not compiled with XPU enabled")


def mtia(self: Tensor, *args: Any, **options: Any) -> NoReturn:
    """Raise AssertionError, as in a PyTorch without that device.

    >>> import wengert
    >>> try:
    ...     wengert.ones(1).mtia()
    ... except AssertionError:
    ...     print("there is none")
    there is none
    """
    raise _absent("mtia", AssertionError, "Torch not compiled with MTIA enabled")


def ipu(self: Tensor, *args: Any, **options: Any) -> NoReturn:
    """Raise RuntimeError, as in a PyTorch without that device.

    >>> import wengert
    >>> try:
    ...     wengert.ones(1).ipu()
    ... except RuntimeError:
    ...     print("there is none")
    there is none
    """
    raise _absent("ipu", RuntimeError, "PyTorch is not linked with support for ipu devices")


def record_stream(self: Tensor, *args: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError, as in a PyTorch without that device.

    >>> import wengert
    >>> try:
    ...     wengert.ones(1).record_stream(None)
    ... except NotImplementedError:
    ...     print("there is none")
    there is none
    """
    raise _absent(
        "record_stream",
        NotImplementedError,
        "Could not run 'aten::record_stream' with arguments from the 'CPU' backend",
    )


def _absent(name: str, error: type[Exception], text: str) -> Exception:
    return error(f"{text} (Tensor.{name}() was called; this library computes on 'cpu')")


def bind() -> None:
    """Give Tensor the methods."""
    for method in (xpu, mtia, ipu, record_stream):
        setattr(Tensor, method.__name__, method)
