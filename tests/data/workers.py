"""Datasets for the tests of DataLoader workers, of either library.

Processes that are spawned import this module, and with it only the library they need.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np


class Numbered:
    """What a sample can tell about the worker that made it."""

    def __init__(self, library: str, n: int = 10) -> None:
        self.library, self.n = library, n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        library: Any = import_module(self.library)
        info = import_module(f"{self.library}.utils.data").get_worker_info()
        seen = (info.id, info.num_workers, info.seed, type(info.dataset).__name__)
        draws = (random.random(), float(np.random.rand()), library.rand(()).item())
        return (index, *seen, *draws)


class Doing:
    """0, 1, 2, ..., but for one index, where something happens."""

    def __init__(self, at: int, what: Callable[[], Any], n: int = 8) -> None:
        self.at, self.what, self.n = at, what, n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        return self.what() if index == self.at else index


class Arrays:
    """Arrays of a size, filled with their index."""

    def __init__(self, shape: tuple[int, ...], n: int = 8) -> None:
        self.shape, self.n = shape, n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        return np.full(self.shape, index, np.float32)


def shard(n: int, library: str) -> Iterator[int]:
    """The numbers below `n` that belong to this worker."""
    info = import_module(f"{library}.utils.data").get_worker_info()
    return iter(range(info.id, n, info.num_workers))


def keys() -> None:
    raise KeyError("what is missing")


class ParticularError(Exception):
    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)


def particular() -> None:
    raise ParticularError(3, "two arguments")


def local() -> None:
    class LocalError(Exception):
        pass

    raise LocalError("of a class that cannot be pickled")


def leave() -> None:
    os._exit(7)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleep() -> None:
    time.sleep(60)


def unpicklable() -> Any:
    return lambda: None


def _refusal() -> type[Exception]:
    try:
        pickle.dumps(unpicklable())
    except (AttributeError, pickle.PicklingError) as error:
        return type(error)
    raise AssertionError


# What `pickle` raises of a local function: another error since Python 3.14.
UNPICKLED = _refusal()


class Opened:
    """An object that cannot be unpickled."""

    def __reduce__(self) -> Any:
        return keys, ()
