"""`backward` and `grad`: arguments in, one walk, results committed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from wengert._core import Leaf, Node, Tensor, new, tensors, wrap
from wengert._dtypes import of_numpy
from wengert.autograd import _errors
from wengert.autograd._engine import Walk
from wengert.ops.shape import clone


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | str | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves, as ``torch.autograd.backward``.

    Args:
        tensors: the roots.
        grad_tensors: a cotangent for each root; None stands for 1 where it has one element.
        retain_graph: keep the graph for another backward. ``"auto"`` keeps what other live
            tensors can still reach. None means the value of `create_graph`.
        create_graph: record the derivative, so that it can be differentiated.
        grad_variables: the old name of `grad_tensors`, deprecated.
        inputs: the tensors to accumulate into; None means every leaf.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0], requires_grad=True)
    >>> wengert.autograd.backward([(x * x).sum()])
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        _deprecated("grad_variables= is the old name of grad_tensors=; use that")
        grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    walk = _walk("backward()", retain_graph, create_graph)
    roots = _sequence(tensors, "tensors")
    seeds = _seeds(walk, roots, _cotangents(grad_tensors, len(roots)))
    walk.plan(tuple(root._edge for root in roots))  # type: ignore[misc]
    if inputs is not None:
        targets = _sequence(inputs, "inputs")
        if not targets:
            raise RuntimeError("'inputs' argument to backward() cannot be empty.")
        walk.restrict({_edge_of_input(t, i) for i, t in enumerate(targets)})
    else:
        targets = []
    walk.check()
    walk.run(seeds)
    holders = {t._edge: t for t in targets}
    listening = []
    for node in list(walk.final):
        g = walk.final.pop(node)
        holder = holders.get(node) or _holder(node)
        if holder is not None:
            accumulate(holder, g)
            if node.state is not None and node.state.post_hooks:
                listening.append((holder, list(node.state.post_hooks.values())))
    for holder, hooks in listening:  # all gradients are in place, should one of these raise
        for hook in hooks:
            hook(holder)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | str | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`, as ``torch.autograd.grad``.

    Args:
        outputs: the roots.
        inputs: what to differentiate with respect to.
        grad_outputs: a cotangent for each root; None stands for 1 where it has one element.
        retain_graph: as for `backward`.
        create_graph: record the derivative.
        only_inputs: deprecated; always True.
        allow_unused: return None for an input that the outputs do not depend on.
        materialize_grads: return zeros for such an input.

    >>> import wengert
    >>> x = wengert.tensor(3.0, requires_grad=True)
    >>> wengert.autograd.grad(x ** 2, x)
    (tensor(6.),)
    """
    if not only_inputs:
        _deprecated("only_inputs=False has no effect; use backward() to accumulate into leaves")
    if is_grads_batched:
        raise NotImplementedError("grad(): is_grads_batched=True is not supported yet")
    if allow_unused is False and materialize_grads:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True,"
            " but got: allow_unused=False."
        )
    walk = _walk("grad()", retain_graph, create_graph)
    roots = _sequence(outputs, "outputs")
    wanted = _sequence(inputs, "inputs")
    seeds = _seeds(walk, roots, _cotangents(grad_outputs, len(roots)))
    edges = [_edge_of_input(t, i) for i, t in enumerate(wanted)]
    walk.plan(tuple(root._edge for root in roots))  # type: ignore[misc]
    walk.restrict(set(edges))
    if not (allow_unused or materialize_grads):
        for i, (t, e) in enumerate(zip(wanted, edges, strict=True)):
            if e not in walk.pending:
                walk.check_released()  # below a released node nothing is reached
                raise _errors.unused(i, t, walk)
    walk.check()
    walk.run(seeds)
    return tuple(_result(walk, t, e, materialize_grads) for t, e in zip(wanted, edges, strict=True))


def _deprecated(text: str) -> None:
    warnings.warn(text, FutureWarning, stacklevel=3)


def _walk(what: str, retain_graph: bool | str | None, create_graph: bool) -> Walk:
    if isinstance(retain_graph, str) and retain_graph != "auto":
        raise ValueError(
            f"{what}: argument 'retain_graph' is {retain_graph!r}, expected True, False or 'auto'"
        )
    retain = create_graph if retain_graph is None else retain_graph
    return Walk(what, retain if retain == "auto" else bool(retain), bool(create_graph))


def _sequence(value: Any, name: str) -> list[Tensor]:
    items = [value] if type(value) in tensors else list(value)
    for i, item in enumerate(items):
        if type(item) not in tensors:
            raise TypeError(f"argument '{name}' must hold Tensors, not {type(item).__name__}"
                            f" (position {i})")  # fmt: skip
    return items


def _cotangents(value: Any, count: int) -> list[Any]:
    if value is None:
        return [None] * count
    items = [value] if type(value) in tensors else list(value)
    if len(items) != count:
        raise RuntimeError(f"got {count} tensors and {len(items)} gradients")
    return items


def _seeds(walk: Walk, roots: list[Tensor], cotangents: list[Any]) -> list[Any]:
    seeds = []
    for i, (root, g) in enumerate(zip(roots, cotangents, strict=True)):
        if root._edge is None:
            raise _errors.no_graph(i, root, walk)
        array = root._array
        if g is None:
            if array.size != 1:
                raise _errors.non_scalar(root, walk)
            if array.dtype.kind == "c":
                raise RuntimeError(
                    "grad can be implicitly created only for real scalar outputs but got"
                    f" {of_numpy[array.dtype]}"
                )
            g = wrap(np.ones_like(array))
        elif type(g) not in tensors:
            raise TypeError(
                f"{walk.call.what}: gradients can be either Tensors or None, but got"
                f" {type(g).__name__}"
            )
        elif g._array.shape != array.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {list(g._array.shape)} and"
                f" output[{i}] has a shape of {list(array.shape)}."
            )
        if g._array.dtype != array.dtype:
            g = wrap(g._array.astype(array.dtype), g._edge)
        seeds.append(g if walk.create_graph else g._array)
    return seeds


def _edge_of_input(tensor: Tensor, position: int) -> Node:
    if tensor._edge is None:
        raise RuntimeError(
            f"One of the differentiated Tensors does not require grad: inputs[{position}], of"
            f" shape {list(tensor._array.shape)}; call requires_grad_() on it before it is used"
        )
    return tensor._edge


def _holder(node: Node) -> Tensor | None:
    if isinstance(node, Leaf):
        return node.tensor()
    retain = node.state.retain if node.state is not None else None
    return None if retain is None else retain()


def _result(walk: Walk, tensor: Tensor, edge: Node, materialize: bool) -> Tensor | None:
    g = walk.final.get(edge)
    if g is None:
        return wrap(np.zeros_like(tensor._array)) if materialize else None
    return g if type(g) in tensors else wrap(owned(g, tensor._array))


def accumulate(tensor: Tensor, g: Any) -> None:
    """Add to `.grad`; the first gradient becomes it, copied unless the engine alone owns it."""
    before = getattr(tensor, "_grad", None)
    if type(g) in tensors:  # recorded: other gradients may show the same memory
        tensor._grad = clone(g) if before is None else before + g
    elif before is None:
        made = new(Tensor)
        made._edge = None
        made._array = owned(g, tensor._array)
        tensor._grad = made
    elif before._edge is None and before._array.flags.writeable:
        np.add(before._array, g, out=before._array, casting="unsafe")
    else:
        tensor._grad = before + wrap(g)


def owned(g: Any, like: np.ndarray) -> np.ndarray:
    """`g` as an array that nothing else refers to, with the dtype of `like`."""
    # Two references: the parameter and the caller's variable (the engine's tables are empty).
    plain = type(g) is np.ndarray and g.base is None and g.dtype == like.dtype
    if plain and g.flags.c_contiguous and getrefcount(g) <= _OWNED:
        return g
    return np.array(g, dtype=like.dtype, order="C")


def _calibrate() -> int:
    def inner(g: Any) -> int:
        return getrefcount(g)

    def outer(g: Any) -> int:
        return inner(g)

    table = {0: np.zeros(1)}
    g = table.pop(0)
    return outer(g)


_OWNED = _calibrate()
