"""Helpers shared by the functions of `functional`: nested arguments and results, strict mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.autograd._backward import grad
from wengert.core.tensor import Tensor, leaf_of, wrap

Tensors = Tensor | tuple[Tensor, ...]
Function = Callable[..., Tensors]
Grads = tuple[Tensor | None, ...]
Matrix = tuple[tuple[Tensor, ...], ...]  # of blocks: one row for each output

OUTPUTS = "outputs of the user-provided function"
_STRICT = " This is not allowed in strict mode"

# Strict mode's messages for values that do not depend on what they should depend on.
_CONSTANT = {
    "outputs": (
        "Output {i} of the user-provided function does not require gradients. The outputs must be"
        " computed in a differentiable manner from the input when running in strict mode."
    ),
    "grad_inputs": (
        "The gradient with respect to input {i} is independent of the inputs of the user-provided"
        f" function.{_STRICT}."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with"
        f" respect to input {{i}} is independent of the input.{_STRICT}. You should ensure that"
        " your function is twice differentiable and that the jacobian depends on the inputs (a"
        " linear function's does not)."
    ),
}
_SINGLE = {
    "inputs": "the input to the user-provided function is a single Tensor with a single element",
    "outputs": "the user-provided function returns a single Tensor with a single element",
}
_UNUSED = {
    "back": f"The output of the user-provided function is independent of input {{i}}.{_STRICT}.",
    "back_trick": (
        "The gradient with respect to the input is independent of entry {i} in the grad_outputs"
        " when using the double backward trick to compute forward mode gradients."
        f"{_STRICT}."
    ),
    "double_back": (
        f"The jacobian of the user-provided function is independent of input {{i}}.{_STRICT}."
    ),
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {i} in the"
        f" grad_jacobian.{_STRICT} as it prevents from using the double backward trick to replace"
        " forward mode AD."
    ),
}


def scalar_output(several: bool, outputs: tuple[Tensor, ...], name: str) -> Tensor:
    """The single output, which must be a tensor of one element."""
    if several:
        raise RuntimeError(
            f"The function given to {name} should return a single Tensor, not a tuple of"
            f" {len(outputs)}"
        )
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element."
            f" {_told(outputs)}"
        )
    return outputs[0]


def call_function(
    func: Function, point: tuple[Tensor, ...], name: str, strict: bool
) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether the function returns a tuple, and its outputs."""
    several, outputs = as_tuple(func(*point), OUTPUTS, name)
    check_dependent(outputs, "outputs", strict)
    return several, outputs


def as_tuple(value: Any, what: str, name: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether `value` is a tuple, and the tensors in a tuple."""
    several = isinstance(value, tuple)
    items = value if several else (value,)
    for i, item in enumerate(items):
        if not isinstance(item, Tensor):
            which = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the"
                f" {which} has type {type(item)}."
            )
    return several, items


def fresh_inputs(
    inputs: tuple[Tensor, ...], create_graph: bool, require: bool = True
) -> tuple[Tensor, ...]:
    """Fresh tensors, so that tensors the function captured count as constants."""
    copies = [x.view_as(x) if create_graph and x.requires_grad else x.detach() for x in inputs]
    return tuple([x.requires_grad_() if require and not x.requires_grad else x for x in copies])


def vector_of(
    v: Tensors | None,
    like: tuple[Tensor, ...],
    several: bool,
    create_graph: bool,
    name: str,
    of: str,
) -> Grads:
    """The tensors of `v` in the shapes of `like`, the inputs or the outputs; None for one."""
    if v is None:
        if len(like) == 1 and like[0].numel() == 1:
            return (None,)
        raise RuntimeError(f"The vector v can only be None if {_SINGLE[of]}. {_told(like)}")
    vector = fresh_inputs(as_tuple(v, "v", name)[1], create_graph, require=False)
    if len(vector) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(vector)}."
            if several
            else f"The given v should contain a single Tensor. It is a tuple of {len(vector)}."
        )
    for i, (x, y) in enumerate(zip(vector, like, strict=True)):
        if x.shape != y.shape:
            entry = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {y.shape} but got {x.shape}.")
    return vector


def _told(values: tuple[Tensor, ...]) -> str:
    shapes = ", ".join(str(list(x.shape)) for x in values)
    return f"Here the shapes are: {shapes}."


def zeros_in_dtype(like: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
    """Zeros in the dtype of a tensor, and its shape if no other is given."""
    return wrap(np.zeros(tuple(like.shape) if shape is None else shape, like._array.dtype))


def zero_leaf(like: Tensor) -> Tensor:
    """A leaf of zeros, in the shape and dtype of a tensor."""
    leaf = zeros_in_dtype(like)
    leaf._edge = leaf_of(leaf)
    return leaf


def grads_of(
    outputs: Grads,
    inputs: tuple[Tensor, ...],
    cotangents: Grads,
    create_graph: bool,
    retain_graph: bool | None = None,
    batched: bool = False,
) -> Grads:
    """Like `grad`, but some outputs may be None or constant."""
    pairs = [
        (out, g)
        for out, g in zip(outputs, cotangents, strict=True)
        if out is not None and out.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    roots, seeds = zip(*pairs, strict=True)
    return grad(
        roots,
        inputs,
        seeds,
        retain_graph=retain_graph,
        create_graph=create_graph,
        allow_unused=True,
        is_grads_batched=batched,
    )


def check_dependent(values: Grads, what: str, strict: bool) -> None:
    """In strict mode, RuntimeError for a value that does not depend on the inputs."""
    if not strict:
        return
    for i, value in enumerate(values):
        if value is None:
            raise RuntimeError(_UNUSED["back"].format(i=i))
        if not value.requires_grad:
            raise RuntimeError(_CONSTANT[what].format(i=i))


def fill_missing(
    grads: Grads, refs: tuple[Tensor, ...], strict: bool, create_graph: bool, stage: str
) -> tuple[Tensor, ...]:
    """Replace None by zeros; in strict mode raise."""
    complete = []
    for i, (g, ref) in enumerate(zip(grads, refs, strict=True)):
        if g is None and strict:
            raise RuntimeError(_UNUSED[stage].format(i=i))
        if g is not None and strict and create_graph and not g.requires_grad:
            raise constant_derivative("hessian" if "double" in stage else "jacobian", i)
        complete.append(zeros_in_dtype(ref) if g is None else g)
    return tuple(complete)


def constant_derivative(what: str, i: int) -> RuntimeError:
    """The error of a derivative that cannot be differentiated again."""
    return RuntimeError(
        f"The {what} of the user-provided function is independent of input {i}.{_STRICT} when"
        " create_graph=True."
    )


def independent_output(output: int, i: int) -> RuntimeError:
    """The error of an output that does not depend on an input."""
    return RuntimeError(
        f"Output {output} of the user-provided function is independent of input {i}.{_STRICT}."
    )


def result(values: tuple[Tensor, ...], several: bool, create_graph: bool) -> Any:
    """The result, in the structure the caller asked for."""
    values_out = values if create_graph else tuple([x.detach() for x in values])
    return values_out if several else values_out[0]


def in_blocks(matrix: Matrix, several_out: bool, several: bool, create_graph: bool) -> Any:
    """As `result`, for a Jacobian: a row for each output."""
    rows = tuple([result(row, several, create_graph) for row in matrix])
    return rows if several_out else rows[0]
