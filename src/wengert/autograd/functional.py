"""Derivatives of functions of tensors: Jacobians, Hessians, and their products with vectors.

Each takes a function and a point, and differentiates with respect to fresh tensors that share
the memory of the point: if the function also reads the original tensors from outside, those
count as constants. To differentiate a result again, pass `create_graph=True`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from wengert.autograd._functional import (
    OUTPUTS,
    Function,
    Grads,
    Matrix,
    Tensors,
    as_tuple,
    call_function,
    check_dependent,
    constant_derivative,
    fill_missing,
    fresh_inputs,
    grads_of,
    in_blocks,
    independent_output,
    result,
    scalar_output,
    vector_of,
    zero_leaf,
    zeros_in_dtype,
)
from wengert.autograd.grad_mode import enable_grad
from wengert.autograd.transforms.recording import FunctionGraph
from wengert.core.tensor import Tensor, wrap
from wengert.ops.broadcasting import expand
from wengert.ops.joining import stack
from wengert.ops.splitting import split
from wengert.ops.zeros import ones_matching

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """Return the outputs of `func`, and the product of `v` with its Jacobian.

    `v` has the shapes of the outputs, and may be left out for a single output of one element.
    The product has the shapes of the inputs. With `strict`, RuntimeError for an input that the
    outputs do not depend on, instead of zeros.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0])
    >>> wengert.autograd.functional.vjp(lambda x: x**3, x, wengert.tensor([1.0, 10.0]))
    (tensor([1., 8.]), tensor([  3., 120.]))
    """
    with enable_grad():
        several, tensors = as_tuple(inputs, "inputs", "vjp")
        point = fresh_inputs(tensors, create_graph)
        several_out, outputs = call_function(func, point, "vjp", strict)
        vector = vector_of(v, outputs, several_out, create_graph, "vjp", "outputs")
    gradients = grads_of(outputs, point, vector, create_graph)
    product = fill_missing(gradients, point, strict, create_graph, "back")
    return result(outputs, several_out, create_graph), result(product, several, create_graph)


def jvp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """Return the outputs of `func`, and the product of its Jacobian with `v`.

    `v` has the shapes of the inputs, and may be left out for a single input of one element.
    The product has the shapes of the outputs. It takes two backward passes: the vjp is linear
    in its cotangent, and its own vjp is the jvp. With `strict`, RuntimeError where an output
    does not depend on the inputs, instead of zeros.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0])
    >>> wengert.autograd.functional.jvp(lambda x: x.prod(), x, wengert.tensor([1.0, 10.0]))
    (tensor(2.), tensor(12.))
    """
    with enable_grad():
        several, tensors = as_tuple(inputs, "inputs", "jvp")
        point = fresh_inputs(tensors, create_graph)
        vector = vector_of(v, point, several, create_graph, "jvp", "inputs")
        several_out, outputs = call_function(func, point, "jvp", strict)
        cotangents = tuple([zero_leaf(out) for out in outputs])
        pulled = grads_of(outputs, point, cotangents, create_graph=True)
        check_dependent(pulled, "grad_inputs", strict)
    tangents = grads_of(pulled, cotangents, vector, create_graph)
    product = fill_missing(tangents, outputs, strict, create_graph, "back_trick")
    return result(outputs, several_out, create_graph), result(product, several_out, create_graph)


def vhp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Tensors]:
    """Return the value of `func`, and the product of `v` with its Hessian.

    `func` returns a tensor of one element. `v` has the shapes of the inputs, and may be left
    out for a single input of one element.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0])
    >>> v = wengert.tensor([1.0, 10.0])
    >>> wengert.autograd.functional.vhp(lambda x: (x**3).sum(), x, v)
    (tensor(9.), tensor([  6., 120.]))
    """
    with enable_grad():
        several, point, vector, value, first = _gradient(
            func, inputs, v, create_graph, strict, "vhp"
        )
    products = grads_of(first, point, vector, create_graph)
    product = fill_missing(products, point, strict, create_graph, "double_back")
    return result((value,), False, create_graph), result(product, several, create_graph)


def hvp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Tensors]:
    """Return the value of `func`, and the product of its Hessian with `v`.

    The Hessian of a function that is twice continuously differentiable is symmetric: then
    `vhp` gives the same at less cost (this takes one more backward pass).

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0])
    >>> v = wengert.tensor([1.0, 10.0])
    >>> wengert.autograd.functional.hvp(lambda x: (x**3).sum(), x, v)
    (tensor(9.), tensor([  6., 120.]))
    """
    with enable_grad():
        several, point, vector, value, first = _gradient(
            func, inputs, v, create_graph, strict, "hvp"
        )
        cotangents = tuple([zero_leaf(x) for x in point])
        pulled = grads_of(first, point, cotangents, create_graph=True)
    products = grads_of(pulled, cotangents, vector, create_graph)
    product = fill_missing(products, point, strict, create_graph, "double_back_trick")
    return result((value,), False, create_graph), result(product, several, create_graph)


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of `func`, of shape ``(*output.shape, *input.shape)``.

    A tuple over the outputs where `func` returns a tuple, of tuples over the inputs where
    `inputs` is one.

    Args:
        func: takes tensors and returns a tensor or a tuple of tensors.
        inputs: where to compute it.
        create_graph: record the derivative, so that it can be differentiated.
        strict: RuntimeError for an output that does not depend on an input, instead of zeros.
        vectorize: compute all rows (columns, in forward mode) in one batched pass.
        strategy: ``"reverse-mode"``, a row at a time, or ``"forward-mode"``, a column at a
            time, which needs `vectorize` and is faster if there are more outputs than inputs.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0, 3.0])
    >>> wengert.autograd.functional.jacobian(lambda x: x[1:] * x[:-1], x)
    tensor([[2., 1., 0.],
            [0., 3., 2.]])
    """
    _check_strategy(
        strategy,
        ' Hint: If your function has more outputs than inputs, "forward-mode" tends to be more'
        ' performant. Otherwise, prefer to use "reverse-mode".',
    )
    if strategy == "forward-mode":
        _check_forward(create_graph, strict, vectorize)
        return _columns(func, inputs)
    with enable_grad():
        several, tensors = as_tuple(inputs, "inputs", "jacobian")
        point = fresh_inputs(tensors, create_graph)
        several_out, outputs = call_function(func, point, "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not"
                " supported together. Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize and any(out.numel() for out in outputs):
            blocks = _batched_rows(outputs, point, create_graph)
        else:
            blocks = tuple(
                [_rows(i, out, point, create_graph, strict) for i, out in enumerate(outputs)]
            )
    return in_blocks(blocks, several_out, several, create_graph)


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian of a one-element `func`, of shape ``(*input.shape, *input.shape)``.

    If `inputs` is a tuple the result is a tuple of tuples of blocks: ``[i][j]`` has the shape of
    input i followed by that of input j. It is the Jacobian of the gradient: the options are those
    of `jacobian`, and `outer_jacobian_strategy` is its `strategy`.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0])
    >>> wengert.autograd.functional.hessian(lambda x: x[0] ** 2 * x[1], x)
    tensor([[4., 2.],
            [2., 0.]])
    """
    several, point = as_tuple(inputs, "inputs", "hessian")
    _check_strategy(outer_jacobian_strategy)

    def scalar(*args: Tensor) -> Tensor:
        return scalar_output(*call_function(func, args, "hessian", strict), "hessian").squeeze()

    def gradient(*args: Tensor) -> tuple[Tensor, ...]:
        first: tuple[Tensor, ...] = jacobian(scalar, args, create_graph=True)
        check_dependent(first, "jacobian", strict)
        return first

    def gradient_with_tangents(*args: Tensor) -> tuple[Tensor, ...]:
        graph = FunctionGraph()
        value = graph.run(scalar, args)
        return tuple(graph.pull([value], [ones_matching(value)], retain=False))

    forward = outer_jacobian_strategy == "forward-mode"
    blocks = jacobian(
        gradient_with_tangents if forward else gradient,
        point,
        create_graph,
        strict,
        vectorize,
        strategy=outer_jacobian_strategy,
    )
    return blocks if several else blocks[0][0]


def _check_strategy(strategy: str, hint: str = "") -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f'Expected strategy to be either "forward-mode" or "reverse-mode".{hint} Got'
            f" {strategy!r}."
        )


def _check_forward(create_graph: bool, strict: bool, vectorize: bool) -> None:
    for name, value, kind in (
        ("create_graph", create_graph, NotImplementedError),
        ("strict", strict, RuntimeError),
    ):
        if value:
            raise kind(
                f"torch.autograd.functional.jacobian: `{name}=True` and"
                ' `strategy="forward-mode"` are not supported together (yet). Please either set'
                f' `{name}=False` or `strategy="reverse-mode"`.'
            )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only"
            " implemented for `vectorize=True`."
        )


def _rows(
    index: int, output: Tensor, point: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> tuple[Tensor, ...]:
    """The blocks of one output, a backward pass for each of its elements."""
    rows: list[list[Tensor]] = [[] for _ in point]
    flat = output.reshape(-1)
    for element in range(output.numel()):
        gradients = grads_of((flat[element],), point, (None,), create_graph, retain_graph=True)
        for i, (x, g) in enumerate(zip(point, gradients, strict=True)):
            if g is None and strict:
                raise independent_output(index, i)
            if g is not None and strict and create_graph and not g.requires_grad:
                raise constant_derivative("jacobian", i)
            rows[i].append(zeros_in_dtype(x) if g is None else g)
    return tuple(
        [
            stack(r).reshape(output.shape + x.shape)
            if r
            else zeros_in_dtype(x, output.shape + x.shape)
            for r, x in zip(rows, point, strict=True)
        ]
    )


def _batched_rows(
    outputs: tuple[Tensor, ...], point: tuple[Tensor, ...], create_graph: bool
) -> Matrix:
    """All blocks, from one backward pass with a batch of cotangents, one per element."""
    sizes = [out.numel() for out in outputs]
    gradients = grads_of(outputs, point, _basis(outputs), create_graph, batched=True)
    columns = []
    for x, g in zip(point, gradients, strict=True):
        matrix = expand(zeros_in_dtype(x), (sum(sizes), *x.shape)) if g is None else g
        columns.append(
            [
                block.reshape(out.shape + x.shape)
                for block, out in zip(split(matrix, sizes), outputs, strict=True)
            ]
        )
    return tuple(zip(*columns, strict=True))


def _columns(func: Function, inputs: Tensors) -> Any:
    """The Jacobian in forward mode, with a batch of tangents, one per element."""
    from wengert.autograd import forward_ad
    from wengert.autograd.transforms.vmap import vmap

    several, point = as_tuple(inputs, "inputs", "jacobian")
    sizes = [x.numel() for x in point]
    several_out, shapes = False, []

    def tangents_of(*tangents: Tensor) -> tuple[Tensor, ...]:
        nonlocal several_out, shapes
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, t) for x, t in zip(point, tangents, strict=True)]
            several_out, outputs = as_tuple(func(*duals), OUTPUTS, "jacobian")
            pairs = [forward_ad.unpack_dual(out) for out in outputs]
        shapes = [out.shape for out in outputs]
        return tuple([zeros_in_dtype(p.primal) if p.tangent is None else p.tangent for p in pairs])

    batched_tangents = vmap(tangents_of)(*_basis(point))
    blocks = [
        tuple(
            [
                # the batch dimension is the input's, which comes last
                block.movedim(0, -1).reshape(shape + x.shape)
                for block, x in zip(split(matrix, sizes), point, strict=True)
            ]
        )
        for matrix, shape in zip(batched_tangents, shapes, strict=True)
    ]
    return in_blocks(tuple(blocks), several_out, several, create_graph=False)


def _basis(like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """A batch of unit vectors over all elements, split into the part for each tensor."""
    sizes = [x.numel() for x in like]
    starts = accumulate(sizes, initial=0)
    units = []
    for x, size, start in zip(like, sizes, starts, strict=False):
        unit = np.eye(sum(sizes), size, -start, dtype=x._array.dtype)
        units.append(wrap(unit.reshape(sum(sizes), *x.shape)))
    return tuple(units)


def _gradient(
    func: Function,
    inputs: Tensors,
    v: Tensors | None,
    create_graph: bool,
    strict: bool,
    name: str,
) -> tuple[bool, tuple[Tensor, ...], Grads, Tensor, Grads]:
    """Whether there are several inputs, the point, the vector, the value, the gradient."""
    several, tensors = as_tuple(inputs, "inputs", name)
    point = fresh_inputs(tensors, create_graph)
    vector = vector_of(v, point, several, create_graph, name, "inputs")
    value = scalar_output(*call_function(func, point, name, strict), name)
    first = grads_of((value,), point, (None,), create_graph=True)
    check_dependent(first, "jacobian", strict)
    return several, point, vector, value, first
