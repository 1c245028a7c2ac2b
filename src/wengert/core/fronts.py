"""The public functions, and what stands in front of them while somebody may answer for them.

Without classes or modes that define `__torch_function__` a public function is what its module
defines. The first such class *arms* the functions that are written by hand: their code gives way
to a front, which asks the arguments and then runs what the module defined. (What `ops` generates
asks by itself.) A mode arms all functions, until the last one in the process ends.

Functions keep their identity, so that `func is torch.add` holds for whoever keeps a table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from functools import cache
from types import CodeType, FrameType, FunctionType
from typing import Any

from wengert.core.forks import compile_lock
from wengert.core.overriding import (
    NoImplementationError,
    answering,
    ask,
    asked_modes,
    overriding,
    silent,
    with_elements,
)

Function = Callable[..., Any]


class Front:
    """A function, and the code that stands in front of it while it is *armed*.

    Attributes:
        function: the function.
        impl: a function that does what `function` does when it is not armed.
        body: the code that it had when it was armed last.
        front: the code that it has when it is.
        asks: while this is not empty every call is asked about, otherwise those with an argument
            that may answer.
    """

    __slots__ = ("asks", "body", "front", "function", "impl")

    by_arguments = True  # whether calls with an argument that may answer are asked about at all
    # Lines that come before the call of `ask`, and what they call `own`.
    lines = ""
    own: Any = None

    def __init__(self, function: Any, asks: Collection[Any]) -> None:
        self.impl: Any = None
        self.body: CodeType | None = None
        self.front: CodeType | None = None
        self.function, self.asks = function, asks

    @property
    def holder(self) -> Any:
        """The function whose code gives way."""
        return self.function

    @property
    def armed(self) -> bool:
        """Whether the front is in place."""
        return self.front is not None and self.holder.__code__ is self.front

    def arm(self) -> None:
        """Put the front in place."""
        f = self.holder
        if f.__code__ is self.front:
            return
        if self.impl is None or self.front is None:
            self.impl = FunctionType(f.__code__, f.__globals__, f.__name__, None, f.__closure__)
            self.impl.__qualname__ = f.__qualname__
            self.front = self.made()
        self.body = f.__code__
        _move_body(f, self.impl)
        if not hasattr(f, "__wrapped__"):
            f.__wrapped__ = self.impl  # has its signature
        f.__code__ = self.front
        tell(self.function)

    def disarm(self) -> None:
        """Take the front away."""
        f = self.holder
        if f.__code__ is not self.front:
            return
        if getattr(f, "__wrapped__", None) is self.impl:  # an interruption may have removed it
            del f.__wrapped__
        _move_body(self.impl, f)
        tell(self.function)

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call while the front is in place."""
        raise NotImplementedError

    def made(self) -> CodeType:
        """The code that runs `impl` unless somebody is to be asked: see `ask`."""
        values = (self.ask, self.impl, self.asks, silent, self.own)
        text = _FRONT if self.by_arguments else _SHORT_FRONT
        code = _front_code(self.function.__code__.co_freevars, text, self.lines)
        consts = tuple([values if c == _PLACES else c for c in code.co_consts])
        return code.replace(co_consts=consts, co_name=self.function.__name__)

    def beside(self, operator: Any) -> CodeType | None:
        """The code of an operator that does what the function does, if it is to be another one."""
        return None


class PublicFunction(Front):
    """A public function: what it is called, and what those who answer for it are given.

    Attributes:
        function: the function that is armed; of a property, its getter or setter.
        func: what `__torch_function__` gets: the function itself or, say, `Tensor.shape.__get__`.
        name: where it stands, such as ``torch.Tensor.add``.
        operator: whether it returns NotImplemented if all who are asked do.
        generated: whether `ops` wrote the function.
    """

    __slots__ = ("func", "generated", "name", "operator")

    def __init__(self, function: Any, name: str, func: Any, operator: bool) -> None:
        super().__init__(function, _modes)
        self.name, self.operator = name, operator
        self.func = function if func is None else func
        self.generated: bool = function.__globals__.get("published") is function

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answer of a mode or of an argument; the function's own where nobody answers."""
        if self.name in argument_forms:
            args = argument_forms[self.name](args)
        modes = asked_modes()
        asked = []
        if not (overriding.off or overriding.subclasses_off):
            asked = answering(with_elements((*args, *kwargs.values())))
        if not modes and not asked:
            return self.impl(*args, **kwargs)
        try:
            return ask(self.func, self.name, asked, args, kwargs)
        except NoImplementationError:
            if self.operator:
                return NotImplemented
            raise


# Functions that bring their positional arguments into one form before they ask, by name.
argument_forms: dict[str, Callable[[tuple[Any, ...]], tuple[Any, ...]]] = {}


def _move_body(source: Any, target: Any) -> None:
    """Have one function do what another does: both have the same globals."""
    target.__defaults__, target.__kwdefaults__ = source.__defaults__, source.__kwdefaults__
    target.__code__ = source.__code__
    scope = target.__globals__
    if scope.get("published") is source:  # of an operation: its first call writes the body
        scope["published"] = target
        if scope.get(source.__name__) is source:
            scope[source.__name__] = target


# What tracebacks and `internal` call the file of a front.
FILE = "<front>"

# The names in capitals stand for values of each front's own.
_OPENING = """\
def outer({free}):
    def front(*args, **kwargs):
        if 0:
            ({free})
        ask, impl, modes, silent, own = "ASK", "IMPL", "MODES", "SILENT", "OWN"
        if modes:
{lines}\
            return ask(args, kwargs)
"""
_LOOK = """\
        for value in args:
            if type(value) not in silent:
                return ask(args, kwargs)
        if kwargs:
            for value in kwargs.values():
                if type(value) not in silent:
                    return ask(args, kwargs)
"""
_ENDING = """\
        return impl(*args, **kwargs)
    return front
"""
_FRONT = _OPENING + _LOOK + _ENDING
_SHORT_FRONT = _OPENING + _ENDING


@cache
def _front_code(free: tuple[str, ...], text: str, lines: str) -> CodeType:
    """What is in front of any function that has these free variables."""
    scope: dict[str, Any] = {}
    exec(compile(text.format(free=", ".join(free), lines=lines), FILE, "exec"), scope)
    code: CodeType = scope["outer"](*free).__code__
    return code


def front_of(code: CodeType) -> Front | None:
    """The front that some code is of."""
    if code.co_filename != FILE:
        return None
    values = next(c for c in code.co_consts if type(c) is tuple and len(c) == len(_PLACES))
    front: Front = values[0].__self__
    return front


_PLACES = ("ASK", "IMPL", "MODES", "SILENT", "OWN")

# One for each mode that is on in this process: while there are some, all functions are armed.
_modes: list[None] = []

# Called with each function whose code has been replaced.
replaced: list[Callable[[Any], None]] = []


def tell(function: Any) -> None:
    """Have it known that a function's code has been replaced."""
    for listener in replaced:
        listener(function)


# By function.
public_functions: dict[Any, PublicFunction] = {}
# Called with each function that is entered, and its name.
listeners: list[Callable[[Any, str], None]] = []
# Operations below the public ones to which autocast has something to say.
unpublished: dict[str, Any] = {}


class _Armed:
    """What is armed in this process."""

    classes = False  # the functions written by hand, for good


_armed = _Armed()


def publish(function: Any, name: str, func: Any = None, operator: bool = False) -> None:
    """Enter a function into the table, under the first name that comes."""
    if isinstance(function, FunctionType) and function not in public_functions:
        public = public_functions[function] = PublicFunction(function, name, func, operator)
        if _modes or (_armed.classes and not public.generated):
            public.arm()
        for listener in listeners:
            listener(function, name)


def publish_module(prefix: str, names: Iterable[str], scope: dict[str, Any]) -> None:
    """Enter the functions of a namespace; of several names of one its own."""
    functions = [(name, scope.get(name)) for name in names if name[0] != "_"]
    own = [(name, f) for name, f in functions if getattr(f, "__name__", "") == name]
    for name, function in (*own, *functions):
        publish(function, f"{prefix}.{name}")


def arm_for_classes() -> None:
    """Ask the arguments of all public functions from now on."""
    if _armed.classes:
        return
    with compile_lock:
        _armed.classes = True
        for public in [*public_functions.values()]:
            if not public.generated:
                public.arm()


def arm_for_mode() -> None:
    """A mode begins."""
    with compile_lock:
        _modes.append(None)
        if len(_modes) == 1:
            for public in [*public_functions.values()]:
                public.arm()


def disarm_for_mode() -> None:
    """A mode ends."""
    with compile_lock:
        _modes.pop()
        if not _modes:
            for public in public_functions.values():
                if public.generated or not _armed.classes:
                    public.disarm()


def called_from_a_function(inner: PublicFunction | None) -> bool:
    """Whether a public function other than `inner` has called what is running."""
    bodies = {p.body for p in public_functions.values() if p is not inner and not p.generated}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in bodies:
            return True
        frame = frame.f_back
    return False


def armed_for_classes() -> bool:
    """Whether some class has had a `__torch_function__`."""
    return _armed.classes
