"""What `gradcheck` checks, in order, and what it says when a check fails.

1. Each pair of a differentiable output and input: the analytical Jacobian against the
   numerical one, in full or (fast mode) along random directions.
2. Batches of cotangents and tangents, where asked for.
3. A zero cotangent, and none at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert._core import Tensor, leaf_of, wrap
from wengert._random import Generator, default_generator
from wengert.autograd import _jacobians as jacobians
from wengert.autograd._backward import grad
from wengert.autograd._function import FunctionNode
from wengert.autograd._jacobians import Direction, Subject, requiring_grad
from wengert.autograd.gradcheck import GradcheckError
from wengert.ops.complexes import imag, real

PRECISE = (np.dtype(np.float64), np.dtype(np.complex128))


@dataclass(frozen=True)
class Options:
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


def check(func: Callable[..., Any], inputs: Any, options: Options) -> None:
    """Raise GradcheckError if a derivative of `func` at `inputs` is wrong."""
    arguments = _as_tuple(inputs)
    _check_inputs(arguments)

    def outputs_of(*args: Any) -> tuple[Tensor, ...]:
        return _checked_outputs(func(*args))

    subject = Subject(outputs_of, arguments, outputs_of(*arguments))
    if options.backward:
        for part in _parts_of_outputs(subject):
            _check_backward(part, options)
    if options.forward:
        for part in _parts_of_inputs(subject):
            _check_forward(part, options)
            if options.undefined:
                _check_constant_inputs(part)
    if options.batched_forward:
        _check_batched_tangents(subject)
    if options.backward:
        if options.batched:
            _check_batched_cotangents(subject)
        _check_zero_cotangents(subject, options.masked)
        if options.undefined:
            _check_missing_cotangents(subject)


def gradient(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any, strided: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function from inputs and cotangents to gradients, and its arguments."""
    arguments = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = requiring_grad(_checked_outputs(func(*arguments)))
        if not outputs:
            raise ValueError(
                "gradgradcheck expects at least one output to require gradient, but none of them"
                " has requires_grad=True."
            )
        cotangents = tuple([_random_leaf(out._array, strided) for _, out in outputs])
    else:
        cotangents = _as_tuple(grad_outputs)
    count = len(arguments)
    wanted = [k for k, _ in requiring_grad(arguments)]
    leaves = {*wanted, *(count + k for k, _ in requiring_grad(cotangents))}

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        # forward mode hands over detached arguments
        args = tuple([x.requires_grad_() if k in leaves else x for k, x in enumerate(args)])
        outputs = [out for _, out in requiring_grad(_checked_outputs(func(*args[:count])))]
        found = grad(
            outputs,
            [args[k] for k in wanted],
            args[count:],
            create_graph=True,
            allow_unused=True,
        )
        return tuple([g for g in found if g is not None])

    return gradients, (*arguments, *cotangents)


def _random_leaf(like: np.ndarray, strided: bool) -> Tensor:
    """A leaf with random values; every other element of its memory, if `strided`."""
    values = default_generator.uniform(like.shape, -1, 1, like.dtype)
    if strided and values.ndim:
        values = np.repeat(values, 2, axis=-1)[..., ::2]
    leaf = wrap(values)
    leaf._edge = leaf_of(leaf)
    return leaf


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _checked_outputs(value: Any) -> tuple[Tensor, ...]:
    outputs = _as_tuple(value)
    for k, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            raise AttributeError(
                f"{type(out).__name__!r} object has no attribute 'requires_grad': output {k} of the"
                " function that is checked must be a Tensor"
            )
    return outputs


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    variables = requiring_grad(inputs)
    for k, x in variables:
        array = x._array
        if array.dtype not in PRECISE:
            warnings.warn(
                f"Input #{k} requires gradient and is not a double precision floating point or"
                " complex. This check will likely fail if all the inputs are not of double"
                f" precision floating point or complex. Its dtype is {x.dtype}.",
                stacklevel=4,
            )
        if any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
            raise RuntimeError(
                f"The {k}th input has a dimension with stride 0. gradcheck only supports inputs"
                " that are non-overlapping to be able to compute the numerical gradients"
                " correctly. You should call .contiguous on the input before passing it to"
                " gradcheck."
            )
        if not array.flags.writeable:
            raise RuntimeError(
                f"The {k}th input is read-only memory. gradcheck perturbs its inputs in place: pass"
                " a clone."
            )
    if not variables:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them"
            " have requires_grad=True."
        )


# The parts of complex functions


def _parts_of_outputs(subject: Subject) -> Iterator[Subject]:
    """Functions with real outputs: the subject, or the parts of its complex outputs."""
    if not any(out.is_complex() for out in subject.outputs):
        yield subject
        return
    for name, part in (("imaginary", imag), ("real", real)):

        def func(*args: Any, part: Any = part) -> tuple[Tensor, ...]:
            return tuple([part(o) if o.is_complex() else o for o in subject.func(*args)])

        yield Subject(func, subject.inputs, func(*subject.inputs), name)


def _parts_of_inputs(subject: Subject) -> Iterator[Subject]:
    """Functions with real inputs: the subject, or of one part of its complex inputs."""
    complexes = [
        k for k, x in enumerate(subject.inputs) if isinstance(x, Tensor) and x.is_complex()
    ]
    if not complexes:
        yield subject
        return
    for name in ("imaginary", "real"):
        inputs = list(subject.inputs)
        constant = {}
        for k in complexes:
            array = inputs[k]._array
            kept, varied = (array.real, array.imag) if name == "imaginary" else (
                array.imag, array.real
            )  # fmt: skip
            constant[k] = wrap(kept if name == "imaginary" else 1j * kept)
            inputs[k] = wrap(varied.copy()).requires_grad_(inputs[k].requires_grad)

        def func(*args: Any, constant: Any = constant, name: str = name) -> tuple[Tensor, ...]:
            whole = list(args)
            for k, other in constant.items():
                whole[k] = other + whole[k] * 1j if name == "imaginary" else whole[k] + other
            return subject.func(*whole)

        yield Subject(func, tuple(inputs), func(*inputs), name)


# Jacobians


def _check_backward(subject: Subject, options: Options) -> None:
    if options.fast:
        _check_backward_along(subject, options)
        return
    numerical = _numerical(subject, options)
    variables = [x for _, x in subject.variables]
    for i, (at, out) in enumerate(subject.results):
        analytical = _analytical(out, variables, jacobians.unit_vectors(out._array), options)
        for j, a in enumerate(analytical):
            n = numerical[j][at]
            if not _close(a, n, options.rtol, options.atol).all():
                raise GradcheckError(_mismatch(subject, i, j, a, n, options))
        _check_linear(out, variables, analytical, options)


def _numerical(subject: Subject, options: Options) -> list[list[np.ndarray]]:
    """The Jacobian of each output with respect to each variable; without results, zero."""
    found = [jacobians.numerical(subject, x, options.eps) for _, x in subject.variables]
    if not subject.results and any(matrix.any() for row in found for matrix in row):
        raise GradcheckError(
            "Numerical gradient for function expected to be zero: no output requires grad, but"
            " the outputs change with the inputs"
        )
    return found


def _analytical(
    out: Tensor, variables: list[Tensor], cotangents: Any, options: Options
) -> list[np.ndarray]:
    """For each variable, its gradients as columns; computed twice, to see that they are equal."""
    cotangents = list(cotangents)
    found = jacobians.pulled(out, variables, cotangents)
    for grads in found:
        _check_attributes(grads, variables, options.dtypes)
    first = jacobians.matrices(found, variables)
    second = jacobians.matrices(jacobians.pulled(out, variables, cotangents), variables)
    gap = max([_largest(abs(a - b)) for a, b in zip(first, second, strict=True)], default=0.0)
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
    out: Tensor, variables: list[Tensor], analytical: list[np.ndarray], options: Options
) -> None:
    """Unit vectors do not tell g from g * g: a random cotangent does."""
    g = Generator().uniform(tuple(out.shape), -2, 2, out._array.dtype)
    found = jacobians.matrices(jacobians.pulled(out, variables, [g]), variables)
    flat = g.reshape(-1)
    for j, (column, matrix) in enumerate(zip(found, analytical, strict=True)):
        expected = (matrix * flat).sum(axis=1)
        atol = options.atol * float(abs(flat).sum()) + options.nondet_tol
        if not _close(column[:, 0], expected, options.rtol, atol).all():
            raise GradcheckError(
                "Backward is not linear in grad_output: for a random one the gradient of input"
                f" {j} is {wrap(column[:, 0])}, and the Jacobian times it is {wrap(expected)}"
            )


def _check_forward(subject: Subject, options: Options) -> None:
    if options.fast:
        _check_forward_along(subject, options)
        return
    numerical = _numerical(subject, options)
    for j, (_, x) in enumerate(subject.variables):
        rows = list(jacobians.pushed(subject, x, jacobians.unit_vectors(x._array)))
        for i, (at, out) in enumerate(subject.results):
            a = np.zeros((x.numel(), out.numel()), out._array.dtype)
            for row, pairs in zip(a, rows, strict=True):
                row[...] = _tangent(*pairs[at], options)
            n = numerical[j][at]
            if not _close(a, n, options.rtol, options.atol).all():
                raise GradcheckError(_mismatch(subject, i, j, a, n, options, forward=True))


def _tangent(primal: Tensor, tangent: Tensor | None, options: Options) -> np.ndarray:
    """A tangent, flat; None stands for zeros."""
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


def _directions(subject: Subject, generator: Generator) -> list[Direction]:
    return [
        tuple([_unit(x.numel(), generator) for _ in range(2 if x.is_complex() else 1)])
        for _, x in subject.variables
    ]


def _numerical_along(
    subject: Subject, directions: list[Direction], options: Options
) -> list[list[np.ndarray]]:
    pairs = zip(subject.variables, directions, strict=True)
    found = [jacobians.numerical_along(subject, x, u, options.eps) for (_, x), u in pairs]
    if not subject.results and max(_largest(abs(d)) for row in found for d in row) > (
        options.nondet_tol
    ):
        raise GradcheckError(
            "Numerical gradient for function expected to be zero: no output requires grad, but"
            " the outputs change with the inputs"
        )
    return found


def _check_backward_along(subject: Subject, options: Options) -> None:
    generator = Generator()
    directions = _directions(subject, generator)
    numerical = _numerical_along(subject, directions, options)
    variables = [x for _, x in subject.variables]
    for i, (at, out) in enumerate(subject.results):
        v = _unit(out.numel(), generator)
        cotangent = v.reshape(out.shape).astype(out._array.dtype)
        gradients = _analytical(out, variables, [cotangent], options)
        for j, (u, g) in enumerate(zip(directions, gradients, strict=True)):
            a, n = jacobians.along(u, g[:, 0]), (v * numerical[j][at]).sum().item()
            atol = options.atol * float(np.sum(u)) * float(v.sum())
            if not _close(a, n, options.rtol, atol).all():
                raise GradcheckError(_mismatch_along(subject, i, j, a, n, options))


def _check_forward_along(subject: Subject, options: Options) -> None:
    directions = _directions(subject, Generator())
    numerical = _numerical_along(subject, directions, options)
    for j, ((_, x), (u,)) in enumerate(zip(subject.variables, directions, strict=True)):
        tangent = u.reshape(x.shape).astype(x._array.dtype)
        (pairs,) = jacobians.pushed(subject, x, [tangent])
        for i, (at, _) in enumerate(subject.results):
            a, n = _tangent(*pairs[at], options), numerical[j][at]
            if not _close(a, n, options.rtol, options.atol * float(u.sum())).all():
                raise GradcheckError(
                    _mismatch_along(subject, i, j, wrap(a), wrap(n), options, forward=True)
                )


# Batches, zeros, and cotangents that are missing


def _check_batched_cotangents(subject: Subject) -> None:
    variables = [x for _, x in subject.variables]
    for i, (_, out) in enumerate(subject.results):
        batch = Generator().normal((2, *out.shape), np_dtype=out._array.dtype)
        expected = jacobians.pulled(out, variables, batch)
        try:
            found = grad(
                out,
                variables,
                wrap(batch),
                retain_graph=True,
                allow_unused=True,
                is_grads_batched=True,
            )
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\n{_BATCHED}"
            ) from error
        for j, x in enumerate(variables):
            b = np.stack([_array_or_zeros(grads[j], x) for grads in expected])
            a = np.broadcast_to(_array_or_zeros(found[j], x), b.shape)
            _check_batch(i, j, a, b, _BATCHED)


def _check_batched_tangents(subject: Subject) -> None:
    from wengert.autograd._vmap import vmap

    for j, (_, x) in enumerate(subject.variables):
        batch = Generator().normal((2, *x.shape), np_dtype=x._array.dtype)

        def tangents(t: Tensor, x: Tensor = x) -> tuple[Tensor, ...]:
            given = [t if y is x else None for y in subject.inputs]
            pairs = jacobians.dual_call(subject, given)
            return tuple([p * 0 if t is None else t for p, t in pairs])

        expected = [tangents(wrap(t)) for t in batch]
        try:
            found = vmap(tangents)(wrap(batch))
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\n{_BATCHED_FORWARD}"
            ) from error
        for i, a in enumerate(found):
            b = np.stack([row[i]._array for row in expected])
            _check_batch(i, j, a._array, b, _BATCHED_FORWARD)


def _array_or_zeros(g: Tensor | None, like: Tensor) -> np.ndarray:
    return np.zeros_like(like._array) if g is None else g._array


def _check_batch(i: int, j: int, found: np.ndarray, expected: np.ndarray, text: str) -> None:
    if not _close(found, expected, 1e-5, 1e-8).all():
        raise GradcheckError(
            f"For output {i} and input {j}:\n\n{text}\n\nGot:\n{wrap(found)}\n\nExpected:\n"
            f"{wrap(expected)}"
        )


def _check_zero_cotangents(subject: Subject, masked: bool) -> None:
    outputs = [out for _, out in subject.results]
    if not outputs:
        return
    variables = [x for _, x in subject.variables]
    zeros = [wrap(np.zeros_like(out._array)) for out in outputs]
    found = grad(outputs, variables, zeros, retain_graph=True, allow_unused=True)
    for j, (g, x) in enumerate(zip(found, variables, strict=True)):
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


def _check_missing_cotangents(subject: Subject) -> None:
    """Outputs without a cotangent: one at a time, and all outputs of a user's Function."""
    variables = [x for _, x in subject.variables]
    count = len(subject.results)
    for missing in range(count) if count > 1 else ():
        outputs = [out for _, out in requiring_grad(subject.func(*subject.inputs))]
        del outputs[missing]
        zeros = [wrap(np.zeros_like(out._array)) for out in outputs]
        with _Undefined():
            found = grad(outputs, variables, zeros, allow_unused=True)
        _check_zero_or_none([g._array for g in found if g is not None])
    for node in _user_nodes([out for _, out in subject.results]):
        with _Undefined():
            answer = node.pullback(None)
        _check_zero_or_none([g for g in answer if g is not None])


class _Undefined:
    """Around a backward without all of its cotangents: its RuntimeErrors are failures."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, RuntimeError):
            _warn_undefined()
            raise GradcheckError(
                "Expected backward function to handle undefined output grads: an output that"
                f" nothing depends on has none (None, or zeros if they are materialized). {_SKIP}"
            ) from error
        if error is not None:
            error.add_note(f"gradcheck: the backward ran without a cotangent. {_SKIP}")


def _check_zero_or_none(gradients: list[np.ndarray]) -> None:
    if any(g.any() for g in gradients):
        _warn_undefined()
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined"
            f" or zero. {_SKIP}"
        )


def _warn_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by"
        f" default, but it may break existing callers of this function. {_SKIP}",
        stacklevel=2,
    )


def _user_nodes(outputs: list[Tensor]) -> list[FunctionNode]:
    """The nodes of users' Functions that are nearest to the outputs."""
    found = []
    todo: list[Any] = [out._edge for out in outputs]
    seen = set(todo)
    while todo:
        node = todo.pop()
        if isinstance(node, FunctionNode):
            found.append(node)
            continue
        fresh = {e for e in node.edges if e is not None} - seen
        seen |= fresh
        todo += fresh
    return found


def _check_constant_inputs(subject: Subject) -> None:
    """A zero tangent and no tangent are the same."""
    directions = _directions(subject, Generator())
    pairs = zip(subject.variables, directions, strict=True)
    tangents: dict[int, Any] = {
        k: wrap(u.reshape(x.shape).astype(x._array.dtype)) for (k, x), (u,) in pairs
    }
    for k, x in subject.variables:
        given = [tangents.get(i) for i in range(len(subject.inputs))]
        given[k] = wrap(np.zeros_like(x._array))
        zero = jacobians.dual_call(subject, given)
        given[k] = None
        none = jacobians.dual_call(subject, given)
        for i, ((_, a), (_, b)) in enumerate(zip(zero, none, strict=True)):
            both = a is not None and b is not None
            if both and not _close(a._array, b._array, 1e-5, 1e-8).all():
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {i} when input: {k} has an"
                    f" undefined tangent value. Got: {b} but expected: {a}"
                )


# What it says


_SKIP = "Pass check_undefined_grad=False to leave this check out."
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


def _close(a: Any, n: Any, rtol: float, atol: float) -> np.ndarray:
    return np.isclose(a, n, rtol, atol)


def _largest(values: np.ndarray) -> float:
    return float(values.max(initial=0.0))


def _mismatch(
    subject: Subject,
    i: int,
    j: int,
    analytical: Any,
    numerical: Any,
    options: Options,
    forward: bool = False,
) -> str:
    """That two Jacobians differ: which, both of them, and where the most."""
    return (
        f"{_which(subject, i, j, forward)}numerical:{wrap(numerical)}\n"
        f"analytical:{wrap(analytical)}\n{_worst(subject, i, j, analytical, numerical, options)}"
    )


def _which(subject: Subject, i: int, j: int, forward: bool) -> str:
    of = "inputs" if forward else "outputs"
    is_part = subject.part and (forward or subject.results[i])
    part = f"While considering the {subject.part} part of complex {of} only, " if is_part else ""
    mode = "computed with forward mode " if forward else ""
    return f"{part}Jacobian {mode}mismatch for output {i} with respect to input {j},\n"


def _worst(
    subject: Subject, i: int, j: int, analytical: Any, numerical: Any, options: Options
) -> str:
    (at, out), (k, x) = subject.results[i], subject.variables[j]
    gap = abs(analytical - numerical)
    allowed = options.atol + options.rtol * abs(numerical)
    excess = np.nan_to_num(gap - allowed, nan=np.inf)
    row, column = np.unravel_index(excess.argmax(), excess.shape)
    wrong = ~_close(analytical, numerical, options.rtol, options.atol)
    return (
        f"{wrong.sum()} of {wrong.size} entries differ. The worst is that of"
        f" outputs[{at}]{_index(column, out)} with respect to inputs[{k}]{_index(row, x)}:"
        f" numerical {numerical[row, column]:.6g}, analytical {analytical[row, column]:.6g};"
        f" they differ by {gap[row, column]:.3g}, and {allowed[row, column]:.3g} is allowed.\n"
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
    options: Options,
    forward: bool = False,
) -> str:
    """That two Jacobians differ along a direction, and by which entries."""
    (at, out), (_, x) = subject.results[i], subject.variables[j]
    slow = jacobians.numerical(subject, x, options.eps)[at]
    if forward:
        rows = jacobians.pushed(subject, x, jacobians.unit_vectors(x._array))
        full = np.array([_tangent(*pairs[at], options) for pairs in rows]).reshape(slow.shape)
    else:
        found = jacobians.pulled(out, [x], jacobians.unit_vectors(out._array))
        (full,) = jacobians.matrices(found, [x])
    text = (
        f"{_which(subject, i, j, forward)}numerical:{numerical}\nanalytical:{analytical}\n\n"
        "These are the Jacobians along random directions (fast mode). In full they are:\n\n"
        f"Numerical:\n{wrap(slow)}\nAnalytical:\n{wrap(full)}\n\n"
        f"The max per-element difference (slow mode) is: {_largest(abs(slow - full))}.\n"
    )
    if _close(full, slow, options.rtol, options.atol).all():
        return text + (
            "Fast gradcheck failed but element-wise differences are small. This means that the"
            " test might've passed in slow_mode: pass fast_mode=False."
        )
    return text + _worst(subject, i, j, full, slow, options)
