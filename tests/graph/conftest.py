"""A census asks the garbage collector for all objects: those of other tests are set aside."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture
def alone() -> None:
    """The collector knows what the test makes, and nothing that was there before."""
    gc.collect()
    gc.freeze()
