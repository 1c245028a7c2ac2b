"""The node of a user's Function: what it stores, and how the user's backward runs.

A second derivative is recorded while the user's `backward` runs on Tensors. That
is right for saved inputs and outputs, whose place in the graph is known. Intermediate
values of `forward` have none: they can be used, but differentiating through one raises
an error that names the line of the call (PyTorch treats it as a constant).
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from wengert.autograd import errors, naming
from wengert.autograd.custom.ctx import FunctionCtx, Inner, OfOutput
from wengert.autograd.engine import lift_to_tensor
from wengert.autograd.history import rebase_history
from wengert.autograd.refusals import refusal_node
from wengert.autograd.saved.packing import (
    Hooks,
    Packed,
    check_unwritten,
    pack_array,
    tensor_of_saved,
)
from wengert.autograd.saved.values import SavedTensor, check_not_released
from wengert.autograd.transforms.tree import flatten_tree
from wengert.core.dtypes import inexact, of_numpy
from wengert.core.messages import message, more
from wengert.core.storage import clock
from wengert.core.tensor import Node, NodeState, Tensor, concrete, is_view, mode, wrap
from wengert.kernels.layout import writable
from wengert.ops.operands import cast, sum_to
from wengert.ops.variadic import Output, Partial, output_of

# Shape and dtype of an argument that needs a gradient; None for other tensors, False for the rest.
GradientTarget = tuple[tuple[int, ...], "np.dtype[Any]"] | bool | None

# The place of a saved tensor: its edge, its number as an output, or this.
INNER = -1


class UserState(NodeState):
    """The initial state of a Function's node: its derivative is user code.

    Defaults are class attributes, because one is created per call.
    """

    collector = hooks = node_prehooks = node_hooks = post_hooks = metadata = None
    retain = released = refusal = None
    shared = False
    user = True


class FunctionNode(Node):
    """One call of a Function. Exposes its context's attributes: in PyTorch it is the context.

    >>> import wengert
    >>> class Scale(wengert.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor
    ...         return x * factor
    >>> y = Scale.apply(wengert.ones(1, requires_grad=True), 5.0)
    >>> y.grad_fn.factor, y.grad_fn.needs_input_grad
    (5.0, (True, False))
    """

    __slots__ = (
        "count",
        "ctx",
        "gradient_targets",
        "inside",
        "output_refs",
        "s_saved",
        "saved_positions",
        "shapes",
    )
    saved = (("s_saved", None),)

    of_function = True  # so are those of single outputs
    _forward_cls: ClassVar[Any]  # the Function
    part: ClassVar[type[Output]]

    ctx: FunctionCtx | None
    count: int  # of the values the user saved; the rest are attributes of `ctx`
    # Arrays; Tensors in a derivative inside another transform, which have their own histories.
    s_saved: list[Any] | None
    saved_positions: list[Any]  # of the saved values
    output_refs: dict[int, weakref.ref[Node]] | None  # nodes of saved outputs, if several
    shapes: list[Any]  # of the outputs: (shape, dtype), or None for a non-tensor
    gradient_targets: list[GradientTarget]  # what the arguments were
    inside: bool  # whether it belongs to a derivative inside another transform

    def output_to(self, outputs: list[Any], ctx: FunctionCtx) -> None:
        """Become the creator of the differentiable outputs."""
        several = len(outputs) != 1
        if not several and not ctx._dirty and not ctx._constant and type(outputs[0]) in concrete:
            out = outputs[0]
            array = out._array
            shape, dtype = array.shape, array.dtype
            self.shape, self.shapes = shape, [(shape, dtype)]
            if dtype in inexact:
                out._edge = self
            return
        self.shapes = [
            (o._array.shape, o._array.dtype) if isinstance(o, Tensor) else None for o in outputs
        ]
        self.shape = () if several or self.shapes[0] is None else self.shapes[0][0]
        constant, dirty = ctx._constant, ctx._dirty
        for k, out in enumerate(outputs):
            if type(out) not in concrete:
                continue
            array = out._array
            edge: Node | None = None
            if array.dtype in inexact and not (constant and is_among(out, constant)):
                edge = output_of(self.part, self, k, array.shape) if several else self
            if dirty and is_among(out, dirty):
                rebase_history(out, edge)
            elif edge is not None:
                out._edge = edge

    def keep(self, args: tuple[Any, ...], ctx: FunctionCtx) -> None:
        """Store the user's saved values and the context's attributes without creating a cycle."""
        self.s_saved = saved = []
        self.saved_positions = positions = []
        self.output_refs = None
        for t in ctx._to_save:
            saved.append(t._array if t is not None and type(t) in concrete else t)
            positions.append(None if t is None else self._place(t, args))
        self.count = len(saved)
        if ctx.__dict__:
            self._keep_attributes(ctx, args)
        ctx._node = weakref.ref(self)
        ctx._to_save = ctx._dirty = ctx._constant = ()

    def _place(self, t: Tensor, args: tuple[Any, ...]) -> Any:
        """The place of a tensor in the graph; None for a constant."""
        edge = t._edge
        if edge is self:
            return 0
        if edge is not None:
            if type(edge) is not self.part or edge.edges[0] is not self:
                return edge
            self.output_refs = self.output_refs or {}
            self.output_refs[edge.index] = weakref.ref(edge)
            return edge.index
        if type(t) not in concrete:
            return None  # no array of its own: kept as it is
        return None if t._array.dtype not in inexact or is_among(t, args) else INNER

    def _keep_attributes(self, ctx: FunctionCtx, args: tuple[Any, ...]) -> None:
        """Take outputs, which refer to this node, and intermediate values off the context."""
        for name, value in list(ctx.__dict__.items()):
            if not isinstance(value, Tensor) and type(value) not in (list, tuple, dict):
                continue
            leaves, spec = flatten_tree(value)
            stand_ins = [self._stand_in(x, args) if type(x) in concrete else x for x in leaves]
            if any(new is not x for new, x in zip(stand_ins, leaves, strict=True)):
                if ctx._stand_ins is None:
                    ctx._stand_ins = {}
                ctx._stand_ins[name] = stand_ins, spec
                del ctx.__dict__[name]

    def _stand_in(self, t: Tensor, args: tuple[Any, ...]) -> Any:
        position = self._place(t, args)
        if position == INNER:
            # A view of an output holds the output.
            return Inner(wrap(t._array) if is_view(t) else t)
        if type(position) is not int:
            return t
        assert self.s_saved is not None
        self.s_saved.append(t._array)
        self.saved_positions.append(position)
        return OfOutput(len(self.s_saved) - 1)

    @staticmethod
    def packing(node: FunctionNode, hooks: Hooks) -> None:
        """Pack the user's saved values; as elsewhere, an output is passed without its node."""
        assert node.s_saved is not None
        for k, a in enumerate(node.s_saved[: node.count]):
            if type(a) is np.ndarray:
                position = node.saved_positions[k]
                edge = position if isinstance(position, Node) else None
                node.s_saved[k] = pack_array(node, a, tensor_of_saved(a, edge), hooks)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The user's saved values; GraphReleasedError if they have been released."""
        if self.s_saved is None or (self.state is not None and self.state.released is not None):
            self._check_kept()
        values: list[Any] = []
        saved: Any = self.s_saved
        unwritten = clock.newest <= self.seq
        for k, position in enumerate(self.saved_positions):
            if unwritten and type(saved[k]) is np.ndarray and type(position) is not int:
                values.append(tensor_of_saved(saved[k], position))
            else:
                values.append(self.present(k))
        return tuple(values if len(values) == self.count else values[: self.count])

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        self._check_kept()
        return tuple([SavedTensor(self, "s_saved", k) for k in range(self.count)])

    def _check_kept(self) -> None:
        check_not_released(self, "s_saved")

    def present(self, index: int) -> Any:
        """A saved value as a Tensor with its place in the graph."""
        if self.s_saved is None:
            self._check_kept()
        assert self.s_saved is not None
        value, position = self.s_saved[index], self.saved_positions[index]
        if type(value) is Packed:
            array = value.restored(self, "s_saved")
        elif type(value) is np.ndarray:
            array = value
            if clock.newest > self.seq:
                check_unwritten(self, "s_saved", array, "reading a saved tensor")
        else:
            return value
        if type(position) is not int:
            return tensor_of_saved(array, position)
        if position == INNER:
            return wrap(array, self.refused() if self._differentiated() else None)
        if len(self.shapes) == 1:
            return wrap(array, self)
        own = None if self.output_refs is None else self.output_refs.get(position)
        node = None if own is None else own()  # carries the output's gradient
        return wrap(array, node or output_of(self.part, self, position, array.shape))

    def _differentiated(self) -> bool:
        """Whether differentiating what is computed now would reach this node.

        A backward that enables grad mode without being recorded itself has a separate graph.
        """
        return mode.site is not None and (self.ctx is None or self.ctx._recording)

    def connected(self, t: Any, args: tuple[Any, ...]) -> Any:
        """A tensor left by `forward`, with its place in the graph."""
        inner = t is not None and self._place(t, args) == INNER
        return wrap(t._array, self.refused()) if inner else t

    def refused(self) -> Node:
        """A node for an intermediate value, whose history was not recorded."""
        return refusal_node(self, self.edges, functools.partial(_intermediate, self))

    def pullback(self, g: Any) -> tuple[Any, ...]:
        """The user's backward, nothing recorded."""
        return self._run(g, False)

    def pullback_to(self, g: Any, needed: Any, lift: Any) -> tuple[Any, ...]:
        """The user's backward, recorded if `lift` makes Tensors."""
        grads = self._run(g, lift is lift_to_tensor)
        for e in self.edges:
            if e not in needed:
                break
        else:
            return grads
        return tuple([x if e in needed else None for x, e in zip(grads, self.edges, strict=True)])

    def _run(self, g: Any, recorded: bool) -> tuple[Any, ...]:
        ctx, function = self.ctx, self._forward_cls
        if len(self.shapes) == 1 and g is not None:
            traced = isinstance(g, Tensor)
            cotangents = [g if traced else wrap(writable(g))]
        else:
            cotangent_of = g.parts if type(g) is Partial else {0: g}
            traced = any([isinstance(v, Tensor) for v in cotangent_of.values()])
            cotangents = [self._cotangent(k, cotangent_of.get(k)) for k in range(len(self.shapes))]
        site = mode.site
        if not self.inside:  # otherwise the outer levels decide whether to record
            recording = recorded or (traced and any(map(_has_history, cotangents)))
            mode.site = mode.where if recording else None
            if ctx is not None:
                ctx._recording = recording
        try:
            answer = rule_of(function)(ctx, *cotangents)
        finally:
            mode.site = site
        traced = traced or recorded
        if (
            type(answer) is Tensor and len(self.gradient_targets) == 1
        ):  # the usual case, without a loop
            shape, dtype = self.gradient_targets[0]  # type: ignore[misc]
            array = answer._array
            if array.dtype is dtype and array.shape == shape:
                return (answer if traced else array,)
        values = checked_gradients(self, self.gradient_targets, answer)
        return tuple(values if traced else [v._array if type(v) in concrete else v for v in values])

    def _cotangent(self, k: int, g: Any) -> Any:
        if g is None:
            described = self.shapes[k]
            if described is None or self.ctx is None or not self.ctx.materialize_grads:
                return None
            return wrap(np.zeros(*described))
        return g if isinstance(g, Tensor) else wrap(writable(g))

    def apply(self, *grad_outputs: Any) -> Any:
        """Run the user's backward on gradients of the outputs."""
        self._check_kept()
        return rule_of(self._forward_cls)(self.ctx, *grad_outputs)

    def clear(self) -> None:
        """Release the saved values and the context's attributes."""
        self.s_saved = self.ctx = None

    def release(self) -> None:
        """Release what `clear` releases, and the edges."""
        self.s_saved = self.ctx = None
        self.edges = ()

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """Which arguments need a gradient."""
        return tuple(map(bool, self.gradient_targets))

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The kind of each saved value: an "input" by edge number, an "output", or "inner"."""
        edges = list(self.edges)
        return [
            ("inner", 0) if position == INNER
            else ("output", position) if type(position) is int
            else ("input", edges.index(position) if position in edges else -1)
            for position in self.saved_positions
        ]  # fmt: skip

    @property
    def arguments(self) -> list[tuple[int, Any, Any]]:
        """For each edge: the argument's position, shape and dtype."""
        return [
            (k, *target)
            for k, target in enumerate(self.gradient_targets)
            if isinstance(target, tuple)
        ]

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the context, as PyTorch's node, which is the context, does."""
        ctx = None if name.startswith("_") or name == "ctx" else self.ctx
        if ctx is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(ctx, name)


FunctionNode.op = None  # not one of the context's


def is_among(value: Any, others: Any) -> bool:
    """Whether a value is one of the others, by identity."""
    for x in others:  # noqa: SIM110 (a generator costs more than all it looks at)
        if x is value:
            return True
    return False


def _has_history(value: Any) -> bool:
    """Whether a tensor, or its value at any outer level, has a place in a graph."""
    if not isinstance(value, Tensor):
        return False
    if value._edge is not None:
        return True
    inner = value.__dict__
    return any(_has_history(inner.get(name)) for name in ("value", "tangent"))


def no_rule(ctx: Any, *grad_outputs: Any) -> Any:
    """The gradients of the arguments from those of the outputs."""
    raise NotImplementedError(
        "You must implement either the backward or vjp method for your custom autograd.Function to"
        f" use it with backward mode AD.\n{more('function-without-backward')}"
    )


def rule_of(function: Any) -> Callable[..., Any]:
    """The user's backward, under one of its names."""
    rule: Callable[..., Any] = function.backward
    if function.vjp is no_rule:
        return rule
    if rule is not no_rule:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You"
            f" should only implement one of them: {function.__name__} has both."
        )
    rule = function.vjp
    return rule


def checked_gradients(
    node: Node | FunctionCtx, targets: list[GradientTarget], answer: Any
) -> list[Any]:
    """A backward's results for the arguments that need a gradient, in their shapes and dtypes.

    RuntimeError where they do not fit.
    """
    values = answer if isinstance(answer, tuple) else (answer,)
    if len(values) != len(targets):
        values = _as_many(node, values, len(targets))
    gradients = []
    for k, target in enumerate(targets):
        v = values[k]
        if type(v) in concrete and target:
            array = v._array
            fits = array.dtype is target[1] and array.shape == target[0]  # type: ignore[index]
            gradients.append(v if fits else _fitted(node.name(), k, v, *target))  # type: ignore[misc]
        elif v is None:
            if target:
                gradients.append(None)
        elif target is False:
            raise RuntimeError(
                f"function {node.name()} returned a gradient different than None at position"
                f" {k + 1}, but the corresponding forward input was not a Variable\n"
                + more("function-gradients")
            )
        elif not isinstance(v, Tensor):
            raise RuntimeError(
                f"expected Variable or None (got {type(v).__name__}) from {node.name()} at"
                f" position {k}\n{more('function-gradients')}"
            )
        elif target:
            gradients.append(_fitted(node.name(), k, v, *target))  # type: ignore[misc]
    return gradients


def _as_many(node: Node | FunctionCtx, values: tuple[Any, ...], expected: int) -> tuple[Any, ...]:
    if len(values) < expected or any(v is not None for v in values[expected:]):
        raise RuntimeError(message(
            "function-gradients",
            f"function {node.name()} returned an incorrect number of gradients (expected"
            f" {expected}, got {len(values)})",
            [("applied by", naming.describe_node(node))] if isinstance(node, Node) else [],
            ["return one for each argument of forward(), None for non-tensors"],
        ))  # fmt: skip
    return values


def _fitted(name: str, k: int, g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A returned gradient in the shape and dtype of its argument."""
    array = g._array
    if array.shape != shape:
        try:
            fits = np.broadcast_shapes(shape, array.shape) == array.shape
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {k} - got"
                f" {list(array.shape)} but expected shape compatible with {list(shape)}\n"
                + more("function-gradients")
            )
        g = sum_to(g, shape)
    if array.dtype == dtype:
        return g
    if array.dtype.kind == "c" != dtype.kind:
        raise RuntimeError(
            f"Function {name} returned an invalid gradient at index {k} - got"
            f" {of_numpy[array.dtype]} for an input of {of_numpy[dtype]}: take the real part\n"
            + more("function-gradients")
        )
    return cast(g, dtype)


def _intermediate(node: FunctionNode) -> Exception:
    return errors.GraphError(message(
        "function-saved-intermediate",
        f"the second derivative of {naming.describe_node(node)} depends on a tensor that its"
        " forward()"
        " computed and saved, and how it came about was not recorded.",
        remedies=[
            "save inputs and outputs only, and compute the rest again in backward()",
            "return the tensor from forward() as one more output and save it then",
            "it does not depend on the inputs, or not smoothly (a mask): use tensor.detach()"
            " in backward()",
            "mark backward() with @once_differentiable if it is not to be differentiated",
        ],
    ))  # fmt: skip
