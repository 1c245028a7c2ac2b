"""The pickle reader: a stack machine for the opcodes used for data.

It calls nothing but builders: functions that its `NameResolver` attaches to the names a pickle may
refer to. Anything else in a pickle is refused: a call of anything but a builder, an opcode
that is not in the table, an attribute of an object.

A few bytes must not expand into much: copies made by builders are charged against the length of
the pickle, and keys of dictionaries and sets must not be deep, because they are hashed.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import IO, Any, Protocol

_MARK = object()
_DICTS = (dict, OrderedDict, Counter, defaultdict)
_MOST_KEY_PARTS = 10_000
_DEEPEST_KEY = 16
_HIGHEST_PROTOCOL = 5
_LONGEST_NAME = 1000


class NameResolver(Protocol):
    """Resolves names for a machine, and controls what it may do with the values."""

    def find(self, module: str, name: str) -> Any:
        """The value that a name stands for; UnpicklingError if it is not allowed."""

    def call(self, machine: Machine, function: Any, arguments: tuple[Any, ...]) -> Any:
        """What a call gives; UnpicklingError if it is not allowed."""

    def make(self, machine: Machine, kind: Any, arguments: tuple[Any, ...]) -> Any:
        """A new object of a class; UnpicklingError if it is not allowed."""

    def fill(self, machine: Machine, value: Any, state: Any) -> None:
        """Give an object its state; UnpicklingError if it is not allowed."""


class Machine:
    """Reads one pickle from a file, of which `length` bytes may be used."""

    def __init__(
        self,
        file: IO[bytes],
        length: int,
        names: NameResolver,
        storage: Callable[[Any], Any],
        encoding: str = "utf-8",
    ) -> None:
        self.file, self.left, self.budget = file, length, 4 * length
        self.names, self.storage, self.encoding = names, storage, encoding
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.protocol = 0
        self.outside = False  # while functions of the program run: their errors are their own

    def load(self) -> Any:
        """The object that the pickle describes."""
        try:
            while True:
                code = self.read(1)
                if code == pickle.STOP:
                    return self.pop()
                step = _STEPS.get(code)
                if step is None:
                    raise UnpicklingError(f"Unsupported operand {code[0]}")
                step(self)
        except (UnicodeDecodeError, TypeError, ValueError, OverflowError) as error:
            if self.outside:
                raise
            raise UnpicklingError(f"the pickle is damaged: {error}") from None

    def let(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call something that may run functions of the program."""
        self.outside = True
        value = function(*arguments)
        self.outside = False
        return value

    def read(self, n: int) -> bytes:
        """The next bytes; there have to be that many."""
        if n > self.left:
            raise UnpicklingError("pickle data was truncated")
        data = self.file.read(n)
        if len(data) != n:
            raise UnpicklingError("pickle data was truncated")
        self.left -= n
        return data

    def line(self) -> str:
        """The next line, without its end."""
        data = self.file.readline(min(self.left, _LONGEST_NAME))
        self.left -= len(data)
        if not data.endswith(b"\n"):
            raise UnpicklingError("pickle data was truncated, or a name is too long")
        return data[:-1].decode()

    def number(self, form: str) -> Any:
        """The next number, as `struct` describes it."""
        return struct.unpack(form, self.read(struct.calcsize(form)))[0]

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

    def pop(self) -> Any:
        """Take the last value from the stack."""
        if not self.stack or self.stack[-1] is _MARK:
            raise UnpicklingError("the pickle is damaged: a value is missing")
        return self.stack.pop()

    def top(self) -> Any:
        """The last value of the stack."""
        value = self.pop()
        self.stack.append(value)
        return value

    def since_mark(self) -> list[Any]:
        """Take the values since the last mark from the stack, and the mark."""
        if not self.marks:
            raise UnpicklingError("the pickle is damaged: a mark is missing")
        at = self.marks.pop()
        if len(self.stack) <= at or self.stack[at] is not _MARK:
            raise UnpicklingError("the pickle is damaged: a mark is missing")
        values = self.stack[at + 1 :]
        del self.stack[at:]
        return values

    def spend(self, n: int) -> None:
        """Count items that a builder copies: a pickle that was saved holds each of them once."""
        self.budget -= n
        if self.budget < 0:
            raise UnpicklingError("the pickle grows beyond its own length")

    def key(self, value: Any) -> Any:
        """Check a value that is about to be hashed."""
        left, level = _MOST_KEY_PARTS, [value]
        for _ in range(_DEEPEST_KEY):
            below: list[Any] = []
            for item in level:
                if isinstance(item, tuple | frozenset):
                    left -= len(item)
                    if left < 0:
                        raise UnpicklingError("a key of the pickle is too large")
                    below.extend(item)
            if not below:
                return value
            level = below
        raise UnpicklingError("a key of the pickle is nested too deeply")


def _proto(m: Machine) -> None:
    m.protocol = m.number("B")
    if m.protocol > _HIGHEST_PROTOCOL:
        raise UnpicklingError(f"unsupported pickle protocol: {m.protocol}")


def _mark(m: Machine) -> None:
    m.marks.append(len(m.stack))
    m.push(_MARK)


def _discard(m: Machine) -> None:
    if m.stack and m.stack[-1] is _MARK:
        m.since_mark()
    else:
        m.pop()


def _discard_to_mark(m: Machine) -> None:
    m.since_mark()


def _frame(m: Machine) -> None:
    m.read(8)  # how long the next part is: it is read as it comes


def _constant(value: Any) -> Callable[[Machine], None]:
    return lambda m: m.push(value)


def _fresh(kind: Callable[[], Any]) -> Callable[[Machine], None]:
    return lambda m: m.push(kind())


def _number(form: str) -> Callable[[Machine], None]:
    return lambda m: m.push(m.number(form))


def _text(form: str) -> Callable[[Machine], None]:
    return lambda m: m.push(m.read(m.number(form)).decode("utf-8", "surrogatepass"))


def _bytes(form: str, kind: Callable[[bytes], Any] = bytes) -> Callable[[Machine], None]:
    return lambda m: m.push(kind(m.read(m.number(form))))


def _old_string(form: str) -> Callable[[Machine], None]:
    """The strings of Python 2."""

    def step(m: Machine) -> None:
        data = m.read(m.number(form))
        m.push(data if m.encoding == "bytes" else data.decode(m.encoding))

    return step


def _long(form: str) -> Callable[[Machine], None]:
    return lambda m: m.push(int.from_bytes(m.read(m.number(form)), "little", signed=True))


def _tuple(n: int) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        values = [m.pop() for _ in range(n)]
        m.push(tuple(reversed(values)))

    return step


def _append(m: Machine) -> None:
    _extend(m, [m.pop()])


def _extend(m: Machine, values: list[Any]) -> None:
    target = m.top()
    if type(target) is not list:
        raise UnpicklingError(f"Can only append to lists, but got {type(target)}")
    target.extend(values)


def _set_items(m: Machine, values: list[Any]) -> None:
    target = m.top()
    if type(target) not in _DICTS:
        raise UnpicklingError(f"Can only set items of dictionaries, but got {type(target)}")
    if len(values) % 2:
        raise UnpicklingError("the pickle is damaged: a key has no value")
    for key, value in zip(values[::2], values[1::2], strict=True):
        target[m.key(key)] = value


def _set_item(m: Machine) -> None:
    value = m.pop()
    _set_items(m, [m.pop(), value])


def _add_items(m: Machine) -> None:
    values, target = m.since_mark(), m.top()
    if type(target) is not set:
        raise UnpicklingError(f"Can only add items to sets, but got {type(target)}")
    target.update([m.key(value) for value in values])


def _dict(m: Machine) -> None:
    values = m.since_mark()
    m.push({})
    _set_items(m, values)


def _recall(form: str) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        index = m.number(form)
        if index not in m.memo:
            raise UnpicklingError(f"Memo value not found at index {index}")
        m.push(m.memo[index])

    return step


def _remember(form: str) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        m.memo[m.number(form)] = m.top()

    return step


def _memoize(m: Machine) -> None:
    m.memo[len(m.memo)] = m.top()


def _global(m: Machine) -> None:
    module = m.line()
    m.push(m.names.find(module, m.line()))


def _stack_global(m: Machine) -> None:
    name, module = m.pop(), m.pop()
    if type(name) is not str or type(module) is not str:
        raise UnpicklingError("STACK_GLOBAL requires str")
    m.push(m.names.find(module, name))


def _arguments(m: Machine) -> tuple[Any, ...]:
    arguments = m.pop()
    if type(arguments) is not tuple:
        raise UnpicklingError(f"arguments of a call are a tuple, but got {type(arguments)}")
    return arguments


def _reduce(m: Machine) -> None:
    arguments = _arguments(m)
    m.push(m.names.call(m, m.pop(), arguments))


def _new_object(m: Machine) -> None:
    arguments = _arguments(m)
    m.push(m.names.make(m, m.pop(), arguments))


def _build(m: Machine) -> None:
    state = m.pop()
    m.names.fill(m, m.top(), state)


_STEPS: dict[bytes, Callable[[Machine], None]] = {
    pickle.PROTO: _proto,
    pickle.FRAME: _frame,
    pickle.MARK: _mark,
    pickle.POP: _discard,
    pickle.POP_MARK: _discard_to_mark,
    pickle.NONE: _constant(None),
    pickle.NEWTRUE: _constant(True),
    pickle.NEWFALSE: _constant(False),
    pickle.BININT: _number("<i"),
    pickle.BININT1: _number("B"),
    pickle.BININT2: _number("<H"),
    pickle.LONG1: _long("B"),
    pickle.LONG4: _long("<I"),
    pickle.BINFLOAT: _number(">d"),
    pickle.BINUNICODE: _text("<I"),
    pickle.SHORT_BINUNICODE: _text("B"),
    pickle.BINUNICODE8: _text("<Q"),
    pickle.BINBYTES: _bytes("<I"),
    pickle.SHORT_BINBYTES: _bytes("B"),
    pickle.BINBYTES8: _bytes("<Q"),
    pickle.BYTEARRAY8: _bytes("<Q", bytearray),
    pickle.BINSTRING: _old_string("<I"),
    pickle.SHORT_BINSTRING: _old_string("B"),
    pickle.EMPTY_TUPLE: _constant(()),
    pickle.TUPLE1: _tuple(1),
    pickle.TUPLE2: _tuple(2),
    pickle.TUPLE3: _tuple(3),
    pickle.TUPLE: lambda m: m.push(tuple(m.since_mark())),
    pickle.EMPTY_LIST: _fresh(list),
    pickle.LIST: lambda m: m.push(m.since_mark()),
    pickle.APPEND: _append,
    pickle.APPENDS: lambda m: _extend(m, m.since_mark()),
    pickle.EMPTY_DICT: _fresh(dict),
    pickle.DICT: _dict,
    pickle.SETITEM: _set_item,
    pickle.SETITEMS: lambda m: _set_items(m, m.since_mark()),
    pickle.EMPTY_SET: _fresh(set),
    pickle.ADDITEMS: _add_items,
    pickle.FROZENSET: lambda m: m.push(frozenset([m.key(v) for v in m.since_mark()])),
    pickle.BINGET: _recall("B"),
    pickle.LONG_BINGET: _recall("<I"),
    pickle.BINPUT: _remember("B"),
    pickle.LONG_BINPUT: _remember("<I"),
    pickle.MEMOIZE: _memoize,
    pickle.GLOBAL: _global,
    pickle.STACK_GLOBAL: _stack_global,
    pickle.REDUCE: _reduce,
    pickle.NEWOBJ: _new_object,
    pickle.BUILD: _build,
    pickle.BINPERSID: lambda m: m.push(m.let(m.storage, m.pop())),
}
