"""Derivatives of functions of tensors: Jacobians, Hessians, and their products with vectors.

Each takes a function and a point, and differentiates with respect to fresh tensors that show
the memory of the point: a function that also reads the same tensors from outside has those
for constants. Functions that are to be differentiated again take `create_graph=True`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from wengert._core import Tensor, wrap
from wengert.autograd._backward import grad
from wengert.autograd._mode import enable_grad
from wengert.ops.expansion import expand
from wengert.ops.joining import stack

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | tuple[Tensor, ...]
Function = Callable[..., Tensors]
Grads = tuple[Tensor | None, ...]
Matrix = tuple[tuple[Tensor, ...], ...]  # of blocks: one row for each output

_OUTPUTS = "outputs of the user-provided function"
_STRICT = " This is not allowed in strict mode"

# What strict mode says of something that does not depend on what it should depend on.
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


def vjp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """The outputs of `func`, and the product of `v` with its Jacobian.

    `v` has the shapes of the outputs, and may be left out for a single output of one element.
    The product has the shapes of the inputs. With `strict`, RuntimeError for an input that the
    outputs do not depend on, instead of zeros.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0])
    >>> wengert.autograd.functional.vjp(lambda x: x**3, x, wengert.tensor([1.0, 10.0]))
    (tensor([1., 8.]), tensor([  3., 120.]))
    """
    with enable_grad():
        several, given = _as_tuple(inputs, "inputs", "vjp")
        point = _fresh(given, create_graph)
        several_out, outputs = _call(func, point, "vjp", strict)
        if v is not None:
            vector = _vector(v, outputs, several_out, create_graph, "vjp")
        elif len(outputs) == 1 and outputs[0].numel() == 1:
            vector = (None,)
        else:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single"
                f" Tensor with a single element. {_told(outputs)}"
            )
    found = _grads(outputs, point, vector, create_graph)
    product = _filled(found, point, strict, create_graph, "back")
    return _result(outputs, several_out, create_graph), _result(product, several, create_graph)


def jvp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """The outputs of `func`, and the product of its Jacobian with `v`.

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
        several, given = _as_tuple(inputs, "inputs", "jvp")
        point = _fresh(given, create_graph)
        vector = _vector_at(v, point, several, create_graph, "jvp")
        several_out, outputs = _call(func, point, "jvp", strict)
        cotangents = tuple([_zeros(out).requires_grad_() for out in outputs])
        pulled = _grads(outputs, point, cotangents, create_graph=True)
        _check_dependent(pulled, "grad_inputs", strict)
    found = _grads(pulled, cotangents, vector, create_graph)
    product = _filled(found, outputs, strict, create_graph, "back_trick")
    return _result(outputs, several_out, create_graph), _result(product, several_out, create_graph)


def vhp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Tensors]:
    """The value of `func`, and the product of `v` with its Hessian.

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
    found = _grads(first, point, vector, create_graph)
    product = _filled(found, point, strict, create_graph, "double_back")
    return _result((value,), False, create_graph), _result(product, several, create_graph)


def hvp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Tensors]:
    """The value of `func`, and the product of its Hessian with `v`.

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
        cotangents = tuple([_zeros(x).requires_grad_() for x in point])
        pulled = _grads(first, point, cotangents, create_graph=True)
    found = _grads(pulled, cotangents, vector, create_graph)
    product = _filled(found, point, strict, create_graph, "double_back_trick")
    return _result((value,), False, create_graph), _result(product, several, create_graph)


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`: the shape of an output, followed by the shape of an input.

    A tuple over the outputs where `func` returns a tuple, of tuples over the inputs where
    `inputs` is one.

    Args:
        func: takes tensors and returns a tensor or a tuple of tensors.
        inputs: where to compute it.
        create_graph: record the derivative, so that it can be differentiated.
        strict: RuntimeError for an output that does not depend on an input, instead of zeros.
        vectorize: compute all rows (columns, in forward mode) in one batched pass.
        strategy: ``"reverse-mode"``, a row at a time, or ``"forward-mode"``, a column at a
            time, which needs `vectorize` and is the better one for more outputs than inputs.

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
        several, given = _as_tuple(inputs, "inputs", "jacobian")
        point = _fresh(given, create_graph)
        several_out, outputs = _call(func, point, "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not"
                " supported together. Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            blocks = _batched_rows(outputs, point, create_graph)
        else:
            blocks = tuple(
                [_rows(i, out, point, create_graph, strict) for i, out in enumerate(outputs)]
            )
    return _blocks(blocks, several_out, several, create_graph)


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of `func`, which returns a tensor of one element: the input's shape, twice.

    Where `inputs` is a tuple it is a tuple of tuples of blocks: ``[i][j]`` has the shape of
    input i followed by that of input j. It is the Jacobian of the gradient: the options are those
    of `jacobian`, and `outer_jacobian_strategy` is its `strategy`.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0])
    >>> wengert.autograd.functional.hessian(lambda x: x[0] ** 2 * x[1], x)
    tensor([[4., 2.],
            [2., 0.]])
    """
    several, point = _as_tuple(inputs, "inputs", "hessian")
    _check_strategy(outer_jacobian_strategy)
    forward = outer_jacobian_strategy == "forward-mode"

    def gradient(*args: Tensor) -> tuple[Tensor, ...]:
        if forward:  # the point keeps its tangent: it is not replaced by a detached one
            args = tuple([x.requires_grad_() for x in args])

        def scalar(*args: Tensor) -> Tensor:
            return _single(*_call(func, args, "hessian", strict), "hessian").squeeze()

        first: tuple[Tensor, ...] = jacobian(scalar, args, create_graph=True)
        _check_dependent(first, "jacobian", strict)
        return first

    if forward:
        point = tuple([x.detach() for x in point])
    blocks = jacobian(
        gradient, point, create_graph, strict, vectorize, strategy=outer_jacobian_strategy
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
        found = _grads((flat[element],), point, (None,), create_graph, retain_graph=True)
        for i, (x, g) in enumerate(zip(point, found, strict=True)):
            if g is None and strict:
                raise RuntimeError(
                    f"Output {index} of the user-provided function is independent of input {i}."
                    f"{_STRICT}."
                )
            if g is not None and strict and create_graph and not g.requires_grad:
                raise RuntimeError(_constant("jacobian", i))
            rows[i].append(_zeros(x) if g is None else g)
    return tuple(
        [
            stack(r).reshape(output.shape + x.shape) if r else _zeros(x, output.shape + x.shape)
            for r, x in zip(rows, point, strict=True)
        ]
    )


def _batched_rows(
    outputs: tuple[Tensor, ...], point: tuple[Tensor, ...], create_graph: bool
) -> Matrix:
    """All blocks by one backward pass with a batch of cotangents, one for each element."""
    sizes = [out.numel() for out in outputs]
    flat = tuple([out.reshape(-1) for out in outputs])
    found = _grads(flat, point, _basis(outputs), create_graph, batched=True)
    columns = []
    for x, g in zip(point, found, strict=True):
        whole = expand(_zeros(x), (sum(sizes), *x.shape)) if g is None else g
        columns.append(
            [
                part.reshape(out.shape + x.shape)
                for part, out in zip(_split(whole, sizes), outputs, strict=True)
            ]
        )
    return tuple(zip(*columns, strict=True))


def _columns(func: Function, inputs: Tensors) -> Any:
    """The Jacobian by forward mode, with a batch of tangents, one for each element."""
    from wengert.autograd import forward_ad
    from wengert.autograd._vmap import vmap

    several, point = _as_tuple(inputs, "inputs", "jacobian")
    sizes = [x.numel() for x in point]
    several_out, shapes = False, []

    def tangents_of(*tangents: Tensor) -> tuple[Tensor, ...]:
        nonlocal several_out, shapes
        with forward_ad.dual_level():
            duals = [
                forward_ad.make_dual(x, t.reshape(x.shape))
                for x, t in zip(point, tangents, strict=True)
            ]
            several_out, outputs = _as_tuple(func(*duals), "outputs", "jacobian")
            pairs = [forward_ad.unpack_dual(out) for out in outputs]
        shapes = [out.shape for out in outputs]
        return tuple([_zeros(p.primal) if p.tangent is None else p.tangent for p in pairs])

    found = vmap(tangents_of)(*_basis(point))
    blocks = []
    for whole, shape in zip(found, shapes, strict=True):
        parts = _split(whole, sizes)
        blocks.append(
            tuple(
                [
                    # the batch dimension is the input's, and comes last
                    part.movedim(0, -1).reshape(shape + x.shape)
                    for part, x in zip(parts, point, strict=True)
                ]
            )
        )
    return _blocks(tuple(blocks), several_out, several, create_graph=False)


def _basis(like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The unit vectors of the space of all elements: to each tensor, its columns."""
    sizes = [x.numel() for x in like]
    starts = accumulate(sizes, initial=0)
    return tuple(
        [
            wrap(np.eye(sum(sizes), size, -start, dtype=x._array.dtype))
            for x, size, start in zip(like, sizes, starts, strict=False)
        ]
    )


def _split(whole: Tensor, sizes: Sequence[int]) -> list[Tensor]:
    starts = accumulate(sizes, initial=0)
    return [whole[start : start + size] for start, size in zip(starts, sizes, strict=False)]


def _gradient(
    func: Function,
    inputs: Tensors,
    v: Tensors | None,
    create_graph: bool,
    strict: bool,
    name: str,
) -> tuple[bool, tuple[Tensor, ...], Grads, Tensor, Grads]:
    """Whether there are several inputs, the point, the vector, the value, the gradient."""
    several, given = _as_tuple(inputs, "inputs", name)
    point = _fresh(given, create_graph)
    vector = _vector_at(v, point, several, create_graph, name)
    value = _single(*_call(func, point, name, strict), name)
    first = _grads((value,), point, (None,), create_graph=True)
    _check_dependent(first, "jacobian", strict)
    return several, point, vector, value, first


def _single(several: bool, outputs: tuple[Tensor, ...], name: str) -> Tensor:
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


def _call(
    func: Function, point: tuple[Tensor, ...], name: str, strict: bool
) -> tuple[bool, tuple[Tensor, ...]]:
    several, outputs = _as_tuple(func(*point), _OUTPUTS, name)
    _check_dependent(outputs, "outputs", strict)
    return several, outputs


def _as_tuple(value: Any, what: str, name: str) -> tuple[bool, tuple[Tensor, ...]]:
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


def _fresh(
    inputs: tuple[Tensor, ...], create_graph: bool, require: bool = True
) -> tuple[Tensor, ...]:
    """Tensors of their own, so that what the function captured counts as constant."""
    return tuple(
        [
            x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_(require)
            for x in inputs
        ]
    )


def _vector(
    v: Tensors, like: tuple[Tensor, ...], several: bool, create_graph: bool, name: str
) -> tuple[Tensor, ...]:
    """The tensors of `v`, which must have the shapes of `like`."""
    vector = _fresh(_as_tuple(v, "v", name)[1], create_graph, require=False)
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


def _vector_at(
    v: Tensors | None, point: tuple[Tensor, ...], several: bool, create_graph: bool, name: str
) -> Grads:
    """The tensors of `v` in the shapes of the inputs."""
    if v is not None:
        return _vector(v, point, several, create_graph, name)
    if len(point) != 1 or point[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a single"
            f" Tensor with a single element. {_told(point)}"
        )
    return (None,)


def _told(values: tuple[Tensor, ...]) -> str:
    shapes = ", ".join(str(list(x.shape)) for x in values)
    return f"Here the shapes are: {shapes}."


def _zeros(like: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
    return wrap(np.zeros(tuple(like.shape) if shape is None else shape, like._array.dtype))


def _grads(
    outputs: Grads,
    inputs: tuple[Tensor, ...],
    cotangents: Grads,
    create_graph: bool,
    retain_graph: bool | None = None,
    batched: bool = False,
) -> Grads:
    """As `grad`, for outputs of which some may be None or constant."""
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


def _check_dependent(values: Grads, what: str, strict: bool) -> None:
    if not strict:
        return
    for i, value in enumerate(values):
        if value is None:
            raise RuntimeError(_UNUSED["back"].format(i=i))
        if not value.requires_grad:
            raise RuntimeError(_CONSTANT[what].format(i=i))


def _filled(
    grads: Grads, refs: tuple[Tensor, ...], strict: bool, create_graph: bool, stage: str
) -> tuple[Tensor, ...]:
    """Zeros in the place of what is None; in strict mode an error."""
    filled = []
    for i, (g, ref) in enumerate(zip(grads, refs, strict=True)):
        if g is None and strict:
            raise RuntimeError(_UNUSED[stage].format(i=i))
        if g is not None and strict and create_graph and not g.requires_grad:
            raise RuntimeError(_constant("hessian" if "double" in stage else "jacobian", i))
        filled.append(_zeros(ref) if g is None else g)
    return tuple(filled)


def _constant(what: str, i: int) -> str:
    return (
        f"The {what} of the user-provided function is independent of input {i}.{_STRICT} when"
        " create_graph=True."
    )


def _result(values: tuple[Tensor, ...], several: bool, create_graph: bool) -> Any:
    """What the caller gets, in the structure that it asked for."""
    kept = values if create_graph else tuple([x.detach() for x in values])
    return kept if several else kept[0]


def _blocks(blocks: Matrix, several_out: bool, several: bool, create_graph: bool) -> Any:
    rows = tuple([_result(row, several, create_graph) for row in blocks])
    return rows if several_out else rows[0]
