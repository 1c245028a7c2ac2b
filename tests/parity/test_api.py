"""Names that scripts use are there, in this library and under the alias."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent

# Natively it is `compiler.compile`.
ALIAS_ONLY = {"compile"}


def listed(file: str) -> list[str]:
    """The names of a list, without remarks."""
    lines = (HERE / file).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


NAMES = listed("api.txt")
NAMES += [f"nn.{n}" for n in listed("modules.txt")]


def found(root: str, path: str) -> Any:
    """What stands at a dotted path, by attributes and imports."""
    place = importlib.import_module(root)
    for part in path.split("."):
        if not hasattr(place, part):
            importlib.import_module(f"{place.__name__}.{part}")
        place = getattr(place, part)
    return place


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ALIAS_ONLY])
def test_the_name_is_there(name: str) -> None:
    assert found("wengert", name) is not None or name.endswith(("grad", "grad_fn"))


ALIAS = """
import sys
import wengert.compat
wengert.compat.install()
from tests.parity.test_api import NAMES, found
for name in NAMES:
    found("torch", name)
assert found("torch", "add").__module__.startswith("wengert")
"""


def test_the_names_are_there_under_the_alias() -> None:
    root = HERE.parents[1]
    done = subprocess.run(
        [sys.executable, "-c", ALIAS], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
