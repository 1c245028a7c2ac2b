"""What mypy and pyright make of a user's script, of wengert and of torch under the alias."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.process import good
from tests.compat.environment import Environment, create

# Lines that are wrong say so.
SCRIPT = """\
import {torch}
import {torch}.nn.functional as F
from {torch} import nn, optim


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, x: {torch}.Tensor) -> {torch}.Tensor:
        return F.relu(self.layer(x))


net = Net()
optimizer = optim.Adam(net.parameters(), lr=1e-3)
scheduler = optim.lr_scheduler.StepLR(optimizer, 1)
loss = {torch}.matmul({torch}.ones(2, 3), {torch}.ones(3, 2)).sum()
loss.backward()
value: float = loss.item()
halves: {torch}.dtype = {torch}.float16 if value else {torch}.bool
with {torch}.no_grad():
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
{torch}.save(net.state_dict(), "net.pt")
loader = {torch}.utils.data.DataLoader({torch}.utils.data.TensorDataset(loss))
layer: {torch}.nn.Linear = {torch}.nn.Linear(2, 3)
layer.no_such_method("x", 1).more
nn.Linear("2", 3)  # wrong
nn.Liner(2, 3)  # wrong
optim.Adm  # wrong
{torch}.matmull  # wrong
{torch}.nn.functional.rellu  # wrong
loss.matmull  # wrong
number: int = {torch}.relu(loss)  # wrong
net.forward(1)  # wrong
"""
WRONG = {n for n, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# wrong")}
NAMES = ("wengert", "torch")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the alias, and a folder of scripts in it."""
    environment = create(tmp_path_factory.mktemp("types"))
    good(environment.wengert("alias", "install"))
    return environment


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    for name in NAMES:
        (folder / f"with_{name}.py").write_text(SCRIPT.format(torch=name))
    return folder


@pytest.fixture(scope="module")
def by_mypy(environment: Environment, scripts: Path) -> dict[str, set[int]]:
    command = [sys.executable, "-m", "mypy", "--python-executable", str(environment.interpreter),
               "--cache-dir", str(scripts / "cache"), "--config-file", "", "."]  # fmt: skip
    output = subprocess.run(command, capture_output=True, text=True, cwd=scripts).stdout
    found = re.findall(r"^with_(\w+)\.py:(\d+): error", output, re.MULTILINE)
    assert output.count(" error:") == len(found), output
    return {name: {int(line) for script, line in found if script == name} for name in NAMES}


@pytest.fixture(scope="module")
def by_pyright(environment: Environment, scripts: Path) -> dict[str, set[int]]:
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("basedpyright is not installed")
    shutil.rmtree(scripts / "cache", ignore_errors=True)
    (scripts / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "warning",
               "--pythonpath", str(environment.interpreter)]  # fmt: skip
    output = subprocess.run(command, capture_output=True, text=True, cwd=scripts).stdout
    lines: dict[str, set[int]] = {name: set() for name in NAMES}
    for diagnostic in json.loads(output)["generalDiagnostics"]:
        if diagnostic.get("rule") != "reportUnusedExpression":
            name = Path(diagnostic["file"]).stem.removeprefix("with_")
            lines[name].add(diagnostic["range"]["start"]["line"] + 1)
    return lines


@pytest.mark.parametrize("name", NAMES)
def test_mypy_finds_what_is_wrong(by_mypy: dict[str, set[int]], name: str) -> None:
    assert by_mypy[name] == WRONG


@pytest.mark.parametrize("name", NAMES)
def test_pyright_finds_what_is_wrong(by_pyright: dict[str, set[int]], name: str) -> None:
    assert by_pyright[name] == WRONG
