"""Values of torch as values of wengert, and back.

`to_wengert` and `to_torch` take tensors, dtypes, devices, layouts, generators, functions and
classes, and lists, tuples (named ones too), sets, dicts and slices of them. Anything else goes
through as it is. A value of torch that has no counterpart raises `NoCounterpartError`, so that a
caller can tell a gap of this library from a failure.

A converted tensor has memory of its own with the same layout (strides, offset, elements that
overlap), and is a leaf that requires a gradient where the original did. Within one call, one
tensor becomes one tensor, wherever it occurs. `tensors_in` lists the tensors of a structure of
either library; before and after a conversion they come in the same order.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np

import wengert
from wengert import Tensor


class NoCounterpartError(TypeError):
    """A value of torch that this library cannot hold, such as a sparse tensor."""


def to_wengert(value: Any) -> Any:
    """A value of torch, or a structure of them, as ours."""
    return _Walk(_ours).convert(value)


def to_torch(value: Any) -> Any:
    """A value of this library, or a structure of them, as torch's."""
    return _Walk(_theirs).convert(value)


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors of a structure, of either library, each as often as it occurs."""
    if isinstance(value, Tensor) or _is_torch_tensor(value):
        yield value
    elif isinstance(value, Mapping):
        for v in value.values():
            yield from tensors_in(v)
    elif isinstance(value, list | tuple):
        for v in value:
            yield from tensors_in(v)


class _Walk:
    """One conversion: what a leaf becomes, and which leaves were met already."""

    def __init__(self, leaf: Any) -> None:
        self.leaf = leaf
        self.known: dict[int, tuple[Any, Any]] = {}  # with the original, so that ids stay taken

    def convert(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {self.convert(k): self.convert(v) for k, v in value.items()}
        if type(value) in (list, tuple, set, frozenset):
            return type(value)(self.convert(v) for v in value)
        if isinstance(value, slice):
            return slice(*map(self.convert, (value.start, value.stop, value.step)))
        if id(value) not in self.known:
            self.known[id(value)] = value, self.leaf(self, value)
        return self.known[id(value)][1]


def _is_torch_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _module(value: Any) -> str:
    """The module that a value, or else its class, belongs to."""
    return getattr(value, "__module__", None) or type(value).__module__


def _named(root: Any, path: str, original: Any) -> Any:
    for name in path.split("."):
        root = getattr(root, name, None)
        if root is None:
            raise NoCounterpartError(f"wengert has no {path} (for {original!r})")
    return root


def _ours(walk: _Walk, value: Any) -> Any:
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        return _our_tensor(torch, value)
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return _named(wengert, str(value).removeprefix("torch."), value)
    if isinstance(value, torch.device):
        return wengert.device(value.type)
    if isinstance(value, torch.Size):
        return wengert.Size(value)
    if isinstance(value, torch.Generator):
        made = wengert.Generator()
        made.set_state(_our_tensor(torch, value.get_state()))
        return made
    if isinstance(value, tuple):
        return _our_named_tuple(walk, value)
    if callable(value) and not isinstance(value, torch.nn.Module):
        return _our_function(torch, value)
    return value


def _our_tensor(torch: Any, value: Any) -> Tensor:
    if value.layout is not torch.strided or value.is_quantized or value.device.type != "cpu":
        raise NoCounterpartError(f"a tensor of layout {value.layout} on {value.device}")
    flat = value.detach().resolve_conj().resolve_neg()
    memory = flat.untyped_storage().clone()
    copy = flat.new_empty(0).set_(memory, flat.storage_offset(), flat.shape, flat.stride())
    made = wengert.from_numpy(_numpy(torch, copy))
    if isinstance(value, torch.nn.Parameter):
        return wengert.nn.Parameter(made, requires_grad=value.requires_grad)
    return made.requires_grad_() if value.requires_grad else made


def _numpy(torch: Any, value: Any) -> np.ndarray:
    if value.dtype is torch.bfloat16:
        return value.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    try:
        return value.numpy()
    except TypeError:
        raise NoCounterpartError(f"a tensor of {value.dtype}") from None


def _our_named_tuple(walk: _Walk, value: Any) -> Any:
    """A tuple with names: of torch's classes ours, where there is one, else a plain tuple."""
    members = [walk.convert(v) for v in value]
    cls = type(value)
    if not cls.__module__.startswith("torch") or cls.__module__ == "torch.return_types":
        return cls(*members) if hasattr(cls, "_fields") else tuple(members)
    return _named(wengert, f"{cls.__module__}.{cls.__qualname__}".removeprefix("torch."), value)(
        *members
    )


def _our_function(torch: Any, value: Any) -> Any:
    """A public function or class of torch by its name; those of others are what they are."""
    home = _module(value)
    name = getattr(value, "__name__", "")
    if home.split(".")[0] not in ("torch", "builtin_function_or_method") or "<" in name:
        return value
    places = [home.removeprefix("torch").lstrip("."), "", "nn.functional", "nn", "special"]
    for place in places:
        below, ours = torch, wengert
        for part in place.split(".") if place else ():
            below, ours = getattr(below, part, None), getattr(ours, part, None)
        if getattr(below, name, None) is value and hasattr(ours, name):
            return getattr(ours, name)
    if home.startswith("torch"):
        raise NoCounterpartError(f"wengert has no {name} (for {value!r})")
    return value


def _theirs(walk: _Walk, value: Any) -> Any:
    import torch

    if isinstance(value, Tensor):
        return _their_tensor(torch, value)
    if isinstance(value, wengert.dtype):
        return getattr(torch, str(value).removeprefix("torch."))
    if isinstance(value, wengert.device):
        return torch.device(value.type)
    if isinstance(value, wengert.Size):
        return torch.Size(value)
    if isinstance(value, tuple):
        return tuple(walk.convert(v) for v in value)
    return value


def _their_tensor(torch: Any, value: Tensor) -> Any:
    array = value.detach().numpy()
    if array.dtype == ml_dtypes.bfloat16:
        made = torch.from_numpy(array.view(np.int16).copy("K")).view(torch.bfloat16)
    else:
        made = torch.from_numpy(np.array(array, order="K"))
    return made.requires_grad_(value.requires_grad)
