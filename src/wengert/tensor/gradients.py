"""Attributes of a Tensor about its gradient and its place in the graph."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.autograd import backward as _backward
from wengert.autograd import errors
from wengert.autograd.hooks import RemovableHandle, add_hook
from wengert.autograd.naming import describe_node
from wengert.autograd.refusals import refusal_node
from wengert.autograd.transforms.levels import transforming
from wengert.core import storage
from wengert.core.cut_log import note_drop
from wengert.core.deferring import leaving, sharing
from wengert.core.dtypes import inexact, of_numpy
from wengert.core.inference import check_may_require_grad, inherit, no_version
from wengert.core.messages import current_call, message, more, warn
from wengert.core.sparse import numpy_dtype, shape_of
from wengert.core.tensor import (
    Leaf,
    Node,
    Tensor,
    Tracer,
    cut_at,
    inferences,
    is_view,
    leaf_of,
    made_in_inference_mode,
    new,
    state_of,
    tensors,
    wrap,
)
from wengert.ops.operands import leave_memory, mark_view
from wengert.ops.shape import view_as
from wengert.tensor.wrappers import WrapperOutline, watch


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set whether this leaf requires grad; return the tensor.

    RuntimeError inside a function transformed by `wengert.func` or `vmap`, whose derivatives
    would miss it.

    >>> import wengert
    >>> wengert.zeros(2).requires_grad_().requires_grad
    True
    """
    if transforming():
        raise errors.leaf_inside_transform("requires_grad_()")
    _set_requires_grad(self, requires_grad)
    return self


def _set_requires_grad(
    self: Tensor, requires_grad: bool, kinds: str = "floating point dtype"
) -> None:
    if isinstance(self, Tracer) and not self.level.eager and requires_grad != self.requires_grad:
        raise errors.leaf_inside_transform("requires_grad_()")
    if not requires_grad:
        if self._edge is not None and self._edge.edges:
            raise RuntimeError(message(
                "set-requires-grad",
                "you can only change requires_grad flags of leaf variables. If you want to use"
                " a computed variable in a subgraph that doesn't require differentiation use"
                " var_no_grad = var.detach().",
                [
                    ("this call", current_call("requires_grad = False")),
                    ("made by", describe_node(self._edge)),
                ],
                [
                    "use its values only: y = y.detach()",
                    "record nothing in that line: put it under torch.no_grad()",
                    "to freeze parameters: requires_grad_(False) on them, before the forward",
                ],
            ))  # fmt: skip
        if self._edge is not None:
            self._cut = cut_at("requires_grad_(False)", self)
        self._edge = None
    elif self._edge is None:
        if inferences:
            check_may_require_grad(self)
        if self._outline.dtype not in inexact:
            raise RuntimeError(errors.integer_requires_grad(
                f"only Tensors of {kinds} can require gradients, and this one is",
                of_numpy[self._outline.dtype], "requires_grad = True",
            ))  # fmt: skip
        if not (leaving and leaving[0](self)):
            self._edge = leaf_of(self)


def _assign_requires_grad(self: Tensor, value: bool) -> None:
    if not isinstance(value, bool):
        raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
    if value and not _is_leaf(self):
        raise RuntimeError("you can only change requires_grad flags of leaf variables.")
    _set_requires_grad(self, value, "floating point and complex dtype")


def _is_leaf(self: Tensor) -> bool:
    return self._edge is None or type(self._edge) is Leaf


def _get_grad(self: Tensor) -> Tensor | None:
    g = getattr(self, "_grad", None)
    if g is None and self._edge is not None and type(self._edge) is not Leaf:
        state = self._edge.state
        if state is None or state.retain is None:
            warn(errors.grad_of_non_leaf(self._edge))
    return g


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is not None:
        if not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type"
                            f" {type(value).__name__}")  # fmt: skip
        shape, dtype = shape_of(value), numpy_dtype(value)
        if shape != self._outline.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(shape)}' to a tensor"
                f" of size '{list(self._outline.shape)}'. Please ensure that the gradient and the"
                f" tensor are the same size\n{more('grad-assignment')}"
            )
        if dtype != self._outline.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{of_numpy[dtype]}' to a"
                f" tensor with dtype '{of_numpy[self._outline.dtype]}'. Please ensure that the"
                f" gradient and the tensor have the same dtype\n{more('grad-assignment')}"
            )
        if value.device != self.device:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{value.device}' to a tensor"
                f" with device type '{self.device}'. Please ensure that the gradient and the"
                f" tensor are on the same device\n{more('grad-assignment')}"
            )
        if value is self:
            raise RuntimeError(f"can't assign Variable as its own grad\n{more('grad-assignment')}")
    else:
        note_drop(".grad = None", self)
    self._grad = value


def clear_grad(tensor: Tensor, set_to_none: bool) -> None:
    """Set a tensor's gradient to None, or zero its memory, which others may share."""
    g = getattr(tensor, "_grad", None)
    if g is None:
        return
    if set_to_none:
        tensor._grad = None
        return
    if g._edge is not None:
        g = tensor._grad = g.detach() if is_view(g) else g.detach_()
    g.zero_()


def _get_data(self: Tensor) -> Tensor:
    if sharing and (known := sharing[0](self, ".data")) is not None:
        return known
    if isinstance(self._array, WrapperOutline):
        return self.detach()  # which its class is asked about
    cut = wrap(self._array)
    cut._cut = cut_at(".data", self)
    if inferences:
        inherit(cut, self)
    return cut


def _delete_data(self: Tensor) -> None:
    raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


def _set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if type(value) not in tensors and value._memoryless:
        raise RuntimeError(
            "incompatible tensor type: .data of a tensor on the CPU must be one on it as well, got"
            " one on 'meta'"
        )
    if self._edge is not None and value._outline.dtype not in inexact:
        raise RuntimeError(errors.integer_requires_grad(
            "data set to a tensor that requires gradients must be floating point or complex dtype,"
            " and this one is",
            of_numpy[value._outline.dtype], "data = ...",
        ))  # fmt: skip
    leave_memory(self)
    before, self._array = self._array, value._array
    if inferences:
        inherit(self, value)
    if type(self._edge) is Leaf:
        if self._edge.shape != value._outline.shape:  # older graphs keep a leaf of their shape
            state, self._edge = self._edge.state, leaf_of(self)
            self._edge.state = state
    elif self._edge is not None and value._outline.shape != before.shape:
        reshaped = partial(_reshaped, before.shape, value._outline.shape)
        self._edge = refusal_node(self._edge, (self._edge,), reshaped)


def _reshaped(before: tuple[int, ...], after: tuple[int, ...]) -> Exception:
    """Refuse a gradient in the shape of a value assigned to `.data`, which was not computed."""
    return errors.GraphError(
        f"an operation made a tensor of shape {list(before)}, to whose .data one of shape"
        f" {list(after)} was assigned: what is computed from that has no gradient in its inputs"
    )


def detach(self: Tensor) -> Tensor:
    """Return a tensor with the same memory, cut off from the graph.

    >>> import wengert
    >>> x = wengert.ones(2, requires_grad=True)
    >>> (x * 2).detach().requires_grad
    False
    """
    if sharing and (known := sharing[0](self, "detach()")) is not None:
        return known
    cut = wrap(self._array)
    cut._cut = cut_at("detach()", self)
    if inferences:
        inherit(cut, self)
    return cut


def detach_(self: Tensor) -> Tensor:
    """Cut this tensor off from the graph, in place. RuntimeError for a view.

    >>> import wengert
    >>> y = wengert.ones(2, requires_grad=True) * 2
    >>> y.detach_().requires_grad
    False
    """
    if is_view(self):
        raise RuntimeError(message(
            "detach-view",
            "Can't detach views in-place. Use detach() instead.",
            [("this call", current_call("detach_()"))],
            [
                "give the name to a detached tensor: y = y.detach()",
                "detach the tensor that it is a view of, before the view is made",
            ],
        ))  # fmt: skip
    if isinstance(self, Tracer):
        self.level.cut(self)
        return self
    self._cut = cut_at("detach_()", self)
    self._edge = None
    return self


def as_subclass(self: Tensor, cls: type[Tensor]) -> Tensor:
    """Return this tensor as an instance of a Tensor subclass, with the same memory and graph.

    Operations on it return instances of the class, unless its `__torch_function__` says otherwise.

    >>> import wengert
    >>> class Weights(wengert.Tensor):
    ...     pass
    >>> wengert.ones(2).as_subclass(Weights)
    Weights([1., 1.])
    """
    if isinstance(self, Tracer):
        raise NotImplementedError(
            "as_subclass() inside of a function that vmap or forward mode transforms: call it"
            " outside, on the argument or the result"
        )
    instance = _instance(cls, view_as(self, self))
    mark_view(instance, self)
    return instance


def _make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
    """As `as_subclass`, without the graph: a leaf, which may require grad."""
    if not isinstance(data, Tensor):
        raise TypeError(
            "_make_subclass(): argument 'data' (position 2) must be Tensor, not"
            f" {type(data).__name__}"
        )
    instance = _instance(cls, data.detach())
    return instance.requires_grad_() if require_grad else instance


def _instance(cls: type[Tensor], source: Tensor) -> Tensor:
    """A fresh instance of a class with the memory and the edge of a tensor."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not"
            " possible. Make sure your class inherits from Tensor."
            f" (argument 'cls' is {cls.__name__})"
        )
    watch(cls)
    instance = new(cls)
    instance._array, instance._edge = source._array, source._edge
    instance._cut = source._cut if source._edge is None else None
    instance._root = None
    return instance


def retain_grad(self: Tensor) -> None:
    """Store the gradient of this non-leaf tensor in `.grad`.

    >>> import wengert
    >>> y = wengert.ones(2, requires_grad=True) * 2
    >>> y.retain_grad()
    >>> y.sum().backward()
    >>> y.grad
    tensor([1., 1.])
    """
    if self._edge is None:
        raise RuntimeError(message(
            "retain-grad-without-graph",
            "can't retain_grad on Tensor that has requires_grad=False",
            [("this call", current_call("retain_grad()"))],
            [
                "a tensor that you made: requires_grad_() on it; its .grad then comes by itself",
                "a result: some input must require grad, and no detach() or no_grad come between",
            ],
        ))  # fmt: skip
    if transforming():
        raise errors.leaf_inside_transform("retain_grad()")
    if not _is_leaf(self):
        state_of(self._edge).retain = weakref.ref(self)


def _retains_grad(self: Tensor) -> bool:
    state = None if self._edge is None else self._edge.state
    return state is not None and state.retain is not None and state.retain() is self


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(grad)` whenever the gradient of this tensor is computed.

    A result other than None replaces the gradient.

    >>> import wengert
    >>> x = wengert.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda g: g * 10)
    >>> x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """
    if self._edge is None:
        raise errors.hook_without_graph("register_hook()")
    state = state_of(self._edge)
    if state.hooks is None:
        state.hooks = OrderedDict()
    return add_hook(state.hooks, hook)


def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call `hook(tensor)` after the gradient of this leaf has been added to `.grad`.

    >>> import wengert
    >>> x = wengert.ones(2, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda p: print(p.grad))
    >>> x.sum().backward()
    tensor([1., 1.])
    """
    if self._edge is None:
        raise errors.hook_without_graph("register_post_accumulate_grad_hook()")
    if not _is_leaf(self):
        raise RuntimeError(message(
            "post-hook-of-non-leaf",
            "post accumulate grad hooks cannot be registered on non-leaf tensors",
            [
                ("this call", current_call("register_post_accumulate_grad_hook()")),
                ("made by", describe_node(self._edge)),
            ],
            [
                "register_hook() calls a function with the gradient of any tensor",
                "register it on the leaf that this tensor was computed from",
            ],
        ))  # fmt: skip
    state = state_of(self._edge)
    if state.post_hooks is None:
        state.post_hooks = OrderedDict()
    return add_hook(state.post_hooks, hook)


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | str | None = None,
    create_graph: bool = False,
    inputs: Any = None,
    retain_variables: bool | None = None,
) -> None:
    """Add the gradient of this tensor to the `.grad` of the leaves it was computed from.

    Args:
        gradient: the cotangent, of this tensor's shape; optional for one element.
        retain_graph: False releases the graph, True keeps it, ``"auto"`` keeps what other
            live tensors can still reach. None means the value of `create_graph`.
        create_graph: record the derivative, so that it can be differentiated.
        inputs: the tensors to accumulate into; None means every leaf.
        retain_variables: the old name of `retain_graph`, deprecated.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if retain_variables is not None:
        warn("retain_variables= is the old name of retain_graph=; use that", DeprecationWarning)
        retain_graph = retain_variables if retain_graph is None else retain_graph
    if gradient is not None and not isinstance(gradient, Tensor):
        of_one_root = isinstance(gradient, (list, tuple)) and len(gradient) == 1
        if of_one_root and isinstance(gradient[0], Tensor):
            return _backward(self, gradient, retain_graph, create_graph, inputs=inputs)
        gradient = wrap(np.asarray(gradient, self._outline.dtype))
    _backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def _grad_fn(self: Tensor) -> Node | None:
    return None if self._edge is None or type(self._edge) is Leaf else self._edge.output()[0]


def _output_nr(self: Tensor) -> int:
    return 0 if self._edge is None else self._edge.output()[1]


def _version(self: Tensor) -> int:
    if made_in_inference_mode(self):
        raise no_version()
    return storage.write_count(self._array)


def _backward_hooks(self: Tensor) -> Any:
    return None if self._edge is None or self._edge.state is None else self._edge.state.hooks


def _set_backward_hooks(self: Tensor, hooks: Any) -> None:
    if self._edge is not None:  # no gradient arrives at others
        state_of(self._edge).hooks = hooks


def bind() -> None:
    """Give Tensor what this module is about."""
    define: Any = Tensor
    for function in (requires_grad_, detach, detach_, as_subclass, retain_grad, register_hook,
                     backward, register_post_accumulate_grad_hook):  # fmt: skip
        setattr(define, function.__name__, function)
    define._make_subclass = staticmethod(_make_subclass)
    define.requires_grad = property(lambda self: self._edge is not None, _assign_requires_grad)
    define.is_leaf = property(_is_leaf)
    define.grad = property(_get_grad, _set_grad, lambda self: _set_grad(self, None))
    define.grad_fn = property(_grad_fn)
    define.output_nr = property(_output_nr)
    define.data = property(_get_data, _set_data, _delete_data)
    define.retains_grad = property(_retains_grad)
    define._backward_hooks = property(_backward_hooks, _set_backward_hooks)
    define._base = property(lambda self: getattr(self, "_root", None))
    define._is_view = lambda self: is_view(self)
    define._version = property(_version)
