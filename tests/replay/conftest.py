"""Programs are compiled before they first run, and not beside the steps."""

import pytest

from wengert.replay.background import background


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "at_once", True)
