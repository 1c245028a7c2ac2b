"""Reentrant checkpoints: an operation whose backward reruns the function and backpropagates."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from wengert.autograd import backward
from wengert.autograd.custom.function import (
    Function,
    FunctionCtx,
    FunctionNode,
    once_differentiable,
)
from wengert.autograd.engine import innermost
from wengert.autograd.grad_mode import inference_mode, no_grad
from wengert.checkpointing._states import as_before, autocast_settings, random_state
from wengert.core.generators import default_generator
from wengert.core.messages import more
from wengert.core.tensor import Tensor


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a tuple cut off from their graph, each as a leaf; the rest as it is.

    >>> import wengert
    >>> from wengert.utils.checkpoint import detach_variable
    >>> x = wengert.ones(2, requires_grad=True)
    >>> detach_variable((x * 2, 3))
    (tensor([2., 2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type:"
            f" {type(inputs).__name__}"
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among the inputs requires grad.

    >>> import wengert
    >>> from wengert.utils.checkpoint import check_backward_validity
    >>> check_backward_validity([wengert.ones(2, requires_grad=True), 3])
    """
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None\n"
            + more("checkpoint-without-grad"),
            stacklevel=2,
        )


class CheckpointFunction(Function):
    """``checkpoint(..., use_reentrant=True)`` as a function with a custom derivative.

    >>> import wengert
    >>> from wengert.utils.checkpoint import CheckpointFunction
    >>> x = wengert.ones(2, requires_grad=True)
    >>> CheckpointFunction.apply(lambda t: t * 2, True, x)
    tensor([2., 2.], grad_fn=<CheckpointFunctionBackward>)
    """

    @staticmethod
    def forward(
        ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any
    ) -> Any:
        """Run the function; nothing in it is recorded."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state = default_generator.snapshot() if preserve_rng_state else None
        ctx.autocast = autocast_settings()
        # Tensors are saved; what else there is waits on the context.
        ctx.at = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.at])
        ctx.values = [None if isinstance(a, Tensor) else a for a in args]
        with no_grad():
            return run_function(*args)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the function again, recorded, and the backward of that."""
        inputs = _detached_inputs(ctx)
        with inference_mode(False), as_before(ctx.autocast), random_state(ctx.state):
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        differentiable = [
            (out, g)
            for out, g in zip(outputs, grads, strict=False)
            if isinstance(out, Tensor) and out.requires_grad
        ]
        if not differentiable:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary\n"
                + more("checkpoint-without-grad")
            )
        backward([out for out, _ in differentiable], [g for _, g in differentiable])
        gradients = [x.grad if isinstance(x, Tensor) else None for x in inputs]
        return None, None, *gradients


def _detached_inputs(ctx: FunctionCtx) -> tuple[Any, ...]:
    values = list(ctx.values)
    for i, tensor in zip(ctx.at, ctx.saved_tensors, strict=True):
        values[i] = tensor
    return detach_variable(tuple(values))


class _OfWholeWalks(FunctionNode):
    """Refuses walks restricted to given inputs: the inner one reaches all leaves."""

    __slots__ = ()

    def pullback_to(self, g: Any, needed: Any, lift: Any) -> tuple[Any, ...]:
        if innermost.walk is not None and innermost.walk.targets is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or"
                " passing an `inputs` parameter to .backward(). To resolve this error, you can"
                " either set use_reentrant=False, or call .backward() without passing the `inputs`"
                f" argument.\n{more('checkpoint-reentrant-inputs')}"
            )
        return super().pullback_to(g, needed, lift)


_node = CheckpointFunction._backward_cls
CheckpointFunction._backward_cls = type(
    _node.__name__, (_OfWholeWalks, _node), {"__slots__": (), "public_name": "checkpoint"}
)
