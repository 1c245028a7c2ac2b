"""`wengert show`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.process import ENVIRONMENT, good, wengert
from wengert.cli import main
from wengert.ops.op import REGISTRY


@pytest.mark.parametrize("name", ["mul", "torch.mul", "wengert.ops.mul"])
def test_shows_source_and_what_is_saved(capsys, name):
    assert main(["show", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# mul: ")
    assert "# elementwise, declared at " in out
    assert "ops/arithmetic.py:" in out
    assert "nodes are called MulBackward0" in out
    assert "# saves other if input wants a gradient" in out
    assert "# saves input if other wants a gradient" in out
    assert "def mul(input, other" in out
    assert "def mul_send(node, g, pending)" in out
    compile(out, "<shown>", "exec")


def test_says_when_nothing_is_saved(capsys):
    assert main(["show", "neg"]) == 0
    assert "# saves nothing\n" in capsys.readouterr().out


def test_shows_what_a_composite_is_made_of(capsys):
    assert main(["show", "torch.std"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# std is made of ")
    assert "def std(" in out


def test_lists_all_operations(capsys):
    assert main(["show"]) == 0
    assert capsys.readouterr().out.split() == sorted(REGISTRY)


def test_every_operation_can_be_shown(capsys):
    for name in REGISTRY:
        assert main(["show", name]) == 0
        compile(capsys.readouterr().out, name, "exec")


def test_unknown_name_suggests(capsys):
    assert main(["show", "mull"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no operation is called 'mull'; did you mean mul" in captured.err


def test_reader_that_goes_away():
    line = f"set -o pipefail; {sys.executable} -m wengert show mul | head -1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.stdout.startswith("# mul")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_shows_in_a_process():
    assert good(wengert("show", "neg")).startswith("# neg")
