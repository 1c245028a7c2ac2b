"""``functorch``: the transforms under their first name, and modules as functions."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from wengert.core.tensor import Tensor
from wengert.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from wengert.ops.joining import stack

Tensors = tuple[Tensor, ...]


class FunctionalModuleWithBuffers:
    """A module as a function of its parameters, its buffers and the inputs."""

    def __init__(self, model: Any, parameters: list[str], buffers: list[str]) -> None:
        self.stateless_model = model
        self.param_names = parameters
        self.buffer_names = buffers

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        """The module's output with these parameters and buffers."""
        state = dict(zip(self.param_names, params, strict=True))
        state |= zip(self.buffer_names, buffers, strict=True)
        return functional_call(self.stateless_model, state, args, kwargs)

    __call__ = forward


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers as a function of its parameters and the inputs."""

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        """The module's output with these parameters."""
        return super().forward(params, (), *args, **kwargs)

    __call__ = forward


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A module as a function, its parameters and its buffers; the module stays as it is."""
    copy = deepcopy(model)
    parameters, buffers = dict(copy.named_parameters()), dict(copy.named_buffers())
    values: Tensors = tuple(parameters.values())
    if disable_autograd_tracking:
        values = tuple([value.detach() for value in values])
    function = FunctionalModuleWithBuffers(deepcopy(copy), list(parameters), list(buffers))
    return function, values, tuple(buffers.values())


def make_functional(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, Tensors]:
    """A module without buffers as a function, and its parameters."""
    if buffers := list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use"
            f" make_functional_with_buffers(model) instead; this one has {len(buffers)}"
        )
    function, parameters, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    return FunctionalModule(function.stateless_model, function.param_names, []), parameters


def combine_state_for_ensemble(
    models: Sequence[Any],
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """Modules of one class as one function, their parameters and buffers stacked for `vmap`."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to be of the same class."
        )
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to have the same training/eval mode."
        )
    functions, parameters, buffers = zip(
        *[make_functional_with_buffers(model) for model in models], strict=True
    )
    return functions[0], _stacked(parameters), _stacked(buffers)


def _stacked(rows: Sequence[Tensors]) -> Tensors:
    return tuple([stack(list(column)) for column in zip(*rows, strict=True)])


__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]
