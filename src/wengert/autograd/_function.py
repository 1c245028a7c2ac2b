"""Functions whose derivative the user writes.

The derivative of a derivative is recorded while the user's `backward` runs on Tensors. That
is right for saved inputs and outputs, whose place in the graph is known. What `forward`
computed on its way has none: such a saved value can be used, and is refused, with the line
of the call, by whoever differentiates through it (PyTorch takes it for a constant).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import _storage
from wengert._core import Leaf, Node, Site, State, Tensor, caller, getframe, mode, new, wrap
from wengert._dtypes import inexact
from wengert.autograd import _errors
from wengert.autograd._engine import lifted, plain
from wengert.autograd._mode import enable_grad, no_grad
from wengert.autograd._packing import Hooks, Packed, packed, shown
from wengert.ops._operands import cast, sum_to
from wengert.ops._variadic import Output, Partial, output_of, record


class FunctionCtx:
    """What `forward` leaves for `backward`; any attribute may be set on it.

    >>> import wengert
    >>> class Scale(wengert.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor
    ...         return x * factor
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * ctx.factor, None
    >>> x = wengert.tensor(2.0, requires_grad=True)
    >>> Scale.apply(x, 5.0)
    tensor(10., grad_fn=<ScaleBackward>)
    """

    needs_input_grad: tuple[bool, ...]

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.materialize_grads = True
        self._to_save: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self._saved: tuple[Tensor | None, ...] | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `backward`, which finds them in `saved_tensors`."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    "save_for_backward can only save variables, but argument is of type"
                    f" {type(t).__name__}"
                )
        self._to_save = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs `forward` wrote to; it must return them."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros, or None, for outputs that have no gradient."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`."""
        if self._saved is None:
            raise RuntimeError(
                "saved_tensors can only be read in backward(), before the graph is released"
            )
        return self._saved


class Function:
    """An operation with a forward and a backward of the user's own.

    `forward(ctx, *args)` computes on tensors (nothing is recorded) and may keep some with
    `ctx.save_for_backward`. `backward(ctx, *grads)` gets a gradient for each output and
    returns one for each argument, None where there is none. Instead, `forward(*args)` may
    come with a `setup_context(ctx, inputs, output)`.

    >>> import wengert
    >>> class Cube(wengert.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 3 * x**2
    >>> x = wengert.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    node: type[FunctionNode]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name = f"{cls.__name__}Backward"
        part = type(name, (Output,), {"__slots__": ()})
        cls.node = type(name, (FunctionNode,), {"function": cls, "part": part, "__slots__": ()})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """What the function computes; every subclass defines it."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep what `backward` needs, where `forward` takes no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom"
            " autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function; the result is recorded if an argument requires grad."""
        edges = [a._edge if isinstance(a, Tensor) else None for a in args]
        ctx = FunctionCtx(tuple(e is not None for e in edges))
        with no_grad():
            if cls.setup_context is not Function.setup_context:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args, **kwargs)
        several = isinstance(result, tuple)
        outputs = _own_outputs(ctx, args, result if several else (result,))
        site = mode.site
        node = None
        if site is not None and any(ctx.needs_input_grad):
            node = record(cls.node, tuple(e for e in edges if e is not None), (), site)
            node.attach(ctx, args, edges, outputs)
        ctx._to_save = ctx._dirty = ctx._constant = ()  # no cycle through the outputs
        if node is not None and type(site) is not Site:
            site.recorded(node)  # type: ignore[union-attr]
        return tuple(outputs) if several else outputs[0]


def _own_outputs(ctx: FunctionCtx, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> list[Any]:
    """The outputs; an input that comes back as it went gets a Tensor of its own."""
    for t in ctx._dirty:
        _check_dirty(t)
    return [
        wrap(out._array)
        if isinstance(out, Tensor) and _among(out, args) and not _among(out, ctx._dirty)
        else out
        for out in outputs
    ]


def _check_dirty(tensor: Tensor) -> None:
    if mode.site is not None and type(tensor._edge) is Leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    if hasattr(tensor, "_root"):
        raise RuntimeError("mark_dirty(): a view cannot be marked; write to a clone of it")
    _storage.stamp(tensor._array, "mark_dirty", *caller(getframe(2)))


def _among(tensor: Any, others: Sequence[Any]) -> bool:
    return any(tensor is t for t in others)


class FunctionNode(Node):
    """One call of a Function."""

    __slots__ = ("arguments", "ctx", "kinds", "s_saved", "shapes")
    saved = (("s_saved", None),)

    function: type[Function]
    part: type[Output]
    ctx: FunctionCtx | None
    s_saved: list[Any] | None
    kinds: list[tuple[str, int]]  # of the saved values: an "input", an "output", or "inner"
    shapes: list[Any]  # of the outputs: (shape, dtype), or None for what is no tensor
    arguments: list[tuple[int, Any, Any]]  # of each edge: position, shape and dtype

    def attach(
        self, ctx: FunctionCtx, args: tuple[Any, ...], edges: list[Any], outputs: list[Any]
    ) -> None:
        """Become the creator of the outputs."""
        self.ctx, self.state = ctx, State()
        assert self.state is not None
        self.state.user = True
        self.arguments = [
            (k, args[k]._array.shape, args[k]._array.dtype)
            for k, e in enumerate(edges)
            if e is not None
        ]
        self.shapes = [
            (o._array.shape, o._array.dtype) if isinstance(o, Tensor) else None for o in outputs
        ]
        self.s_saved, self.kinds = [], []
        for t in ctx._to_save:
            self.s_saved.append(None if t is None else t._array)
            self.kinds.append(_kind(t, args, edges, outputs))
        for k, out in enumerate(outputs):
            if not isinstance(out, Tensor) or _among(out, ctx._constant):
                continue
            if out._array.dtype in inexact:
                out._edge = self._edge_of(k, len(outputs))

    @staticmethod
    def packing(node: FunctionNode, hooks: Hooks) -> None:
        """Pack what the user saved; as elsewhere, an output is shown without its node."""
        assert node.s_saved is not None
        node.s_saved = [
            a if type(a) is not np.ndarray
            else packed(node, a, shown(a, node._input_edge(*kind)), hooks)
            for a, kind in zip(node.s_saved, node.kinds, strict=True)
        ]  # fmt: skip

    def _input_edge(self, kind: str, index: int) -> Node | None:
        return self.edges[index] if kind == "input" and index >= 0 else None

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What the user saved; GraphReleasedError when it has been let go."""
        from wengert.autograd._saved_values import check_kept, restored

        check_kept(self, "s_saved")
        return tuple(
            [
                None if a is None
                else restored(self, "s_saved", a, self._edge_of_saved(kind, index, a, False))
                for a, (kind, index) in zip(self.s_saved or (), self.kinds, strict=True)
            ]
        )  # fmt: skip

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        from wengert.autograd._saved_values import SavedTensor, check_kept

        check_kept(self, "s_saved")
        return tuple([SavedTensor(self, "s_saved", k) for k in range(len(self.kinds))])

    def _edge_of(self, index: int, count: int) -> Node:
        if count > 1:
            return output_of(self.part, self, index, self.shapes[index][0])
        self.shape = self.shapes[0][0]
        return self

    def pullback(self, g: Any) -> tuple[Any, ...]:
        """The user's backward, nothing recorded."""
        with no_grad():
            return self._run(g, plain)

    def pullback_to(self, g: Any, wanted: Any, lift: Any) -> tuple[Any, ...]:
        """The user's backward, recorded if `lift` makes Tensors."""
        with enable_grad() if lift is lifted else no_grad():
            grads = self._run(g, lift)
        return tuple([x if e in wanted else None for x, e in zip(grads, self.edges, strict=True)])

    def _run(self, g: Any, lift: Any) -> tuple[Any, ...]:
        ctx = self.ctx
        assert ctx is not None
        assert self.s_saved is not None
        recorded = lift is lifted
        parts = g.parts if type(g) is Partial else {0: g}
        grads = [self._cotangent(k, parts.get(k), ctx) for k in range(len(self.shapes))]
        arrays = [a.restored(self, "s_saved") if type(a) is Packed else a for a in self.s_saved]
        ctx._saved = tuple(
            [
                None if a is None else wrap(a, self._edge_of_saved(kind, index, a, recorded))
                for a, (kind, index) in zip(arrays, self.kinds, strict=True)
            ]
        )
        try:
            rule = self.function.backward
            if rule is Function.backward:
                rule = self.function.vjp
            answer = rule(ctx, *grads)
        finally:
            ctx._saved = None
        values = self._checked(answer if isinstance(answer, tuple) else (answer,))
        return values if recorded else tuple([None if v is None else v._array for v in values])

    def _cotangent(self, k: int, g: Any, ctx: FunctionCtx) -> Any:
        if g is None:
            described = self.shapes[k]
            if described is None or not ctx.materialize_grads:
                return None
            return wrap(np.zeros(*described))
        return g if isinstance(g, Tensor) else wrap(g)

    def _edge_of_saved(self, kind: str, index: int, array: Any, recorded: bool) -> Node | None:
        if kind == "input":
            return self._input_edge(kind, index)
        if kind == "output":
            return self if len(self.shapes) == 1 else output_of(self.part, self, index, array.shape)
        return refused(self, _intermediate) if recorded and array.dtype in inexact else None

    def _checked(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        name = type(self).__name__
        expected = len(self.ctx.needs_input_grad) if self.ctx is not None else 0
        if len(values) < expected or any(v is not None for v in values[expected:]):
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {expected},"
                f" got {len(values)})"
            )
        for k, v in enumerate(values[:expected]):
            if v is not None and not isinstance(v, Tensor):
                raise TypeError(
                    f"function {name} returned {type(v).__name__} at position {k}, expected a"
                    " Tensor or None"
                )
        return tuple(
            [_fitted(name, k, values[k], shape, dtype) for k, shape, dtype in self.arguments]
        )

    def clear(self) -> None:
        """Let go of the saved values and of what the user put on the context."""
        self.s_saved = None
        self.ctx = None


def _kind(t: Any, args: Any, edges: list[Any], outputs: list[Any]) -> tuple[str, int]:
    """What a saved tensor is; inputs are counted among those that have an edge, others are -1."""
    for k, a in enumerate(args):
        if a is t:
            return "input", sum(e is not None for e in edges[:k]) if edges[k] is not None else -1
    for k, o in enumerate(outputs):
        if o is t:
            return "output", k
    return "inner", 0


def _fitted(name: str, k: int, g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A returned gradient in the shape and dtype of its argument."""
    if g is None:
        return None
    if g._array.shape != shape:
        try:
            fits = np.broadcast_shapes(shape, g._array.shape) == g._array.shape
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {k} - got"
                f" {list(g._array.shape)} but expected shape compatible with {list(shape)}"
            )
        g = sum_to(g, shape)
    return g if g._array.dtype == dtype else cast(g, dtype)


class Refused(Node):
    """Stands for a dependency that was not recorded: a walk that comes here is refused."""

    __slots__ = ()


def refused(node: FunctionNode, why: Callable[[FunctionNode], Exception]) -> Node:
    """A node below which a walk raises, made by the line of `node`."""
    stop = new(Refused)
    stop.seq, stop.edges, stop.shape = node.seq, node.edges, ()
    stop.code, stop.lasti, stop.site = node.code, node.lasti, node.site
    stop.state = State()
    stop.state.refusal = functools.partial(why, node)
    return stop


def _intermediate(node: FunctionNode) -> Exception:
    return _errors.GraphError(
        f"the second derivative of {_errors.made(node)} depends on a tensor that its forward()"
        " computed and saved, and how it came about was not recorded.\n"
        "  Remedies:\n"
        "    1. save inputs and outputs only, and compute the rest again in backward()\n"
        "    2. return the tensor from forward() as one more output and save it then\n"
        "    3. mark backward() with @once_differentiable if it is not to be differentiated"
    )


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` that cannot itself be differentiated; trying to is an error.

    >>> import wengert
    >>> from wengert.autograd.function import once_differentiable
    >>> class Same(wengert.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x.clone()
    ...
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, g):
    ...         return g
    """

    @functools.wraps(fn)
    def wrapper(ctx: FunctionCtx, *grads: Any) -> Any:
        known = [*grads, *(ctx._saved or ())]
        edges = tuple([t._edge for t in known if isinstance(t, Tensor) and t._edge is not None])
        recording = mode.site is not None
        with no_grad():
            answer = fn(ctx, *grads)
        if not (recording and edges):
            return answer
        values = answer if isinstance(answer, tuple) else (answer,)
        return tuple([v if v is None else wrap(v._array, _stop(edges)) for v in values])

    return wrapper


def _stop(edges: tuple[Node, ...]) -> Node:
    stop = record(Refused, edges, (), mode.where)
    stop.state = State()
    stop.state.refusal = lambda: _errors.GraphError(
        "trying to differentiate twice a function that was marked with @once_differentiable"
    )
    return stop
