"""A few records of every twentieth function, compiled; `make parity` runs them all."""

from __future__ import annotations

import pytest

from tests.parity import compiled, ops
from wengert.replay.background import background

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

# Those by which mistakes were found: padding and resizing have arrays among their parameters.
FOUND = ("stft", "nn.functional.interpolate", "nn.functional.pixel_shuffle", "linalg.lu")


@pytest.mark.parametrize("name", dict.fromkeys((*FOUND, *ops.listed()[::20])))
def test_compiled_calls_are_as_in_eager_mode(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "at_once", True)
    _, wrong = compiled.failures(name, most=4)
    assert wrong == []
