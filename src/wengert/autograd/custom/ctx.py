"""The context that the static methods of a user's Function share."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

from wengert.autograd.transforms.tree import Spec, unflatten_tree
from wengert.core.tensor import Tensor, mode, wrap


class RecordedCall(Protocol):
    """The part of a call's node that its context uses."""

    inside: bool

    @property
    def edges(self) -> Sequence[Any]: ...
    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]: ...
    @property
    def metadata(self) -> dict[Any, Any]: ...
    @property
    def next_functions(self) -> Any: ...
    def connected(self, t: Any, args: tuple[Any, ...]) -> Any: ...
    def present(self, index: int) -> Any: ...
    def refused(self) -> Any: ...
    def register_hook(self, fn: Any) -> Any: ...
    def register_prehook(self, fn: Any) -> Any: ...


class OfOutput:
    """Placeholder on a context for an output: storing the tensor itself would create a cycle."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class Inner:
    """Placeholder on a context for an intermediate tensor of `forward`."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class FunctionCtx:
    """Passes values from `forward` to `backward` and `jvp`; any attribute may be set on it.

    Like saved tensors, tensor attributes keep their place in the graph: inputs and outputs
    are connected; intermediate values of `forward` are constants to the first derivative and
    refused by the second. Prefer saving tensors: their memory is checked for later writes,
    and hooks see them.

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

    # Our state goes in slots, so that the instance's dictionary holds only the user's attributes.
    __slots__ = (
        "__dict__", "__weakref__", "_constant", "_dirty", "_function", "_node", "_recording",
        "_saved_values", "_stand_ins", "_to_forward", "_to_save", "materialize_grads",
        "needs_input_grad",
    )  # fmt: skip

    _function: Any
    _node: weakref.ref[RecordedCall] | None
    _stand_ins: dict[str, tuple[list[Any], Spec]] | None  # placeholders for tensors
    _recording: bool  # whether the current or latest backward will be differentiated
    _saved_values: (
        tuple[Tensor | None, ...] | None
    )  # the value of `saved_tensors` if there is no node
    _to_save: tuple[Tensor | None, ...]
    _to_forward: tuple[Tensor | None, ...]
    _dirty: tuple[Tensor, ...]
    _constant: tuple[Tensor, ...]
    materialize_grads: bool
    needs_input_grad: tuple[bool, ...]

    def __init__(self, needs_input_grad: tuple[bool, ...] = (), function: Any = None) -> None:
        self.needs_input_grad = needs_input_grad
        self.materialize_grads = self._recording = True
        self._function = function
        self._node = self._stand_ins = self._saved_values = None
        self._to_save = self._to_forward = self._dirty = self._constant = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for `backward`, which reads them from `saved_tensors`.

        TypeError for anything but a tensor or None: set other values as attributes of the context.
        """
        for k, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {k} is of type"
                    f" {type(t).__name__}; set it as an attribute of ctx"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for `jvp`, which reads them from `saved_tensors`."""
        for k, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save"
                    f" non-tensors as attributes on ctx. Argument {k} is of type {type(t).__name__}"
                )
        self._to_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Mark the inputs that `forward` modified in place; it must return them."""
        _check_tensors(args, "mark_dirty can only accept variables, but")
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Mark outputs that have no gradient."""
        _check_tensors(args, "mark_non_differentiable only accepts variable arguments, but")
        self._constant = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing: shared memory is tracked automatically. Deprecated in PyTorch."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically"
            " tracked.",
            FutureWarning,
            stacklevel=2,
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether missing gradients and tangents are passed as zeros (True) or None."""
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads(): argument 'value' must be bool, not"
                f" {type(value).__name__}"
            )
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The saved tensors, with their place in the graph; empty while `forward` runs.

        GraphReleasedError if a backward call has released them.
        """
        if self._saved_values is not None:
            return self._saved_values
        if self._node is None:
            return ()
        return (self._node() or self._recorded()).saved_tensors

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    def _recorded(self) -> RecordedCall:
        """The node recorded for the call."""
        node = None if self._node is None else self._node()
        if node is None:
            raise RuntimeError(
                f"{self.name()}: the call of this context was not recorded, or its graph is gone"
            )
        return node

    def __getattr__(self, name: str) -> Any:
        stand_ins = None if name.startswith("_") else self._stand_ins
        if stand_ins is None or name not in stand_ins:
            what = type(self).__name__ if self._function is None else self.name()
            raise AttributeError(f"{what!r} object has no attribute {name!r}")
        leaves, spec = stand_ins[name]
        return unflatten_tree([self._presented(x) for x in leaves], spec)

    def __delattr__(self, name: str) -> None:
        if name not in self.__dict__ and self._stand_ins and name in self._stand_ins:
            del self._stand_ins[name]
        else:
            super().__delattr__(name)

    def _presented(self, value: Any) -> Any:
        if type(value) is OfOutput:
            return self._recorded().present(value.index)
        if type(value) is not Inner:
            return value
        if mode.site is None or not self._recording:
            return value.tensor
        return wrap(value.tensor._array, self._recorded().refused())

    def name(self) -> str:
        """The name of the node, such as ``ScaleBackward``."""
        return f"{getattr(self._function, '__name__', '')}Backward"

    @property
    def metadata(self) -> dict[Any, Any]:
        """The node's dictionary, free for programs to use."""
        return self._recorded().metadata

    @property
    def next_functions(self) -> Any:
        """The nodes of the inputs, each with the index of the output used."""
        return () if self._node is None else self._recorded().next_functions

    def register_hook(self, fn: Any) -> Any:
        """As that of the node."""
        return self._recorded().register_hook(fn)

    def register_prehook(self, fn: Any) -> Any:
        """As that of the node."""
        return self._recorded().register_prehook(fn)


def _check_tensors(args: tuple[Any, ...], text: str) -> None:
    for k, t in enumerate(args):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"{text} argument {k} is of type {type(t).__name__}")
