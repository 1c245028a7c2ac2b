"""A census asks the garbage collector for all objects: those of other tests are set aside."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture
def alone() -> Iterator[None]:
    """The collector knows what the test makes and nothing else; a suite has millions of objects."""
    gc.freeze()
    yield
    gc.unfreeze()
