"""``torch.nn.utils._named_member_accessor``: tensors of a module by their dotted names.

What is put in is no parameter: it goes where the name has its value, and replaces it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn.module import Module

_MISSING: Any = object()


def set_tensor(module: Module, name: str, tensor: Tensor | None) -> None:
    """Put a tensor under one name of a module, whether there was one or not."""
    _place(module, name, tensor)


def swap_tensor(
    module: Module, name: str, tensor: Tensor | None, allow_missing: bool = False
) -> Any:
    """Put a tensor under one name of a module, and return what was there.

    With `allow_missing`, a placeholder is returned if there was nothing; it deletes the name when
    it is put in itself. Raises AttributeError without.
    """
    return _place(module, name, tensor, allow_missing=allow_missing, strict=True)


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a module under one name of another, and return the one that was there."""
    _check_module(module)
    _check_module(submodule)
    _check_name(name, "submodule")
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if not isinstance(before, Module):
        raise TypeError(f"{name} is not an instance of torch.nn.Module, but {before!r}")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """The tensors and modules below a module, by their dotted names."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def get_submodule(self, name: str) -> Module:
        """The module with a dotted name; "" is the whole."""
        here: Any = self.module
        walked = []
        for step in name.split(".") if name else ():
            walked.append(step)
            if not hasattr(here, step):
                raise AttributeError(f"{type(here).__name__} has no attribute `{step}`")
            here = getattr(here, step)
            if not isinstance(here, Module):
                path = ".".join(walked)
                raise TypeError(
                    f"submodule `{path}`: {here!r} is not an instance of torch.nn.Module"
                )
        return here

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Put in another module, and return the one that was there."""
        owner, name = self._split(path)
        return swap_submodule(owner, name, value)

    def get_tensor(self, name: str) -> Tensor:
        """The tensor with a dotted name."""
        owner, own = self._split(name)
        if not hasattr(owner, own):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        return _check_tensor(getattr(owner, own))

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Put a tensor under a name."""
        set_tensor(*self._split(name), value)

    def del_tensor(self, name: str) -> None:
        """Delete the tensor with a name."""
        owner, own = self._split(name)
        _check_tensor(getattr(owner, own))
        delattr(owner, own)

    def swap_tensor(self, name: str, value: Tensor | None, allow_missing: bool = False) -> Any:
        """Put a tensor under a name, and return what was there."""
        return swap_tensor(*self._split(name), value, allow_missing=allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        """The tensors with these names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        """Put tensors under names."""
        for name, value in _pairs(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        """Put tensors under names."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Delete the tensors with these names."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(
        self, names: Iterable[str], values: Iterable[Tensor], allow_missing: bool = False
    ) -> list[Any]:
        """Put tensors under names, and return what was there."""
        return [
            self.swap_tensor(name, value, allow_missing=allow_missing)
            for name, value in _pairs(names, values)
        ]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """Put tensors under names; what was there, and the names under which nothing was.

        Nothing is changed if one of them fails.
        """
        before: dict[str, Any] = {}
        missing: list[str] = []
        try:
            for name, value in named_tensors.items():
                before[name] = self.swap_tensor(name, value, allow_missing=True)
                if before[name] is _MISSING:
                    missing.append(name)
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except Exception:
            for name, value in before.items():
                self.swap_tensor(name, value, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names that are not among `keys`, and the keys that are no names, sorted."""
        given, own = {*keys}, {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """As in `Module.named_parameters`."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """As in `Module.named_buffers`."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """Parameters, then buffers."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Module]]:
        """As in `Module.named_modules`."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)

    def _split(self, path: str) -> tuple[Module, str]:
        owner, _, name = path.rpartition(".")
        return self.get_submodule(owner), name


def _place(
    module: Module, name: str, tensor: Any, allow_missing: bool = True, strict: bool = False
) -> Any:
    """Put a tensor where the name has its value; what was there, or the placeholder."""
    _check_module(module)
    if tensor is not _MISSING and tensor is not None:
        _check_tensor(tensor)
    _check_name(name, "tensor")
    table = next((t for t in (module._parameters, module._buffers) if name in t), None)
    holder = module.__dict__ if table is None else table
    if table is not None:
        before = table[name]
    else:
        before = getattr(module, name, _MISSING)
        if before is _MISSING and not allow_missing:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if strict and before is not _MISSING and before is not None:
            _check_tensor(before, f"attribute `{name}`: ")
    if tensor is _MISSING:
        holder.pop(name, None)
    elif table is None:
        setattr(module, name, tensor)
    else:
        table[name] = tensor
    return before


def _pairs(names: Iterable[str], values: Iterable[Tensor]) -> list[tuple[str, Tensor]]:
    """Names and values side by side."""
    names, values = list(names), list(values)
    if len(names) != len(values):
        raise AssertionError(
            "names and values must have the same length, got"
            f" {len(names)} names and {len(values)} values"
        )
    return list(zip(names, values, strict=True))


def _check_module(value: Any) -> None:
    if not isinstance(value, Module):
        raise TypeError(f"{value!r} is not an instance of torch.nn.Module")


def _check_tensor(value: Any, what: str = "") -> Any:
    if not isinstance(value, Tensor):
        raise TypeError(f"{what}{value!r} is not an instance of torch.Tensor")
    return value


def _check_name(name: str, kind: str) -> None:
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."')
    if not name:
        raise KeyError(f'{kind} name can\'t be empty string ""')


__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]
