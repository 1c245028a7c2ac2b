"""Users' Functions under transforms: how each kind of level handles a call.

A level calls the Function one level further out, so that its derivatives hold there as well,
and has `setup_context` fill a separate context from that level's values. Results
computed there have their history further out; no level differentiates its own derivative.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.autograd import errors
from wengert.autograd.custom.function import (
    Function,
    FunctionCtx,
    FunctionMeta,
    VmapInfo,
    call_with_context,
    compute_unrecorded,
    has_setup,
    new_function_node,
)
from wengert.autograd.custom.node import GradientTarget, checked_gradients, is_among, rule_of
from wengert.autograd.history import rebase_history
from wengert.autograd.transforms.levels import Level
from wengert.autograd.transforms.tree import (
    broadcast_prefix,
    flatten_tree,
    map_leaves,
    unflatten_tree,
)
from wengert.core.dtypes import inexact, of_numpy
from wengert.core.tensor import Leaf, Tensor, memory_of, mode
from wengert.ops.casting import convert
from wengert.ops.operands import mark_view, traced
from wengert.ops.reduction import sum as sum_of
from wengert.ops.shape import clone, movedim
from wengert.ops.variadic import output_of
from wengert.ops.zeros import zeros_matching

Args = tuple[Any, ...]


def _check_setup(function: Any) -> None:
    if not has_setup(function):
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp,"
            " jacrev, ...), it must override the setup_context staticmethod."
            f" {function.__name__} has a forward() that takes ctx: let it take the inputs alone,"
            " and keep what the derivatives need in setup_context(ctx, inputs, output)"
        )


def _set_up(function: Any, values: Args, result: Any, edges: Sequence[Any]) -> FunctionCtx:
    """A level's own context, on the values of the next outer level."""
    ctx = FunctionCtx(tuple([e is not None for e in edges]), function)
    function.setup_context(ctx, values, result)
    return ctx


def _map_outputs(result: Any, function: Callable[[int, Any], Any]) -> Any:
    """The result of a Function with its outputs replaced."""
    if not isinstance(result, tuple):
        return function(0, result)
    return tuple([function(k, out) for k, out in enumerate(result)])


def _position(value: Any, values: Args) -> int | None:
    """The position of an input that was written in place among the values, if it is one of them."""
    return next((k for k, v in enumerate(values) if v is value), None)


def _share_memory(a: Any, b: Any) -> bool:
    return np.may_share_memory(memory_of(a), memory_of(b))


# Reverse mode.


def apply_in_reverse_mode(level: Any, function: Any, args: Args) -> Any:
    """Compute further out, and record the user's backward at a level."""
    _check_setup(function)
    values = tuple([level.lower(a) for a in args])
    result = function.apply(*values)
    edges = [level.edge(a) if isinstance(a, Tensor) else None for a in args]
    if mode.site is None or not any(edges):
        return _map_outputs(result, lambda _, out: _same(out, values, args))
    ctx = _set_up(function, values, result, edges)
    return _record_backward(level, function, ctx, (args, values, edges), result)


def apply_and_record(level: Any, function: Any, args: Args) -> Any:
    """Compute at a level itself, whose tensors have no elements, and record the user's backward."""
    edges = [a._edge if isinstance(a, Tensor) else None for a in args]
    ctx = FunctionCtx(tuple([e is not None for e in edges]), function)
    result = compute_unrecorded(function, ctx, args)
    if mode.site is None or not any(edges):
        return result
    return _record_backward(level, function, ctx, (args, args, edges), result)


def _record_backward(
    level: Any, function: Any, ctx: FunctionCtx, call: tuple[Args, Args, Any], result: Any
) -> Any:
    """The outputs of a call, made further out of `values`, as those of a node at a level."""
    args, values, edges = call
    targets: list[GradientTarget] = [
        False if not isinstance(v, Tensor) else None if e is None else _shape_and_dtype(v)
        for v, e in zip(values, edges, strict=True)
    ]
    node = new_function_node(function, ctx, tuple([e for e in edges if e is not None]), targets)
    node.inside = True
    outputs = list(result) if isinstance(result, tuple) else [result]
    node.shapes = [_shape_and_dtype(out) if isinstance(out, Tensor) else None for out in outputs]
    several = len(outputs) > 1
    node.shape = () if several or node.shapes[0] is None else node.shapes[0][0]
    node.s_saved, node.count = list(ctx._to_save), len(ctx._to_save)
    node.saved_positions = [None] * node.count
    ctx._node = weakref.ref(node)

    def output(k: int, out: Any) -> Any:
        differentiable = (
            isinstance(out, Tensor)
            and out._array.dtype in inexact
            and not is_among(out, ctx._constant)
        )
        if not differentiable:
            return _same(out, values, args)
        edge = output_of(node.part, node, k, tuple(out.shape)) if several else node
        at = _position(out, values)
        if at is not None:
            return _rebase_argument(level, args[at], edge)
        results = level.tracer(out)
        results._edge = edge
        for a in args:
            if isinstance(a, Tensor) and not level.memoryless and _share_memory(out, a):
                mark_view(results, a)
        return results

    results = _map_outputs(result, output)
    ctx._to_save = ctx._to_forward = ctx._dirty = ctx._constant = ()
    return results


def _shape_and_dtype(value: Any) -> tuple[tuple[int, ...], Any]:
    return tuple(value.shape), value._array.dtype


def _same(out: Any, values: Args, args: Args) -> Any:
    """An output to which this level adds nothing."""
    at = _position(out, values) if isinstance(out, Tensor) else None
    return out if at is None else args[at]


def _rebase_argument(level: Any, target: Any, edge: Any) -> Any:
    """Give an argument that was written in place further out its new history."""
    if not level.owns(target):
        level.take(target)
    elif type(target._edge) is Leaf:
        raise errors.leaf_written(target._edge, "mark_dirty", verb="has been")
    rebase_history(target, edge)
    return target


# Forward mode.


def apply_in_forward_mode(level: Any, function: Any, args: Args) -> Any:
    """Compute further out; the user's `jvp` computes the tangents."""
    values = tuple([level.lower(a) for a in args])
    if has_setup(function):
        result = function.apply(*values)
        edges = [v._edge if isinstance(v, Tensor) else None for v in values]
        ctx = _set_up(function, values, result, edges)
        ctx._saved_values = ctx._to_forward
    else:
        if not level.eager or traced(values):
            _check_setup(function)
        result, ctx = call_with_context(function, values, forward_mode=True)
        ctx._saved_values = _saved_for_jvp(ctx, values)
    ctx._to_forward = ()
    tangents_in = tuple([_tangent_in(level, ctx, a) for a in args])
    answer = function.jvp(ctx, *tangents_in)
    ctx._saved_values = None
    outputs = result if isinstance(result, tuple) else (result,)
    tangents = answer if isinstance(answer, tuple) else (answer,)
    if len(tangents) != len(outputs):
        raise RuntimeError(
            f"{function.__name__}: Function's jvp returned an invalid number of forward gradients"
            f" (expected {len(outputs)} but got {len(tangents)})"
        )
    constant = ctx._constant

    def output(k: int, out: Any) -> Any:
        tangent = _checked_tangent(function, k, tangents[k], out, constant)
        if tangent is None:
            return _same(out, values, args)
        return _dual(level, out, tangent, values, args, tangents_in)

    return _map_outputs(result, output)


def _tangent_in(level: Any, ctx: FunctionCtx, a: Any) -> Any:
    tangent = level.tangent(a) if isinstance(a, Tensor) else None
    if tangent is None and isinstance(a, Tensor) and ctx.materialize_grads:
        return zeros_matching(a) if a._array.dtype in inexact else None
    return tangent


def _saved_for_jvp(ctx: FunctionCtx, values: Args) -> Args:
    """The values saved for `jvp`, with their place in the graph if the call was recorded."""
    node = None if ctx._node is None else ctx._node()
    if node is None or mode.site is None:
        return ctx._to_forward
    return tuple([node.connected(t, values) for t in ctx._to_forward])


def _checked_tangent(function: Any, k: int, tangent: Any, out: Any, constant: Args) -> Any:
    """The result of `jvp` for an output, in the output's dtype."""
    if tangent is None:
        return None
    if not isinstance(tangent, Tensor):
        raise RuntimeError(
            f"expected Variable or None (got {type(tangent).__name__}) for grad output {k}. of the"
            f" jvp of {function.__name__}"
        )
    differentiable = isinstance(out, Tensor) and out._array.dtype in inexact
    if not differentiable or is_among(out, constant):
        raise RuntimeError(
            f"Function's jvp returned a gradient at position {k}, but  the corresponding forward"
            " output is not a differentiable Tensor.You should return None at that position"
            f" instead. ({function.__name__})"
        )
    if tangent.shape != out.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original"
            f" Tensor, this is not supported. Tensor is of size {list(out.shape)} while the given"
            f" forward gradient is of size {list(tangent.shape)}. ({function.__name__}.jvp)"
        )
    dtype = out._array.dtype
    return tangent if tangent._array.dtype == dtype else convert(tangent, of_numpy[dtype])


def _dual(level: Any, out: Any, tangent: Any, values: Args, args: Args, tangents_in: Args) -> Any:
    """An output with its tangent, whose memory is aliased the way the value's is."""
    at = _position(out, values)
    if at is not None:
        target = args[at]
        if not level.owns(target):
            level.take(target, tangent)
        elif not _share_memory(tangent, tangents_in[at]):
            raise RuntimeError(
                "An inplace custom Function is not modifying the forward mode gradients inplace."
                " If the forward is modifying an input inplace, then the jvp function must modify"
                " the corresponding gradient inplace."
            )
        target.tangent = tangent
        return target
    pairs = [(a, t) for a, t in zip(args, tangents_in, strict=True) if level.owns(a)]
    if any(_share_memory(out, a) and not _share_memory(tangent, t) for a, t in pairs):
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is"
            " not returning a view of the given grad input."
        )
    if any(_share_memory(tangent, t) and not _share_memory(out, a) for a, t in pairs):
        tangent = clone(tangent)  # an in-place write must not reach another tangent
    return level.dual(out, tangent)


# Batches.


def apply_to_batch(level: Any, function: Any, args: Args) -> Any:
    """Run the user's `vmap`, or the other methods on a batch, one level further out."""
    _check_setup(function)
    overridden = function.vmap is not Function.vmap
    name = function.__name__
    if function.generate_vmap_rule:
        if overridden:
            raise RuntimeError(
                f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an"
                " overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the"
                " overridden vmap staticmethod to avoid ambiguity."
            )
        return _run_generated_rule(level, function, args)
    if not overridden:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and"
            " implement the vmap staticmethod or set generate_vmap_rule=True."
        )
    values = map_leaves(level.lower, args)
    in_dims = map_leaves(lambda x: 0 if level.owns(x) else None, args)
    answer = function.vmap(VmapInfo(level.size, level.randomness), in_dims, *values)
    result, out_dims = _result_and_dims(answer)
    outputs, spec = flatten_tree(result)
    dims = broadcast_prefix(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims)"
            f" tuple. Expected out_dims={out_dims} to be compatible with the structure of `output`."
            f" out_dims has structure {flatten_tree(out_dims)[1]} but output has structure {spec}."
            f" ({name})"
        )
    leaves = tuple(flatten_tree(args)[0]), tuple(flatten_tree(values)[0])
    batched_outputs = [
        _batched(level, out, d, *leaves) for out, d in zip(outputs, dims, strict=True)
    ]
    return unflatten_tree(batched_outputs, spec)


def _result_and_dims(answer: Any) -> tuple[Any, Any]:
    text = (
        "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree"
        " structure compatible with the output. Got "
    )
    if not isinstance(answer, tuple):
        raise RuntimeError(f"{text}a {type(answer)} instead")
    if len(answer) != 2:
        raise RuntimeError(f"{text}{len(answer)} returns instead")
    return answer


def _batched(level: Any, out: Any, dim: int | None, args: Args, values: Args) -> Any:
    if dim is None or not isinstance(out, Tensor):
        return out
    at = _position(out, values)
    if at is not None and level.owns(args[at]):
        return args[at]
    return level.tracer(out if dim == 0 else movedim(out, dim, 0))


def _run_generated_rule(level: Any, function: Any, args: Args) -> Any:
    call = _Call(function, level, [level.owns(a) for a in args])
    values = tuple([level.lower(a) for a in args])
    result = _vmapped(function).apply(call, *values)

    def output(k: int, out: Any) -> Any:
        return _batched(level, out, 0, args, values) if call.outputs[k] else out

    return _map_outputs(result, output)


def _vmapped(function: Any) -> Any:
    """The batched Function generated from a Function; created once."""
    function_of_batches = function.__dict__.get("_of_batches")
    if function_of_batches is None:
        function_of_batches = FunctionMeta(f"Vmapped{function.__name__}", (_OfBatches,), {})
        function._of_batches = function_of_batches
    return function_of_batches


class _Call:
    """The state of a batched Function besides its arguments."""

    def __init__(self, function: Any, level: Any, batched: list[bool]) -> None:
        self.function, self.kind = function, type(level)
        self.size, self.randomness = level.size, level.randomness
        self.batched = batched  # which arguments are
        self.outputs: list[bool] = []  # which outputs are: `forward` finds out

    def level(self) -> Any:
        """A level for one run of a method."""
        return self.kind(self.size, self.randomness)


def _enter(level: Level, values: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """Values as one sample sees them."""
    return [
        level.tracer(v) if flag and isinstance(v, Tensor) else v
        for v, flag in zip(values, batched, strict=True)
    ]


class _Lowered:
    """Tensors as seen one level further out, and which of them are batches."""

    def __init__(self, level: Level, values: Sequence[Any]) -> None:
        self.values = [level.lower(v) for v in values]
        self.batched = [level.owns(v) for v in values]

    def __iter__(self) -> Any:
        return iter(self.values)


class _OfBatches(Function):
    """A batched Function, made from another's per-sample methods.

    Each method runs in its own vmap; values that one leaves on the context for another are
    carried out of its vmap and into the next.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(call: Any, *values: Any) -> Any:
        with call.level() as level:
            result = call.function.forward(*_enter(level, values, call.batched))
            outputs = result if isinstance(result, tuple) else (result,)
            call.outputs = [level.owns(out) for out in outputs]
            return _map_outputs(result, lambda _, out: level.lower(out))

    @staticmethod
    def setup_context(ctx: Any, inputs: Args, output: Any) -> None:
        call, *values = inputs
        with call.level() as level:
            args = _enter(level, values, call.batched)

            def inside(k: int, out: Any) -> Any:
                at = _position(out, tuple(values)) if isinstance(out, Tensor) else None
                if at is not None:
                    return args[at]
                return level.tracer(out) if call.outputs[k] else out

            inner = FunctionCtx(ctx.needs_input_grad[1:], call.function)
            call.function.setup_context(inner, tuple(args), _map_outputs(output, inside))
            ctx.gradient_targets = [
                _shape_and_dtype(a) if isinstance(a, Tensor) else False for a in args
            ]
            ctx.saved = _Lowered(level, inner._to_save).batched
            ctx.save_for_backward(*_Lowered(level, inner._to_save))
            ctx.saved_forward = _Lowered(level, inner._to_forward).batched
            ctx.save_for_forward(*_Lowered(level, inner._to_forward))
            ctx.mark_dirty(*_Lowered(level, inner._dirty))
            ctx.mark_non_differentiable(*_Lowered(level, inner._constant))
            ctx.materialize_grads = inner.materialize_grads
            leaves, ctx.spec = flatten_tree(inner.__dict__)
            lowered = _Lowered(level, leaves)
            ctx.attributes, ctx.batched = lowered.values, lowered.batched
            ctx.call = call

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        call = ctx.call
        with call.level() as level:
            inner = _inner(ctx, level, ctx.saved)
            answer = rule_of(call.function)(inner, *_enter(level, grads, call.outputs))
            gradients = iter(checked_gradients(inner, ctx.gradient_targets, answer))
            results = [
                _gradient(level, next(gradients), batched) if target else None
                for target, batched in zip(ctx.gradient_targets, call.batched, strict=True)
            ]
        return None, *results

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
        call = ctx.call
        with call.level() as level:
            inner = _inner(ctx, level, ctx.saved_forward)
            answer = call.function.jvp(inner, *_enter(level, tangents, call.batched))
            several = isinstance(answer, tuple)
            tangents_out = [
                level.full_batch(t) if batched and isinstance(t, Tensor) else level.lower(t)
                for t, batched in zip(answer if several else (answer,), call.outputs, strict=False)
            ]
        return tuple(tangents_out) if several else tangents_out[0]


def _inner(ctx: Any, level: Level, saved: list[bool]) -> FunctionCtx:
    """The context of one sample."""
    inner = FunctionCtx(ctx.needs_input_grad[1:], ctx.call.function)
    inner.materialize_grads = ctx.materialize_grads
    inner._node = ctx._node
    inner._saved_values = tuple(_enter(level, ctx.saved_tensors, saved))
    inner.__dict__.update(unflatten_tree(_enter(level, ctx.attributes, ctx.batched), ctx.spec))
    return inner


def _gradient(level: Any, g: Any, batched: bool) -> Any:
    """The gradient of an argument: of a batch, or summed over samples if they share it."""
    if g is None:
        return None
    if batched:
        return level.full_batch(g)
    return sum_of(g.value, 0) if level.owns(g) else g
