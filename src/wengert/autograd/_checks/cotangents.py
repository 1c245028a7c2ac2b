"""Checks of batched, zero and missing cotangents and tangents."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from wengert.autograd._backward import grad
from wengert.autograd._checks import jacobians
from wengert.autograd._checks.derivatives import close, directions_of
from wengert.autograd._checks.jacobians import Subject, requiring_grad
from wengert.autograd.custom.function import FunctionNode
from wengert.autograd.errors import GradcheckError
from wengert.core.generators import Generator
from wengert.core.tensor import Tensor, wrap

_SKIP = "Pass check_undefined_grad=False to skip this check."
_BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation: a batch of"
    " cotangents, as autograd.grad(is_grads_batched=True) takes it, does not give what one at a"
    " time gives. A backward that reads elements (item(), bool()) or writes them with NumPy cannot"
    " run on a batch. Pass check_batched_grad=False to leave this check out."
)
_BATCHED_FORWARD = (
    "gradcheck failed while testing batched gradient computation with forward-mode AD: a batch of"
    " tangents does not give what one at a time gives. Pass check_batched_forward_grad=False to"
    " leave this check out."
)


def check_batched(subject: Subject) -> None:
    """Check that a batch of cotangents gives the same results as one at a time."""
    variables = [x for _, x in subject.variables]
    for i, (_, out) in enumerate(subject.results):
        batch = Generator().normal((2, *out.shape), np_dtype=out._array.dtype)
        expected = jacobians.pull_back(out, variables, batch)
        with _reporting_batch_failures(_BATCHED):
            gradients = grad(
                out,
                variables,
                wrap(batch),
                retain_graph=True,
                allow_unused=True,
                is_grads_batched=True,
            )
        for j, x in enumerate(variables):
            b = np.stack([_array_or_zeros(grads[j], x) for grads in expected])
            a = np.broadcast_to(_array_or_zeros(gradients[j], x), b.shape)
            _check_batch(i, j, a, b, _BATCHED)


def check_batched_tangents(subject: Subject) -> None:
    """Check that a batch of tangents gives the same results as one at a time."""
    from wengert.autograd.transforms.vmap import vmap

    for j, (_, x) in enumerate(subject.variables):
        batch = Generator().normal((2, *x.shape), np_dtype=x._array.dtype)

        def tangents(t: Tensor, x: Tensor = x) -> tuple[Tensor, ...]:
            input_tangents = [t if y is x else None for y in subject.inputs]
            pairs = jacobians.dual_call(subject, input_tangents)
            return tuple([p * 0 if t is None else t for p, t in pairs])

        expected = [tangents(wrap(t)) for t in batch]
        with _reporting_batch_failures(_BATCHED_FORWARD):
            batched_tangents = vmap(tangents)(wrap(batch))
        for i, a in enumerate(batched_tangents):
            b = np.stack([row[i]._array for row in expected])
            _check_batch(i, j, a._array, b, _BATCHED_FORWARD)


@contextmanager
def _reporting_batch_failures(text: str) -> Iterator[None]:
    """Report errors in the computation of a batch as gradcheck failures."""
    try:
        with warnings.catch_warnings():
            # of operations that run sample by sample
            warnings.filterwarnings("ignore", message="There is a performance drop")
            yield
    except RuntimeError as error:
        raise GradcheckError(
            f"While computing batched gradients, got: {error}\n\n{text}"
        ) from error


def _array_or_zeros(g: Tensor | None, like: Tensor) -> np.ndarray:
    return np.zeros_like(like._array) if g is None else g._array


def _check_batch(i: int, j: int, actual: np.ndarray, expected: np.ndarray, text: str) -> None:
    if not close(actual, expected, 1e-5, 1e-8).all():
        raise GradcheckError(
            f"For output {i} and input {j}:\n\n{text}\n\nGot:\n{wrap(actual)}\n\nExpected:\n"
            f"{wrap(expected)}"
        )


def check_zero(subject: Subject, masked: bool) -> None:
    """Check that a zero cotangent gives zeros, in the shapes and dtypes of the inputs."""
    outputs = [out for _, out in subject.results]
    if not outputs:
        return
    variables = [x for _, x in subject.variables]
    zeros = [wrap(np.zeros_like(out._array)) for out in outputs]
    gradients = grad(outputs, variables, zeros, retain_graph=True, allow_unused=True)
    for j, (g, x) in enumerate(zip(gradients, variables, strict=True)):
        if g is None:
            continue
        if not (np.allclose(g._array, 0) if masked else (g._array == 0).all()):
            raise GradcheckError(
                f"backward not multiplied by grad_output: for zero, the gradient of input {j} is"
                f" {g}"
            )
        if g.dtype != x.dtype:
            raise GradcheckError(f"grad is incorrect type: {g.dtype}, of an input of {x.dtype}")
        if g.shape != x.shape:
            raise GradcheckError(
                f"grad is incorrect size: {list(g.shape)}, of an input of size {list(x.shape)}"
            )


def check_missing(subject: Subject) -> None:
    """Check that an output without a cotangent is treated as if its cotangent were zero.

    Each is left out in turn. A user's Function is also called with no cotangents at all, which
    no walk does.
    """
    variables = [x for _, x in subject.variables]
    count = len(subject.results)
    for missing in range(count) if count > 1 else ():
        outputs = [out for _, out in requiring_grad(subject.func(*subject.inputs))]
        del outputs[missing]
        zeros = [wrap(np.zeros_like(out._array)) for out in outputs]
        with _reporting_missing_cotangents():
            gradients = grad(outputs, variables, zeros, allow_unused=True)
        _check_zero_or_none([g._array for g in gradients if g is not None])
    for node in _user_nodes([out for _, out in subject.results]):
        with _reporting_missing_cotangents():
            answer = node.pullback(None)
        _check_zero_or_none([g for g in answer if g is not None])


@contextmanager
def _reporting_missing_cotangents() -> Iterator[None]:
    """Add to the error of a failing backward that it was run without a cotangent."""
    try:
        yield
    except RuntimeError as error:
        _warn()
        raise GradcheckError(
            "Expected backward function to handle undefined output grads: an output that nothing"
            f" depends on has none (None, or zeros if they are materialized). {_SKIP}"
        ) from error
    except Exception as error:
        error.add_note(f"gradcheck ran this backward without a cotangent. {_SKIP}")
        raise


def _check_zero_or_none(gradients: list[np.ndarray]) -> None:
    if any(g.any() for g in gradients):
        _warn()
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined"
            f" or zero. {_SKIP}"
        )


def _warn() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by"
        f" default, but it may break existing callers of this function. {_SKIP}",
        stacklevel=2,
    )


def _user_nodes(outputs: list[Tensor]) -> list[FunctionNode]:
    """The nodes of users' Functions nearest to the outputs."""
    user_nodes = []
    todo: list[Any] = [out._edge for out in outputs]
    visited = set(todo)
    while todo:
        node = todo.pop()
        if isinstance(node, FunctionNode):
            user_nodes.append(node)
            continue
        fresh = {e for e in node.edges if e is not None} - visited
        visited |= fresh
        todo += fresh
    return user_nodes


def check_missing_tangents(subject: Subject) -> None:
    """Check that a zero tangent and no tangent give the same result."""
    directions = directions_of(subject, Generator())
    pairs = zip(subject.variables, directions, strict=True)
    tangents: dict[int, Any] = {
        k: wrap(u.reshape(x.shape).astype(x._array.dtype)) for (k, x), (u,) in pairs
    }
    for k, x in subject.variables:
        input_tangents = [tangents.get(i) for i in range(len(subject.inputs))]
        input_tangents[k] = wrap(np.zeros_like(x._array))
        zero = jacobians.dual_call(subject, input_tangents)
        input_tangents[k] = None
        none = jacobians.dual_call(subject, input_tangents)
        for i, ((out, a), (_, b)) in enumerate(zip(zero, none, strict=True)):
            if not close(_array_or_zeros(a, out), _array_or_zeros(b, out), 1e-5, 1e-8).all():
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {i} when input: {k} has an"
                    f" undefined tangent value. Got: {b} but expected: {a}"
                )
