"""User-defined functions with custom derivatives."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any, ClassVar, NamedTuple

from wengert.autograd import errors
from wengert.autograd.custom.ctx import FunctionCtx as FunctionCtx
from wengert.autograd.custom.node import FunctionNode as FunctionNode
from wengert.autograd.custom.node import GradientTarget, UserState, is_among, no_rule
from wengert.autograd.grad_mode import no_grad
from wengert.autograd.refusals import Refused, refusal_node
from wengert.core import storage
from wengert.core.inference import inference_cut
from wengert.core.messages import message, more
from wengert.core.signatures import signature
from wengert.core.tensor import (
    Leaf,
    Node,
    RawCut,
    Site,
    Tensor,
    Tracer,
    caller,
    concrete,
    getframe,
    inferences,
    mode,
    new,
    root_of,
    tick,
    wrap,
)
from wengert.ops.operands import innermost, mark_view
from wengert.ops.variadic import Output, record


class VmapInfo(NamedTuple):
    """Information about the batch, passed to a Function's `vmap`."""

    batch_size: int
    randomness: str


class FunctionMeta(type):
    """The class of Functions: each has a class of nodes, ``<name>Backward``.

    >>> import wengert
    >>> class Same(wengert.autograd.Function):
    ...     pass
    >>> type(Same).__name__, Same._backward_cls.__name__
    ('FunctionMeta', 'SameBackward')
    """

    _backward_cls: type[FunctionNode]
    _signature: tuple[Any, inspect.Signature, int] | None
    forward: Any
    _off: RawCut  # where `forward`, which is not recorded, computes values

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        super().__init__(name, bases, attrs)
        label = f"{name}Backward"
        part = type(label, (Output,), {"__slots__": (), "of_function": True})
        body = {"_forward_cls": cls, "part": part, "__slots__": ()}
        cls._backward_cls = type(label, (FunctionNode,), body)
        cls._signature = None
        cls._off = f"{name}.forward()", *_beginning(cls.forward), None


def _beginning(method: Any) -> tuple[CodeType, int]:
    """The first instruction of a method's body."""
    code = getattr(inspect.unwrap(method), "__code__", _beginning.__code__)
    lines = [at for at, _, line in code.co_lines() if (line or 0) > code.co_firstlineno]
    return code, lines[0] if lines else 0


class Function(metaclass=FunctionMeta):
    """An operation with a custom derivative, written as a subclass with static methods.

    `forward(ctx, *args)` computes on tensors (nothing is recorded) and may save some with
    `ctx.save_for_backward`. `backward(ctx, *grads)`, also called `vjp`, takes a gradient for each
    output and returns one for each argument, or None. `jvp(ctx, *tangents)` is its counterpart
    in forward mode. Call `apply`, never these.

    Alternatively, define `forward(*args)` and `setup_context(ctx, inputs, output)`. The
    transforms of `wengert.func` require that, and `vmap` requires a `vmap` method, or
    `generate_vmap_rule = True` to run the other methods on batches.

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

    generate_vmap_rule: ClassVar[bool] = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all"
            " static, so you should invoke them on the class itself.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError: a Function is called through `apply`."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use"
            " new-style autograd function with static forward method:"
            f" {type(self).__name__}.apply()"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the function; every subclass defines it."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what the derivatives need, if `forward` takes no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    backward = staticmethod(no_rule)
    vjp = staticmethod(no_rule)

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Compute the tangents of the outputs from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with"
            " forward mode AD."
        )

    @staticmethod
    def vmap(info: VmapInfo, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """Compute the outputs for a batch, and return them with their batch dimensions."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod"
            " or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function; the result is recorded if an argument requires grad."""
        if kwargs or cls.setup_context is not _NO_SETUP:
            args = _bind_positionally(cls, args, kwargs)
        return call_with_context(cls, args)[0]


_NO_SETUP = Function.setup_context


class InplaceFunction(Function):
    """A base of Functions with an `inplace` flag, from before they were static.

    >>> import wengert
    >>> issubclass(wengert.autograd.function.InplaceFunction, wengert.autograd.Function)
    True
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def has_setup(function: type[Function]) -> bool:
    """Whether a Function's forward takes no context."""
    return function.setup_context is not _NO_SETUP


def _bind_positionally(
    function: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """All arguments by position, as gradients are; with `setup_context`, defaults included."""
    forward, setup = function.forward, has_setup(function)
    cached = function._signature
    if cached is None or cached[0] is not forward:
        new_signature = signature(forward)
        kinds = [p.kind for p in new_signature.parameters.values()]
        simple = all(k is inspect.Parameter.POSITIONAL_OR_KEYWORD for k in kinds)
        cached = function._signature = forward, new_signature, len(kinds) if simple else -1
    _, expected, count = cached
    if len(args) == count and not kwargs and setup:
        return args
    context = () if setup else (None,)
    try:
        bound = expected.bind(*context, *args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{function.__name__}.apply(): forward() {error}") from None
    if bound.kwargs:
        raise TypeError(
            f"{function.__name__}.apply(): forward() got an unexpected keyword argument"
            f" {next(iter(bound.kwargs))!r}: a Function's arguments are positional"
        )
    if setup:
        bound.apply_defaults()
        return bound.args
    return bound.args[1:]


def call_with_context(
    function: type[Function], args: tuple[Any, ...], forward_mode: bool = False
) -> tuple[Any, FunctionCtx]:
    """The recorded result of a call, and its context; with `forward_mode` that knows its outputs.

    A call with tracers goes to their innermost level.
    """
    edges: list[Node] = []
    targets: list[GradientTarget] = []
    for a in args:
        if type(a) is Tensor or type(a) in concrete:
            e = a._edge
            if e is None:
                targets.append(None)
                continue
            edges.append(e)
            array = a._array
            targets.append((array.shape, array.dtype))
        elif isinstance(a, Tracer):
            return innermost(args).apply_function(function, args), _NOBODYS
        else:
            targets.append(False)
    ctx = FunctionCtx(tuple(map(bool, targets)), function)
    site = mode.site
    result = compute_unrecorded(function, ctx, args)
    outputs = list(result) if isinstance(result, tuple) else [result]
    recording = site is not None and bool(edges)
    if inferences and recording:
        saved = ctx._to_save
        recording = inference_cut(function.__name__, args, saved, saved) is None
    if ctx._dirty:
        _check_dirty(ctx, args, outputs, site is not None)
    _own(outputs, args, ctx, recording)
    if recording:
        node = new_function_node(function, ctx, tuple(edges), targets)
        node.output_to(outputs, ctx)
        node.keep(args, ctx)
        if type(site) is not Site:
            site.recorded(node)  # type: ignore[union-attr]
    if not forward_mode:
        ctx._to_forward = ()  # outputs among them would create a cycle
    return tuple(outputs) if isinstance(result, tuple) else outputs[0], ctx


_NOBODYS = FunctionCtx()


def compute_unrecorded(function: type[Function], ctx: FunctionCtx, args: tuple[Any, ...]) -> Any:
    """Run the user's methods with nothing recorded."""
    before = mode.site, mode.off
    mode.site, mode.off = None, function._off
    try:
        if function.setup_context is _NO_SETUP:
            return function.forward(ctx, *args)
        result = function.forward(*args)
        function.setup_context(ctx, args, result)
        return result
    finally:
        mode.site, mode.off = before


def new_function_node(
    function: Any, ctx: FunctionCtx, edges: tuple[Node, ...], targets: list[GradientTarget]
) -> FunctionNode:
    """A fresh node at the caller's line; its outputs and saved values are filled in later."""
    node: FunctionNode = new(function._backward_cls)
    node.code, node.lasti = caller(getframe(2))
    node.seq, node.site = tick(), mode.where
    node.state = new(UserState)
    node.edges, node.gradient_targets = edges, targets
    node.ctx, node.inside = ctx, False
    return node


def _own(outputs: list[Any], args: tuple[Any, ...], ctx: FunctionCtx, recording: bool) -> None:
    """Make outputs distinct Tensors, which may or may not get a place in the graph."""
    for k, out in enumerate(outputs):
        if type(out) not in concrete or not (out._edge is not None or is_among(out, args)):
            continue
        if not is_among(out, args):
            outputs[k] = wrap(out._array)
            continue
        constant = is_among(out, ctx._constant)
        if is_among(out, ctx._dirty) and (out._edge is None or (recording and not constant)):
            continue
        alias = outputs[k] = wrap(out._array)
        mark_view(alias, out)
        if constant:
            ctx._constant += (alias,)


def _check_dirty(
    ctx: FunctionCtx, args: tuple[Any, ...], outputs: list[Any], enabled: bool
) -> None:
    for t in ctx._dirty:
        if not is_among(t, args):
            warnings.warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that"
                " have been mutated should be passed to ctx.mark_dirty().",
                UserWarning,
                stacklevel=4,
            )
            continue
        if not is_among(t, outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as"
                " output. The inputs that are modified inplace must all be outputs of the Function."
                "\n" + more("function-dirty-input")
            )
        if enabled and type(t) in concrete:
            _check_rewritable(t, len(outputs))
        if type(t) in concrete:
            storage.stamp(t._array, "mark_dirty", *caller(getframe(1)))


def _check_rewritable(tensor: Tensor, outputs: int) -> None:
    """Raise where a write to a tensor would break the graph."""
    root = root_of(tensor)
    if type(tensor._edge) is Leaf:
        raise errors.leaf_written(tensor._edge, "mark_dirty", verb="has been")
    if type(root._edge) is Leaf:
        raise errors.leaf_written(root._edge, "mark_dirty", view=True)
    if tensor._edge is None and root._edge is not None:
        raise errors.lost_view_written(root._edge, "mark_dirty")
    if root is not tensor and outputs > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your"
            " Function cannot return more than one Tensor. This is not supported by the current"
            " autograd engine. You should either make sure the input is not a view (using .clone()"
            " for example) or make your Function only return one Tensor\n"
            + more("function-dirty-input")
        )


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` as not differentiable; differentiating it raises an error.

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
        recording = mode.site is not None
        with no_grad():
            answer = fn(ctx, *grads)
        if not recording:
            return answer
        tracked = [t for t in grads if isinstance(t, Tensor)]
        tracked += [t for t in ctx.saved_tensors if t is not None]
        if any(isinstance(t, Tracer) and t._edge is not None for t in tracked):
            raise _twice_differentiated_error()
        node = None if ctx._node is None else ctx._node()
        edges = [t._edge for t in tracked if t._edge is not None]
        edges += [] if node is None or node.inside else [e for e in node.edges if e is not None]
        if not edges:
            return answer
        stop = refusal_node(
            record(Refused, (), (), mode.where), tuple(edges), _twice_differentiated_error
        )
        values = answer if isinstance(answer, tuple) else (answer,)
        return tuple([wrap(v._array, stop) if type(v) in concrete else v for v in values])

    return wrapper


def _twice_differentiated_error() -> Exception:
    return errors.GraphError(message(
        "once-differentiable",
        "trying to differentiate twice a function that was marked with @once_differentiable",
        remedies=[
            "take @once_differentiable off, if backward() consists of operations on tensors that"
            " were saved by save_for_backward()",
            "do not differentiate its gradient: no create_graph=True, or detach() of the gradient",
        ],
    ))  # fmt: skip
