"""Analytical Jacobians against numerical ones, and the messages where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.autograd._checks import jacobians
from wengert.autograd._checks.jacobians import Direction, Pairs, Subject
from wengert.autograd.errors import GradcheckError
from wengert.core.generators import Generator
from wengert.core.tensor import Tensor, wrap


@dataclass(frozen=True)
class GradcheckOptions:
    """The keyword arguments of `gradcheck`."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    undefined: bool
    dtypes: bool
    batched: bool
    batched_forward: bool
    forward: bool
    backward: bool
    fast: bool
    masked: bool


def check_backward(subject: Subject, options: GradcheckOptions) -> None:
    """Compare reverse mode with finite differences, for a function with real outputs."""
    if options.fast:
        _check_backward_along(subject, options)
        return
    numerical = _numerical(subject, options)
    variables = [x for _, x in subject.variables]
    for i, (at, out) in enumerate(subject.results):
        analytical = _analytical(out, variables, jacobians.unit_vectors(out._array), options)
        for j, a in enumerate(analytical):
            n = numerical[j][at]
            if not close(a, n, options.rtol, options.atol).all():
                raise GradcheckError(_mismatch(subject, i, j, a, n, options))
        _check_linear(out, variables, analytical, options)


def _numerical(subject: Subject, options: GradcheckOptions) -> list[list[np.ndarray]]:
    """The Jacobian of each output with respect to each variable; zero if there are no results."""
    jacobian_blocks = [jacobians.numerical(subject, x, options.eps) for _, x in subject.variables]
    if not subject.results:
        _check_constant(jacobian_blocks, 0.0)
    return jacobian_blocks


def _check_constant(derivatives: list[list[np.ndarray]], tolerance: float) -> None:
    if any(largest_entry(abs(d)) > tolerance for row in derivatives for d in row):
        raise GradcheckError(
            "Numerical gradient for function expected to be zero: no output requires grad, but"
            " the outputs change with the inputs"
        )


def _analytical(
    out: Tensor, variables: list[Tensor], cotangents: Any, options: GradcheckOptions
) -> list[np.ndarray]:
    """For each variable, its gradients as columns; computed twice to check determinism."""
    cotangents = list(cotangents)
    gradients = jacobians.pull_back(out, variables, cotangents)
    for grads in gradients:
        _check_attributes(grads, variables, options.dtypes)
    first = jacobians.matrices(gradients, variables)
    second = jacobians.matrices(jacobians.pull_back(out, variables, cotangents), variables)
    gap = max([largest_entry(abs(a - b)) for a, b in zip(first, second, strict=True)], default=0.0)
    if gap > options.nondet_tol:
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output"
            " multiple times gives different values, although analytical gradient matches"
            f" numerical gradient. The tolerance for nondeterminism was {options.nondet_tol}, and"
            f" gradients differ by up to {gap:.3g}. If that much is expected, pass it as"
            " nondet_tol."
        )
    return first


def _check_attributes(
    grads: Sequence[Tensor | None], variables: list[Tensor], dtypes: bool
) -> None:
    for j, (g, x) in enumerate(zip(grads, variables, strict=True)):
        if g is None:
            continue
        if g.shape != x.shape:
            raise GradcheckError(
                f"Analytical gradient has incorrect size: {list(g.shape)} for input {j} of size"
                f" {list(x.shape)}"
            )
        if dtypes and g.dtype != x.dtype:
            raise GradcheckError(
                f"Gradient has dtype mismatch: {g.dtype} for input {j} of dtype {x.dtype}"
            )


def _check_linear(
    out: Tensor, variables: list[Tensor], analytical: list[np.ndarray], options: GradcheckOptions
) -> None:
    """Unit vectors do not tell g from g * g: a random cotangent does."""
    g = Generator().uniform(tuple(out.shape), -2, 2, out._array.dtype)
    columns = jacobians.matrices(jacobians.pull_back(out, variables, [g]), variables)
    flat = g.reshape(-1)
    for j, (column, matrix) in enumerate(zip(columns, analytical, strict=True)):
        expected = (matrix * flat).sum(axis=1)
        atol = options.atol * float(abs(flat).sum()) + options.nondet_tol
        if not close(column[:, 0], expected, options.rtol, atol).all():
            raise GradcheckError(
                "Backward is not linear in grad_output: for a random one the gradient of input"
                f" {j} is {wrap(column[:, 0])}, and the Jacobian times it is {wrap(expected)}"
            )


def check_forward(subject: Subject, options: GradcheckOptions) -> None:
    """Compare forward mode with finite differences, for a function with real inputs."""
    if options.fast:
        _check_forward_along(subject, options)
        return
    numerical = _numerical(subject, options)
    for j, (_, x) in enumerate(subject.variables):
        rows = list(jacobians.push_forward(subject, x, jacobians.unit_vectors(x._array)))
        for i, (at, out) in enumerate(subject.results):
            a, n = _tangents(rows, at, out, options), numerical[j][at]
            if not close(a, n, options.rtol, options.atol).all():
                raise GradcheckError(_mismatch(subject, i, j, a, n, options, forward=True))


def _tangents(rows: Sequence[Pairs], at: int, out: Tensor, options: GradcheckOptions) -> np.ndarray:
    """The Jacobian of an output, from its tangent for each unit vector."""
    tangents = [_tangent(*pairs[at], options) for pairs in rows]
    return np.array(tangents, None if tangents else out._array.dtype).reshape(
        len(tangents), out.numel()
    )


def _tangent(primal: Tensor, tangent: Tensor | None, options: GradcheckOptions) -> np.ndarray:
    """A tangent, flattened; None means zeros."""
    if tangent is None:
        return np.zeros(primal.numel())
    if options.dtypes and primal.is_complex() != tangent.is_complex():
        raise GradcheckError(
            f"Forward AD gradient has dtype mismatch: {tangent.dtype} for an output of dtype"
            f" {primal.dtype}"
        )
    return tangent._array.reshape(-1)


# Fast mode: v'Ju instead of J, for random u and v. Both are positive, so that an error of atol
# in each entry of J comes to atol * sum(u) * sum(v).


def _unit(size: int, generator: Generator) -> np.ndarray:
    values = generator.uniform((size,), 0, 1, np.float64)
    return values / np.linalg.norm(values) if size else values


def directions_of(subject: Subject, generator: Generator) -> list[Direction]:
    """A random direction for each variable."""
    return [
        tuple([_unit(x.numel(), generator) for _ in range(2 if x.is_complex() else 1)])
        for _, x in subject.variables
    ]


def _numerical_along(
    subject: Subject, directions: list[Direction], options: GradcheckOptions
) -> list[list[np.ndarray]]:
    pairs = zip(subject.variables, directions, strict=True)
    derivatives = [jacobians.numerical_along(subject, x, u, options.eps) for (_, x), u in pairs]
    if not subject.results:
        _check_constant(derivatives, options.nondet_tol)
    return derivatives


def _check_backward_along(subject: Subject, options: GradcheckOptions) -> None:
    generator = Generator()
    directions = directions_of(subject, generator)
    numerical = _numerical_along(subject, directions, options)
    variables = [x for _, x in subject.variables]
    for i, (at, out) in enumerate(subject.results):
        v = _unit(out.numel(), generator)
        cotangent = v.reshape(out.shape).astype(out._array.dtype)
        gradients = _analytical(out, variables, [cotangent], options)
        for j, (u, g) in enumerate(zip(directions, gradients, strict=True)):
            a, n = jacobians.directional_derivative(u, g[:, 0]), (v * numerical[j][at]).sum().item()
            atol = options.atol * float(np.sum(u)) * float(v.sum())
            if not close(a, n, options.rtol, atol).all():
                raise GradcheckError(_mismatch_along(subject, i, j, a, n, options))


def _check_forward_along(subject: Subject, options: GradcheckOptions) -> None:
    directions = directions_of(subject, Generator())
    numerical = _numerical_along(subject, directions, options)
    for j, ((_, x), (u,)) in enumerate(zip(subject.variables, directions, strict=True)):
        tangent = u.reshape(x.shape).astype(x._array.dtype)
        (pairs,) = jacobians.push_forward(subject, x, [tangent])
        for i, (at, _) in enumerate(subject.results):
            a, n = _tangent(*pairs[at], options), numerical[j][at]
            if not close(a, n, options.rtol, options.atol * float(u.sum())).all():
                raise GradcheckError(
                    _mismatch_along(subject, i, j, wrap(a), wrap(n), options, forward=True)
                )


def close(a: Any, n: Any, rtol: float, atol: float) -> np.ndarray:
    """A mask of the entries that agree within the tolerance."""
    return np.asarray(np.isclose(a, n, rtol, atol))


def largest_entry(values: np.ndarray) -> float:
    """The maximum of non-negative values; 0 if there are none."""
    return float(values.max(initial=0.0))


def _mismatch(
    subject: Subject,
    i: int,
    j: int,
    analytical: Any,
    numerical: Any,
    options: GradcheckOptions,
    forward: bool = False,
) -> str:
    """The message for two Jacobians that differ: which, their values, the worst entry."""
    return (
        f"{_which(subject, i, j, forward)}numerical:{wrap(numerical)}\n"
        f"analytical:{wrap(analytical)}\n{_worst(subject, i, j, analytical, numerical, options)}"
    )


def _which(subject: Subject, i: int, j: int, forward: bool) -> str:
    of, (at, _) = ("inputs", subject.variables[j]) if forward else ("outputs", subject.results[i])
    component = ""
    if at in subject.complexes:
        component = f"While considering the {subject.part} part of complex {of} only, "
    mode = "computed with forward mode " if forward else ""
    return f"{component}Jacobian {mode}mismatch for output {i} with respect to input {j},\n"


def _worst(
    subject: Subject, i: int, j: int, analytical: Any, numerical: Any, options: GradcheckOptions
) -> str:
    (at, out), (k, x) = subject.results[i], subject.variables[j]
    gap = abs(analytical - numerical)
    allowed = options.atol + options.rtol * abs(numerical)
    excess = np.nan_to_num(gap - allowed, nan=np.inf)
    row, column = np.unravel_index(excess.argmax(), excess.shape)
    wrong = ~close(analytical, numerical, options.rtol, options.atol)
    return (
        f"{wrong.sum()} of {wrong.size} entries differ. The worst is that of"
        f" outputs[{at}]{_index(column, out)} with respect to inputs[{k}]{_index(row, x)}:"
        f" numerical {numerical[row, column]:.6g}, analytical {analytical[row, column]:.6g};"
        f" they differ by {gap[row, column]:.3g}, and {allowed[row, column]:.3g} is allowed."
    )


def _index(flat: Any, tensor: Tensor) -> str:
    at = [int(k) for k in np.unravel_index(flat, tuple(tensor.shape))]
    return str(at) if at else ""


def _mismatch_along(
    subject: Subject,
    i: int,
    j: int,
    analytical: Any,
    numerical: Any,
    options: GradcheckOptions,
    forward: bool = False,
) -> str:
    """The message for two Jacobians that differ along a direction, and in which entries."""
    (at, out), (_, x) = subject.results[i], subject.variables[j]
    slow = jacobians.numerical(subject, x, options.eps)[at]
    if forward:
        rows = list(jacobians.push_forward(subject, x, jacobians.unit_vectors(x._array)))
        full = _tangents(rows, at, out, options)
    else:
        gradients = jacobians.pull_back(out, [x], jacobians.unit_vectors(out._array))
        (full,) = jacobians.matrices(gradients, [x])
    text = (
        f"{_which(subject, i, j, forward)}numerical:{numerical}\nanalytical:{analytical}\n\n"
        "These are the Jacobians along random directions (fast mode). In full they are:\n\n"
        f"Numerical:\n{wrap(slow)}\nAnalytical:\n{wrap(full)}\n\n"
        f"The max per-element difference (slow mode) is: {largest_entry(abs(slow - full))}.\n"
    )
    if close(full, slow, options.rtol, options.atol).all():
        return text + (
            "Fast gradcheck failed but element-wise differences are small. This means that the"
            " test might've passed in slow_mode: pass fast_mode=False."
        )
    return text + _worst(subject, i, j, full, slow, options)
