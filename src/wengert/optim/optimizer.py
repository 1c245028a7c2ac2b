"""Optimizer: parameter groups, state, hooks and saving. Update rules are in their own modules."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from wengert.autograd.hooks import RemovableHandle, add_hook
from wengert.autograd.naming import describe_node
from wengert.core.cut_log import note_drop
from wengert.core.messages import current_call, message
from wengert.core.tensor import Hooks, Leaf, Tensor, wrap
from wengert.tensor.gradients import clear_grad

Group = dict[str, Any]
ParamsT = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]


class _Required:
    """Marks an option that every group must set."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer:
    """Base class of all optimizers: parameter groups with options, and state per parameter.

    Subclasses define `step()`.

    Args:
        params: tensors, pairs of name and tensor, or dictionaries with ``"params"`` and options.
        defaults: the options of groups that do not set them.

    >>> import wengert
    >>> w = wengert.zeros(2, requires_grad=True)
    >>> optimizer = wengert.optim.SGD([w], lr=0.5)
    >>> optimizer.param_groups[0]["lr"]
    0.5
    """

    defaults: dict[str, Any]
    state: defaultdict[Tensor, dict[str, Any]]
    param_groups: list[Group]
    _scheduled_step: Any = None  # `step` at the time a scheduler was created

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or"
                f" dicts, but got {_typename(params)}"
            )
        self.defaults = defaults
        self._init_hooks()
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def _patch_step_function(self) -> None:
        """Do nothing: `__init_subclass__` has put the hooks around `step` already.

        Optimizers that wrap another call it, as they do not call the constructor.
        """

    def _init_hooks(self) -> None:
        self._opt_called = False
        self._optimizer_step_pre_hooks: Hooks = OrderedDict()
        self._optimizer_step_post_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: Hooks = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {n: getattr(self, n) for n in ("defaults", "state", "param_groups")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._init_hooks()

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    def add_param_group(self, param_group: Group) -> None:
        """Add a parameter group, for instance to start training frozen layers."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params, names = _split_names(param_group["params"])
        for p in params:
            _check_parameter(p, f"{type(self).__name__}()", self.defaults.get("differentiable"))
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter"
                    f" {name}"
                )
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this"
                " will cause an error; see github.com/pytorch/pytorch/issues/40967 for more"
                " information",
                UserWarning,
                stacklevel=3,
            )
        self._check_with_others(param_group)
        self.param_groups.append(param_group)

    def _check_with_others(self, new: Group) -> None:
        for group in self.param_groups:
            if ("param_names" in new) != ("param_names" in group):
                which = "with names" if "param_names" in new else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param"
                    f" group {which} to the optimizer"
                )
        others = set(chain.from_iterable(group["params"] for group in self.param_groups))
        if not others.isdisjoint(new["params"]):
            raise ValueError("some parameters appear in more than one parameter group")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zero."""
        if set_to_none:
            note_drop("zero_grad()", self)
        for group in self.param_groups:
            for p in group["params"]:
                if not set_to_none:
                    clear_grad(p, False)
                elif getattr(p, "_grad", None) is not None:
                    p._grad = None

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients.

        Args:
            closure: recomputes the loss (and its gradients); called first if given, and its
                result is returned.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    # Saving

    def state_dict(self) -> dict[str, Any]:
        """Return state and groups, with parameters numbered in order; tensors are not copied."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        everyone = chain.from_iterable(group["params"] for group in self.param_groups)
        number: dict[Any, int] = {}
        for p in everyone:
            number.setdefault(p, len(number))
        groups = [
            {k: v for k, v in group.items() if k != "params"}
            | {"params": [number[p] for p in group["params"]]}
            for group in self.param_groups
        ]
        state = {number[k] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        saved: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            saved = _hook_result(hook(self, saved), saved)
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state of `state_dict()`; tensors are copied to the parameters' dtypes."""
        state_dict = dict(state_dict)
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            state_dict = _hook_result(hook(self, state_dict), state_dict)
        saved = deepcopy(state_dict["param_groups"])
        _check_groups(self.param_groups, saved)
        parameters: dict[Any, Tensor] = {}
        for old, new in zip(saved, self.param_groups, strict=True):
            parameters |= zip(old["params"], new["params"], strict=True)
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            p = parameters.get(key)
            state[key if p is None else p] = value if p is None else _convert_state(value, p)
        for old, new in zip(saved, self.param_groups, strict=True):
            old["params"] = new["params"]
            if "param_names" in new:
                old.setdefault("param_names", new["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    # Hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return new ones."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., None], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; its result replaces that."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; its result replaces the argument."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., None], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)


# Hooks around the steps of all optimizers.
_step_pre_hooks: Hooks = OrderedDict()
_step_post_hooks: Hooks = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer.

    >>> import wengert
    >>> from wengert.optim.optimizer import register_optimizer_step_pre_hook
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)])
    >>> hook = lambda optimizer, args, kwargs: print("a step of", type(optimizer).__name__)
    >>> with register_optimizer_step_pre_hook(hook):
    ...     optimizer.step()
    a step of SGD
    """
    return add_hook(_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer.

    >>> import wengert
    >>> from wengert.optim.optimizer import register_optimizer_step_post_hook
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)])
    >>> hook = lambda optimizer, args, kwargs: print("stepped")
    >>> with register_optimizer_step_post_hook(hook):
    ...     optimizer.step()
    stepped
    """
    return add_hook(_step_post_hooks, hook)


def _typename(value: Any) -> str:
    from wengert.nn.module.tree import typename

    return typename(value)


def _hook_result(answer: Any, value: Any) -> Any:
    return value if answer is None else answer


def _hooks_of(optimizer: Optimizer, kind: str) -> Iterable[Callable[..., Any]]:
    """An optimizer's own hooks; none if it wraps another and never called the constructor."""
    hooks: dict[int, Callable[..., Any]] = vars(optimizer).get(kind, {})
    return hooks.values()


def _call_after(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    own = _hooks_of(optimizer, "_optimizer_step_post_hooks")
    for hook in [*own, *_step_post_hooks.values()]:
        hook(optimizer, args, kwargs)


def _with_hooks(function: Callable[..., Any]) -> Callable[..., Any]:
    """`step` with the hooks around it."""

    @functools.wraps(function)
    def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        if not (
            _step_pre_hooks
            or _step_post_hooks
            or own.get("_optimizer_step_pre_hooks")
            or own.get("_optimizer_step_post_hooks")
        ):
            self._opt_called = True
            result = function(self, *args, **kwargs)
            # A closure may have registered some.
            if _step_post_hooks or own.get("_optimizer_step_post_hooks"):
                _call_after(self, args, kwargs)
            return result
        for hook in [*_step_pre_hooks.values(), *_hooks_of(self, "_optimizer_step_pre_hooks")]:
            answer = hook(self, args, kwargs)
            if answer is not None:
                if not isinstance(answer, tuple) or len(answer) != 2:
                    raise RuntimeError(
                        f"{function} must return None or a tuple of (new_args, new_kwargs), but"
                        f" got {answer}."
                    )
                args, kwargs = answer
        self._opt_called = True
        result = function(self, *args, **kwargs)
        _call_after(self, args, kwargs)
        return result

    return step


def _split_names(params: Any) -> tuple[list[Any], list[str]]:
    """The parameters of a group, and their names if they came as pairs of name and tensor."""
    if isinstance(params, Tensor):
        params = [params]
    elif isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering"
            " of tensors in sets will change between runs. Please use a list instead."
        )
    items = list(params)
    names = [item[0] for item in items if isinstance(item, tuple)]
    if names and len(names) != len(items):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    return [item[1] if isinstance(item, tuple) else item for item in items], names


def _check_parameter(p: Any, call: str, recorded: bool | None) -> None:
    """Raise TypeError or ValueError for what cannot be optimized, by steps recorded or not."""
    if not isinstance(p, Tensor):
        raise TypeError(
            f"optimizer can only optimize Tensors, but one of the params is {_typename(p)}"
        )
    if recorded or p.retains_grad:
        return
    if p._edge is not None and type(p._edge) is not Leaf:
        raise ValueError(message(
            "optimizer-of-non-leaf",
            f"can't optimize a non-leaf Tensor: one of shape {list(p._array.shape)}",
            [("this call", current_call(call)), ("made by", describe_node(p._edge))],
            [
                "optimize the leaves that it was computed from",
                "it was to be a leaf: call requires_grad_() after that line, not before, or"
                " make it one: y.detach().requires_grad_()",
            ],
        ))  # fmt: skip


def _check_groups(own: list[Group], saved: list[Group]) -> None:
    if len(own) != len(saved):
        raise ValueError(
            "loaded state dict has a different number of parameter groups:"
            f" {len(saved)}, the optimizer has {len(own)}"
        )
    for i, (a, b) in enumerate(zip(own, saved, strict=True)):
        if len(a["params"]) != len(b["params"]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of"
                f" optimizer's group: group {i} has {len(b['params'])} parameters, the"
                f" optimizer's has {len(a['params'])}"
            )


def _convert_state(value: Any, p: Tensor, key: str | None = None) -> Any:
    """A copy of a parameter's saved state, in the parameter's dtype; steps keep their own."""
    if isinstance(value, Tensor):
        own = key == "step" or not p.is_floating_point()
        return wrap(value._array.astype(value._array.dtype if own else p._array.dtype))
    if isinstance(value, dict):
        return {k: _convert_state(v, p, k) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_convert_state(v, p) for v in value)
    return value


__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]
