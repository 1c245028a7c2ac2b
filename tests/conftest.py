"""Fixtures and switches of the whole suite."""

from __future__ import annotations

import gc
import importlib.util
import os
import random
import sys
import zlib
from collections.abc import Generator
from typing import Any

import hypothesis
import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from tests.browser import browser as browser
from tests.browser import open_page as open_page

PARITY = os.environ.get("PARITY", "1") != "0" and importlib.util.find_spec("torch") is not None

# A test draws the same numbers in each run, whichever worker takes it and whatever ran before it.
# TEST_SEED=1 and `--hypothesis-profile=explore` look elsewhere.
TEST_SEED = os.environ.get("TEST_SEED", "0")
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("suite")

# Bytecode is kept, whatever the shell says: hundreds of processes would compile the package anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The collector rests: it would look again and again through what stays anyway."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason="PARITY=0, or torch is not installed")
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"an id with an address differs in each process: {item.nodeid}")
        if "torch" in item.keywords and not PARITY:
            item.add_marker(skip)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    seed = zlib.crc32(f"{TEST_SEED} {item.nodeid}".encode())
    random.seed(seed)
    np.random.seed(seed)
    if "wengert" in sys.modules:
        sys.modules["wengert"].manual_seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(seed)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker says of a test that passes that it has passed, and nothing else.

    Otherwise it sends five messages: of the start, the setup, the call, the teardown and the end.
    All of them, made and read, take longer than most tests.
    """
    if not _is_terse(item.config):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def _is_terse(config: pytest.Config) -> bool:
    """Whether this is a worker, and nothing is asked for that needs more than outcomes."""
    asked = config.option
    longer = (
        asked.verbose > 0 or asked.durations or asked.xmlpath or {*"pPA"} & {*asked.reportchars}
    )
    return hasattr(config, "workerinput") and not longer


@pytest.fixture(scope="module", autouse=True)
def _set_aside() -> None:
    """The collector leaves out the suite itself: each collection would look through millions."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def torch() -> Any:
    """The oracle.

    On one thread: the workers keep the cores busy, and threads that wait for one another burn what
    they take from them. `manual_seed` seeds the CPU alone: for each kind of device that is not here
    it writes down the whole stack, which takes most of the time of a small comparison.
    """
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    torch.random._manual_seed_impl = lambda seed: torch.default_generator.manual_seed(int(seed))
    return torch
