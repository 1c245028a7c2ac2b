"""Watching one call of a function: which code runs, and whether a shortcut could stand for it.

It could if the code does nothing but operations that are on record, and effects that can be had
again, such as an optimizer's step at the end. Every function that is called on the way is looked
at: what is not known to be free of other effects is a reason to run Python.
"""

from __future__ import annotations

import inspect
import os
import sys
import types
from collections.abc import Callable
from functools import partial
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np

from wengert.amp.grad_scaler import GradScaler
from wengert.core.device import device
from wengert.core.fronts import front_of
from wengert.core.generators import default_generator
from wengert.core.preparations import watchers
from wengert.core.storage import clock, quoted_location
from wengert.core.tensor import Tensor, internal
from wengert.replay.arming import DetachFront, ListFront, OpFront, SeveralFront
from wengert.replay.deferred import Deferred
from wengert.replay.guards import UnguardedError, is_pure
from wengert.replay.run import Run
from wengert.replay.tails import call_at, calls_before_return
from wengert.replay.trace import Entry

# What asks a tensor for no element.
METADATA = (
    "shape", "size", "dim", "ndim", "ndimension", "numel", "nelement", "dtype", "device", "layout",
    "requires_grad", "is_leaf", "is_floating_point", "is_complex", "is_contiguous", "element_size",
    "stride", "itemsize", "nbytes", "is_cpu", "is_cuda", "is_sparse", "is_meta", "is_quantized",
    "is_nested", "contiguous", "float", "double", "half", "bfloat16", "long", "int", "bool", "to",
    "cpu", "type_as", "is_same_size", "__len__", "__hash__", "__class__",
)  # fmt: skip
# Other functions of the library that change nothing but the mode of recording, which the steps of
# a run have on record.
_HARMLESS = frozenset({
    # of modules and their containers
    "__call__", "__getattr__", "__getitem__", "__iter__", "__len__", "__contains__", "keys",
    "values", "items", "children", "named_children", "modules", "named_modules", "parameters",
    "named_parameters", "buffers", "named_buffers", "dropout", "forward",
    # of what is asked for and set
    "__new__", "__init__", "__enter__", "__exit__", "__hash__", "is_tensor", "is_grad_enabled",
    "is_compiling", "is_scripting", "is_tracing", "is_autocast_enabled", "get_default_dtype",
    "is_dynamo_compiling", "is_exporting", "is_inference_mode_enabled", "_assert",
})  # fmt: skip
# Functions that make tensors of values, or of random numbers.
_CREATION = frozenset({
    "arange", "eye", "full", "full_like", "linspace", "ones", "ones_like", "zeros", "zeros_like",
    "rand", "rand_like", "randint", "randn", "randn_like",
})  # fmt: skip
# Methods that change their objects, give None, and may be called again in the place of the call.
_EFFECTS = frozenset({"step", "zero_grad"})
_REPLAY = __name__.rpartition(".")[0]
_STANDARD = (os.path.dirname(os.__file__) + os.sep, "<frozen ")
_IMPORTING = "<frozen importlib"
_NUMPY = os.path.dirname(np.__file__) + os.sep


# The operations that are functions of their operands for all elements.
_PURE = OpFront | ListFront | SeveralFront | DetachFront


class _Apart(NamedTuple):
    """A call that is not looked into; `end` is told of its result."""

    frame: Any
    entry: Entry
    end: Callable[[_Apart, Any], None]


class Preparation(NamedTuple):
    """A call that depends on nothing but its arguments, which a shortcut makes again.

    It looks at elements (see `core.preparations`), or is an operation that is computed at once.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: Any

    def values(self) -> tuple[Any, ...]:
        """What it has given."""
        return self.results if type(self.results) is tuple else (self.results,)


class Value(NamedTuple):
    """A value of the run, by its place."""

    place: int


class Effect(NamedTuple):
    """A call of a method that changes its object or what belongs to it, or of a function."""

    owner: Any
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def happen(self) -> None:
        """Call it again."""
        getattr(self.owner, self.name)(*self.args, **self.kwargs)

    def cleared(self) -> list[Any]:
        """The tensors whose gradients it takes away."""
        if self.name == "__setattr__":
            return [self.owner]
        to_none = self.args[0] if self.args else self.kwargs.get("set_to_none", True)
        if self.name != "zero_grad" or to_none is not True:
            return []
        groups = getattr(self.owner, "param_groups", None)
        if groups is None:
            return list(self.owner.parameters())
        return [p for group in groups for p in group["params"]]


class Observer:
    """What a profile function sees of a call.

    Attributes:
        executed: the code of users that ran, with its globals.
        preparations: the calls of functions that look at elements.
        effects: those of methods that change something, and of operations on values that such a
            method has asked for, after so many entries.
        reason: why no shortcut can stand for the call, empty if one can.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.executed: dict[types.CodeType, dict[str, Any]] = {}
        self.preparations: list[Preparation] = []
        self.effects: list[tuple[int, Effect | Preparation]] = []
        self.reason = ""
        self.sites: list[tuple[Any, Any]] = []
        self.writes: dict[int, int] = {}
        self.stores: dict[int, Any] = {}
        self.numbers: list[float] = []
        self._places: dict[int, tuple[int, Any]] = {}
        self._metadata = _metadata()
        self.run.newest, self._wrote = clock.newest, False
        # The calls that end the function, from the first that reads a value, and those that do.
        self._last_calls, self._reads = frozenset[int](), set[int]()
        self._words = default_generator.get_state()._array.tobytes()
        self._apart: _Apart | None = None
        self._inside: list[tuple[Any, Any]] = []  # frames of the library that a user's called

    def watch(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What a function gives."""
        watchers[get_ident()] = self._prepare
        sys.setprofile(self._see)
        try:
            return function(*args, **kwargs)
        finally:
            sys.setprofile(None)
            del watchers[get_ident()]
            self._note_run()

    def path(self) -> list[Entry]:
        """The entries of the run; UnguardedError if there is more to the call."""
        if self.reason:
            raise UnguardedError(self.reason)
        self._note_writes()
        if self._wrote:
            raise UnguardedError("it writes to memory")
        if self._last_calls != self._reads:
            raise UnguardedError("it calls something after it has read a value")
        return self.run.entry.path()

    def values(self) -> dict[int, Value]:
        """The places of the values of the run, by the identity of their tensors."""
        return {key: Value(place) for key, (place, _) in self._places.items()}

    def draws(self) -> bool:
        """Whether random numbers were drawn."""
        return default_generator.get_state()._array.tobytes() != self._words

    def _note_run(self) -> None:
        """What is to be known of the run, as long as nothing has settled it."""
        run = self.run
        if run.settled or run.recording:
            return
        self.numbers = [*run.numbers]
        self.sites = [(site, off) for site, off, _ in run.steps]
        self.writes, self.stores = {**run.writes}, {**run.stores}
        self._places = {
            id(x): (k, x) for k, of in enumerate(run.outputs)
            if k not in self.stores and (x := of()) is not None
        }  # fmt: skip

    def _prepare(self, function: Callable[..., Any], args: tuple[Any, ...], changes: bool) -> Any:
        before = self._apart
        if before is None and changes:
            self._note_run()
            self._note_writes()
        self._apart = before or _Apart(None, self.run.entry, lambda apart, result: None)
        try:
            results = function(*args)
        finally:
            self._apart = before
        if before is None and changes:
            self.run.newest = clock.newest
        if before is None and changes and not self.run.settled:
            self.effects.append((self._count(), Effect(function, "__call__", args, {})))
        elif before is None:
            self._note(Preparation(function, args, {}, results))
        return results

    def _note(self, call: Preparation) -> None:
        if self.run.settled:
            self.effects.append((self._count(), call))
        else:
            self.preparations.append(call)

    def _count(self) -> int:
        """How many entries the run has gone along."""
        return self.run.entry.depth - self.run.start.depth

    def _see(self, frame: types.FrameType, event: str, arg: Any) -> None:
        code, apart = frame.f_code, self._apart
        if self.reason or code.co_filename.startswith(_IMPORTING):
            return  # the rest of the call is of no interest, and a guard looks at modules
        if apart is not None:
            if apart.frame is frame and event == "return":
                self._apart = None
                apart.end(apart, arg)
        elif not is_ours(frame):
            if event == "call":
                self.executed[code] = frame.f_globals
            elif event == "c_call" and not is_pure(arg):
                self._refuse(frame, f"{arg.__qualname__}()")
        elif event == "call":
            self._called(frame)
        elif event == "return":
            self._returned(frame, arg)
        elif _is_of_array(arg) and code.co_filename in internal and not _is_replay(frame):
            self._refuse(frame, f"a read of elements in {code.co_qualname}()")

    def _state(self) -> tuple[Entry, int]:
        """What is another as soon as the run has gone on, or something was computed at once."""
        return self.run.entry, len(self.preparations) + len(self.effects)

    def _called(self, frame: types.FrameType) -> None:
        """The library is called, by its own code or a user's."""
        code, back = frame.f_code, frame.f_back
        front = front_of(code)
        by_user = not is_ours(back)
        if isinstance(front, _PURE):
            given = frame.f_locals
            self._set_apart(frame, front.function, given["args"], given["kwargs"])
        elif by_user and code.co_name in _EFFECTS:
            self._begin_effect(frame)
        elif by_user and code is _GRAD.fset.__code__ and _arguments(frame)[0][-1] is None:
            self._begin_effect(frame, ("__setattr__", ("grad", None)))
        elif by_user and (read := next((f for f in READS if f.__code__ is code), None)):
            self._begin_read(frame, read)
        elif by_user and code.co_name in _CREATION:
            args, kwargs = _arguments(frame)
            self._set_apart(frame, frame.f_globals[code.co_name], args, kwargs)
        elif by_user:
            self._inside.append((frame, self._state()))

    def _returned(self, frame: types.FrameType, result: Any) -> None:
        """A function of the library has come to its end."""
        if self._inside and self._inside[-1][0] is frame:
            _, before = self._inside.pop()
            if before == self._state() and not self._is_harmless(frame, result):
                self._refuse(frame, f"{frame.f_code.co_qualname}()")

    def _set_apart(self, frame: Any, function: Any, args: Any, kwargs: Any) -> None:
        """Do not look into a function that depends on its arguments alone."""

        def end(apart: _Apart, result: Any) -> None:
            if self.run.entry is not apart.entry:
                return  # it was deferred
            results = result if type(result) is tuple else (result,)
            late = self.run.settled
            if all(isinstance(x, Tensor) and (late or x._edge is None) for x in results):
                self._note(Preparation(function, args, kwargs, result))
            else:
                self._refuse(frame, f"{frame.f_code.co_name}()")

        self._apart = _Apart(frame, self.run.entry, end)

    def _begin_effect(self, frame: types.FrameType, call: Any = None) -> None:
        """A user's code calls a method that changes something, or does what another call does."""
        self._note_run()
        self._note_writes()
        args, kwargs = _arguments(frame)
        name, others = call or (frame.f_code.co_name, args[1:])
        effect = Effect(args[0] if args else None, name, others, {} if call else kwargs)
        self.effects.append((self._count(), effect))
        self._apart = _Apart(frame, self.run.entry, self._end_effect)

    def _end_effect(self, apart: _Apart, result: Any) -> None:
        self.run.newest = clock.newest
        if result is not None:
            self._refuse(apart.frame, f"{apart.frame.f_code.co_name}(), which gives something")

    def _begin_read(self, frame: types.FrameType, read: types.FunctionType) -> None:
        """A user's code asks for the number that a tensor holds."""
        self._note_run()
        self._note_writes()
        (tensor,), _ = _arguments(frame)
        self._apart = _Apart(frame, self.run.entry, partial(self._end_read, read, tensor))

    def _end_read(self, read: Any, tensor: Tensor, apart: _Apart, result: Any) -> None:
        """A number that Python can only return is no reason to run it."""
        self.run.newest = clock.newest
        frame = apart.frame
        user = frame.f_back
        called = calls_before_return(user.f_code, user.f_lasti)
        # Other numbers than floats may be objects that are met elsewhere.
        kept = type(result) is float and self.run.settled and user.f_back.f_code is _WATCH
        if not kept or called is None:
            self._refuse(frame, f"{frame.f_code.co_name}(), which reads a value before the end")
            return
        self._last_calls = self._last_calls or called
        self._reads.add(call_at(user.f_code, user.f_lasti))
        call = Preparation(read, (tensor,), {}, result)
        self.effects.append((self._count(), call))

    def _note_writes(self) -> None:
        """Whether memory was written to so far, but by effects."""
        if clock.newest != self.run.newest:
            self._wrote = True

    def _is_harmless(self, frame: types.FrameType, result: Any) -> bool:
        code = frame.f_code
        if code is _GRAD.fget.__code__:  # one that the run computes is there at every such call
            pending = result._pending if type(result) is Deferred else None
            return type(pending) is tuple and pending[0] is self.run
        if any(code is one.__code__ for one in _OF_SCALER):
            (scaler, *_), _ = _arguments(frame)
            return not scaler.is_enabled()
        front = front_of(code)
        name = code.co_name if front is None else front.function.__name__
        return name in _HARMLESS or any(code is one for one in self._metadata)

    def _refuse(self, frame: Any, what: str) -> None:
        if not self.reason:
            while frame is not None and is_ours(frame):
                frame = frame.f_back
            where = "" if frame is None else quoted_location(frame.f_code, frame.f_lasti)
            self.reason = f"{what}, called at {where}"


# What gives the number that a tensor holds. Their code changes, as fronts come and go.
READS = [vars(Tensor)[name] for name in ("item", "__float__")]
_WATCH = Observer.watch.__code__
_GRAD: Any = vars(Tensor)["grad"]
# What lets pass what it is given where a scaler is disabled.
_OF_SCALER: list[Any] = [
    GradScaler.scale, GradScaler.unscale_, GradScaler.update, GradScaler.get_scale,
    GradScaler.is_enabled,
]  # fmt: skip


def _is_replay(frame: types.FrameType) -> bool:
    """Whether a frame is of this package: compiled functions compare arrays, and copy them."""
    return bool(frame.f_globals.get("__package__") == _REPLAY)  # generated code has none


def _arguments(frame: types.FrameType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call: those without a default come by position."""
    given = inspect.getargvalues(frame)
    only = frame.f_code.co_kwonlyargcount
    names = given.args[: len(given.args) - only] if only else given.args
    rest = given.locals[given.varargs] if given.varargs else ()
    kwargs = {n: given.locals[n] for n in given.args[len(names) :]}
    if given.keywords:
        kwargs |= given.locals[given.keywords]
    return (*[given.locals[n] for n in names], *rest), kwargs


def _metadata() -> list[types.CodeType]:
    """The code by which tensors, their classes and their devices tell about themselves."""
    attributes = [vars(of).get(name) for of in (Tensor, Deferred) for name in METADATA]
    compared = [type(Deferred).__eq__, type(Deferred).__hash__, device.__eq__]
    functions = [*compared, *(getattr(x, "fget", x) for x in attributes if x is not None)]
    return [f.__code__ for f in functions if hasattr(f, "__code__")]


def is_ours(frame: Any) -> bool:
    """Whether code is the library's, or what that calls of NumPy and the standard library."""
    while frame is not None and _is_standard(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return False
    file = frame.f_code.co_filename
    return file in internal or file.startswith(_NUMPY)


def _is_standard(file: str) -> bool:
    return file.startswith(_STANDARD) and "-packages" not in file


def _is_of_array(function: Any) -> bool:
    """Whether a function of C is a method of an array."""
    return isinstance(getattr(function, "__self__", None), np.ndarray)
