"""The page of mistakes is true: it shows what PyTorch and wengert print now."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cli.process import python, wengert
from tests.source import ROOT

pytestmark = [pytest.mark.torch, pytest.mark.slow]

TOOL = ROOT / "tools" / "mistakes.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """tools/mistakes.py."""
    spec = importlib.util.spec_from_file_location("mistakes", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["mistakes"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def mistakes(tool: ModuleType) -> dict[str, Any]:
    """What both say of every mistake.

    There would be an error if a corrected program failed, or printed different things.
    """
    return {mistake.name: mistake for mistake in tool.look_at(tool.in_order(tool.PAGE.read_text()))}


def test_the_page_shows_what_both_print(tool: ModuleType, mistakes: dict[str, Any]) -> None:
    page = tool.PAGE.read_text()
    now = tool.updated(page, list(mistakes.values()))
    assert tool.without_figures(now) == tool.without_figures(page)


def test_programs_print_what_they_print_by_themselves(
    tool: ModuleType, mistakes: dict[str, Any], tmp_path: Path
) -> None:
    """The tool imports a library once and forks; nobody else runs a program like that."""
    file = tmp_path / "saved_overwritten.py"
    file.write_text((tool.FOLDER / file.name).read_text())
    mistake = mistakes[file.stem]
    for run, alone in zip(
        mistake.said, (python(str(file)), wengert("run", "--quiet", str(file))), strict=True
    ):
        assert run.text == tool.shown(alone.stderr, str(file))
        assert run.code == alone.returncode == 1


def test_kept_losses_take_memory_from_both(mistakes: dict[str, Any]) -> None:
    mistake = mistakes["losses_kept"]
    assert min(mistake.growth) >= 50
    assert mistake.ours != mistake.theirs


def test_lines_and_frames_of_the_program_only(tool: ModuleType) -> None:
    text = (
        'Traceback (most recent call last):\n  File "/a/b/p.py", line 3, in <module>\n    f()\n'
        '    ^^^\n  File "/lib/x.py", line 9, in f\n    g()\nError: at /a/b/p.py:7 of 1/2\n'
    )
    shown = tool.shown(text, "/a/b/p.py")
    assert shown == (
        'Traceback (most recent call last):\n  File "p.py", line 3, in <module>\n    f()\n'
        "Error: at p.py:7 of 1/2\n"
    )
    assert tool.named("p", shown) == [3, 7]


def test_every_program_is_plain_pytorch(tool: ModuleType, mistakes: dict[str, Any]) -> None:
    assert len(tool.NAMES) >= 10
    for name in tool.NAMES:
        for path in (tool.FOLDER / f"{name}.py", tool.FOLDER / f"{name}_fixed.py"):
            text = path.read_text()
            assert "import torch\n" in text
            assert "wengert" not in text
        assert tool.corrected(name)[0]
    assert mistakes["losses_kept"].fixed[0].text.startswith("validation")
