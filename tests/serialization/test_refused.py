"""No file runs code, reads out of bounds or takes more than its size warrants."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert
from tests.serialization.samples import others, saved, tensors
from wengert.serialization.archives import Writer

DECLARED = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError)


def archive(pickled: bytes, *, data: bytes = b"") -> io.BytesIO:
    """A file whose pickle is as given."""
    stream = io.BytesIO()
    writer = Writer(stream, "archive")
    writer.add("data.pkl", pickled)
    writer.add("data/0", data)
    writer.add("version", b"3\n")
    writer.close()
    stream.seek(0)
    return stream


class Call:
    """Pickled as a call of anything."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.reduced = function, arguments

    def __reduce__(self) -> Any:
        return self.reduced


def text(code: bytes, value: str) -> bytes:
    return code + struct.pack("<I", len(value)) + value.encode()


NAME = text(b"X", "touch ran")
HOSTILE = {
    "reduce": pickle.dumps(Call(os.system, "touch ran"), 2),
    "stack global": pickle.dumps(Call(os.system, "touch ran"), 4),
    "nested": pickle.dumps({"a": [({"b": Call(eval, "open('ran', 'w')")},)]}, 2),
    "getattr": pickle.dumps(Call(getattr, "", "join"), 2),
    "inst": b"(" + NAME + b"ios\nsystem\n.",
    "obj": b"(cos\nsystem\n" + NAME + b"o.",
    "extension": b"\x82\x01.",
    "newobj_ex": b"\x80\x04csubprocess\nPopen\n" + NAME + b"\x85}\x92.",
    "import": pickle.dumps(Call(__import__, "this"), 2),
    "attribute of torch": b"ctorch\nos.system\n" + NAME + b"\x85R.",
    "dotted attribute": b"\x80\x04\x8c\x05torch\x8c\x0bTensor.save\x93.",
    "module of torch": b"ctorch.serialization\nos.system\n" + NAME + b"\x85R.",
    "load": b"ctorch\nload\n" + NAME + b"\x85R.",
    "nested load": b"ctorch.storage\n_load_from_bytes\n" + NAME + b"\x85R.",
    "numpy": b"cnumpy\nload\n" + NAME + b"\x85R.",
    "a value that is called": b"ctorch\nfloat32\n)R.",
    "a class that is called": b"ctorch\nTensor\n)R.",
    "an object's method": b"ccollections\nOrderedDict\n)R(X\x05\x00\x00\x00itemsK\x01ub.",
    "shadowed method": b"ccollections\nOrderedDict\n)R}X\x05\x00\x00\x00itemsK\x01sb.",
    "state of a class": b"ccollections\nOrderedDict\n}X\x01\x00\x00\x00aK\x01sb.",
    "append to a class": b"ccollections\nOrderedDict\nK\x01a.",
    "factory": b"ccollections\ndefaultdict\nccollections\nOrderedDict\n\x85R.",
    "object dtype": b"cnumpy\ndtype\n(X\x01\x00\x00\x00OI00\nI01\ntR.",
    "object dtype 2": b"cnumpy\ndtype\nX\x01\x00\x00\x00O\x89\x88\x87R.",
    "tensor of nothing": b"ctorch._utils\n_rebuild_tensor_v2\n(NK\x00)) \x89Nt.",
    "persistent id": b"K\x01Q.",
}  # fmt: skip


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_refused(
    name: str, weights_only: bool, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pickle.UnpicklingError):
        wengert.load(archive(HOSTILE[name]), weights_only=weights_only)
    assert os.listdir(tmp_path) == []


def test_refusal_names_what_was_asked_for() -> None:
    with pytest.raises(pickle.UnpicklingError) as caught:
        wengert.load(archive(pickle.dumps(Call(os.path.join, "a"), 2)))
    message = str(caught.value)
    assert message.startswith("Weights only load failed")
    assert "GLOBAL posixpath.join was not an allowed global by default" in message
    assert "add_safe_globals([posixpath.join])" in message


def test_some_modules_cannot_be_allowed() -> None:
    file = archive(HOSTILE["reduce"])
    with wengert.serialization.safe_globals([os.system, eval]):
        with pytest.raises(pickle.UnpicklingError, match="blocked"):
            wengert.load(file)
        with pytest.raises(pickle.UnpicklingError, match="blocked"):
            wengert.load(archive(HOSTILE["nested"]))


class Guarded:
    """A class that a program allows, some of which is its own affair."""

    ran: ClassVar[list[str]] = []
    __slots__ = ("__dict__", "slot")

    @property
    def width(self) -> int:
        """With a setter that runs code."""
        return 1

    @width.setter
    def width(self, value: int) -> None:
        self.ran.append("width")

    def __setattr__(self, name: str, value: Any) -> None:
        self.ran.append(name)
        super().__setattr__(name, value)

    def method(self) -> str:
        """What a file may not replace."""
        return "the program's"


class GuardedModule(wengert.nn.Module):
    """The same as a module."""

    width = Guarded.width
    ran = Guarded.ran

    def method(self) -> str:
        """What a file may not replace."""
        return "the program's"


@dataclass
class Options:
    """A field with a function as its default."""

    activation: Any = len
    size: int = 3


def built(name: str, state: Any) -> io.BytesIO:
    """A file with an object of a class in this module, and its state."""
    made = b"\x80\x02" + f"c{__name__}\n{name}\n".encode() + b")\x81"
    return archive(made + pickle.dumps(state, 2)[2:-1] + b"b.")


STATES: dict[str, Any] = {
    "property": (None, {"width": 1}),
    "class": (None, {"__class__": 1}),
    "dictionary": (None, {"__dict__": {"a": 1}}),
    "attribute as a slot": (None, {"other": 1}),
    "no name": (None, {1: 1}),
    "method": {"method": 1},
    "method in a pair": ({"method": 1}, None),
    "special method": {"__reduce_ex__": 1},
    "names that are none": {1: 2},
    "no dictionary": 5,
    "three parts": ({}, {}, {}),
}  # fmt: skip


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
@pytest.mark.parametrize("name", ["Guarded", "GuardedModule"])
def test_what_a_class_decides_no_file_sets(name: str, state: Any) -> None:
    with (
        wengert.serialization.safe_globals([Guarded]),
        pytest.raises(pickle.UnpicklingError),
    ):
        wengert.load(built(name, state), weights_only=False)
    assert Guarded.ran == []


def test_what_objects_have_is_set_without_their_help() -> None:
    state = ({"other": 2, "width": 5}, {"slot": 3})
    with wengert.serialization.safe_globals([Guarded, Options]):
        value = wengert.load(built("Guarded", state))
        options = wengert.load(built("Options", {"activation": 1, "size": 4}))
    assert (value.other, value.slot, value.width, value.method()) == (2, 3, 1, "the program's")
    assert Guarded.ran == []
    assert options == Options(1, 4)


@pytest.mark.parametrize("state", [{"param_groups": 1}, {"state": 1}, {}])
def test_damaged_states_of_the_library_are_its_errors(state: Any) -> None:
    made = b"\x80\x02ctorch.optim.adam\nAdam\n)\x81" + pickle.dumps(state, 2)[2:-1] + b"b."
    with pytest.raises(pickle.UnpicklingError, match="damaged"):
        wengert.load(archive(made), weights_only=False)


INTERNAL = {
    "module": b"cwengert.ops\npublish\n.",
    "function": b"cwengert.ops.publish\npublish\n.",
    "through torch": b"ctorch.ops\npublish\n.",
    "of another module": b"cwengert.ops.activation\nrelu\n.",
    "attribute of a function": b"\x80\x04\x8c\x05torch\x8c\x0crelu.op.node\x93.",
}


@pytest.mark.parametrize("name", INTERNAL)
def test_only_operations_that_are_public_have_a_name(name: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        wengert.load(archive(INTERNAL[name]), weights_only=False)
    assert wengert.load(archive(b"ctorch\nrelu\n."), weights_only=False) is wengert.relu


DEEP = b")" + b"\x85" * 100_000
SHOWN = {
    "factory": b"ccollections\ndefaultdict\n" + DEEP + b"\x85R.",
    "device": b"ctorch\ndevice\n" + DEEP + b"\x85R.",
    "dtype": b"cnumpy\ndtype\n" + DEEP + b"\x85R.",
    "layout": b"ctorch.serialization\n_get_layout\n" + DEEP + b"\x85R.",
    "storage": b"(" + DEEP + b"NNNNtQ.",
    "attribute": b"ccollections\nOrderedDict\n)R}\x8b\xff\xff\x00\x00" + b"\x7f" * 65535 + b"Nsb.",
}


@pytest.mark.parametrize("name", SHOWN)
def test_errors_show_deep_and_large_values_in_short(name: str) -> None:
    with pytest.raises(pickle.UnpicklingError) as caught:
        wengert.load(archive(SHOWN[name]))
    assert len(str(caught.value)) < 1000


def tensor_pickle(offset: int, size: tuple[int, ...], stride: tuple[int, ...], numel: int) -> bytes:
    """A pickle of a float tensor with any description."""

    def number(n: int) -> bytes:
        return pickle.dumps(n, 2)[2:-1]

    def numbers(values: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(map(number, values)) + b"t"

    storage = b"((" + text(b"X", "storage") + b"ctorch\nFloatStorage\n" + text(b"X", "0")
    storage += text(b"X", "cpu") + number(numel) + b"tQ"
    rest = number(offset) + numbers(size) + numbers(stride) + b"\x89ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n" + storage + rest + b"tR."


@pytest.mark.parametrize(("offset", "size", "stride"), [
    (1, (4,), (1,)), (0, (5,), (1,)), (0, (2, 2), (3, 1)), (0, (2,), (-1,)), (-1, (1,), (1,)),
    (0, (-1,), (1,)), (0, (2,), (1, 1)), (0, (1 << 62, 2), (0, 1 << 62)), (1 << 62, (), ()),
    (0, (1 << 62, 1 << 62), (0, 0)), (0, (1 << 70,), (0,)), (0, (1,) * 100, (1,) * 100),
])  # fmt: skip
def test_tensors_beyond_their_storage_are_refused(
    offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        wengert.load(archive(tensor_pickle(offset, size, stride, 4), data=bytes(16)))


@pytest.mark.parametrize("numel", [3, 5, 1 << 40, -4])
def test_storages_of_another_length_are_refused(numel: int) -> None:
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        wengert.load(archive(tensor_pickle(0, (1,), (1,), numel), data=bytes(16)))


def test_valid_description_loads() -> None:
    assert wengert.load(archive(tensor_pickle(1, (3,), (1,), 4), data=bytes(16))).shape == (3,)


def test_legacy_storage_beyond_the_file_is_not_allocated() -> None:
    data = saved(wengert, wengert.ones(4), _use_new_zipfile_serialization=False).getvalue()
    huge = data.replace(b"K\x04Nt", b"\x8a\x06" + (1 << 40).to_bytes(6, "little") + b"Nt")
    assert huge != data
    with pytest.raises(RuntimeError, match="beyond the file"):
        wengert.load(io.BytesIO(huge))


def test_a_record_that_is_listed_twice_is_refused() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("archive/data.pkl", b"N.")
        with pytest.warns(UserWarning, match="Duplicate name"):
            file.writestr("archive/data.pkl", b"K\x01.")
    stream.seek(0)
    with pytest.raises(RuntimeError, match="a record is listed twice"):
        wengert.load(stream)


@pytest.mark.parametrize("mapped", [False, True])
def test_records_over_each_other_are_refused(mapped: bool, tmp_path: Path) -> None:
    """They would be read into more memory than the file has."""
    stream = io.BytesIO()
    writer = Writer(stream, "archive")
    first = tensor_pickle(0, (1,), (1,), 1000)[:-1]
    others = [first.replace(text(b"X", "0"), text(b"X", str(k))) for k in range(1, 4)]
    writer.add("data.pkl", b"(" + b"".join([first, *others]) + b"t.")
    writer.add("data/0", bytes(4000))
    writer.entries += [writer.entries[-1]._replace(name=b"archive/data/%d" % k) for k in (1, 2, 3)]
    writer.close()
    (tmp_path / "x.pt").write_bytes(stream.getvalue())
    with pytest.raises(RuntimeError, match="records overlap"):
        wengert.load(tmp_path / "x.pt", mmap=mapped)


def conjugate_pickle(size: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    """A complex tensor whose numbers are to be conjugated."""
    plain = tensor_pickle(0, size, stride, 2).replace(b"FloatStorage", b"ComplexFloatStorage")
    return plain[:-3] + b"}" + text(b"X", "conj") + b"\x88stR."


def test_a_conjugated_tensor_takes_no_more_than_its_storage() -> None:
    file = archive(conjugate_pickle((1 << 40,), (0,)), data=struct.pack("<4f", 1, 2, 3, 4))
    tensor = wengert.load(file)
    assert tensor.shape == (1 << 40,)
    assert tensor[7].item() == 1 - 2j


def test_compressed_entries_are_refused() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/data.pkl", bytes(1 << 20))
    stream.seek(0)
    with pytest.raises(RuntimeError, match="compressed"):
        wengert.load(stream)


def test_wrong_checksum_is_noticed() -> None:
    data = saved(wengert, wengert.full((4,), 1.5)).getvalue()
    damaged = data.replace(struct.pack("<f", 1.5), struct.pack("<f", 2.5))
    with pytest.raises(RuntimeError, match="checksum"):
        wengert.load(io.BytesIO(damaged))


@pytest.mark.torch
def test_files_without_checksums(torch: Any) -> None:
    torch.serialization.set_crc32_options(False)
    try:
        file = saved(torch, torch.ones(2))
    finally:
        torch.serialization.set_crc32_options(True)
    assert wengert.load(file).tolist() == [1.0, 1.0]


def test_pickles_do_not_grow() -> None:
    """A large list made once and copied often; deep and wide keys."""
    many = b"](" + b"K\x01" * 1000 + b"eq\x00" + b"0c__builtin__\nset\nq\x010"
    bomb = many + b"h\x01h\x00\x85R0" * 5000 + b"N."
    deep = b")" + b"\x85" * 100_000 + b"N\x86" + b"}h\x00N" + b"s."
    wide = b")" + b"q\x00h\x00\x86" * 60 + b"q\x00}h\x00Ns."
    for hostile in (bomb, deep, wide):
        with pytest.raises(pickle.UnpicklingError):
            wengert.load(archive(hostile))


def test_deep_values_load_and_go() -> None:
    value = wengert.load(archive(b"]" + b"q\x00]h\x00a" * 50_000 + b"."))
    assert type(value) is list


@pytest.mark.parametrize(("data", "kind", "words"), [
    (b"", EOFError, "Ran out of input"),
    (b"abc", pickle.UnpicklingError, "Weights only load failed"),
    (b"PK\x03\x04abcd", RuntimeError, "PytorchStreamReader failed"),
    (b"\x80\x02}q\x00.", RuntimeError, "Invalid magic number; corrupt file?"),
])  # fmt: skip
def test_files_that_are_none(data: bytes, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        wengert.load(io.BytesIO(data))


NEW = saved(wengert, tensors(wengert) | others(wengert)).getvalue()
OLD = saved(
    wengert, tensors(wengert) | others(wengert), _use_new_zipfile_serialization=False
).getvalue()
MODULE = saved(wengert, wengert.nn.Linear(2, 1)).getvalue()


def attempt(data: bytes) -> None:
    """Load; an exception that is not declared fails the test."""
    with contextlib.suppress(*DECLARED):
        wengert.load(io.BytesIO(data), weights_only=False)


@pytest.mark.parametrize("data", [NEW, OLD, MODULE], ids=["zip", "legacy", "module"])
@given(draw=st.data())
@settings(max_examples=150, deadline=5000)
def test_damaged_files(data: bytes, draw: Any) -> None:
    changed = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 4))):
        changed[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    attempt(bytes(changed))


@pytest.mark.parametrize("data", [NEW, OLD], ids=["zip", "legacy"])
@given(draw=st.data())
@settings(max_examples=100, deadline=5000)
def test_truncated_files(data: bytes, draw: Any) -> None:
    cut = data[: draw.draw(st.integers(0, len(data) - 1))]
    with pytest.raises(DECLARED):
        wengert.load(io.BytesIO(cut))


PICKLE = zipfile.ZipFile(io.BytesIO(NEW)).read("archive/data.pkl")
MODULE_PICKLE = zipfile.ZipFile(io.BytesIO(MODULE)).read("archive/data.pkl")


@pytest.mark.parametrize("pickled", [PICKLE, MODULE_PICKLE], ids=["values", "module"])
@given(draw=st.data())
@settings(max_examples=200, deadline=5000)
def test_damaged_pickles(pickled: bytes, draw: Any) -> None:
    """With right checksums, so that the machine sees them."""
    changed = bytearray(pickled)
    for _ in range(draw.draw(st.integers(1, 4))):
        changed[draw.draw(st.integers(0, len(changed) - 1))] = draw.draw(st.integers(0, 255))
    attempt(archive(bytes(changed), data=bytes(8)).getvalue())
