"""States of models and optimizers, in rows or whole, by the names of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wengert.distributed.fsdp.gathering import mapped
from wengert.distributed.fsdp.optimizer_state import named_state, numbered_state, plain_name
from wengert.distributed.objects import broadcast_object_list
from wengert.distributed.tensor.dtensor import whole_of
from wengert.distributed.world import get_rank, is_initialized
from wengert.nn import Module
from wengert.optim import Optimizer


@dataclass
class StateDictOptions:
    """How states are given.

    >>> from wengert.distributed.checkpoint.state_dict import StateDictOptions
    >>> StateDictOptions(full_state_dict=True).cpu_offload
    False
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    strict: bool = True
    broadcast_from_rank0: bool = False


def _offered(state: Any, options: StateDictOptions | None) -> Any:
    """A state as the options have it; with ``cpu_offload=True``, whole ones are rank 0's alone."""
    if options is None or not options.full_state_dict:
        return state
    whole = mapped(whole_of, state)
    here = not options.cpu_offload or not is_initialized() or get_rank() == 0
    return whole if here else {}


def get_model_state_dict(
    model: Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model: rows as `DTensor`, or (``full_state_dict=True``) whole tensors.

    >>> import wengert
    >>> from wengert.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(wengert.nn.Linear(2, 1)))
    ['weight', 'bias']
    """
    inner = getattr(model, "_fsdp_wrapped_module", model)
    state = {plain_name(model, name): value for name, value in inner.state_dict().items()}
    return _offered(state, options)


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load such a state, in rows or whole; with ``broadcast_from_rank0`` only rank 0 has one.

    >>> import wengert
    >>> from wengert.distributed.checkpoint.state_dict import set_model_state_dict
    >>> model = wengert.nn.Linear(2, 1)
    >>> set_model_state_dict(model, model.state_dict())
    <All keys matched successfully>
    """
    inner = getattr(model, "_fsdp_wrapped_module", getattr(model, "module", model))
    names = {plain_name(inner, name): name for name in inner.state_dict()}
    received = _received(model_state_dict, options)
    state = {names.get(name, name): value for name, value in received.items()}
    return inner.load_state_dict(state, strict=options is None or options.strict)


def _received(state: Any, options: StateDictOptions | None) -> Any:
    if options is None or not options.broadcast_from_rank0:
        return state
    holder = [state]
    broadcast_object_list(holder, 0)
    return holder[0]


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of an optimizer, by the names of the model's parameters.

    An optimizer that has none gets it by a step with gradients and a learning rate of zero.

    >>> import wengert
    >>> from wengert.distributed.checkpoint.state_dict import get_optimizer_state_dict
    >>> model = wengert.nn.Linear(2, 1)
    >>> state = get_optimizer_state_dict(model, wengert.optim.Adam(model.parameters()))
    >>> sorted(state["state"]["weight"])
    ['exp_avg', 'exp_avg_sq', 'step']
    """
    saved = named_state(model, optimizers)
    return {**saved, "state": _offered(saved["state"], options)}


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load such a state, in rows or whole.

    >>> import wengert
    >>> from wengert.distributed.checkpoint import state_dict
    >>> model = wengert.nn.Linear(2, 1)
    >>> optimizer = wengert.optim.Adam(model.parameters())
    >>> saved = state_dict.get_optimizer_state_dict(model, optimizer)
    >>> state_dict.set_optimizer_state_dict(model, optimizer, saved)
    """
    saved = _received(optim_state_dict, options)
    optimizers.load_state_dict(numbered_state(model, optimizers, saved))


def get_state_dict(
    model: Module,
    optimizers: Optimizer,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizer.

    >>> import wengert
    >>> from wengert.distributed.checkpoint.state_dict import get_state_dict
    >>> model = wengert.nn.Linear(2, 1)
    >>> len(get_state_dict(model, wengert.optim.SGD(model.parameters())))
    2
    """
    state = get_model_state_dict(model, options=options)
    return state, get_optimizer_state_dict(model, optimizers, options=options)


def set_state_dict(
    model: Module,
    optimizers: Optimizer,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Load the states of a model and of its optimizer.

    >>> import wengert
    >>> from wengert.distributed.checkpoint import state_dict
    >>> model = wengert.nn.Linear(2, 1)
    >>> optimizer = wengert.optim.SGD(model.parameters())
    >>> weights, moments = state_dict.get_state_dict(model, optimizer)
    >>> state_dict.set_state_dict(
    ...     model, optimizer, model_state_dict=weights, optim_state_dict=moments
    ... )
    <All keys matched successfully>
    """
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]
