"""The reader of pickles, opcode by opcode, with names that a test allows."""

from __future__ import annotations

import io
import pickle
import pickletools
import struct
from collections import Counter, OrderedDict
from pickle import UnpicklingError
from typing import Any

import pytest

from wengert.serialization._machine import _STEPS, Machine


class Names:
    """Notes what is asked for; `allowed` are the names that there are."""

    allowed: dict[str, Any] = {"m f": "function", "m C": "class", "m counter": Counter()}  # noqa: RUF012

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def find(self, module: str, name: str) -> Any:
        self.asked.append(("find", module, name))
        if f"{module} {name}" not in self.allowed:
            raise UnpicklingError(f"no {module}.{name}")
        return self.allowed[f"{module} {name}"]

    def call(self, machine: Machine, function: Any, arguments: tuple[Any, ...]) -> Any:
        self.asked.append(("call", function, arguments))
        return "called", arguments

    def make(self, machine: Machine, kind: Any, arguments: tuple[Any, ...]) -> Any:
        self.asked.append(("make", kind, arguments))
        return ["made"]

    def fill(self, machine: Machine, value: Any, state: Any) -> None:
        self.asked.append(("fill", value, state))


def machine(data: bytes, length: int | None = None, **options: Any) -> Machine:
    size = len(data) if length is None else length
    return Machine(io.BytesIO(data), size, Names(), lambda key: ("storage", key), **options)


def loaded(data: bytes, **options: Any) -> Any:
    return machine(data + b".", **options).load()


def u4(n: int) -> bytes:
    return struct.pack("<I", n)


def u8(n: int) -> bytes:
    return struct.pack("<Q", n)


VALUES = [
    None, True, False, 0, 255, 256, 65535, 65536, -1, 2**31 - 1, -(2**31), 2**40, -(2**70),
    2**3000, 0.5, -0.0, float("inf"), "", "text", "ä€𝄞", "\ud800", "x" * 300, b"", b"\0\xff",
    b"b" * 300, bytearray(b"abc"), (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [1], [1, [2, []]],
    {}, {"a": 1}, {1: {2: {}}}, set(), {1, 2}, frozenset({"a"}), [[1] * 3] * 2,
    [*range(2000)], {k: str(k) for k in range(2000)},
]  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v)[:20])
def test_what_python_writes_is_read(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    if any(op.name == "REDUCE" for op, _, _ in pickletools.genops(data)):
        return  # bytes and sets of older protocols are calls
    own = machine(data)
    out = own.load()
    assert out == value
    assert type(out) is type(value)
    assert own.left == 0
    assert own.protocol == protocol


def test_shared_values_stay_shared() -> None:
    inner = [1]
    out = machine(pickle.dumps([inner, inner, (inner,)])).load()
    assert out[0] is out[1] is out[2][0]


def test_values_that_hold_themselves() -> None:
    value: list[Any] = []
    value.append({"self": value})
    out = machine(pickle.dumps(value)).load()
    assert out[0]["self"] is out


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"(K\x01K\x02l", [1, 2]),
        (b"(K\x01K\x02d", {1: 2}),
        (b"(K\x01K\x02t", (1, 2)),
        (b"]K\x01a", [1]),
        (b"](K\x01K\x02e", [1, 2]),
        (b"}K\x01K\x02s", {1: 2}),
        (b"\x8f(K\x01K\x02\x90", {1, 2}),
        (b"(K\x01\x91", frozenset({1})),
        (b"K\x01K\x020", 1),  # POP
        (b"K\x01(0", 1),  # POP of a mark
        (b"K\x01(K\x02K\x031", 1),  # POP_MARK
        (b"K\x07q\x050h\x05", 7),  # BINPUT, POP, BINGET
        (b"K\x07r" + u4(300) + b"0j" + u4(300), 7),
        (b"K\x07\x940h\x00", 7),  # MEMOIZE
        (b"\x95" + u8(2) + b"K\x07", 7),  # FRAME
        (b"\x8a\x00", 0),  # LONG1
        (b"\x8a\x02\x00\x80", -32768),
        (b"\x8b" + u4(1) + b"\xff", -1),  # LONG4
        (b"K\x05Q", ("storage", 5)),  # BINPERSID
    ],
)
def test_single_steps(data: bytes, value: Any) -> None:
    assert loaded(data) == value


def test_strings_of_python_2() -> None:
    assert loaded(b"U\x02ab") == "ab"
    assert loaded(b"T" + u4(2) + b"\xe4b", encoding="latin-1") == "äb"
    assert loaded(b"U\x02\xe4b", encoding="bytes") == b"\xe4b"
    with pytest.raises(UnpicklingError, match="the pickle is damaged: 'utf-8' codec"):
        loaded(b"U\x02\xe4b")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a value is missing"),
        (b"0", "a value is missing"),
        (b"(", "a value is missing"),  # a mark is no value
        (b"K\x01\x86", "a value is missing"),  # TUPLE2 of one
        (b"t", "a mark is missing"),
        (b"1", "a mark is missing"),
        (b"K\x01e", "a mark is missing"),
        (b"(0t", "a mark is missing"),
        (b"}K\x01a", "Can only append to lists, but got <class 'dict'>"),
        (b"]K\x01K\x02s", "Can only set items of dictionaries, but got <class 'list'>"),
        (b"](K\x01\x90", "Can only add items to sets, but got <class 'list'>"),
        (b"}(K\x01u", "a key has no value"),
        (b"(K\x01d", "a key has no value"),
        (b"}]K\x01s", "the pickle is damaged: .*unhashable type"),
        (b"h\x07", "Memo value not found at index 7"),
        (b"j" + u4(70000), "Memo value not found at index 70000"),
        (b"K\x01K\x02\x93", "STACK_GLOBAL requires str"),
        (b"K\x01\x8c\x01f\x93", "STACK_GLOBAL requires str"),
        (b"cm\nf\nK\x01R", "arguments of a call are a tuple, but got <class 'int'>"),
        (b"cm\nC\n]\x81", "arguments of a call are a tuple"),
        (b"cother\nname\n", r"no other\.name"),
        (b"\x80\x06", "unsupported pickle protocol: 6"),
        (b"\x8c\x02\xff\xff", "the pickle is damaged: 'utf-8' codec"),
    ],
)
def test_what_is_damaged(data: bytes, message: str) -> None:
    with pytest.raises(UnpicklingError, match=message):
        loaded(data)


def test_opcodes_that_are_not_there() -> None:
    """Calls of classes by name, extensions, buffers and lines of text among them."""
    codes = [op.code.encode("latin-1") for op in pickletools.opcodes]
    refused = {code for code in codes if code not in _STEPS and code != pickle.STOP}
    assert {pickle.INST, pickle.OBJ, pickle.NEWOBJ_EX, pickle.EXT1, pickle.PERSID} <= refused
    assert {pickle.NEXT_BUFFER, pickle.DUP, pickle.INT, pickle.STRING} <= refused
    for code in refused:
        with pytest.raises(UnpicklingError, match=f"Unsupported operand {code[0]}$"):
            loaded(code)


@pytest.mark.parametrize(
    "data",
    [b"K", b"J\1\2", b"X" + u4(10) + b"abc", b"\x8d" + u8(2**62), b"\x8e" + u8(2**63),
     b"G123", b"\x8b" + u4(2**31)],
)  # fmt: skip
def test_lengths_beyond_the_end(data: bytes) -> None:
    """Nothing is allocated for them."""
    with pytest.raises(UnpicklingError, match="truncated"):
        machine(data).load()


def test_no_more_is_read_than_may_be() -> None:
    own = machine(b"K\x01.trailing", length=3)
    assert own.load() == 1
    assert own.file.tell() == 3
    with pytest.raises(UnpicklingError, match="truncated"):
        machine(b"K\x01.", length=2).load()


def test_names_of_a_line() -> None:
    own = machine(b"cm\nf\n.")
    assert own.load() == "function"
    assert own.names.asked == [("find", "m", "f")]  # type: ignore[attr-defined]
    for data in (b"cm\nf", b"c" + b"m" * 2000 + b"\nf\n."):
        with pytest.raises(UnpicklingError, match="truncated, or a name is too long"):
            machine(data).load()


def test_calls_go_to_the_names() -> None:
    own = machine(b"\x8c\x01m\x8c\x01f\x93K\x01\x85R.")
    assert own.load() == ("called", (1,))
    assert own.names.asked == [  # type: ignore[attr-defined]
        ("find", "m", "f"), ("call", "function", (1,))
    ]  # fmt: skip


def test_objects_are_made_and_filled_by_the_names() -> None:
    own = machine(b"cm\nC\n)\x81}b.")
    assert own.load() == ["made"]
    assert own.names.asked[1:] == [  # type: ignore[attr-defined]
        ("make", "class", ()), ("fill", ["made"], {})
    ]  # fmt: skip


def test_dictionaries_of_a_known_kind_take_items() -> None:
    class Special(dict):  # type: ignore[type-arg]
        pass

    own = machine(b"cm\ncounter\nK\x01K\x05s.")
    own.names.allowed = {"m counter": OrderedDict()}  # type: ignore[attr-defined]
    assert own.load() == {1: 5}
    own = machine(b"cm\ncounter\nK\x01K\x05s.")
    own.names.allowed = {"m counter": Special()}  # type: ignore[attr-defined]
    with pytest.raises(UnpicklingError, match="Can only set items of dictionaries"):
        own.load()


def test_a_budget_of_four_times_the_length() -> None:
    own = machine(b"x" * 10)
    own.spend(40)
    with pytest.raises(UnpicklingError, match="grows beyond its own length"):
        own.spend(1)


def nested(depth: int) -> Any:
    value: Any = ()
    for _ in range(depth):
        value = (value,)
    return value


def test_keys_may_not_be_deep() -> None:
    own = machine(b"")
    assert own.key(nested(15)) == nested(15)
    with pytest.raises(UnpicklingError, match="nested too deeply"):
        own.key(nested(17))
    with pytest.raises(UnpicklingError, match="nested too deeply"):
        machine(pickle.dumps({nested(40): 1})).load()


def test_keys_may_not_unfold() -> None:
    """(k, k) of (k, k) of ... has few objects and many parts."""
    value: Any = (1,)
    for _ in range(15):
        value = (value, value)
    with pytest.raises(UnpicklingError, match="too large"):
        machine(b"").key(value)
    assert machine(b"").key((1,) * 10_000)
    with pytest.raises(UnpicklingError, match="too large"):
        machine(b"").key((1,) * 10_001)
    with pytest.raises(UnpicklingError, match="too large"):
        machine(b"").key(frozenset(range(10_001)))


def test_errors_of_the_program_are_its_own() -> None:
    def fail(key: Any) -> Any:
        raise ValueError("the program's")

    own = Machine(io.BytesIO(b"K\x05Q."), 4, Names(), fail)
    with pytest.raises(ValueError, match=r"^the program's$"):
        own.load()


def test_errors_of_names_are_damages() -> None:
    class Odd(Names):
        def find(self, module: str, name: str) -> Any:
            raise ValueError("odd")

    with pytest.raises(UnpicklingError, match="the pickle is damaged: odd"):
        Machine(io.BytesIO(b"cm\nf\n."), 6, Odd(), lambda key: key).load()
