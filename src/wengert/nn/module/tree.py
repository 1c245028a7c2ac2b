"""What a module owns: registration by assignment, look-up, and walks over the tree."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from wengert.autograd.naming import describe_node
from wengert.core.dtypes import of_numpy
from wengert.core.messages import current_call, message
from wengert.core.tensor import Hooks, Leaf, Tensor
from wengert.nn.parameter import Buffer, Parameter

if TYPE_CHECKING:
    from wengert.nn.module import Module


def typename(value: Any) -> str:
    """The name of a value's type in error messages, such as ``torch.FloatTensor``."""
    kind = type(value)
    if kind is Tensor:
        return f"torch.{of_numpy[value._outline.dtype].short}Tensor"
    if isinstance(value, type):
        kind = value
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


# Hooks called by all modules when something is registered with them, by kind.
registering: dict[str, Hooks] = {
    "parameter": OrderedDict(), "buffer": OrderedDict(), "module": OrderedDict(),
}  # fmt: skip


def _hook_result(answer: Any, default: Any) -> Any:
    return default if answer is None else answer


class Tree:
    """Parameters, buffers and submodules of a module."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]

    # Registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, accessible as an attribute of that name; None reserves the name."""
        self._check_name(name, "parameter", "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}'"
                    " (torch.nn.Parameter or None required)"
                )
            if param._edge is not None and type(param._edge) is not Leaf:
                raise ValueError(message(
                    "non-leaf-parameter",
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must"
                    f" be created explicitly. To express '{name}' as a function of another"
                    " Tensor, compute the value in the forward() method.",
                    [
                        ("this call", current_call(f"{name} = ...")),
                        ("made by", describe_node(param._edge)),
                    ],
                    [
                        "a parameter with these values: nn.Parameter(y.detach().clone())",
                        "a value that follows other parameters: compute it in forward()",
                    ],
                ))  # fmt: skip
        if param is not None:
            for hook in registering["parameter"].values():
                param = _hook_result(hook(self, name, param), param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the state but not trained, such as a running mean.

        Args:
            name: the attribute name.
            tensor: the buffer; None reserves the name.
            persistent: whether it is part of `state_dict()`.
        """
        self._check_name(name, "buffer", "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}'"
                " (torch Tensor or None required)"
            )
        self._put_buffer(name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """As `add_module`."""
        self.add_module(name, module)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule, accessible as an attribute of that name."""
        if not isinstance(module, Tree) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name(name, "module", "_modules")
        self._put_module(name, module)

    def _put_buffer(self, name: str, tensor: Any) -> None:
        for hook in registering["buffer"].values():
            tensor = _hook_result(hook(self, name, tensor), tensor)
        self._buffers[name] = tensor

    def _put_module(self, name: str, module: Any) -> None:
        for hook in registering["module"].values():
            module = _hook_result(hook(self, name, module), module)
        self._modules[name] = module

    def _check_name(self, name: Any, kind: str, table: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in self.__dict__[table] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # Attributes

    def __getattr__(self, name: str) -> Any:
        # Only reached where ordinary look-up failed.
        own = self.__dict__
        if (members := own.get("_parameters")) and name in members:
            return members[name]
        if (members := own.get("_modules")) and name in members:
            return members[name]
        if (members := own.get("_buffers")) and name in members:
            return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            self._check_initialised("_parameters", "parameters")
            self._forget(name, but="_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Tree):
            self._check_initialised("_modules", "module")
            self._forget(name, but="_modules")
            self._put_module(name, value)
        elif name in own.get("_parameters", ()):
            self._check_none(value, name, "parameter", "torch.nn.Parameter")
            self.register_parameter(name, None)
        elif name in own.get("_modules", ()):
            self._check_none(value, name, "child module", "torch.nn.Module")
            own["_modules"][name] = None
        elif isinstance(value, Buffer) or name in own.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        self._check_initialised("_buffers", "buffer")
        if value is not None and not isinstance(value, Tensor):
            self._check_none(value, name, "buffer", "torch.nn.Buffer, torch.Tensor")
        if isinstance(value, Buffer):
            self._forget(name, but="_buffers")
            self.register_buffer(name, value, value.persistent)
        else:
            self._put_buffer(name, value)

    def _check_initialised(self, table: str, what: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def _check_none(self, value: Any, name: str, kind: str, expected: str) -> None:
        if value is not None:
            raise TypeError(
                f"cannot assign '{typename(value)}' as {kind} '{name}' ({expected} or None"
                " expected)"
            )

    def _forget(self, name: str, but: str) -> None:
        """Remove a name from every table but one, and from the plain attributes."""
        own = self.__dict__
        own.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != but:
                own[table].pop(name, None)
        own["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            if name in own.get(table, ()):
                del own[table][name]
                own["_non_persistent_buffers_set"].discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__]
        names += [*self._parameters, *self._modules, *self._buffers]
        return sorted({n for n in names if not n[0].isdigit()})

    # Walks

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """All modules of the tree with their dotted names, this one first; each only once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, cast("Module", self)
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, below, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """All modules of the tree, this one first; each only once."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The immediate submodules, with their names."""
        visited: set[Any] = set()
        for name, module in self._modules.items():
            if module is not None and module not in visited:
                visited.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The immediate submodules."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        visited: set[Any] = set()
        walk: Any = [(prefix, self)]
        if recurse:
            walk = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in walk:
            for name, value in get_members_fn(module):
                if value is None or value in visited:
                    continue
                if remove_duplicate:
                    visited.add(value)
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names; shared ones only once.

        >>> import wengert
        >>> [name for name, _ in wengert.nn.Linear(2, 1).named_parameters()]
        ['weight', 'bias']
        """
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, of submodules as well unless `recurse` is False."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, of submodules as well unless `recurse` is False."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # Look-up by path

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path, such as ``"features.3"``; the empty path is this one."""
        module = cast("Module", self)
        for name in target.split(".") if target else ():
            owner, module = module, _attribute(module, name)
            if not isinstance(module, Tree):
                raise AttributeError(f"`{name}` is not an nn.Module but {typename(module)},"
                                     f" in {type(owner).__name__}")  # fmt: skip
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted path; with `strict`, one must be there already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Tree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        value = _attribute(self.get_submodule(path), name)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter but {typename(value)}")
        return value

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        value = _attribute(module, name)
        if not isinstance(value, Tensor) or name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer but {typename(value)}")
        return value


def _attribute(module: Module, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    return getattr(module, name)
