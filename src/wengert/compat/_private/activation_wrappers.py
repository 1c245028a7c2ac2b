"""``torch.distributed.algorithms._checkpoint``: modules whose activations are computed again."""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from wengert.autograd.graph import save_on_cpu
from wengert.core.tensor import Tensor
from wengert.distributed.fsdp.wrap import lambda_auto_wrap_policy
from wengert.nn.module import Module
from wengert.utils.checkpoint import checkpoint

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(enum.Enum):
    """Which of the two kinds of checkpoints."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(Module, abc.ABC):
    """A module around another one, with its attributes and the names of its state."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_prefix)
        self.register_load_state_dict_pre_hook(_with_prefix)

    @abc.abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped module's output."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == _CHECKPOINT_WRAPPED_MODULE:  # not there yet
                raise
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """As in `Module.named_parameters`, by the names that the wrapped module has for them."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter


class OffloadWrapper(ActivationWrapper):
    """A module whose saved values are kept on the CPU: copies, since they are there."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped module's output."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module of which backward computes the activations again."""

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        self.checkpoint_fn: Callable[..., Any]
        if checkpoint_fn is None:
            reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
            self.checkpoint_fn = partial(
                checkpoint, use_reentrant=reentrant, **checkpoint_fn_kwargs
            )
        else:
            self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped module's output."""
        module = self._checkpoint_wrapped_module
        if self.checkpoint_impl is CheckpointImpl.REENTRANT and kwargs:  # which takes none
            return self.checkpoint_fn(partial(_call, module, tuple(kwargs), len(args)),
                                      *args, *kwargs.values())  # fmt: skip
        return self.checkpoint_fn(module, *args, **kwargs)


def _call(module: Module, names: tuple[str, ...], count: int, *values: Any) -> Any:
    return module(*values[:count], **dict(zip(names, values[count:], strict=True)))


def _without_prefix(
    module: Module, state: dict[str, Tensor], prefix: str, local_metadata: Any
) -> None:
    _rename(state, prefix + _CHECKPOINT_PREFIX, prefix)


def _with_prefix(module: Module, state: dict[str, Tensor], prefix: str, *args: Any) -> None:
    _rename(state, prefix, prefix + _CHECKPOINT_PREFIX)


def _rename(state: dict[str, Tensor], before: str, after: str) -> None:
    for name in [name for name in state if name.startswith(before)]:
        state[after + name[len(before) :]] = state.pop(name)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """A module that computes the activations of `module` again in backward.

    Args:
        module: the module.
        checkpoint_impl: the kind of checkpoint.
        checkpoint_fn: takes the place of `utils.checkpoint.checkpoint`.
        checkpoint_fn_kwargs: further arguments of that.
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module: Module) -> Module:
    """A module that keeps what `module` saves on the CPU."""
    return OffloadWrapper(module)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda module: True,
    auto_wrap_policy: Callable[..., bool] | None = None,
) -> None:
    """Wrap the modules below `model` that a function, or a policy, chooses.

    Args:
        model: stays as it is itself.
        checkpoint_wrapper_fn: wraps a module.
        check_fn: whether a module is wrapped, unless there is a policy.
        auto_wrap_policy: as those of ``torch.distributed.fsdp.wrap``.
    """
    policy = auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    _wrap_below(model, policy, checkpoint_wrapper_fn)


def _wrap_below(module: Module, policy: Callable[..., bool], wrapper: Any) -> int:
    """Wrap submodules, the innermost first; how many elements were wrapped."""
    whole = sum(p.numel() for p in module.parameters())
    if not policy(module=module, recurse=True, nonwrapped_numel=whole):
        return 0
    wrapped = 0
    for name, child in list(module.named_children()):
        size = sum(p.numel() for p in child.parameters())
        inside = _wrap_below(child, policy, wrapper)
        if policy(module=child, recurse=False, nonwrapped_numel=size - inside):
            setattr(module, name, wrapper(child))
            inside = size
        wrapped += inside
    return wrapped


__all__ = [
    "_CHECKPOINT_PREFIX",
    "_CHECKPOINT_WRAPPED_MODULE",
    "ActivationWrapper",
    "CheckpointImpl",
    "CheckpointWrapper",
    "OffloadWrapper",
    "apply_activation_checkpointing",
    "checkpoint_wrapper",
    "offload_wrapper",
]
