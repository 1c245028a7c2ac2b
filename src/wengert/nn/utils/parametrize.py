"""Parameters that are functions of others: constraints such as symmetry or orthogonality.

A parametrized module gets its own class, on which the parametrized names are properties;
the trained tensors are in `module.parametrizations[name]`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from wengert.autograd import no_grad
from wengert.core.signals import contextmanager
from wengert.core.tensor import Tensor
from wengert.nn.module import Module
from wengert.nn.modules.container import ModuleDict, ModuleList
from wengert.nn.parameter import Parameter


class _Cache:
    """Values of parametrized tensors while `cached` is entered, by module and name."""

    def __init__(self) -> None:
        self.depth = 0
        self.values: dict[tuple[int, str], Any] = {}


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """A context in which every parametrized tensor is computed once, on first use.

    >>> import wengert
    >>> from wengert.nn.utils import parametrize
    >>> layer = wengert.nn.utils.parametrizations.weight_norm(wengert.nn.Linear(2, 2))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values.clear()


def _set(target: Tensor, value: Tensor) -> None:
    """Make `value` the data of `target`, which keeps its identity for optimizers."""
    if target is not value:
        target.data = value.detach()


def _register_tensor(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _right_inverse(modules: Any, value: Any, strict: bool) -> Any:
    """Apply the right inverses of the parametrizations to `value`, the last one first."""
    for module in reversed(list(modules)):
        if hasattr(module, "right_inverse"):
            try:
                value = module.right_inverse(value)
            except NotImplementedError:
                if strict:
                    raise
        elif strict:
            raise RuntimeError(
                f"parametrization {type(module).__name__} does not implement right_inverse."
            )
    return value


def _check(value: Any, like: Tensor, what: str, shape: bool = True) -> None:
    """Check that a parametrization preserves dtype and shape; `what` begins the message."""
    if not isinstance(value, Tensor):
        who = what.replace("Registering a", "A")
        raise ValueError(f"{who} must return a tensor. Got {type(value).__name__}.")
    if value.dtype != like.dtype:
        raise ValueError(
            f"{what} may not change the dtype of the tensor, unless the `unsafe` flag is enabled:"
            f" got {value.dtype} for {like.dtype}"
        )
    if shape and value.shape != like.shape:
        raise ValueError(
            f"{what} may not change the shape of the tensor, unless the `unsafe` flag is enabled:"
            f" got {tuple(value.shape)} for {tuple(like.shape)}"
        )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensors they start from.

    These are `original`, or `original0`, `original1`, ... if the first parametrization takes
    several. Calling the list gives the parametrized tensor.

    Args:
        modules: the parametrizations, in the order they are applied.
        original: the tensor to parametrize.
        unsafe: whether dtype and shape may change.

    >>> import wengert
    >>> layer = wengert.nn.utils.parametrizations.weight_norm(wengert.nn.Linear(2, 2))
    >>> parametrizations = layer.parametrizations.weight
    >>> parametrizations.original0.shape, parametrizations.original1.shape
    (torch.Size([2, 1]), torch.Size([2, 2]))
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.detach()
        with no_grad():
            new = _right_inverse(self, original, strict=False)
        if not isinstance(new, Tensor | Sequence):
            raise _no_inverse(new)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            if new.dtype != original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype:"
                    f" got {new.dtype} for {original.dtype}"
                )
            _set(original, new)
            _register_tensor(self, "original", original)
        else:
            for i, tensor in enumerate(new):
                if not isinstance(tensor, Tensor):
                    raise _no_inverse(tensor)
                if isinstance(original, Parameter):
                    tensor = Parameter(tensor)
                tensor.requires_grad_(original.requires_grad)
                _register_tensor(self, f"original{i}", tensor)
        if not unsafe:
            _check(self(), before, "Registering a parametrization")

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes `value`."""
        with no_grad():
            new = _right_inverse(self, value, strict=True)
            originals = self._originals()
            values = [new] if self.is_tensor else new
            if not isinstance(values, Sequence) or len(values) != len(originals):
                raise ValueError(
                    f"'right_inverse' must return a sequence of {len(originals)} tensors, got"
                    f" {type(new).__name__}"
                )
            for i, (original, tensor) in enumerate(zip(originals, values, strict=True)):
                _check(tensor, original, f"Output {i} of `right_inverse`", shape=False)
                _set(original, tensor)

    def forward(self) -> Any:
        value = self[0](*self._originals())
        for module in list(self)[1:]:
            value = module(value)
        return value


def _no_inverse(value: Any) -> ValueError:
    return ValueError(
        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got"
        f" {type(value).__name__}"
    )


class _Parametrized:
    """Base class of the classes of parametrized modules."""

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        replica: Any = object.__new__(type_before_parametrizations(self))
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        _inject_class(replica)
        for name in self.parametrizations:
            _inject_property(replica, name)
        return replica

    def __getstate__(self) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict()"
        )


def _inject_class(module: Any) -> None:
    """Give the module its own class, to which properties can be added."""
    cls = type(module)
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), {
        "__deepcopy__": _Parametrized.__deepcopy__, "__getstate__": _Parametrized.__getstate__,
        "__module__": cls.__module__,
    })  # fmt: skip


def _inject_property(module: Any, name: str) -> None:
    def get(self: Any) -> Any:
        if not _cache.depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache.values:
            _cache.values[key] = self.parametrizations[name]()
        return _cache.values[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, assign))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make a parameter or buffer of a module a function of its former value.

    The tensor becomes `parametrization(original)`. With a method `right_inverse` it can also be
    assigned to, and keeps its initial value.

    Args:
        module: the module.
        tensor_name: its parameter or buffer.
        parametrization: the function, a module; further ones are applied after it.
        unsafe: allow it to change dtype and shape.

    >>> import wengert
    >>> class Symmetric(wengert.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = wengert.nn.Linear(2, 2)
    >>> layer = wengert.nn.utils.parametrize.register_parametrization(
    ...     layer, "weight", Symmetric()
    ... )
    >>> bool((layer.weight == layer.weight.mT).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(parametrization, getattr(module, tensor_name))
        parametrizations: Any = module.parametrizations[tensor_name]
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element"
            f" with name '{tensor_name}'"
        )
    return module


def _check_next(parametrization: Any, now: Tensor) -> None:
    """Check that another parametrization fits after the existing ones."""
    value = parametrization(now)
    _check(value, now, "Registering a parametrization")
    if hasattr(parametrization, "right_inverse"):
        try:
            back = parametrization.right_inverse(value)
        except NotImplementedError:
            return
        _check(back, now, "parametrization.right_inverse")


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one for that tensor.

    >>> import wengert
    >>> wengert.nn.utils.parametrize.is_parametrized(wengert.nn.Linear(2, 2))
    False
    """
    parametrizations = module._modules.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    if tensor_name is None:
        return len(parametrizations) > 0
    return tensor_name in parametrizations


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a parametrized tensor an ordinary one again.

    Args:
        module: the module.
        tensor_name: the name of the tensor.
        leave_parametrized: keep its current value, not the original's.

    >>> import wengert
    >>> from wengert.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(wengert.nn.Linear(2, 2))
    >>> layer = parametrize.remove_parametrizations(layer, "weight")
    >>> layer
    Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations: Any = module.parametrizations[tensor_name]
    if not leave_parametrized and not parametrizations.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is"
            " parametrized in terms of a sequence of tensors."
        )
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                _set(original, getattr(module, tensor_name))
    else:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register_tensor(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class of a module before it was parametrized.

    >>> import wengert
    >>> wengert.nn.utils.parametrize.type_before_parametrizations(wengert.nn.ReLU()).__name__
    'ReLU'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another, and the tensors they start from.

    Args:
        from_module: the parametrized module.
        to_module: the one that gets them.
        tensor_name: the tensor; None means all.

    >>> import wengert
    >>> from wengert.nn.utils import parametrizations, parametrize
    >>> a = parametrizations.weight_norm(wengert.nn.Linear(2, 2))
    >>> b = parametrize.transfer_parametrizations_and_params(a, wengert.nn.Linear(2, 2))
    >>> bool((a.weight == b.weight).all())
    True
    """
    if not is_parametrized(from_module):
        return to_module
    parametrizations: Any = from_module.parametrizations
    names = list(parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for parametrization in parametrizations[name]:
            register_parametrization(
                to_module,
                name,
                copy.deepcopy(parametrization),
                unsafe=parametrizations[name].unsafe,
            )
        theirs: Any = to_module.parametrizations[name]
        for old, new in zip(parametrizations[name]._originals(), theirs._originals(), strict=True):
            _set(new, old.detach().clone())
    return to_module


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]
