"""Jacobians of functions of tensors, by central differences and by differentiation.

A Jacobian is an array with a row for each element of the input and a column for each element
of the output. Functions are real, or complex in their inputs only (backward) or in their
outputs only (forward): then an entry is df/dx + i df/dy, the gradient in PyTorch's convention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.autograd._backward import grad
from wengert.core.tensor import Tensor, wrap

Direction = tuple[np.ndarray, ...]  # signs of the steps along the real and the imaginary axis
Grads = list[tuple[Tensor | None, ...]]  # of each variable, for each cotangent
Pairs = list[tuple[Tensor, Tensor | None]]  # the primal and the tangent of each output


@dataclass(frozen=True)
class Subject:
    """A function whose derivatives are checked, with its inputs and what it returned for them."""

    func: Callable[..., tuple[Tensor, ...]]
    inputs: tuple[Any, ...]
    outputs: tuple[Tensor, ...]
    part: str = ""  # "real" or "imaginary" of complex outputs, or inputs
    complexes: frozenset[int] = frozenset()  # the positions of these

    @property
    def variables(self) -> list[tuple[int, Tensor]]:
        """The inputs to differentiate with respect to, and their positions."""
        return requiring_grad(self.inputs)

    @property
    def results(self) -> list[tuple[int, Tensor]]:
        """The outputs to differentiate, and their positions."""
        return requiring_grad(self.outputs)

    def values(self) -> list[np.ndarray]:
        """Copies of the function's current results."""
        return [np.array(out._array) for out in self.func(*self.inputs)]


def requiring_grad(values: Sequence[Any]) -> list[tuple[int, Tensor]]:
    """The tensors that require grad, each with its position."""
    return [(k, x) for k, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad]


def numerical(subject: Subject, variable: Tensor, eps: float) -> list[np.ndarray]:
    """The Jacobian of each output, two calls of the function for each element of the input."""
    array = variable._array
    rows = [_difference(subject, array, at, _axes(array, eps), eps) for at in indices(array)]
    return [
        np.array([row[k] for row in rows]).reshape(array.size, out._array.size)
        for k, out in enumerate(subject.outputs)
    ]


def numerical_along(
    subject: Subject, variable: Tensor, direction: Direction, eps: float
) -> list[np.ndarray]:
    """The derivative of each output along a direction, flat."""
    array = variable._array
    steps = zip((eps, 1j * eps), direction, strict=False)
    return _difference(
        subject, array, ..., [step * d.reshape(array.shape) for step, d in steps], eps
    )


def indices(array: np.ndarray) -> Iterable[Any]:
    """The index of each element."""
    return np.ndindex(array.shape)


def _axes(array: np.ndarray, eps: float) -> list[Any]:
    return [eps, 1j * eps] if array.dtype.kind == "c" else [eps]


def _difference(
    subject: Subject, array: np.ndarray, at: Any, steps: Sequence[Any], eps: float
) -> list[np.ndarray]:
    """df/dx, or df/dx + i df/dy where there are two steps, of each output at one index."""
    derivatives = _central(subject, array, at, steps[0], eps)
    if len(steps) == 1:
        return derivatives
    other = _central(subject, array, at, steps[1], eps)
    return [x + 1j * y for x, y in zip(derivatives, other, strict=True)]


def _central(
    subject: Subject, array: np.ndarray, at: Any, step: Any, eps: float
) -> list[np.ndarray]:
    # In place: the function may have captured the tensor rather than take it as an argument.
    before = array[at].copy()
    try:
        array[at] = before - step
        low = subject.values()
        array[at] = before + step
        high = subject.values()
    finally:
        array[at] = before
    where = "" if at is Ellipsis else f"on index {at} "
    _check_alike(low, high, f"when inputs are perturbed {where}by {eps}")
    pairs = zip(low, high, strict=True)
    return [(_in_double(b) - _in_double(a)).reshape(-1) / (2 * eps) for a, b in pairs]


def _in_double(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _check_alike(low: list[np.ndarray], high: list[np.ndarray], when: str) -> None:
    if len(low) != len(high):
        raise AssertionError(
            f"Expected `func` to return as many outputs {when}, but got: {len(low)} and"
            f" {len(high)}."
        )
    for a, b in zip(low, high, strict=True):
        for name, x, y in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
            if x != y:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {name} {when}, but got:"
                    f" {name}s {x} and {y}."
                )


def pull_back(
    output: Tensor, variables: Sequence[Tensor], cotangents: Iterable[np.ndarray]
) -> Grads:
    """The gradients of the variables for each cotangent of an output."""
    return [
        grad(output, variables, wrap(g), retain_graph=True, allow_unused=True) for g in cotangents
    ]


def matrices(gradients: Grads, variables: Sequence[Tensor]) -> list[np.ndarray]:
    """For each variable, its gradients as columns."""
    columns = []
    for k, x in enumerate(variables):
        array = x._array
        matrix = np.zeros((array.size, len(gradients)), array.dtype)
        for j, grads in enumerate(gradients):
            g = grads[k]
            if g is not None:
                matrix[:, j] = g._array.reshape(-1)
        columns.append(matrix)
    return columns


def unit_vectors(array: np.ndarray) -> Iterable[np.ndarray]:
    """The standard basis of the space of an array."""
    for at in indices(array):
        e = np.zeros(array.shape, array.dtype)
        e[at] = 1
        yield e


def push_forward(
    subject: Subject, variable: Tensor, tangents: Iterable[np.ndarray]
) -> Iterable[Pairs]:
    """The primal and the tangent of each output, for each tangent of one input, by forward mode."""
    for tangent in tangents:
        input_tangents = [
            None if t is None else wrap(tangent if t is variable else np.zeros_like(t._array))
            for t in _differentiable(subject.inputs)
        ]
        yield dual_call(subject, input_tangents)


def _differentiable(inputs: tuple[Any, ...]) -> list[Tensor | None]:
    return [x if isinstance(x, Tensor) and x.requires_grad else None for x in inputs]


def dual_call(subject: Subject, tangents: Sequence[Tensor | None]) -> Pairs:
    """The primal and the tangent of each output; an input without a tangent is a constant."""
    from wengert.autograd import forward_ad

    with forward_ad.dual_level():
        arguments = [
            x.detach() if t is None and isinstance(x, Tensor)
            else x if t is None else forward_ad.make_dual(x.detach(), t)
            for x, t in zip(subject.inputs, tangents, strict=True)
        ]  # fmt: skip
        pairs = [forward_ad.unpack_dual(out) for out in subject.func(*arguments)]
    return [(pair.primal, pair.tangent) for pair in pairs]


def directional_derivative(direction: Direction, gradient: np.ndarray) -> complex:
    """The derivative along a direction, from a gradient; all flattened."""
    if len(direction) == 1:
        return float((direction[0] * gradient).sum())
    x, y = direction
    return complex((x * gradient.real).sum(), (y * gradient.imag).sum())
