"""What `gradcheck` checks, in order.

1. Each pair of a differentiable output and input: the analytical Jacobian against the
   numerical one, in full or (fast mode) along random directions: `_jacobian_checks`.
2. Batches of tangents and cotangents where asked for, a zero cotangent, and none at all:
   `_cotangent_checks`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.autograd._backward import grad
from wengert.autograd._checks import cotangents
from wengert.autograd._checks.derivatives import GradcheckOptions as GradcheckOptions
from wengert.autograd._checks.derivatives import check_backward, check_forward
from wengert.autograd._checks.jacobians import Subject, requiring_grad
from wengert.autograd._checks.sparse_inputs import of_values, require_dense
from wengert.autograd.transforms.recording import FunctionGraph
from wengert.core.generators import default_generator
from wengert.core.tensor import Tensor, Tracer, leaf_of, wrap
from wengert.ops.complexes import imag, real

PRECISE = (np.dtype(np.float64), np.dtype(np.complex128))


def check(func: Callable[..., Any], inputs: Any, options: GradcheckOptions) -> None:
    """Raise GradcheckError if a derivative of `func` at `inputs` is wrong."""
    func, arguments = of_values(func, _as_tuple(inputs), options.masked)
    _check_inputs(arguments)

    def outputs_of(*args: Any) -> tuple[Tensor, ...]:
        return _checked_outputs(func(*args))

    subject = Subject(outputs_of, arguments, outputs_of(*arguments))
    if options.backward:
        for real_subject in _real_outputs(subject):
            check_backward(real_subject, options)
    if options.forward:
        for real_subject in _real_inputs(subject):
            check_forward(real_subject, options)
            if options.undefined:
                cotangents.check_missing_tangents(real_subject)
    if options.batched_forward:
        cotangents.check_batched_tangents(subject)
    if options.backward:
        _check_cotangents(subject, options)


def _check_cotangents(subject: Subject, options: GradcheckOptions) -> None:
    if options.batched:
        cotangents.check_batched(subject)
    cotangents.check_zero(subject, options.masked)
    if options.undefined:
        cotangents.check_missing(subject)


def gradient_function(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any, strided: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function that maps inputs and cotangents to gradients, and its arguments."""
    arguments = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = requiring_grad(_checked_outputs(func(*arguments)))
        if not outputs:
            raise ValueError(
                "gradgradcheck expects at least one output to require gradient, but none of them"
                " has requires_grad=True."
            )
        seeds = tuple([_random_leaf(out._array, strided) for _, out in outputs])
    else:
        seeds = _as_tuple(grad_outputs)
    count = len(arguments)
    differentiated = [k for k, _ in requiring_grad(arguments)]

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        def outputs_at(*variables: Tensor) -> list[Tensor]:
            point = list(args[:count])
            for k, x in zip(differentiated, variables, strict=True):
                point[k] = x
            return [out for _, out in requiring_grad(_checked_outputs(func(*point)))]

        variables = [args[k] for k in differentiated]
        if any(isinstance(x, Tracer) for x in args):
            graph = FunctionGraph()
            outputs = graph.run(outputs_at, variables)
            return tuple(graph.pull(outputs, args[count:], retain=False))
        return grad(  # type: ignore[return-value]
            outputs_at(*variables),
            variables,
            args[count:],
            create_graph=True,
            materialize_grads=True,
        )

    return gradients, (*arguments, *seeds)


def _random_leaf(like: np.ndarray, strided: bool) -> Tensor:
    """A leaf with random values; if `strided`, a view of every other element."""
    values = default_generator.uniform(like.shape, -1, 1, like.dtype)
    if strided and values.ndim:
        values = np.repeat(values, 2, axis=-1)[..., ::2]
    leaf = wrap(values)
    leaf._edge = leaf_of(leaf)
    return leaf


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _checked_outputs(value: Any) -> tuple[Tensor, ...]:
    outputs = _as_tuple(value)
    for k, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            raise AttributeError(
                f"{type(out).__name__!r} object has no attribute 'requires_grad': output {k} of the"
                " function that is checked must be a Tensor"
            )
        require_dense(out)
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
                stacklevel=5,
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


def _real_outputs(subject: Subject) -> Iterator[Subject]:
    """The subject as functions with real outputs: itself, or the parts of its complex outputs."""
    complexes = frozenset([k for k, out in enumerate(subject.outputs) if out.is_complex()])
    if not complexes:
        yield subject
        return
    for name, component in (("imaginary", imag), ("real", real)):

        def func(*args: Any, component: Any = component) -> tuple[Tensor, ...]:
            return tuple([component(o) if o.is_complex() else o for o in subject.func(*args)])

        yield Subject(func, subject.inputs, func(*subject.inputs), name, complexes)


def _real_inputs(subject: Subject) -> Iterator[Subject]:
    """The subject as functions with real inputs: itself, or of one part of its complex inputs."""
    complexes = frozenset(
        [k for k, x in enumerate(subject.inputs) if isinstance(x, Tensor) and x.is_complex()]
    )
    if not complexes:
        yield subject
        return
    for name, unit in (("imaginary", 1j), ("real", 1)):
        inputs, constant = list(subject.inputs), {}
        for k in complexes:
            x = inputs[k]
            varied, fixed = x._array.real, x._array.imag * 1j
            if name == "imaginary":
                varied, fixed = x._array.imag, x._array.real
            constant[k] = wrap(fixed)
            inputs[k] = wrap(varied.copy()).requires_grad_(x.requires_grad)

        def func(*args: Any, constant: Any = constant, unit: Any = unit) -> tuple[Tensor, ...]:
            arguments = list(args)
            for k, other in constant.items():
                arguments[k] = other + arguments[k] * unit
            return subject.func(*arguments)

        yield Subject(func, tuple(inputs), func(*inputs), name, complexes)
