"""`state_dict` and `load_state_dict`: a module's tensors by dotted name.

Loading checks before it copies: if a shape is wrong or a key missing or unexpected, the
module keeps its values. To that end `_load_from_state_dict`, which subclasses may
override, puts its copies on a list that `load_state_dict` passes down.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.grad_mode import no_grad
from wengert.autograd.hooks import RemovableHandle, add_hook
from wengert.core import storage
from wengert.core.inference import check_written
from wengert.core.messages import warn
from wengert.core.size import Size
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Hooks, Tensor, caller, getframe, inferences
from wengert.meta.tensors import NO_DATA
from wengert.nn.module.convert import conversion
from wengert.nn.parameter import Parameter, is_lazy
from wengert.tensor.swapping import swap_tensors

EXTRA_STATE = "_extra_state"
Copies = list[Callable[[], None]]


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """The result of `load_state_dict`: the keys that did not match."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateDict:
    """The part of a Module that saves and loads."""

    _version: int = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: Hooks
    _state_dict_pre_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks
    _load_state_dict_post_hooks: Hooks

    def state_dict(
        self,
        *,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Return all parameters and persistent buffers by dotted name, sharing the module's memory.

        Args:
            destination: the dictionary to fill; None creates one.
            prefix: prepended to every name.
            keep_vars: hold the Parameters themselves, not their detached tensors.

        >>> import wengert
        >>> list(wengert.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # type: ignore[attr-defined]
        local_metadata = {"version": self._version}
        metadata = getattr(destination, "_metadata", None)
        if metadata is not None:
            metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            answer = hook(self, destination, prefix, local_metadata)
            if answer is not None:
                destination = answer
        assert destination is not None
        return destination

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        """Save this module's own parameters and buffers."""
        for name, value in self._own_state().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> dict[str, Tensor]:
        state: dict[str, Any] = dict(self._parameters)
        transient = self._non_persistent_buffers_set
        state |= {name: b for name, b in self._buffers.items() if name not in transient}
        return {name: value for name, value in state.items() if value is not None}

    def get_extra_state(self) -> Any:
        """Return state to save besides the tensors; override it along with `set_extra_state`."""
        raise RuntimeError(
            f"{type(self).__name__} does not define get_extra_state(), and nothing in the library"
            " calls it then"
        )

    def set_extra_state(self, state: Any) -> None:
        """Restore the state returned by `get_extra_state`."""
        raise RuntimeError(
            f"{type(self).__name__} does not define set_extra_state(), and nothing in the library"
            " calls it then"
        )

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of a `state_dict` into this module and its submodules.

        Args:
            state_dict: tensors by dotted name.
            strict: raise RuntimeError unless the keys are exactly the module's. The message
                names all keys that are missing, unexpected or of another shape, and nothing
                is loaded.
            assign: make the given tensors the module's own instead of copying them.

        >>> import wengert
        >>> a, b = wengert.nn.Linear(2, 1), wengert.nn.Linear(2, 1)
        >>> a.load_state_dict(b.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        loading = _Loading(state_dict, assign)
        loading.collect(self, loading.state, "")
        hooked = loading.post_hooked
        if not loading.errors and (hooked or not (strict and loading.mismatched())):
            for copy in loading.copies:
                copy()
        keys = loading.keys
        for module in hooked:
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not"
                        " expected to return new values, if incompatible_keys need to be"
                        " modified, it should be done inplace."
                    )
        messages = loading.messages(strict)
        if messages:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(messages)
            )
        return keys

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own tensors. Subclasses override it to read older layouts."""
        for hook in self._load_state_dict_pre_hooks.values():
            first = (self,) if isinstance(hook, _WithModule) else ()
            hook(*first, state_dict, prefix, local_metadata, strict, missing_keys,
                 unexpected_keys, error_msgs)  # fmt: skip
        copies: Copies | None = local_metadata.get("deferred_copies")
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        own = self._own_state()
        for name, target in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            source = state_dict[key]
            problem = _mismatch(key, target, source, assign)
            if problem is not None:
                error_msgs.append(problem)
                continue
            if target._memoryless and not (source._memoryless or assign):
                warn(
                    f"for {key}: copying from a non-meta parameter in the checkpoint to a meta"
                    " parameter in the current model, which is a no-op. (Did you mean to pass"
                    " `assign=True`, so that the module gets the tensors of the state dictionary?)"
                )
            if conversion.swap:
                step = _swap_later(key, target, source, assign)
            else:
                step = (_assign_later if assign else _copy_later)(self, name, target, source)
            if copies is None:
                step()
            else:
                copies.append(step)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys, copies)
        if strict:
            unexpected_keys.extend(self._unexpected_keys_of(state_dict, prefix, own))

    def _load_extra_state(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        copies: Copies | None,
    ) -> None:
        key = prefix + EXTRA_STATE
        if type(self).set_extra_state is StateDict.set_extra_state:
            if strict and key in state_dict:
                unexpected_keys.append(key)
        elif key in state_dict:
            if copies is None:
                self.set_extra_state(state_dict[key])
            else:
                copies.append(lambda: self.set_extra_state(state_dict[key]))
        elif strict:
            missing_keys.append(key)

    def _unexpected_keys_of(self, state_dict: dict[str, Any], prefix: str, own: Any) -> list[str]:
        unexpected = []
        for key in state_dict:
            if not key.startswith(prefix) or key == prefix + EXTRA_STATE:
                continue
            name, dot, _ = key[len(prefix) :].partition(".")
            if name not in (self._modules if dot else own):
                unexpected.append(key)
        return unexpected

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module is saved."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after the module was saved."""

        def checked(*args: Any) -> None:
            if hook(*args) is not None:
                raise RuntimeError("state_dict post-hook must return None")

        return add_hook(self._state_dict_hooks, checked)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As `register_state_dict_post_hook`; what the hook returns replaces the dictionary."""
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)` before the module loads."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        if not with_module:
            return add_hook(self._load_state_dict_pre_hooks, hook)
        return add_hook(self._load_state_dict_pre_hooks, _WithModule(hook))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the keys in place."""
        return add_hook(self._load_state_dict_post_hooks, hook)


class _WithModule(NamedTuple):
    """A hook called with the module as first argument. Holds it weakly to avoid a cycle."""

    hook: Callable[..., None]

    def __call__(self, *args: Any) -> None:
        self.hook(*args)


class _Loading:
    """One call of `load_state_dict`: the mismatches so far, and the copies still to make."""

    def __init__(self, state_dict: Mapping[str, Any], assign: bool) -> None:
        self.metadata = getattr(state_dict, "_metadata", None) or {}
        self.state: dict[str, Any] = OrderedDict(state_dict)
        self.state._metadata = self.metadata  # type: ignore[attr-defined]
        self.assign = assign
        self.keys = _IncompatibleKeys([], [])
        self.errors: list[str] = []
        self.copies: Copies = []
        self.post_hooked: list[Any] = []

    def collect(self, module: Any, state: dict[str, Any], prefix: str) -> None:
        local = dict(self.metadata.get(prefix[:-1], {}))
        local["deferred_copies"] = self.copies
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(
            state, prefix, local, True, self.keys.missing_keys, self.keys.unexpected_keys,
            self.errors,
        )  # fmt: skip
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.collect(child, {k: v for k, v in state.items() if k.startswith(below)}, below)
        if module._load_state_dict_post_hooks:
            self.post_hooked.append(module)

    def mismatched(self) -> bool:
        return bool(self.keys.missing_keys or self.keys.unexpected_keys)

    def messages(self, strict: bool) -> list[str]:
        messages = []
        if strict:
            for what, keys in zip(("Missing", "Unexpected"), self.keys, strict=True):
                if keys:
                    quoted = ", ".join(f'"{k}"' for k in keys)
                    messages.append(f"{what} key(s) in state_dict: {quoted}. ")
        return messages + self.errors


def _mismatch(key: str, target: Tensor, source: Any, assign: bool) -> str | None:
    if not isinstance(source, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like'
            f" object from checkpoint but received {type(source)}"
        )
    if is_lazy(target) and is_lazy(source):
        return None
    if source._memoryless and not (target._memoryless or assign):
        return f'While copying the parameter named "{key}", an exception occurred : {NO_DATA}'
    have, came = tuple(target.shape), tuple(source.shape)
    if came != have and not (have == () and came == (1,)):  # scalars were once saved as [1]
        return (
            f"size mismatch for {key}: copying a param with shape {Size(came)} from checkpoint,"
            f" the shape in current model is {Size(have)}."
        )
    return None


def _copy_later(module: Any, name: str, target: Tensor, source: Tensor) -> Callable[[], None]:
    where = caller(getframe(1))
    if inferences:
        check_written((target,), "load_state_dict")

    def copy() -> None:
        if is_lazy(source):
            return  # both are uninitialized
        if target._memoryless:
            return
        if isinstance(target, SparseTensor):
            with no_grad():
                target.copy_(source)
            return
        array = target._array
        storage.before_write(array)
        np.copyto(array, source._array.reshape(array.shape), casting="unsafe")
        storage.stamp(array, "load_state_dict()", *where)

    return copy


def _assign_later(module: Any, name: str, target: Tensor, source: Tensor) -> Callable[[], None]:
    def assign() -> None:
        value = source
        if isinstance(target, Parameter):
            if isinstance(source, Parameter):
                value = source.requires_grad_(target.requires_grad)
            else:
                value = Parameter(source, requires_grad=target.requires_grad)
        setattr(module, name, value)

    return assign


def _swap_later(key: str, target: Tensor, source: Tensor, assign: bool) -> Callable[[], None]:
    def swap() -> None:
        with no_grad():
            loaded = target.module_load(source, assign=assign)
        if loaded is source or loaded is target:
            raise RuntimeError(
                f"While loading the parameter named {key!r}: module_load returned one of self or"
                " other, please .detach() the result if returning one of the inputs"
            )
        if isinstance(target, Parameter) and not isinstance(loaded, Parameter):
            loaded = Parameter(loaded, requires_grad=target.requires_grad)
        swap_tensors(target, loaded)

    return swap
