"""A census asks the garbage collector for all objects: those of other tests are set aside."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from wengert.autograd.engine import running_walks


@pytest.fixture
def alone() -> None:
    """The collector knows what the test makes, and nothing that was there before."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def clean() -> Iterator[None]:
    """No graphs and no backward calls of other tests."""
    gc.collect()
    running_walks.recent.clear()
    yield
    gc.collect()
