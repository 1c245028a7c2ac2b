"""One name, one idea: what tools/measure_source.py counts, and that it counts right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source import ROOT
from tools import measure_source as tool


def test_no_function_or_class_has_its_name_twice_inside_private_modules() -> None:
    twice = tool.duplicates(tool.read(ROOT / "src" / "wengert"), private_only=True)
    # What each module of `tensor` does when it is imported; PyTorch's two functions.
    assert set(twice) == {"bind", "grad"}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    files = {
        "__init__.py": '"""A package."""\n',
        "inner/__init__.py": "",
        "inner/_one.py": "def run(found):\n    return found  # the argument\n\n\nclass Once: ...\n",
        "inner/two.py": "from thing.inner._one import Once\n\n# A remark.\ndef run(rest): ...\n",
        "outer/__init__.py": "from thing.inner._one import run\n"
        "from thing.inner.two import run as other\n",
    }
    for name, text in files.items():
        path = tmp_path / "thing" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "thing"


def test_names_in_several_modules(package: Path) -> None:
    assert tool.duplicates(tool.read(package)) == {"run": ["thing.inner._one", "thing.inner.two"]}


def test_bindings_that_say_nothing(package: Path) -> None:
    listed = [line.rpartition("/")[2] for line in tool.listing("vague", tool.read(package))]
    assert listed == ["_one.py:1: found", "two.py:4: rest"]


def test_private_modules_of_other_packages(package: Path) -> None:
    rows = list(tool.crossing_imports(tool.read(package), "thing"))
    assert [(module, source, hidden) for module, source, _, hidden in rows] == [
        ("thing.outer", "thing.inner._one:run", True),
        ("thing.outer", "thing.inner.two:run", False),
    ]


def test_lines_of_code_comments_and_docstrings(package: Path) -> None:
    counts = {m.name: dict(m.lines) for m in tool.read(package)}
    assert counts["thing"] == {"code": 0, "comment": 0, "docstring": 1}
    assert counts["thing.inner._one"] == {"code": 3, "comment": 1, "docstring": 0}
    assert counts["thing.inner.two"] == {"code": 2, "comment": 1, "docstring": 0}
