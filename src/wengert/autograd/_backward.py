"""`backward` and `grad`: check arguments, run one walk, commit the results."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from wengert.autograd import errors, naming
from wengert.autograd._commit import commit, own_array
from wengert.autograd._final_callbacks import run_final_callbacks
from wengert.autograd.edges import (
    GradientEdge,
    in_dtype,
    node_at,
    node_dtype,
    references_of,
)
from wengert.autograd.engine import Walk
from wengert.autograd.hooks import as_hook_argument, run_posthooks
from wengert.autograd.transforms.levels import transforming
from wengert.core.dtypes import of_numpy
from wengert.core.messages import message, more
from wengert.core.size import Size
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Leaf, Node, Tensor, Tracer, concrete, leaf_of, state_of, wrap
from wengert.kernels import layout
from wengert.ops.half_rules import round_bfloat16

Place = Tensor | GradientEdge


def backward(
    tensors: Place | Sequence[Place],
    grad_tensors: Any = None,
    retain_graph: bool | str | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Place | Sequence[Place] | None = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves, as ``torch.autograd.backward``.

    Args:
        tensors: the roots: tensors, or edges (see `graph.get_gradient_edge`).
        grad_tensors: a cotangent for each root; None means 1 for a one-element root.
        retain_graph: keep the graph for another backward. ``"auto"`` keeps what other live
            tensors can still reach. None means the value of `create_graph`.
        create_graph: record the derivative, so that it can be differentiated.
        grad_variables: the old name of `grad_tensors`, deprecated.
        inputs: the tensors to accumulate into; None means every leaf. A non-leaf
            retains its gradient from now on.

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
    walk.accumulates = True
    if transforming():
        raise errors.inside_transform(walk.call)
    roots = _places(tensors, "tensors")
    nodes, seeds = _start(walk, *_of_values(roots, _cotangents(grad_tensors, len(roots))))
    targets = None
    if inputs is not None:
        input_places = list(map(_values_of, _places(inputs, "inputs", "backward()")))
        targets = _retaining(input_places, nodes, walk)
    try:
        walk.go(nodes, seeds, targets)
        post_hook_calls = _post_hooks(walk) if walk.listeners else []
        if walk.retained:
            walk.final |= walk.retained
            walk.retained.clear()
        _commit(walk, walk.final)
    except BaseException:
        walk.interrupted()
        raise
    if post_hook_calls:  # all gradients are in place even if one of these raises
        walk.call_recording(_run_all, post_hook_calls)
    run_final_callbacks(walk)


def grad(
    outputs: Place | Sequence[Place],
    inputs: Place | Sequence[Place],
    grad_outputs: Any = None,
    retain_graph: bool | str | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, as ``torch.autograd.grad``.

    Args:
        outputs: the roots: tensors, or edges (see `graph.get_gradient_edge`).
        inputs: what to differentiate with respect to, tensors or edges.
        grad_outputs: a cotangent for each root; None means 1 for a one-element root.
        retain_graph: as for `backward`.
        create_graph: record the derivative.
        only_inputs: deprecated; always True.
        allow_unused: return None for an input that the outputs do not depend on.
        is_grads_batched: dimension 0 of each cotangent, and of each result, is a batch
            dimension; one walk, as under `vmap`.
        materialize_grads: return zeros for such an input.

    >>> import wengert
    >>> x = wengert.tensor(3.0, requires_grad=True)
    >>> wengert.autograd.grad(x ** 2, x)
    (tensor(6.),)
    """
    if not only_inputs:
        _deprecated("only_inputs=False has no effect; use backward() to accumulate into leaves")
    if is_grads_batched:
        once = partial(
            grad, outputs, inputs, retain_graph=retain_graph, create_graph=create_graph,
            allow_unused=allow_unused, materialize_grads=materialize_grads,
        )  # fmt: skip
        return _batched(once, _places(outputs, "outputs"), grad_outputs)
    if allow_unused is False and materialize_grads:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True,"
            " but got: allow_unused=False."
        )
    walk = _walk("grad()", retain_graph, create_graph)
    roots = _places(outputs, "outputs")
    named_places = _places(inputs, "inputs", "grad()")
    input_places = list(map(_values_of, named_places))
    nodes, seeds = _start(walk, *_of_values(roots, _cotangents(grad_outputs, len(roots))))
    edges = _targets(input_places, nodes, walk)
    accept = partial(_check_reached, walk, input_places, edges, allow_unused, materialize_grads)
    try:
        walk.go(nodes, seeds, set(edges), accept)
        if walk.retained:
            _commit(walk, walk.retained)
    except BaseException:
        walk.interrupted()
        raise
    run_final_callbacks(walk)
    results = _results(walk, input_places, edges, allow_unused, materialize_grads)
    return tuple(map(_as_named, named_places, results))


def _values_of(place: Place) -> Place:
    """The place of a sparse tensor in the graph: that of its values."""
    return place._stored if isinstance(place, SparseTensor) else place


def _as_named(place: Place, gradient: Tensor | None) -> Tensor | None:
    """The gradient of a sparse tensor's values as that of the tensor."""
    if not isinstance(place, SparseTensor) or gradient is None:
        return gradient
    return place.gradient_like(gradient)


def _of_values(roots: list[Place], cotangents: list[Any]) -> tuple[list[Place], list[Any]]:
    """Roots and cotangents with the values of sparse tensors in their place."""
    for k, (root, g) in enumerate(zip(roots, cotangents, strict=True)):
        if isinstance(root, SparseTensor):
            roots[k] = root._stored
            cotangents[k] = None if g is None else root.gradient_of_values(g)
    return roots, cotangents


def _batched(
    once: Callable[..., Any], roots: list[Place], grad_outputs: Any
) -> tuple[Tensor | None, ...]:
    from wengert.autograd.transforms.vmap import over_batch

    cotangents = _cotangents(grad_outputs, len(roots))
    for i, (root, g) in enumerate(zip(roots, cotangents, strict=True)):
        if isinstance(root, Tensor) and isinstance(g, Tensor) and g.ndim:
            _check_batch(i, g.shape[1:], root.shape)
    results: tuple[Tensor | None, ...] = over_batch(lambda gs: once(grad_outputs=gs), cotangents)
    return results


def _check_batch(i: int, one: Size, shape: Size) -> None:
    if one != shape:
        raise RuntimeError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as"
            " the batch dimension. The sizes of the remaining dimensions are expected to match the"
            f" shape of corresponding output: grad_output[{i}] has a shape of {one} without it and"
            f" output[{i}] has a shape of {shape}."
        )


def _check_reached(
    walk: Walk, input_places: list[Place], edges: list[Node], unused: bool | None, materialize: bool
) -> None:
    """Raise if a required input is not reached."""
    for i, (x, e) in enumerate(zip(input_places, edges, strict=True)):
        if e in walk.pending:
            continue
        if materialize:
            _zeros(x, walk)
        elif not unused:
            from wengert.autograd import diagnosis

            raise errors.unused_input(i, e, walk.call, *diagnosis.of_unused(e, walk.roots))


def _zeros(source: Place, walk: Walk) -> Tensor:
    if isinstance(source, GradientEdge):
        raise RuntimeError(
            "materialize_grads cannot be used when the given input is a GradientEdge"
        )
    # Without elements there are no zeros: any tensor of that outline will do.
    bare = _is_memoryless(source)
    zeros = source.detach() if bare else wrap(layout.zeros_like(source._array))
    if walk.create_graph:  # what is computed from it can be differentiated again
        zeros._edge = leaf_of(zeros)
    return zeros


def _deprecated(text: str) -> None:
    warnings.warn(text, FutureWarning, stacklevel=3)


def _walk(what: str, retain_graph: bool | str | None, create_graph: bool) -> Walk:
    if isinstance(retain_graph, str) and retain_graph != "auto":
        raise ValueError(
            f"{what}: argument 'retain_graph' is {retain_graph!r}, expected True, False or 'auto'"
        )
    retain = create_graph if retain_graph is None else retain_graph
    return Walk(what, retain if retain == "auto" else bool(retain), bool(create_graph))


def _places(value: Any, name: str, what: str = "") -> list[Place]:
    """Normalise one tensor or edge, or a sequence of them, to a sequence."""
    if isinstance(value, (Tensor, GradientEdge)):
        return [value]
    items = list(value)
    if name == "inputs" and not items:
        raise RuntimeError(f"`inputs` argument to `{what}` cannot be empty.")
    for i, item in enumerate(items):
        if not isinstance(item, (Tensor, GradientEdge)):
            raise RuntimeError(
                f"all {name} have to be Tensors or GradientEdges, but got"
                f" {type(item).__name__} (position {i})"
            )
    return items


def _cotangents(value: Any, count: int) -> list[Any]:
    if value is None:
        return [None] * count
    items = [value] if isinstance(value, Tensor) else list(value)
    if len(items) != count:
        raise RuntimeError(f"got {count} tensors and {len(items)} gradients")
    return items


def _start(
    walk: Walk, roots: list[Place], cotangents: list[Any]
) -> tuple[tuple[Node, ...], list[Any]]:
    """The node of each root and its initial cotangent."""
    nodes: list[Node] = []
    seeds = []
    if walk.retain == "auto":
        walk.own_references = references_of(roots)
    for i, (root, g) in enumerate(zip(roots, cotangents, strict=True)):
        if isinstance(root, GradientEdge):
            node = node_at(root, nodes)
            shape, dtype = node.shape, node_dtype(node)
        elif isinstance(root, Tracer) and not root.level.eager:
            raise errors.inside_transform(walk.call)
        elif root._edge is None:
            raise errors.no_graph(i, root, walk.call)
        else:
            node, shape, dtype = root._edge, root._array.shape, root._array.dtype
        if g is None:
            if prod(shape) != 1:
                raise errors.non_scalar(shape, node, walk.call)
            g = _one(shape, dtype, root)
        elif not isinstance(g, Tensor) or g._array.shape != shape:
            raise _unfit(walk, i, g, shape, node)
        elif g._array.dtype != dtype:
            g = in_dtype(i, g, dtype)
        walk.lifts |= _lifts(i, g, root)
        nodes.append(node)
        seeds.append(_seed(g, walk.create_graph))
    return tuple(nodes), seeds


def _seed(g: Tensor, recorded: bool) -> Any:
    """A root's cotangent as the walk takes it: an array, unless rules are to be recorded."""
    if g._array.dtype.kind == "V":  # bfloat16
        round_bfloat16()
    return g._array if type(g) in concrete and not recorded else g


def _is_memoryless(place: Any) -> bool:
    return isinstance(place, Tracer) and place.level.memoryless


def _lifts(i: int, g: Tensor, root: Place) -> bool:
    """Whether a gradient has no elements; RuntimeError if the output alone has none."""
    if _is_memoryless(g):
        return True
    if _is_memoryless(root):
        raise RuntimeError(
            f"invalid gradient at index {i} - expected device meta but got {g.device}: give one on"
            " the device of the output (torch.ones_like(y))"
        )
    return False


def _one(shape: tuple[int, ...], dtype: np.dtype[Any], root: Any) -> Tensor:
    if dtype.kind == "c":
        raise RuntimeError(message(
            "complex-root",
            "grad can be implicitly created only for real scalar outputs but got"
            f" {of_numpy[dtype]}",
            remedies=[
                "make it real first: z.abs(), z.real or (z * z.conj()).real",
                "give the cotangent: .backward(gradient=torch.ones_like(z))",
            ],
        ))  # fmt: skip
    one = wrap(np.ones(shape, dtype))
    return root.level.tracer(one) if _is_memoryless(root) else one


def _unfit(walk: Walk, i: int, g: Any, shape: tuple[int, ...], node: Node) -> Exception:
    if not isinstance(g, Tensor):
        return TypeError(
            f"{walk.call.what}: gradients can be either Tensors or None, but got {type(g).__name__}"
        )
    return RuntimeError(message(
        "gradient-shape",
        f"Mismatch in shape: grad_output[{i}] has a shape of {Size(g._array.shape)} and"
        f" output[{i}] has a shape of {Size(shape)}.",
        [("this call", naming.describe_call(walk.call)), ("made by", naming.origin(node))],
        [
            "pass a gradient of the output's shape: torch.ones_like(y), or weights",
            "reduce the output to a scalar first: (y * weights).sum().backward()",
        ],
    ))  # fmt: skip


def _targets(input_places: list[Place], nodes: tuple[Node, ...], walk: Walk) -> list[Node]:
    """The node of each input."""
    targets = []
    for i, x in enumerate(input_places):
        if isinstance(x, GradientEdge):
            targets.append(node_at(x, list(nodes)))
        elif x._edge is None:
            raise errors.input_without_grad(f"inputs[{i}]", x, walk.call)
        else:
            targets.append(x._edge)
    return targets


def _retaining(inputs: list[Place], nodes: tuple[Node, ...], walk: Walk) -> set[Node]:
    """The nodes of the inputs of `backward`; as in PyTorch, non-leaves retain gradients."""
    targets = _targets(inputs, nodes, walk)
    for x, node in zip(inputs, targets, strict=True):
        if isinstance(x, Tensor) and type(node) is not Leaf:
            state_of(node).retain = weakref.ref(x)
    return set(targets)


def _post_hooks(walk: Walk) -> list[Callable[[], Any]]:
    """The post-accumulate hooks of leaves, in the order of the walk."""
    calls: list[Callable[[], Any]] = []
    for node, g in walk.final.items():
        state = node.state
        if state is None or type(node) is not Leaf:
            continue
        if state.post_hooks and node.variable is not None:
            calls += [partial(_run_post_hook, h, node.variable) for h in state.post_hooks.values()]
        if state.node_hooks:
            calls.append(partial(run_posthooks, state, (), (as_hook_argument(g),)))
    return calls


def _commit(walk: Walk, gradients: dict[Node, Any]) -> None:
    if walk.create_graph:  # the additions to `.grad` are recorded, too
        walk.call_recording(commit, gradients)
    else:
        commit(gradients)


def _run_all(calls: list[Callable[[], Any]]) -> None:
    for run in calls:
        run()


def _run_post_hook(hook: Callable[[Tensor], Any], tensor: Tensor) -> None:
    answer = hook(tensor)
    if answer is not None and not isinstance(answer, Tensor):
        raise TypeError(
            f"expected Variable, but hook returned '{type(answer).__name__}': hooks of accumulated"
            f" gradients should return None\n{more('hook-result')}"
        )
    if answer is not None:
        raise RuntimeError(
            f"Tensor post accumulate grad hooks should return None.\n{more('hook-result')}"
        )


_NO_GRADIENT = "The outputs depend on it, but a backward() on the way returned None for it."


def _results(
    walk: Walk, input_places: list[Place], edges: list[Node], unused: bool | None, materialize: bool
) -> tuple[Tensor | None, ...]:
    gradients = walk.final
    take = gradients.pop if len(set(edges)) == len(edges) else gradients.get
    results: list[Tensor | None] = []
    for i, (x, e) in enumerate(zip(input_places, edges, strict=True)):
        g = take(e, None)
        if g is None:
            if not (unused or materialize):
                raise errors.unused_input(i, e, walk.call, (), _NO_GRADIENT)
            results.append(_zeros(x, walk) if materialize else None)
        elif isinstance(g, Tensor):
            results.append(g)
        else:
            array = None if isinstance(x, GradientEdge) else x._array
            dtype = g.dtype if array is None else array.dtype
            results.append(wrap(own_array(g, dtype, as_it_lies=True)))
    return tuple(results)
