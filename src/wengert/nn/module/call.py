"""Calling a module: its forward, the hooks around it, and its place in the tree."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple
from weakref import ref

from wengert.autograd.hooks import Flags, RemovableHandle, add_hook
from wengert.core.tensor import Hooks, Site, Tensor, mode, new
from wengert.nn.module.backward import HookedCall
from wengert.nn.module.node_hooks import hook_last_node
from wengert.replay.stance import Stance


class Everywhere(NamedTuple):
    """A hook for the calls of all modules."""

    kind: str  # the table of a module's own hooks of that kind; "_node_hooks" have none
    hook: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


everywhere: OrderedDict[int, Everywhere] = OrderedDict()
Stance.hooks = everywhere


class Calls:
    """`module(...)`, with its hooks."""

    _forward_pre_hooks: Hooks
    _forward_hooks: Hooks
    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks
    _is_full_backward_hook: bool | None = None  # False: those in the table are of nodes
    # Ids of hooks that also take keyword arguments, or that run after an exception too.
    _forward_pre_hooks_with_kwargs: Flags
    _forward_hooks_with_kwargs: Flags
    _forward_hooks_always_called: Flags

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Operations record the site they run at; `mode.site` is None when nothing is recorded.
        state = mode.__dict__
        outer = state["where"]
        if type(outer) is Site:
            site = new(Site)
            site.parent = outer
            site.module = ref(self)
        else:  # a saver is active
            site = outer.child(self)
        state["where"] = site
        if state["site"] is not None:
            state["site"] = site
        try:
            own = self.__dict__  # attribute access is slower on classes with a __getattr__
            if (
                own["_forward_hooks"]
                or own["_forward_pre_hooks"]
                or own["_backward_hooks"]
                or own["_backward_pre_hooks"]
                or everywhere
            ):
                return _call_with_hooks(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            _name_module(error, site, self)
            raise
        finally:
            # A set_grad_enabled() inside forward outlives it, as it would in a function.
            state["where"] = outer
            if state["site"] is not None:
                state["site"] = outer

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; every subclass defines it."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before each forward; a result other than None replaces `args`.

        Args:
            hook: with `with_kwargs`, it is called as `hook(module, args, kwargs)` and returns
                None or both.
            prepend: run before existing hooks.
            with_kwargs: pass the keyword arguments as well.
        """
        options = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return add_hook(self._forward_pre_hooks, hook, prepend, options)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after each forward; a result replaces `output`.

        Args:
            hook: with `with_kwargs`, it is called as `hook(module, args, kwargs, output)`.
            prepend: run before existing hooks.
            with_kwargs: pass the keyword arguments as well.
            always_call: also run if forward raised (`output` is then None).

        >>> import wengert
        >>> layer = wengert.nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output * 2)
        >>> layer(wengert.ones(2))
        tensor([2., 2.])
        """
        options = [self._forward_hooks_with_kwargs] if with_kwargs else []
        if always_call:
            options.append(self._forward_hooks_always_called)
        return add_hook(self._forward_hooks, hook, prepend, options)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        Its result, unless None, replaces `grad_input`. Both are tuples over the
        positional inputs and the outputs, None where there is no gradient.
        """
        self._take_kind(full=True)
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` in the backward of the module's last node.

        Both are those of that node alone, which `register_full_backward_hook` does better. A module
        has hooks of one kind: RuntimeError beside the other.
        """
        self._take_kind(full=False)
        return add_hook(self._backward_hooks, hook)

    def _take_kind(self, full: bool) -> None:
        """Note the kind of the hooks in the table; RuntimeError if there are some of the other."""
        if self._backward_hooks and full is (self._is_full_backward_hook is False):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module."
                f" Please use only one of them: {type(self).__name__} has"
                f" {'regular' if full else 'full'} ones"
            )
        if full:
            self.__dict__.pop("_is_full_backward_hook", None)
        else:
            self._is_full_backward_hook = False

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's backward.

        Its result, unless None, replaces `grad_output`.
        """
        return add_hook(self._backward_pre_hooks, hook, prepend)


_IN_MODULE = "in the module "


def _name_module(error: Exception, site: Any, module: Any) -> None:
    """Add a note naming the module that raised, unless an inner module already has."""
    if any(note.startswith(_IN_MODULE) for note in getattr(error, "__notes__", ())):
        return
    with suppress(Exception):  # extra_repr() is user code
        extra = module.extra_repr()
        what = f"{type(module).__name__}({extra if extra.isprintable() else ''})"
        error.add_note(f"{_IN_MODULE}{site.path()}: {what}")


def _call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = None
    run_keys: set[int] = set()
    try:
        args, kwargs = _run_pre_hooks(module, args, kwargs)
        backward = None
        full, of_node = _backward_hooks(module)
        before = [hook for _, hook, *_ in _hooks_of(module, "_backward_pre_hooks")]
        if full or before:
            backward = HookedCall(module, full, before)
            args = backward.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        result = _run_forward_hooks(module, args, kwargs, result, run_keys)
        if backward is not None:
            if not isinstance(result, Tensor) and not isinstance(result, tuple):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple"
                    f" of Tensors but received {type(result)}",
                    UserWarning,
                    stacklevel=3,
                )
            else:
                result = backward.watch_outputs(result)
        if of_node:
            hook_last_node(module, of_node, args, result)
        return result
    except Exception:
        _run_always_called(module, args, kwargs, result, run_keys)
        raise


def _hooks_of(module: Any, kind: str) -> list[tuple[int, Callable[..., Any], bool, bool]]:
    """Hooks with their ids and options: those for all modules, then the module's own."""
    own = module.__dict__
    kwargs, always = own.get(f"{kind}_with_kwargs", ()), own.get(f"{kind}_always_called", ())
    hooks = [(key, *every[1:]) for key, every in everywhere.items() if every.kind == kind]
    hooks += [(key, hook, key in kwargs, key in always) for key, hook in own[kind].items()]
    return hooks


def _backward_hooks(module: Calls) -> tuple[list[Any], list[Any]]:
    """Full backward hooks, and those of the last node: those of all modules, then its own."""
    full, of_node = (
        [every.hook for every in everywhere.values() if every.kind == kind]
        for kind in ("_backward_hooks", "_node_hooks")
    )
    own = of_node if module._is_full_backward_hook is False else full
    own += module._backward_hooks.values()
    return full, of_node


def _run_pre_hooks(
    module: Calls, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for _, hook, with_kwargs, _ in _hooks_of(module, "_forward_pre_hooks"):
        if with_kwargs:
            answer = hook(module, args, kwargs)
            if answer is None:
                continue
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs),"
                    f" but got {answer}."
                )
            args, kwargs = answer
        else:
            answer = hook(module, args)
            if answer is not None:
                args = answer if isinstance(answer, tuple) else (answer,)
    return args, kwargs


def _run_forward_hooks(
    module: Calls, args: Any, kwargs: dict[str, Any], result: Any, run_keys: set[int]
) -> Any:
    for key, hook, with_kwargs, _ in _hooks_of(module, "_forward_hooks"):
        run_keys.add(key)
        arguments = (args, kwargs, result) if with_kwargs else (args, result)
        answer = hook(module, *arguments)
        if answer is not None:
            result = answer
    return result


def _run_always_called(
    module: Calls, args: Any, kwargs: dict[str, Any], result: Any, run_keys: set[int]
) -> None:
    """Run the `always_call` hooks after a failure; their errors must not hide the first one."""
    for key, hook, with_kwargs, always_call in _hooks_of(module, "_forward_hooks"):
        if not always_call or key in run_keys:
            continue
        try:
            if with_kwargs:
                hook(module, args, kwargs, result)
            else:
                hook(module, args, result)
        except Exception as error:
            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception that was"
                f" silenced as another error was raised in forward: {error}",
                UserWarning,
                stacklevel=4,
            )
