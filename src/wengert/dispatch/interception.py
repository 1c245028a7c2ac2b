"""What modes see: the functions that are dispatched, and what stands in front of them meanwhile.

As long as a mode is on in the process, the code of these functions gives way to a front (as for
`__torch_function__`, see `core/fronts.py`), which asks the modes of its thread. Without a mode
nothing stands there, and nobody pays.

A public function is one operation to a mode where PyTorch has an operation of that name, and does
not decompose it, or where it is one operation here (`AS_ONE`). Otherwise it runs, and the mode
sees what it calls, down to the operations that `ops` declares. Those without a name in PyTorch
have one in the namespace `wengert`.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from wengert.amp.casts import cast_functions
from wengert.core.dispatching import dispatching
from wengert.core.forks import compile_lock
from wengert.core.fronts import Front, public_functions
from wengert.core.overriding import answers, overriding
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Tensor, Tracer
from wengert.dispatch.arguments import OF_FUNCTIONS, OF_OPS
from wengert.dispatch.aten import aten, decomposed, public_name
from wengert.dispatch.binding import OF_TENSORS, chosen
from wengert.dispatch.calls import dispatch, tensors_in
from wengert.dispatch.decompositions import DECOMPOSITIONS
from wengert.dispatch.overloads import OpNamespace, OpOverload, OpOverloadPacket
from wengert.dispatch.schema import Argument, FunctionSchema
from wengert.ops.op import REGISTRY, Op
from wengert.overrides import published_functions
from wengert.tensor.wrappers import dispatches

# Functions that PyTorch decomposes, and that are one operation here.
_AS_ONE = (
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d alpha_dropout avg_pool1d"
    " batch_norm bilinear binary_cross_entropy_with_logits cdist cosine_embedding_loss"
    " cross_entropy_loss ctc_loss dropout embedding_bag feature_dropout group_norm"
    " instance_norm layer_norm max_pool1d max_pool2d max_pool3d nll_loss nll_loss_nd prelu"
    " rms_norm std var"
)
AS_ONE = frozenset(_AS_ONE.split())
# Where PyTorch's operation is not called as the function is.
RENAMED = {
    "__iadd__": "add_", "__idiv__": "div_", "__imul__": "mul_", "__ipow__": "pow_",
    "__isub__": "sub_", "__itruediv__": "div_", "cross_entropy": "cross_entropy_loss",
    "log_softmax": "_log_softmax", "softmax": "_softmax", "to": "_to_copy",
    "item": "_local_scalar_dense", "pad": "constant_pad_nd",
}  # fmt: skip
# Of which even a call without a tensor is seen.
_FACTORIES = (
    "arange empty empty_strided eye full linspace logspace ones rand randint randn randperm"
    " scalar_tensor zeros"
)
FACTORIES = frozenset(_FACTORIES.split())
# That make no tensor, or only say what one is like.
_UNSEEN = (
    "allclose backward data equal grad is_complex is_floating_point is_leaf is_nonzero is_signed"
    " numel requires_grad_ retain_grad set_ size stride storage_offset to tolist type type_as"
)
UNSEEN = frozenset(_UNSEEN.split())


class DispatchedFunction(Front):
    """A function whose calls modes see.

    Attributes:
        names: the operation of PyTorch that it stands for, of which the overload is to be found.
        op: the declared operation that it is the function of.
    """

    __slots__ = ("factory", "name", "op")

    def __init__(self, function: Any, name: str, op: Op | None) -> None:
        super().__init__(function, (None,))
        self.name, self.op, self.factory = name, op, name in FACTORIES

    @property
    def holder(self) -> Any:
        """Behind the fronts of `__torch_function__` and of autocast, where they are in place."""
        for outer in (cast_functions.get(self.function), public_functions.get(self.function)):
            if outer is not None and outer.armed:
                return outer.impl
        return self.function

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answer of a mode, or the function's own."""
        if dispatching.computing:
            return self.impl(*args, **kwargs)
        tensors = tensors_in((args, kwargs))
        classes = [type(x) for x in tensors if type(x) is not Tensor and dispatches(type(x))]
        if not (dispatching.modes or classes) or any(map(_answers_first, classes)):
            return self.impl(*args, **kwargs)
        foreign = any(isinstance(x, (Tracer, SparseTensor)) for x in tensors)
        if foreign or not (tensors or self.factory):
            return self.impl(*args, **kwargs)
        if self.op is not None and self.op.name in DECOMPOSITIONS:
            result = DECOMPOSITIONS[self.op.name](*args, **kwargs)
            if result is not NotImplemented:
                return result
        bound = self._bound(args, kwargs)
        if bound is None:
            return self.impl(*args, **kwargs)
        func, args_of_func, kwargs_of_func = bound
        return dispatch(func, args_of_func, kwargs_of_func, partial(self.impl, *args, **kwargs))

    def _bound(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[OpOverload, tuple[Any, ...], dict[str, Any]] | None:
        """The overload that a mode is given, and its arguments; None where it sees no call."""
        op = self.op
        form = OF_FUNCTIONS.get(self.name) if op is None else OF_OPS.get(op.name)
        if form is not None:
            bound = form(*args, **kwargs)
            if bound is not None:
                return bound
        packet = aten.find(self.name)
        choice = None
        if packet is not None:
            choice = chosen(_candidates(packet), args, kwargs)
        if choice is not None:
            overload, values = choice
            if op is not None or overload not in decomposed or self.name in AS_ONE:
                return overload, *values
        return None if op is None else (own_overload(op), args, kwargs)


@cache
def _candidates(packet: OpOverloadPacket) -> list[OpOverload]:
    """The overloads in the order in which PyTorch tries them, those that it decomposes last."""
    numbers = packet.__name__.rstrip("_") in OF_TENSORS
    return sorted(
        packet._overloads.values(),
        key=lambda o: (
            o in decomposed,
            numbers and o._overloadname != "Tensor",
            len(o._schema.arguments),
        ),
    )


def _answers_first(kind: type) -> bool:
    """Whether `__torch_function__` of a class is asked, which stands above autograd."""
    return not (overriding.off or overriding.subclasses_off) and answers(kind)


own = OpNamespace("wengert")


@cache
def own_overload(op: Op) -> OpOverload:
    """A declared operation under its own name: ``wengert.conv_backward.default``."""
    inputs = [Argument(name, "Tensor?") for name in op.inputs]
    params = [
        Argument(name, "Any", None, name not in op.keyword_only, name in op.keyword_only)
        for name in op.params
    ]
    name = op.name.strip("_")
    schema = FunctionSchema(f"wengert::{name}", "", (*inputs, *params), (Argument("", "Tensor"),))
    return own.packet(name).add(schema, op.function)


@cache
def _dispatched() -> list[DispatchedFunction]:
    functions: dict[Any, DispatchedFunction] = {}
    for public in published_functions():
        path = public.name
        name = RENAMED.get(public_name(path), public_name(path))
        seen = not path.endswith(("__get__", "__set__")) and public_name(path) not in UNSEEN
        op = getattr(public.function, "op", None)
        if op is not None and op.function is public.function:
            continue
        if seen and aten.find(name) is not None:
            functions[public.function] = DispatchedFunction(public.function, name, None)
    for op in REGISTRY.values():
        name = op.public_name.replace(".", "_")
        name = RENAMED.get(name, name)
        functions[op.function] = DispatchedFunction(op.function, name, op)
    return [*functions.values()]


# One for each mode that is on in the process.
_modes: list[None] = []


def begin() -> None:
    """A mode begins."""
    with compile_lock:
        _modes.append(None)
        if len(_modes) == 1:
            for function in _dispatched():
                function.arm()


def end() -> None:
    """A mode ends."""
    with compile_lock:
        _modes.pop()
        if not _modes:
            for function in _dispatched():
                function.disarm()
