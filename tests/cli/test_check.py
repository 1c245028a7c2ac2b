"""`wengert check`: what of torch a program uses, without running it."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from pathlib import Path

import pytest

from tests.cli.process import good, script, wengert
from tests.source import ROOT
from wengert.cli._usage import uses_of

PROGRAM = """
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    from torch import dequantize, optim
    from torch.optim.adam import Adam
    raise SystemExit("this must not run")
    try:
        import torch.package
    except ImportError:
        pass
    x = torch.zeroz(2)
    y = torch.add(x, x, beta=2) + torch.mul(x, x, out=x) + torch.cat([x], out=x)
    torch.sum(x, axis=0, keepdims=True)
    z = x.dequantize()
    if hasattr(torch, "quantize_per_tensor"):
        torch.quantize_per_tensor(x, 1.0, 0, torch.qint8)
    nn.Liner(2, 3)
    nn.Linear(2, 3, bias=True)
    torch.sort(x)
    torch.backends.cudnn.benchmark = True
    F.softmax(x, dim=0).to("cpu")
    print(torch.__version__, torch.version.cuda, "dequantize".upper())
    def f():
        torch.quantization.prepare(x)
"""
# The line, the name and the kind of what is to be found.
FOUND = {
    (5, "torch.dequantize", "missing"),
    (9, "torch.package", "missing"),
    (12, "torch.zeroz", "unknown"),
    (13, "torch.add(beta)", "keyword"),
    (15, "torch.Tensor.dequantize", "missing"),
    (17, "torch.quantize_per_tensor", "missing"),
    (18, "torch.nn.Liner", "unknown"),
    (25, "torch.quantization.prepare", "missing"),
}
OPTIONAL = {"torch.package", "torch.quantize_per_tensor"}


def test_findings_as_data(tmp_path: Path) -> None:
    result = wengert("check", "--json", str(script(tmp_path, PROGRAM)))
    assert result.returncode == 1
    data = json.loads(result.stdout)
    findings = [f for f in data["findings"] if f["kind"] != "differs"]
    assert {(f["line"], f["name"], f["kind"]) for f in findings} == FOUND
    assert {f["name"] for f in findings if f["optional"]} == OPTIONAL
    assert data["files"] == 1
    assert "torch.nn.functional.softmax" in data["names"]
    differing = {f["name"] for f in data["findings"]} - {f["name"] for f in findings}
    assert "torch.sort" in differing


def test_text(tmp_path: Path) -> None:
    result = wengert("check", str(script(tmp_path, PROGRAM)))
    text = result.stdout
    assert "this must not run" not in text + result.stderr
    assert (
        ":5: torch.dequantize: wengert has no torch.dequantize yet;"
        " instead: float32, float16 and bfloat16" in text
    )
    assert "torch.zeroz: no such name in PyTorch 2.13 either; did you mean torch.zeros" in text
    assert ":9: torch.package: " in text
    assert "(the program goes on without it)" in text
    assert "6 missing, 2 more that the program can do without" in text


def test_a_folder_where_nothing_is_missing(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    script(tmp_path / "package", "import torch\ntorch.ones(2)", "one.py")
    script(tmp_path, "from torch.nn import *\nLinear(2, 3)", "two.py")
    script(tmp_path, "import torch\nprint 'of Python 2'", "three.py")
    output = good(wengert("check", str(tmp_path)))
    assert "2 files, 3 names of torch: 0 missing" in output
    assert "three.py: " in output


def test_an_installed_package() -> None:
    assert "names of torch: 0 missing" in good(wengert("check", "safetensors"))


def test_a_target_that_is_not_there() -> None:
    result = wengert("check", "no_such_package")
    assert result.returncode == 2
    assert "'no_such_package' is no Python file" in result.stderr


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("import torch.nn.init as i; i.ones_", ["torch.nn.init", "torch.nn.init.ones_"]),
        ("import torch as t; t.nn.Linear.forward", ["torch", "torch.nn.Linear.forward"]),
        ("from torch import nn as layers; layers.ReLU()", ["torch.nn", "torch.nn.ReLU"]),
        ("import torch; F = torch.nn.functional; F.gelu", ["torch", "torch.nn.functional",
                                                            "torch.nn.functional.gelu"]),
        ("from . import torch; torch.no", []),
        ("import torchvision; torchvision.models", []),
        ("def f():\n    from torch import sin\n    return sin(1)", ["torch.sin", "torch.sin"]),
    ],
)  # fmt: skip
def test_names_are_followed_from_imports(text: str, paths: list[str]) -> None:
    assert [use.path for use in uses_of(ast.parse(text)) if use.follows] == paths


def test_what_a_program_tries_is_optional() -> None:
    text = """
        import torch
        try:
            torch.a
        except (ImportError, AttributeError):
            torch.b
        try:
            torch.c
        except ValueError:
            pass
        if hasattr(torch, "d"):
            torch.d
        e = getattr(torch, "e", None)
    """
    uses = uses_of(ast.parse(textwrap.dedent(text)))
    assert {use.path: use.optional for use in uses if use.path != "torch"} == {
        "torch.a": True, "torch.b": False, "torch.c": False, "torch.d": True,
    }  # fmt: skip


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "check.md").read_text()
    program, output = re.findall(r"```(?:py title=\"eigen\.py\"|text)\n(.*?)```", page, re.DOTALL)
    (tmp_path / "eigen.py").write_text(program)
    assert wengert("check", "eigen.py", cwd=tmp_path).stdout == output
