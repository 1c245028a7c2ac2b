"""What several tests of the walk need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from wengert.autograd.engine import compatibility


@pytest.fixture
def lenient() -> Iterator[None]:
    """The rules for released graphs that hold under the torch alias."""
    compatibility.lenient = True
    yield
    compatibility.lenient = False
