"""Examples are PyTorch scripts: nothing in them says where they run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.source import ROOT

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_is_plain_pytorch(path: Path) -> None:
    program = ast.parse(path.read_text())
    assert isinstance(program.body[0], ast.Expr)  # what it says about itself names commands
    code = ast.unparse(program.body[1:])
    assert "import torch\n" in code or "import theano\n" in code
    assert "wengert" not in code
