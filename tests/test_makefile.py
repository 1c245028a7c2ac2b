"""The commands of the README exist and do what it says, as far as make can tell dry."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.source import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What make looks at in a clean clone."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def dry_run(folder: Path, *arguments: str) -> str:
    """The commands that make would run."""
    command = ["make", "--dry-run", "--no-print-directory", *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    ).stdout


def test_demo_installs_and_runs_the_example(clone: Path) -> None:
    commands = dry_run(clone, "demo")
    assert "-m venv .venv" in commands
    assert "--editable '.[demo]'" in commands
    assert commands.rstrip().endswith(".venv/bin/wengert run examples/two_heads.py")
    assert "torch==" not in commands


def test_test_installs_torch_first_and_exactly(clone: Path) -> None:
    commands = dry_run(clone, "test")
    assert 0 < commands.index("'torch==2.13.0'") < commands.index("'.[test]'")
    assert "PARITY=1 .venv/bin/python -m pytest" in commands


def test_test_without_parity_leaves_torch_out(clone: Path) -> None:
    commands = dry_run(clone, "test", "PARITY=0")
    assert "torch==" not in commands
    assert "PARITY=0 .venv/bin/python -m pytest" in commands


def test_second_run_installs_nothing(clone: Path) -> None:
    stamps = clone / ".venv" / ".stamps"
    stamps.mkdir(parents=True)
    for name in ("torch", "test"):
        (stamps / name).touch()
    assert "install" not in dry_run(clone, "test")
    assert "--editable '.[demo]'" in dry_run(clone, "demo")


def test_changed_dependencies_are_installed(clone: Path) -> None:
    test_second_run_installs_nothing(clone)
    later = (clone / ".venv" / ".stamps" / "test").stat().st_mtime + 10
    os.utime(clone / "pyproject.toml", (later, later))
    assert "--editable '.[test]'" in dry_run(clone, "test")


def test_interpreter_can_be_chosen(clone: Path) -> None:
    assert "python3.12 -m venv" in dry_run(clone, "lint", "PYTHON=python3.12")


def test_ci_runs_lint_and_test_and_nothing_else() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert re.findall(r"^make .*$", script.read_text(), re.MULTILINE) == ["make lint", "make test"]


def test_release_builds_checks_and_tries(clone: Path) -> None:
    commands = dry_run(clone, "release")
    steps = ("-m build", "-m twine check --strict dist/*", "tools/release.py dist/*")
    assert "--editable '.[release]'" in commands
    positions = [commands.index(step) for step in steps]
    assert positions == sorted(positions)


def test_public_matrix_covers_the_versions_that_are_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = {c.rpartition(" ")[2] for c in project["classifiers"] if ":: 3." in c}
    matrix = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert promised == set(re.findall(r'"(3\.\d+)"', matrix))


def test_extras_exist_for_every_target() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert extras.keys() == {
        "demo", "fx", "graph", "mpi", "onnx", "test", "docs", "bench", "release",
    }  # fmt: skip
    everything = [*project["dependencies"], *(d for group in extras.values() for d in group)]
    names = {re.split(r"[<>=;\[ ]", requirement)[0] for requirement in everything}
    assert "torch" not in names
    runtime = {re.split(r"[<>=;\[ ]", d)[0] for d in project["dependencies"]}
    assert runtime == {"llvmlite", "numpy", "ml_dtypes", "safetensors", "scipy"}
