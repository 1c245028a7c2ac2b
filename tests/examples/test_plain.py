"""Examples are PyTorch scripts: nothing in them says where they run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source import ROOT

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_is_plain_pytorch(path: Path) -> None:
    text = path.read_text()
    assert "import torch\n" in text
    assert "wengert" not in text
