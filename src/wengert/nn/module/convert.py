"""Changing all tensors of a module at once: dtype, device, requires_grad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from wengert.autograd.grad_mode import no_grad
from wengert.core import dtypes
from wengert.core.cut_log import note_drop
from wengert.core.device import on_meta
from wengert.core.tensor import Tensor
from wengert.meta.tensors import NO_DATA
from wengert.nn.module.in_place import compile_in_place
from wengert.nn.module.tree import Tree
from wengert.nn.parameter import Parameter, _convert_lazy, is_lazy
from wengert.ops import formats
from wengert.tensor.creation import empty_like
from wengert.tensor.gradients import clear_grad
from wengert.tensor.swapping import swap_tensors

M = TypeVar("M", bound="Conversion")


class ConversionSettings:
    """What `Module.to` and its like do with parameters, for the process.

    Attributes:
        swap: a parameter exchanges all that it is with a converted one.
        overwrite: a converted one takes its place.
    """

    swap = False
    overwrite = False


conversion = ConversionSettings()


class Conversion(Tree):
    """The part of a Module that converts in place; parameters keep their identity."""

    def _apply(self: M, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> M:
        """Replace the value of every parameter, gradient and buffer by `fn` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for key, parameter in self._parameters.items():
            if parameter is None:
                continue
            if is_lazy(parameter):
                _convert_lazy(parameter, fn)
                continue
            self._replace(key, parameter, fn)
        for name, buffer in self._buffers.items():
            if is_lazy(buffer):
                _convert_lazy(buffer, fn)
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _replace(self, key: str, parameter: Any, fn: Callable[[Tensor], Tensor]) -> None:
        with no_grad():
            data = fn(parameter)
            grad = None if parameter.grad is None else fn(parameter.grad)
        if conversion.swap:
            self._swap(key, parameter, Parameter(data, parameter.requires_grad), grad)
        elif conversion.overwrite or data._memoryless is not parameter._memoryless:
            fresh = Parameter(data, parameter.requires_grad)  # a tensor cannot change its device
            if grad is not None:
                fresh.grad = grad.requires_grad_(parameter.grad.requires_grad)
            self._parameters[key] = fresh
        else:
            parameter.data = data
            if grad is not None:
                parameter.grad.data = grad

    def _swap(self, key: str, parameter: Any, converted: Any, grad: Tensor | None) -> None:
        """Have a parameter and its gradient exchange what they are with their converted forms."""
        gradient, parameter.grad = parameter.grad, None
        where = f"_apply(): Couldn't swap {type(self).__name__}.{key}"
        try:
            swap_tensors(parameter, converted)
        except Exception as error:
            parameter.grad = gradient
            raise RuntimeError(where) from error
        if grad is not None:
            try:
                swap_tensors(gradient, grad.requires_grad_(gradient.requires_grad))
            except Exception as error:
                raise RuntimeError(f"{where}.grad") from error
            parameter.grad = gradient

    def to_empty(self: M, *, device: Any, recurse: bool = True) -> M:
        """Move parameters and buffers to a device without their values, which are not set there.

        >>> import wengert
        >>> net = wengert.nn.Linear(2, 1, device="meta")
        >>> net.to_empty(device="cpu").weight.shape
        torch.Size([1, 2])
        """
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def apply(self: M, fn: Callable[[Any], None]) -> M:
        """Call `fn` on every submodule and then on this one, for instance to initialise them.

        >>> import wengert
        >>> net = wengert.nn.Sequential(wengert.nn.ReLU(), wengert.nn.Tanh())
        >>> net = net.apply(lambda module: print(type(module).__name__))
        ReLU
        Tanh
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """Convert floating-point tensors to a dtype, or move all to a device.

        Takes a dtype, a device, both, or a tensor to take them from; and `memory_format`, for
        parameters and buffers of rank 4 and 5. The result is this module, changed in place.

        >>> import wengert
        >>> wengert.nn.Linear(2, 1).to(wengert.float64).weight.dtype
        torch.float64
        """
        dtype, device = _target_of(args, kwargs)
        if dtype is not None and dtype.category < dtypes.FLOAT:
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired"
                f" dtype={dtype}"
            )

        memory_format = formats.check_format("to", kwargs.get("memory_format"))

        def moved(t: Tensor) -> Tensor:
            if device is not None:
                t = _placed_on(t, device)
            if dtype is not None and t.dtype.category >= dtypes.FLOAT:
                t = t.to(dtype)
            return t.to(memory_format=memory_format) if t.ndim in (4, 5) else t

        return self._apply(moved)

    def _floating_to(self: M, dtype: dtypes.dtype) -> M:
        def converted(t: Tensor) -> Tensor:
            return t.to(dtype) if t.dtype.is_floating_point else t

        return self._apply(converted)

    def float(self: M) -> M:
        """Convert floating-point parameters and buffers to float32, in place."""
        return self._floating_to(dtypes.float32)

    def double(self: M) -> M:
        """Convert floating-point parameters and buffers to float64, in place."""
        return self._floating_to(dtypes.float64)

    def half(self: M) -> M:
        """Convert floating-point parameters and buffers to float16, in place."""
        return self._floating_to(dtypes.float16)

    def bfloat16(self: M) -> M:
        """Convert floating-point parameters and buffers to bfloat16, in place."""
        return self._floating_to(dtypes.bfloat16)

    def type(self: M, dst_type: dtypes.dtype) -> M:
        """Convert all parameters and buffers to a dtype, in place."""
        return self._apply(lambda t: t.to(dst_type))

    def cpu(self: M) -> M:
        """Return this module; NotImplementedError if any of it is on the meta device."""
        return self._apply(lambda t: t.cpu())

    def cuda(self: M, device: Any = None) -> M:
        """AssertionError if there are parameters or buffers, as in a PyTorch without CUDA."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self: M, device: Any = None) -> M:
        """AssertionError if there are parameters or buffers, as in a PyTorch without it."""
        return self._apply(lambda t: t.xpu(device))

    def mtia(self: M, device: Any = None) -> M:
        """AssertionError if there are parameters or buffers, as in a PyTorch without it."""
        return self._apply(lambda t: t.mtia(device))

    def ipu(self: M, device: Any = None) -> M:
        """RuntimeError if there are parameters or buffers, as in a PyTorch without it."""
        return self._apply(lambda t: t.ipu(device))

    def share_memory(self: M) -> M:
        """Move parameters and buffers to memory shared with forked processes."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compute this module's `forward` as `torch.compile` does; its arguments are the same.

        >>> import wengert
        >>> layer = wengert.nn.Linear(2, 1)
        >>> layer.compile()
        >>> layer(wengert.ones(1, 2)).shape
        torch.Size([1, 1])
        """
        compile_in_place(self, *args, **kwargs)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Set `requires_grad` of all parameters: train or freeze them.

        >>> import wengert
        >>> wengert.nn.Linear(2, 1).requires_grad_(False).weight.requires_grad
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zero."""
        if set_to_none:
            note_drop("zero_grad()", self)
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)


def _placed_on(tensor: Tensor, device: Any) -> Tensor:
    if tensor.is_meta and not on_meta(device):
        raise NotImplementedError(
            f"{NO_DATA} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when"
            " moving module from meta to a different device."
        )
    return tensor.to(device)


def _target_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """dtype and device of a call of `to`."""
    dtype, device = kwargs.get("dtype"), kwargs.get("device")
    unknown = kwargs.keys() - {"dtype", "device", "non_blocking", "copy", "memory_format", "tensor"}
    if unknown:
        raise TypeError(f"to() received an invalid keyword argument {sorted(unknown)[0]!r}")
    for value in (*args, kwargs.get("tensor")):
        if isinstance(value, dtypes.dtype):
            dtype = value
        elif isinstance(value, Tensor):
            dtype, device = value.dtype, value.device
        elif value is not None and not isinstance(value, bool):
            device = value
    return dtype, device
