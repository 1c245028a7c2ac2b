"""Fixtures and switches of the whole suite."""

from __future__ import annotations

import gc
import importlib.util
import os
import sys

import pytest

from tests.browser import browser as browser
from tests.browser import open_page as open_page

PARITY = os.environ.get("PARITY", "1") != "0" and importlib.util.find_spec("torch") is not None

# Bytecode is kept, whatever the shell says: hundreds of processes would compile the package anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason="PARITY=0, or torch is not installed")
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"an id with an address differs in each process: {item.nodeid}")
        if "torch" in item.keywords and not PARITY:
            item.add_marker(skip)


@pytest.fixture(scope="module", autouse=True)
def _set_aside() -> None:
    """The collector leaves out the suite itself: each collection would look through millions."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def torch():
    """The oracle."""
    return pytest.importorskip("torch")
