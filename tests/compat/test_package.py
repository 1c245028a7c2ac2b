"""The alias as an installed package, in an environment without PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.process import good
from tests.compat.environment import Environment, create

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the environment is made of links")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return create(tmp_path_factory.mktemp("environment"))


@pytest.fixture
def environment(bare: Environment) -> Iterator[Environment]:
    """An environment without an alias, before and after."""
    before = listing(bare)
    yield bare
    bare.wengert("alias", "remove")
    assert listing(bare) == before


def listing(environment: Environment) -> set[str]:
    return {path.name for path in environment.packages.iterdir()}


def test_a_script_runs_without_a_command(environment: Environment, tmp_path: Path) -> None:
    assert "is wengert now" in good(environment.wengert("alias", "install"))
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import importlib.metadata
        print(importlib.metadata.version("torch"))
        import torch.nn as nn
        import torch
        import functorch
        import wengert
        print(nn.Linear is wengert.nn.Linear, torch.nn is nn, torch.add is wengert.add)
        print(functorch.vmap is wengert.func.vmap, importlib.metadata.version("torch"))
    """)
    )
    assert good(environment.python(str(script))).split() == ["2.13.0", *["True"] * 4, "2.13.0"]


def test_children_of_multiprocessing_import_it(environment: Environment, tmp_path: Path) -> None:
    environment.wengert("alias", "install")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import multiprocessing
        import torch
        def double(x):
            return x * 2
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(double, [torch.ones(1)]))
    """)
    )
    assert good(environment.python(str(script))) == "[tensor([2.])]\n"


def test_status(environment: Environment) -> None:
    status = environment.wengert("alias", "status")
    assert (status.returncode, status.stdout) == (1, "there is no alias, nor a PyTorch\n")
    environment.wengert("alias", "install")
    assert good(environment.wengert("alias", "status")).startswith("torch 2.13.0 is wengert")


def test_installing_twice_replaces_it(environment: Environment) -> None:
    good(environment.wengert("alias", "install"))
    first = listing(environment)
    good(environment.wengert("alias", "install"))
    assert listing(environment) == first


def test_pip_sees_a_torch_and_uninstalls_it(environment: Environment) -> None:
    before = listing(environment)
    environment.wengert("alias", "install")
    good(environment.python("-c", "import torch, functorch"))  # which leaves bytecode
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check",
           "--python", str(environment.interpreter)]  # fmt: skip
    if subprocess.run([*pip, "--version"], capture_output=True).returncode:
        pytest.skip("pip is not installed, or too old for --python")
    install = [*pip, "install", "--no-index", "--dry-run", "--no-deps", "torch>=2.2,!=2.4"]
    assert "Requirement already satisfied: torch" in subprocess.check_output(install, text=True)
    subprocess.run([*pip, "uninstall", "-y", "torch"], check=True, capture_output=True)
    assert listing(environment) == before


@pytest.mark.parametrize("file", ["torch/extra.py", "torch/__init__.py"])
def test_what_it_did_not_write_is_not_deleted(environment: Environment, file: str) -> None:
    environment.wengert("alias", "install")
    path = environment.packages / file
    content = path.read_text() if path.exists() else None
    path.write_text("mine = 1\n")
    for action in ("remove", "install"):
        refused = environment.wengert("alias", action)
        assert refused.returncode == 1
        assert refused.stderr.startswith(f"wengert alias {action}: {file} in ")
        assert path.read_text() == "mine = 1\n"
    path.unlink() if content is None else path.write_text(content)


def test_an_installed_pytorch_stays(environment: Environment) -> None:
    package = environment.packages / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("")
    try:
        refused = environment.wengert("alias", "install")
        assert refused.returncode == 1
        assert f"PyTorch is installed, in {package}" in refused.stderr
        assert environment.wengert("alias", "remove").returncode == 1
        assert [path.name for path in package.iterdir()] == ["__init__.py"]
    finally:
        (package / "__init__.py").unlink()
        package.rmdir()


def test_a_write_that_fails_leaves_nothing(environment: Environment) -> None:
    """The second of the three moves is refused: the first is undone."""
    before = listing(environment)
    code = """
        import os, sysconfig
        from pathlib import Path
        from wengert.compat import package
        rename, done = os.rename, []
        def fail(source, target):
            done.append(source)
            if len(done) == 2:
                raise OSError("disk full")
            rename(source, target)
        os.rename = fail
        try:
            package.install(Path(sysconfig.get_path("purelib")))
        except OSError as error:
            print(error)
    """
    assert good(environment.python("-c", textwrap.dedent(code))) == "disk full\n"
    assert listing(environment) == before
