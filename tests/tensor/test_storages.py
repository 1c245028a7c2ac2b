"""Storages and `frombuffer`."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from wengert import TypedStorage, UntypedStorage


def test_a_storage_is_the_memory():
    x = wengert.arange(6, dtype=wengert.int16).view(2, 3)
    part = x[1]
    storage = part.untyped_storage()
    assert storage == x.untyped_storage()
    assert (storage.nbytes(), len(storage), storage.element_size()) == (12, 12, 1)
    storage[2] = 9
    assert x[0].tolist() == [0, 9, 2]
    assert storage[2] == 9
    assert storage[2:4].tolist() == [9, 0]
    with pytest.raises(RuntimeError, match="step of 1, not 2"):
        storage[::2]


def test_bytes_come_in_the_order_of_memory():
    x = wengert.tensor(np.asfortranarray(np.arange(4, dtype=np.uint8).reshape(2, 2)))
    assert sorted(x.untyped_storage().tolist()) == [0, 1, 2, 3]
    assert wengert.tensor(7, dtype=wengert.uint8).untyped_storage().tolist() == [7]
    assert wengert.empty(0).untyped_storage().tolist() == []


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_typed_storage_says_what_pytorchs_does(torch):
    def say(lib):
        storage = lib.tensor([[1.0, 2.0], [3.0, 4.0]])[1:].storage()
        copy = storage.clone()
        copy[0] = 7.0
        return (
            storage.tolist(), storage.size(), len(storage), storage[1], storage.nbytes(),
            storage.element_size(), str(storage.dtype), storage.is_shared(), copy.tolist(),
            storage.pickle_storage_type(), repr(storage),
            repr(storage.untyped()), lib.is_storage(storage),
            lib.TypedStorage([1, 2], dtype=lib.int32).tolist(),
            storage.type(), storage.long().tolist(), storage.double().dtype is lib.float64,
            storage.complex_float().tolist(), lib.UntypedStorage([1, 2]).float().tolist(),
            copy.copy_(storage.int()).tolist(), refusal(lambda: copy.copy_(storage.half())),
            copy.fill_(2).tolist(),
            *(refusal(lambda at=at: storage[at]) for at in (4, -5, "a")),
            *(refusal(lambda at=at: storage.untyped()[at]) for at in (16, "a")),
        )  # fmt: skip

    def refusal(call):
        with pytest.raises((IndexError, RuntimeError, TypeError)) as error:
            call()
        return type(error.value), str(error.value).replace(
            "wengert.tensor.storages", "torch.storage"
        )

    assert say(wengert) == say(torch)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_become_tensors():
    x = wengert.tensor([1.0, 2.0])
    bytes_of_x = wengert.asarray(x.untyped_storage(), dtype=wengert.uint8)
    assert bytes_of_x.view(wengert.float32).tolist() == [1.0, 2.0]
    assert wengert.as_tensor(x.storage()).tolist() == [1.0, 2.0]
    assert UntypedStorage(3).tolist() == [0, 0, 0]
    assert TypedStorage(2).dtype is wengert.float32


def test_files_are_mapped(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(b"abcd")
    private = UntypedStorage.from_file(path, False, 3)
    private[0] = 0
    assert path.read_bytes() == b"abcd"
    assert private.tolist() == [0, 98, 99]
    shared = UntypedStorage.from_file(path, True, 4)
    shared.fill_(65)
    assert path.read_bytes() == b"AAAA"
    with pytest.raises(RuntimeError, match="has 4 bytes, not 9"):
        UntypedStorage.from_file(path, False, 9)


BUFFERS = [
    {"dtype": "uint8"},
    {"dtype": "int16", "count": 1, "offset": 2},
    {"dtype": "int32", "offset": 1},
    {"dtype": "int16", "offset": 8},
    {"dtype": "int16", "count": 5},
    {"dtype": "int16", "count": 0},
    {"dtype": "float32", "requires_grad": True},
    {"dtype": "int16", "requires_grad": True},
]


@pytest.mark.torch
@pytest.mark.parametrize("options", BUFFERS, ids=str)
def test_frombuffer_is_pytorchs(torch, options):
    def call(lib):
        dtype = getattr(lib, options["dtype"])
        try:
            return repr(lib.frombuffer(bytearray(range(8)), **{**options, "dtype": dtype}))
        except Exception as error:
            return type(error)

    assert call(wengert) == call(torch)


def test_frombuffer_shares_memory():
    buffer = bytearray(4)
    wengert.frombuffer(buffer, dtype=wengert.uint8).fill_(7)
    assert buffer == b"\7\7\7\7"
    with pytest.raises(ValueError, match="buffer protocol: int"):
        wengert.frombuffer(3, dtype=wengert.uint8)


@pytest.mark.filterwarnings("error")
def test_frombuffer_of_bytes_warns():
    with pytest.raises(UserWarning, match="not writable"):
        wengert.frombuffer(b"abc", dtype=wengert.uint8)
