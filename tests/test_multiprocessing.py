"""`spawn`, and the standard module around it."""

from __future__ import annotations

import multiprocessing
import os

import pytest

import wengert
from wengert import multiprocessing as mp


def add(index, shared):
    shared[index] += index + 1


def fail(index):
    raise ValueError(f"no {index}")


def leave(index):
    os._exit(3)


def test_forked_processes_share_memory():
    shared = wengert.zeros(2).share_memory_()
    mp.start_processes(add, (shared,), nprocs=2, start_method="fork")
    assert shared.tolist() == [1.0, 2.0]


def test_an_error_comes_back():
    with pytest.raises(mp.ProcessRaisedException, match="ValueError: no 0") as caught:
        mp.start_processes(fail, nprocs=1, start_method="fork")
    assert caught.value.error_index == 0


def test_an_exit_code_comes_back():
    with pytest.raises(mp.ProcessExitedException, match="exit code 3") as caught:
        mp.start_processes(leave, nprocs=1, start_method="fork")
    assert caught.value.exit_code == 3


def test_the_rest_is_the_standard_module():
    assert mp.Queue == multiprocessing.Queue
    assert mp.get_start_method() == multiprocessing.get_start_method()
    with pytest.raises(AttributeError):
        mp.zork  # noqa: B018
