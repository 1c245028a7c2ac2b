"""How ranks first meet: a store at the address that their environment, a URL or a file names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from wengert.distributed import _mpi
from wengert.distributed.store import DEFAULT_TIMEOUT, FileStore, HashStore, PrefixStore, Store
from wengert.distributed.tcp_store import TCPStore

Meeting = tuple[Store, int, int]  # the store, this rank, the number of ranks

_handlers: dict[str, Callable[..., Iterator[Meeting]]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[Meeting]]) -> None:
    """Let URLs of a scheme be answered by a function of the URL and the timeout.

    RuntimeError if there is a handler for it.

    >>> from wengert.distributed import register_rendezvous_handler
    >>> register_rendezvous_handler("example", lambda url, timeout, **options: iter(()))
    """
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **options: Any) -> Iterator[Meeting]:
    """The store at a URL, with this process's rank and the number of ranks.

    `rank` and `world_size` stand for what the URL, or the environment, does not say.

    >>> from wengert.distributed import rendezvous
    >>> store, rank, size = next(rendezvous("tcp://127.0.0.1:0?rank=0&world_size=1"))
    >>> rank, size
    (0, 1)
    """
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    scheme = urlparse(url).scheme
    if scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {scheme}://")
    query = {name: values[-1] for name, values in parse_qs(urlparse(url).query).items()}
    for name, value in (("rank", rank), ("world_size", world_size)):
        if value != -1:
            query[name] = str(value)
    timeout = options.get("timeout") or DEFAULT_TIMEOUT
    return _handlers[scheme](urlparse(url), timeout, query=query)


def _number(scheme: str, query: dict[str, str], name: str) -> int:
    if name not in query:
        named = {"rank": "rank", "world_size": "world size"}[name]
        raise ValueError(
            f"Error initializing torch.distributed using {scheme}:// rendezvous: {named} parameter"
            " missing"
        )
    return int(query[name])


def _by_tcp(url: Any, timeout: timedelta, query: dict[str, str]) -> Iterator[Meeting]:
    if url.port is None:
        raise ValueError(
            "Error initializing torch.distributed using tcp:// rendezvous: port number missing"
        )
    rank, size = (_number("tcp", query, name) for name in ("rank", "world_size"))
    yield _tcp_store(url.hostname, url.port, rank, size, timeout), rank, size


def _by_file(url: Any, timeout: timedelta, query: dict[str, str]) -> Iterator[Meeting]:
    if not url.path:
        raise ValueError(
            "Error initializing torch.distributed using file:// rendezvous: path missing"
        )
    rank, size = (_number("file", query, name) for name in ("rank", "world_size"))
    store = FileStore(url.path, size)
    store.set_timeout(timeout)
    yield store, rank, size


def _by_environment(url: Any, timeout: timedelta, query: dict[str, str]) -> Iterator[Meeting]:
    _mpi.adopt_ranks(os.environ)
    rank = int(query["rank"]) if "rank" in query else int(_variable("RANK"))
    size = int(query["world_size"]) if "world_size" in query else int(_variable("WORLD_SIZE"))
    if size == 1 and "MASTER_ADDR" not in os.environ:
        yield HashStore(), rank, size
        return
    if "MASTER_ADDR" not in os.environ:
        _mpi.adopt_address(os.environ, rank)
    address, port = _variable("MASTER_ADDR"), int(_variable("MASTER_PORT"))
    # Where the launcher holds the store, rank 0 is a client like the others.
    by_launcher = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store: Store = _tcp_store(address, port, rank, size, timeout, by_launcher)
    if by_launcher:  # it outlives the ranks, and may start them again
        store = PrefixStore(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store)
    yield store, rank, size


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: environment variable"
            f" {name} expected, but not set: start the script with `wengert run --nproc N`, or set"
            " RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"
        )
    return value


def _tcp_store(
    host: str, port: int, rank: int, size: int, timeout: timedelta, by_launcher: bool = False
) -> TCPStore:
    master = rank == 0 and not by_launcher
    return TCPStore(host, port, size, master, timeout, wait_for_workers=False)


register_rendezvous_handler("tcp", _by_tcp)
register_rendezvous_handler("file", _by_file)
register_rendezvous_handler("env", _by_environment)

__all__ = ["register_rendezvous_handler", "rendezvous"]
