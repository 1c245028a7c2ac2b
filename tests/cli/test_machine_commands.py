"""``wengert doctor``, ``cache`` and ``summary``; and colours."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

import wengert
from tests.cli.process import good, python
from tests.cli.process import wengert as command
from wengert import compat
from wengert.cli import main
from wengert.cli._colour import Palette
from wengert.cli._report import format_report
from wengert.graph import Finding, Report
from wengert.kernels.jit import available, disk

needs_kernels = pytest.mark.skipif(not available(), reason="there are no kernels")


def facts(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, str]]]:
    status = main(["doctor", "--json"])
    return status, {fact["name"]: fact for fact in json.loads(capsys.readouterr().out)}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of kernels, and no settings, of this test alone."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "WENGERT_JIT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WENGERT_CACHE", str(folder))
    return folder


@needs_kernels
def test_doctor_finds_nothing_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setattr(wengert, "get_num_threads", lambda: os.cpu_count())
    status, found = facts(capsys)
    assert [fact for fact in found.values() if fact["problem"]] == []
    assert status == 0
    assert wengert.__version__ in found["wengert"]["text"]
    assert str(cache) in found["cache"]["text"]
    assert main(["doctor"]) == 0
    assert "nothing is wrong" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("setting", "value", "name", "problem", "remedy"),
    [
        ("WENGERT_JIT", "0", "kernels", "WENGERT_JIT=0 says so", "unset WENGERT_JIT"),
        ("WENGERT_CACHE", "", "cache", "WENGERT_CACHE is empty", "unset WENGERT_CACHE"),
        ("OPENBLAS_CORETYPE", "Prescott", "OpenBLAS", "not the processor", "unset OPENBLAS"),
    ],
)  # fmt: skip
def test_doctor_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    setting: str, value: str, name: str, problem: str, remedy: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(setting, value)
    status, found = facts(capsys)
    assert status == 1
    assert problem in found[name]["problem"]
    assert remedy in found[name]["remedy"]
    assert main(["doctor"]) == 1
    assert remedy in capsys.readouterr().out


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core is all there is")
def test_doctor_sees_idle_cores(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(wengert, "get_num_threads", lambda: 1)
    _, found = facts(capsys)
    assert "OMP_NUM_THREADS=1 says so" in found["threads"]["problem"]


def test_doctor_sees_a_cache_that_others_may_write_to(
    capsys: pytest.CaptureFixture[str], cache: Path
) -> None:
    (cache / "kernels").mkdir()
    (cache / "kernels").chmod(0o777)
    _, found = facts(capsys)
    assert "others may write" in found["cache"]["problem"]


def test_cache_is_shown_and_cleared(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    disk.write("one", b"code")
    assert main(["cache"]) == 0
    assert f"{cache / 'kernels'}: 1 kernel, 36 B" in capsys.readouterr().out
    assert main(["cache", "--clear"]) == 0
    assert "removed 1 kernel\n" in capsys.readouterr().out
    assert disk.sizes() == []


@needs_kernels
def test_cache_is_warmed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wengert.cli import _warming

    monkeypatch.setattr(_warming, "_steps", lambda: [("nothing", lambda: None)])
    assert main(["cache", "--warm"]) == 0
    assert "  nothing\ncompiled in " in capsys.readouterr().out


def test_warming_trains_everything() -> None:
    """On NumPy alone: what is compiled takes half a minute."""
    program = "from wengert.cli._warming import warm_cache; warm_cache(print)"
    environment = os.environ | {"WENGERT_JIT": "0"}
    assert len(good(python("-c", program, env=environment)).splitlines()) == 6


MODELS = """
import torch
from torch import nn

class Models:
    small = nn.Linear(4, 2)

def net(width=3):
    return nn.Sequential(nn.Embedding(10, width), nn.Linear(width, 1))

def nothing():
    return 3
"""


def test_summary_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    printed = good(command("summary", "models.py:net", "--input", "int64:5", cwd=tmp_path))
    assert "1: Linear" in printed
    assert "34 parameters" in printed
    printed = good(
        command("summary", "models:Models.small", "--input", "3,4", "--json", cwd=tmp_path)
    )
    data = json.loads(printed)
    assert data["layers"][0]["outputs"] == [[3, 2]]
    assert data["flops"][0] == 2 * 3 * 4 * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["models"], "expected MODULE:FACTORY"),
        (["models.py:no"], "models.py has no 'no'"),
        (["missing.py:no"], "there is no file 'missing.py'"),
        (["missing_module:no"], "there is no module 'missing_module'"),
        (["models.py:nothing"], "got int from it"),
        (["models.py:net", "--input", "2,x"], "got '2,x'"),
        (["models.py:net", "--input", "int9:2"], "got 'int9:2'"),
    ],
)
def test_summary_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], message: str,
) -> None:  # fmt: skip
    (tmp_path / "models.py").write_text(MODELS.replace("torch", "wengert"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(compat, "install", lambda: None)  # this process may have PyTorch
    assert main(["summary", *arguments]) == 1
    assert message in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Palette(Terminal())("a", "bold") == "\x1b[1ma\x1b[0m"
    assert Palette(io.StringIO())("a", "bold") == "a"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Palette(Terminal())("a", "bold") == "a"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert Palette(io.StringIO())("a", "bold") == "\x1b[1ma\x1b[0m"


def test_summary_of_a_run_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report(findings=[Finding("leak", "a.py:3", 1, "it stays")])
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = format_report(report, "a.py", 1.0, Palette(io.StringIO())).splitlines()
    assert lines[0] == "\x1b[1mwengert: a.py, 1.0 s, no backward call\x1b[0m"
    assert lines[1] == "\x1b[33m  look at      \x1b[0m a.py:3: it stays"
    monkeypatch.setenv("NO_COLOR", "1")
    plain = format_report(report, "a.py", 1.0, Palette(io.StringIO()))
    assert plain == format_report(report, "a.py", 1.0)
