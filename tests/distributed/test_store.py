"""Stores, and how ranks meet at one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from wengert.distributed import (
    DistNetworkError,
    DistStoreError,
    FileStore,
    HashStore,
    PrefixStore,
    Store,
    TCPStore,
    rendezvous,
)


def tcp(folder: Path) -> Store:
    return TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


STORES: list[Callable[[Path], Store]] = [
    lambda folder: HashStore(), lambda folder: FileStore(str(folder / "store"), 1), tcp,
    lambda folder: PrefixStore("below", HashStore()),
]  # fmt: skip


@pytest.mark.parametrize("make", STORES)
def test_every_store_does_the_same(make: Callable[[Path], Store], tmp_path: Path) -> None:
    store = make(tmp_path)
    store.set("a", "1")
    store.append("a", b"2")
    assert store.get("a") == b"12"
    assert [store.add("n", k) for k in (1, 5)] == [1, 6]
    assert store.compare_set("c", "", "x") == b"x"
    assert store.compare_set("c", "y", "z") == b"x"
    assert store.compare_set("c", "x", "z") == b"z"
    store.multi_set(["d", "e"], ["4", "5"])
    assert store.multi_get(["d", "e"]) == [b"4", b"5"]
    assert (store.check(["a", "d"]), store.check(["a", "q"])) == (True, False)
    assert sorted(store.list_keys()) == ["a", "c", "d", "e", "n"]
    assert (store.delete_key("d"), store.delete_key("d")) == (True, False)
    assert store.num_keys() == 4
    with pytest.raises(DistStoreError, match=r"wait timeout after 50ms, keys: .*never"):
        store.wait(["never"], timedelta(milliseconds=50))
    with pytest.raises(TypeError, match="str or bytes"):
        store.set("a", 3)  # type: ignore[arg-type]
    threading.Timer(0.05, store.set, ("later", "1")).start()
    assert store.get("later") == b"1"
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_gone_or_taken() -> None:
    master = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    client = TCPStore("127.0.0.1", master.port)
    with pytest.raises(DistNetworkError, match="failed to listen"):
        TCPStore("127.0.0.1", master.port, is_master=True)
    master.close()
    with pytest.raises(DistNetworkError, match="is gone"):
        client.get("a")
    client.close()
    with pytest.raises(DistNetworkError, match="timed out"):
        TCPStore("127.0.0.1", master.port, timeout=timedelta(milliseconds=50))


def test_a_client_that_comes_while_the_master_leaves_hears_of_it() -> None:
    """It is accepted, but not yet served, when the master closes what it serves."""
    master = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    server = master._server
    assert server is not None
    with server._lock:  # the thread that accepts cannot go on
        client = TCPStore("127.0.0.1", master.port, wait_for_workers=False)
        closing = threading.Thread(target=master.close)
        closing.start()
        time.sleep(0.05)
    closing.join()
    with pytest.raises(DistNetworkError, match="is gone"):
        client.get("a")
    client.close()


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        ("xyz://a", RuntimeError, "No rendezvous handler for xyz://"),
        ("tcp://127.0.0.1:1234", ValueError, "rank parameter missing"),
        ("tcp://127.0.0.1?rank=0&world_size=1", ValueError, "port number missing"),
        ("file:///tmp/x?rank=0", ValueError, "world size parameter missing"),
        ("env://", ValueError, "environment variable RANK expected, but not set"),
    ],
)
def test_urls_that_say_too_little(
    url: str, error: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "WORLD_SIZE", "PMI_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(error, match=words):
        next(rendezvous(url))


def test_ranks_that_mpiexec_started(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PMI_RANK": "0", "PMI_SIZE": "1", "MPI_LOCALRANKID": "0"}.items():
        monkeypatch.setenv(name, value)
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR"):
        monkeypatch.setenv(name, "")  # so that what `rendezvous` sets is taken back afterwards
        monkeypatch.delenv(name)
    _, rank, size = next(rendezvous("env://"))
    assert (rank, size) == (0, 1)
