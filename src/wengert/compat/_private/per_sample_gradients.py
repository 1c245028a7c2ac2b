"""``torch.nn.utils._per_sample_grad``: gradients of each sample apart, from one backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd.custom.function import Function
from wengert.autograd.transforms.tree import flatten_tree, unflatten_tree
from wengert.autograd.transforms.vmap import vmap
from wengert.core.tensor import Tensor
from wengert.func import functional_call
from wengert.nn.module import Module


def call_for_per_sample_grads(
    module: Module,
    *,
    batch_size: int | None = None,
    loss_reduction: str = "sum",
    batch_first: bool = True,
) -> Callable[..., Any]:
    """Return `module` as a function whose backward pass fills ``grad_sample`` of its parameters.

    Each sample has its own copy of the parameters, in no memory, so ``grad_sample`` has the shape
    ``(batch_size, *parameter.shape)``; ``grad`` of the parameters stays as it is. Operations that
    mix samples, such as batch normalisation in training mode, cannot be mapped over them.

    Args:
        module: takes tensors that all have the batch as a dimension; other arguments are shared.
        batch_size: how many samples there are. By default the tensors that are passed say it.
        loss_reduction: how the loss follows from those of the samples: "sum" or "mean".
        batch_first: whether the batch is the first dimension, otherwise it is the second.

    Raises:
        RuntimeError: for a bad argument, for tensors that differ in their number of samples, and
            while ``grad_sample`` of an earlier call is still there.

    >>> import wengert
    >>> from wengert.compat._private.per_sample_gradients import call_for_per_sample_grads
    >>> layer = wengert.nn.Linear(2, 1)
    >>> call_for_per_sample_grads(layer)(wengert.ones(3, 2)).sum().backward()
    >>> layer.weight.grad_sample.shape
    torch.Size([3, 1, 2])
    """
    _check(module, batch_size, loss_reduction)
    _refuse_earlier(module)
    batch_dim = 0 if batch_first else 1

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten_tree((args, kwargs))
        count = batch_size or _samples(leaves, batch_dim)
        scale = count if loss_reduction == "mean" else 1
        copies = {
            name: _PerSample.apply(parameter, count, scale)
            for name, parameter in module.named_parameters()
            if parameter.requires_grad
        }
        places = [batch_dim if isinstance(leaf, Tensor) else None for leaf in leaves]

        def sample(own: dict[str, Tensor], *values: Any) -> Any:
            batches = [v.unsqueeze(batch_dim) if isinstance(v, Tensor) else v for v in values]
            inner, named = unflatten_tree(batches, spec)
            outputs, shape = flatten_tree(functional_call(module, own, inner, named))
            return unflatten_tree([x.squeeze(batch_dim) for x in outputs], shape)

        mapped = vmap(sample, (0, *places), batch_dim, randomness="different")
        return mapped(copies, *leaves)

    return call


def _check(module: Any, batch_size: Any, loss_reduction: str) -> None:
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(
            f"Expected loss_reduction argument to be sum or mean, got {loss_reduction!r}"
        )
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(
            f"Batch size passed must be None or an integer, got {type(batch_size).__name__}"
        )
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")


def _refuse_earlier(module: Module) -> None:
    for name, parameter in module.named_parameters():
        if getattr(parameter, "grad_sample", None) is not None:
            raise RuntimeError(
                "call_for_per_sample_grads would add to the gradients of an earlier call: set"
                f" grad_sample of {name} to None first"
            )


def _samples(leaves: list[Any], batch_dim: int) -> int:
    sizes = {leaf.shape[batch_dim] for leaf in leaves if isinstance(leaf, Tensor)}
    if not sizes:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs: pass batch_size, or a tensor"
        )
    if len(sizes) > 1:
        raise RuntimeError(
            "batch_size follows from the tensors that are passed, which must have the same size"
            f" in dimension {batch_dim}: got {sorted(sizes)}"
        )
    (size,) = sizes
    return int(size)


class _PerSample(Function):
    """A parameter once for each sample; the gradient of the copies becomes ``grad_sample``."""

    @staticmethod
    def forward(ctx: Any, parameter: Tensor, count: int, scale: int) -> Tensor:
        ctx.parameter, ctx.scale = parameter, scale
        return parameter.detach().expand(count, *parameter.shape)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        own = gradient.detach() * ctx.scale
        before = getattr(ctx.parameter, "grad_sample", None)
        ctx.parameter.grad_sample = own if before is None else before + own
        return None, None, None


__all__ = ["call_for_per_sample_grads"]
