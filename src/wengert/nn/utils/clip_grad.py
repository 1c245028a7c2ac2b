"""Gradient clipping."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable
from typing import Any

import numpy as np

from wengert.core import storage
from wengert.core.forks import hold_forks
from wengert.core.outline import Outline
from wengert.core.preparations import effect
from wengert.core.tensor import Tensor, caller, getframe, wrap
from wengert.kernels import optim as kernels
from wengert.kernels.jit.formulas import Formula
from wengert.kernels.products.blas import inner
from wengert.meta.tensors import MetaTensor, without_memory


def _as_list(parameters: Any) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def _gradients(parameters: Any) -> list[Tensor]:
    grads = (getattr(p, "_grad", None) for p in _as_list(parameters))
    return [g for g in grads if g is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors together, as if they were one vector.

    >>> import wengert
    >>> wengert.nn.utils.get_total_norm([wengert.tensor([3.0]), wengert.tensor([4.0])])
    tensor(5.)
    """
    arrays = [t._array for t in _as_list(tensors)]
    order = float(norm_type)
    if not arrays:
        return wrap(np.zeros((), np.float32))
    dtype = np.result_type(*{a.dtype for a in arrays})
    if any(isinstance(a, Outline) for a in arrays):
        return without_memory((), dtype)
    total = kernels.total_norm(arrays, order)
    if total is None:
        total = _norm(np.array([_norm(a, order) for a in arrays], dtype), order)
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so"
            " it cannot be clipped. To disable this error and scale the gradients by the"
            " non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return wrap(np.asarray(total, dtype))


def _norm(array: np.ndarray, order: float) -> Any:
    flat = array.reshape(-1)
    if order == 2.0 and flat.dtype.kind == "f":
        return np.sqrt(inner(flat, flat))
    if flat.size == 0:
        return flat.dtype.type(0)
    with hold_forks():
        return np.linalg.norm(flat, order)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients in place so that their total norm is at most `max_norm`; return the norm.

    Args:
        parameters: tensors whose `.grad` is scaled.
        max_norm: the bound.
        norm_type: the order of the norm; ``inf`` is the largest absolute value.
        error_if_nonfinite: raise RuntimeError if the norm is infinite or nan.
        foreach: accepted and without effect.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> (w * wengert.tensor([3.0, 4.0])).sum().backward()
    >>> wengert.nn.utils.clip_grad_norm_([w], max_norm=1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    values = _as_list(parameters)
    if not values and isinstance(parameters, Generator):
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur: it may have been"
            " used up before.",
            stacklevel=2,
        )
    # Of parameters that are cut over ranks, each rank has some gradients only.
    cut = next((kind for kind in set(map(type, values)) if hasattr(kind, "joint_norm")), None)
    if cut is None and not error_if_nonfinite:
        clipped: Tensor = _clipped(max_norm, norm_type, *values)
        return clipped
    parts = _gradients(values) if cut is None else [cut.joint_norm(values, norm_type)]
    total = get_total_norm(parts, norm_type, error_if_nonfinite)
    _scale(_gradients(values), max_norm, total)
    return total


@effect
def _clipped(max_norm: float, norm_type: float, *parameters: Tensor) -> Tensor:
    """What refuses no norm, as compiled functions do it again."""
    grads = _gradients(parameters)
    total = get_total_norm(grads, norm_type)
    _scale(grads, max_norm, total)
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale gradients in place like `clip_grad_norm_`, given their total norm.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> w.sum().backward()
    >>> wengert.nn.utils.clip_grads_with_norm_([w], 1.0, wengert.tensor(4.0))
    >>> w.grad
    tensor([0.2500, 0.2500])
    """
    _scaled(max_norm, total_norm, *_as_list(parameters))


@effect
def _scaled(max_norm: float, total_norm: Tensor, *parameters: Tensor) -> None:
    _scale(_gradients(parameters), max_norm, total_norm)


def _scale(grads: list[Tensor], max_norm: float, total: Tensor) -> None:
    if isinstance(total, MetaTensor):
        return  # there is nothing to scale
    factor = float(max_norm) / (total._array + 1e-6)
    factor = np.minimum(factor, 1.0)  # nan stays nan
    _change(grads, "clip_grad_norm_()", kernels.multiplied, {"factor": factor.item()})


def _change(grads: list[Tensor], by: str, formula: Formula, numbers: dict[str, float]) -> None:
    """Apply a formula to gradients in place; to a shared gradient once per parameter."""
    arrays = [a for g in grads if not isinstance(a := g._array, Outline)]
    storage.before_writes(arrays)
    formula([arrays], [numbers] * len(arrays))
    storage.stamp_all(arrays, by, *caller(getframe(1)))


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp the elements of gradients to ±`clip_value`, in place.

    >>> import wengert
    >>> w = wengert.ones(2, requires_grad=True)
    >>> (w * wengert.tensor([3.0, -0.5])).sum().backward()
    >>> wengert.nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([ 1.0000, -0.5000])
    """
    _bounded(clip_value, *_as_list(parameters))


@effect
def _bounded(clip_value: float, *parameters: Tensor) -> None:
    numbers = {"bound": float(clip_value)}
    _change(_gradients(parameters), "clip_grad_value_()", kernels.bounded, numbers)


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The old name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of"
        " `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]
