"""The functions whose calls compiled functions compare with their records.

The first compiled function of a process puts a front before them, for good: while nothing is
compiled or deferred it costs a look at a list and at the types of the arguments.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

import numpy as np

from wengert.amp.casts import cast_functions
from wengert.autograd import backward, grad
from wengert.autograd.saved.programs import programs
from wengert.core import storage
from wengert.core.deferring import leaving, picking, putting, sharing
from wengert.core.forks import compile_lock
from wengert.core.fronts import Front, public_functions
from wengert.core.preparations import peeks, readers
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Tensor, tensors
from wengert.ops.op import REGISTRY, Op
from wengert.ops.operands import half_beside_number, operands
from wengert.ops.operators import calling
from wengert.ops.variadic import LIST_OPS, SEVERAL_OPS, ListOp, SeveralOp
from wengert.replay.checkpointed import InRuns
from wengert.replay.deferred import Deferred
from wengert.replay.higher import backward_with_graph, gradients_with_graph
from wengert.replay.indexing import picked, put
from wengert.replay.leaves import became_leaf
from wengert.replay.peeking import are_within, peeked
from wengert.replay.plain import plain
from wengert.replay.plans import preparing
from wengert.replay.reading import deferred_repr, read_ahead
from wengert.replay.rebinding import rebinding
from wengert.replay.rules import (
    FLOATS,
    INDEXED,
    DetachForm,
    ListForm,
    SeveralForm,
    defers,
    is_mixed,
)
from wengert.replay.run import Run, current_run
from wengert.replay.state import active, asking, before_write, computing_at_once
from wengert.replay.storing import shared


class _Behind(Front):
    """A front behind those of `__torch_function__` and of autocast, where they are in place."""

    __slots__ = ()

    by_arguments = False

    @property
    def holder(self) -> Any:
        for outer in (cast_functions.get(self.function), public_functions.get(self.function)):
            if outer is not None and outer.armed:
                return outer.impl
        return self.function


# What is as the last time is deferred by the front itself: it calls one function, and no other.
_QUICKLY = """\
            thread, op = own
            run = thread.asked
            if run is None and thread.behind is not None and not thread.busy:
                run = thread.behind()
            if run is not None and not kwargs:
                result = run.quickly(op, args, impl)
                if result is not None:
                    return result
"""


class OpFront(_Behind):
    """A declared operation, or an operator that is one."""

    __slots__ = ("_operator", "op")

    lines = _QUICKLY

    def __init__(self, op: Op, function: Any = None) -> None:
        super().__init__(op.function if function is None else function, asking)
        self.op = op
        self._operator: OpFront | None = None

    @property
    def own(self) -> Any:
        """What the lines of its code read."""
        return active, self.op

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the operation's arguments."""
        return self.op.names

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A deferred result, or the function's own."""
        run = active.asked
        if run is not None and not kwargs and not run.recording and not any(map(_may_defer, args)):
            return self.impl(*args)
        if active.busy or (run := current_run()) is None:
            return self.impl(*args, **kwargs)
        found = self.mixed(args, kwargs)
        if found is not None:
            return found
        # From here: the frames between this call and the user's line are counted.
        return run.call(self.op, self.names, self.impl, args, kwargs)

    def mixed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What other operations give in its place; None if it is called as it is."""
        return None

    def beside(self, operator: Any) -> CodeType:
        """The code of an operator: a front as well, which costs a call less than calling this."""
        if self._operator is None:
            self._operator = type(self)(self.op, operator)
            self._operator.impl = calling(self.impl)
        return self._operator.made()


def _may_defer(x: Any) -> bool:
    """Whether an operation on this may wait: one on integers and masks that are there does not."""
    if type(x) is Tensor:
        kind: str = x._array.dtype.kind
        return kind not in "biu"
    return isinstance(x, Tensor | np.ndarray | float)


class MixingFront(OpFront):
    """An operation whose operands are brought to one dtype: by operations of the run."""

    __slots__ = ()

    def mixed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What other operations give in its place; None if it is called as it is."""
        op, arguments = self.op, dict(zip(self.names, args, strict=False)) | kwargs
        inputs = [arguments.pop(n, None) for n in op.inputs]
        dtypes = {x._outline.dtype for x in inputs if type(x) is Deferred or type(x) in tensors}
        if is_mixed(op, dtypes, True) and all(map(_is_operand, inputs)):
            if len(dtypes & FLOATS) > 1:
                return op(operands(op, *inputs), arguments)
            if op.halves is not None and half_beside_number(*inputs):
                return op.halves(*inputs)
        return None


def _is_operand(x: Any) -> bool:
    return type(x) in (Deferred, int, float, bool, type(None)) or type(x) in tensors


class IndexedFront(OpFront):
    """An operation that refuses indices: those that it takes are looked at when it is called."""

    __slots__ = ()

    lines = ""

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A deferred result, or the function's own."""
        arguments = dict(zip(self.names, args, strict=False)) | kwargs
        if active.busy or not _takes(*[arguments.get(n) for n in ("input", "dim", "index")]):
            return self.impl(*args, **kwargs)
        return super().ask(args, kwargs)


def _takes(input: Any, dim: Any, index: Any) -> bool:
    """Whether indices name elements of a dimension."""
    if not isinstance(input, Tensor) or isinstance(input, SparseTensor) or type(dim) is not int:
        return False
    shape = input._outline.shape
    return -len(shape) <= dim < len(shape) and are_within(index, 0, shape[dim])


class ListFront(_Behind):
    """An operation on a list of tensors."""

    __slots__ = ("forms", "op")

    lines = """\
            thread, forms = own
            run = thread.asked
            if run is not None and not kwargs and args and type(args[0]) is list:
                inputs, *params = args
                known = forms.get((len(inputs), len(params)))
                if known is not None:
                    result = run.quickly(known[0], (*inputs, *params), known[1])
                    if result is not None:
                        return result
"""

    def __init__(self, op: ListOp) -> None:
        super().__init__(op.function, asking)
        self.op = op
        self.forms: dict[tuple[int, int], tuple[ListForm, Any]] = {}

    @property
    def own(self) -> Any:
        """What the lines of its code read."""
        return active, self.forms

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A deferred result, or the function's own."""
        if active.busy or (run := current_run()) is None or kwargs:
            return self.impl(*args, **kwargs)
        inputs, *params = args
        if type(inputs) not in (list, tuple) or not inputs:
            return self.impl(*args)
        key = len(inputs), len(params)
        if key not in self.forms:
            impl, count = self.impl, len(inputs)
            form = ListForm(self.op, *key)
            self.forms[key] = form, lambda *a: impl(a[:count], *a[count:])
        form, call = self.forms[key]
        return run.call(form, form.names, call, (*inputs, *params), {})


class SeveralFront(_Behind):
    """An operation with several outputs."""

    __slots__ = ("forms", "op")

    lines = """\
            thread, forms = own
            run = thread.asked
            if run is not None and not kwargs:
                form = forms.get(len(args) - 1)
                if form is not None:
                    result = run.quickly(form, args, impl)
                    if result is not None:
                        return result
"""

    def __init__(self, op: SeveralOp) -> None:
        super().__init__(op.function, asking)
        self.op = op
        self.forms: dict[int, SeveralForm] = {}

    @property
    def own(self) -> Any:
        """What the lines of its code read."""
        return active, self.forms

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Deferred results, or the function's own."""
        if active.busy or (run := current_run()) is None or kwargs:
            return self.impl(*args, **kwargs)
        form = self.forms.get(len(args) - 1)
        if form is None:
            form = self.forms[len(args) - 1] = SeveralForm(self.op, len(args) - 1)
        return run.call(form, form.names, self.impl, args, {})


class DetachFront(_Behind):
    """`Tensor.detach`."""

    __slots__ = ("form",)

    def __init__(self) -> None:
        super().__init__(Tensor.detach, asking)
        self.form = DetachForm()

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A deferred result, or the method's own."""
        run = None if active.busy else current_run()
        if run is None or kwargs or len(args) != 1 or type(args[0]) is not Deferred:
            return self.impl(*args, **kwargs)
        return run.call(self.form, ("input",), self.impl, args, kwargs)


class WalkFront(_Behind):
    """`autograd.backward`, or a walk by another name: a step of the run, or computed at once."""

    __slots__ = ("names",)

    leading = 2  # arguments before those that say what is kept

    def __init__(self, function: Any, names: tuple[str, ...]) -> None:
        super().__init__(function, asking)
        self.names = names  # of the arguments; the second is that of the cotangents

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the walk gives, or nothing."""
        run = None if active.busy else current_run()
        if (
            run is not None
            and kwargs.get("create_graph") is True
            and self.creates(run, args, kwargs)
        ):
            return None
        given = None if run is None else self.given(args, kwargs)
        if run is None or given is None:
            return self.at_once(args, kwargs)
        roots, seeds, inputs, retain = given
        return self.walk(run, roots, seeds, inputs, retain, lambda: self.at_once(args, kwargs))

    def creates(self, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the rules were called as operations of a run, whose results have a graph."""
        given = self._given_graph(args, kwargs)
        return given is not None and backward_with_graph(run, *given)

    def _given_graph(self, args: Any, kwargs: dict[str, Any]) -> tuple[Any, Any, Any] | None:
        """What `given` says of a walk with a graph; None if it does not keep that."""
        plain = {k: v for k, v in kwargs.items() if k != "create_graph"}
        retained = plain.pop("retain_graph", None) is not False
        given = self.given(args, plain) if retained and len(args) <= self.leading else None
        return None if given is None else given[:3]

    def at_once(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The walk, whose rules are computed as it is called."""
        with computing_at_once():
            return self.impl(*args, **kwargs)

    def walk(self, run: Run, roots: Any, seeds: Any, inputs: Any, retain: bool, impl: Any) -> Any:
        """A step of a run."""
        return run.backward(roots, seeds, inputs, retain, impl)

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """The roots, cotangents and targets of a walk that a record may hold; else None."""
        if len(args) == 1 and not kwargs and isinstance(args[0], Tensor):  # loss.backward()
            return [args[0]], [None], None, False
        options = dict(zip(self.names, args, strict=False)) | kwargs
        roots = _listed(options.pop(self.names[0], ()))
        given = options.pop(self.names[1], None)
        seeds = [None] * len(roots) if given is None else _listed(given)
        inputs, retain = options.pop("inputs", None), options.pop("retain_graph", None)
        inputs = None if inputs is None else _listed(inputs)
        if any(x is not None and x is not False for x in options.values()):
            return None
        if retain is not None and type(retain) is not bool:
            return None
        if not roots or len(roots) != len(seeds) or len(args) > len(self.names):
            return None
        if inputs == [] or not all(isinstance(x, Tensor) for x in (*roots, *(inputs or ()))):
            return None
        return roots, seeds, inputs, bool(retain)


class GradFront(WalkFront):
    """`autograd.grad`."""

    __slots__ = ()

    leading = 3

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """The roots, cotangents and targets of a walk that a record may hold; else None."""
        outputs, inputs, *others = (*args, *[None] * 3)[: max(len(args), 3)]
        kwargs = {**kwargs}
        if kwargs.get("allow_unused") is True:  # those of a record are all used
            del kwargs["allow_unused"]
        if kwargs.get("only_inputs") is True:
            del kwargs["only_inputs"]
        return super().given((outputs, *others), {"inputs": inputs} | kwargs)

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The gradients, as operations of the run if they have a graph."""
        run = None if active.busy or kwargs.get("create_graph") is not True else current_run()
        if run is not None:
            given = self._given_graph(args, kwargs)
            if given is not None and given[2] is not None:
                found = gradients_with_graph(run, *given)
                if found is not None:
                    return found
        return super().ask(args, kwargs)

    def creates(self, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """No: `ask` has tried."""
        return False

    def walk(self, run: Run, roots: Any, seeds: Any, inputs: Any, retain: bool, impl: Any) -> Any:
        """A step of a run."""
        return impl() if inputs is None else run.gradients(roots, seeds, inputs, retain, impl)


def _listed(value: Any) -> list[Any]:
    return [*value] if type(value) in (tuple, list) else [value]


_BACKWARD = ("tensors", "grad_tensors", "retain_graph", "create_graph", "grad_variables", "inputs")
_GRAD = ("outputs", "grad_outputs", "retain_graph", "create_graph")
_METHOD = ("self", "gradient", "retain_graph", "create_graph", "inputs", "retain_variables")


class EscapeFront(_Behind):
    """A method that shows a tensor's memory to those whose writes nobody sees."""

    __slots__ = ()

    def __init__(self, function: Any) -> None:
        super().__init__(function, asking)

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What was deferred reads that memory now."""
        if active.run is not None:
            active.run.shown = True
        if args and type(args[0]) is not type and isinstance(args[0], Tensor):
            before_write(args[0]._array)
        return self.impl(*args, **kwargs)


def _follow_natively() -> None:
    """Let calls be compared with their record natively, which loads the compiler."""
    from wengert.replay import following

    following.install()


_ESCAPES = ("numpy", "__array__", "__dlpack__", "data_ptr", "untyped_storage", "storage")


def arm() -> None:
    """Put the fronts in place, once for the process."""
    if plain:
        return
    with compile_lock:
        if plain:
            return
        fronts: list[Front] = [
            DetachFront(), WalkFront(Tensor.backward, _METHOD), WalkFront(backward, _BACKWARD),
            GradFront(grad, _GRAD),
        ]  # fmt: skip
        fronts += [ListFront(op) for op in LIST_OPS]
        fronts += [SeveralFront(op) for op in SEVERAL_OPS]
        functions = [getattr(Tensor, name, None) for name in _ESCAPES]
        fronts += [EscapeFront(f) for f in dict.fromkeys(functions) if hasattr(f, "__code__")]
        ops: list[OpFront] = [
            MixingFront(op) if op.mixed and len(op.inputs) > 1 else OpFront(op)
            for op in REGISTRY.values() if defers(op)
        ]  # fmt: skip
        ops += [IndexedFront(REGISTRY[name]) for name in INDEXED]
        for front in (*fronts, *ops):
            front.arm()
        preparing.append(_follow_natively)
        programs.own = InRuns()
        storage.rebindings.append(rebinding)
        peeks.append(peeked)
        readers.append(read_ahead)
        Deferred.__repr__ = deferred_repr  # type: ignore[assignment]
        picking.append(picked)
        putting.append(put)
        sharing.append(shared)
        leaving.append(became_leaf)
        plain.update({front.op.name: front.impl for front in ops})
