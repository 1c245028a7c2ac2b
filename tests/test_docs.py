"""The documentation is true: its examples run and print what it says they print."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.cli.process import Result, forked
from tests.source import ROOT, modules

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
WITH_EXAMPLES = [m for m, path in modules().items() if ">>>" in path.read_text()]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def run(script: str, *arguments: str) -> Result:
    """Run one of tools/ in a process without torch and without settings of other tests."""
    return forked("wengert", f"tools/{script}", *arguments)


# The pages of errors are run by test_explanations.
RUN = [p for p in PAGES if "```python" in p.read_text() and p.parent.name != "errors"]


@pytest.mark.parametrize("page", RUN, ids=relative)
def test_page_shows_what_its_code_prints(page: Path) -> None:
    done = run("pages.py", "--check", relative(page))
    assert done.returncode == 0, done.stdout + done.stderr


# Pages about the source, whose paths begin at its folder, at the root or beside the page.
ABOUT_SOURCE = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "architecture.md",
    ROOT / "docs" / "glossary.md",
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
    *sorted((ROOT / "src" / "wengert").glob("*/README.md")),
]
FOLDERS = ("", "src/wengert", "docs", "tests/autograd", "tests/kernels/conv")


@pytest.mark.parametrize("page", ABOUT_SOURCE, ids=relative)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(r"`((?:\.\./)?[\w/]+(?:/|\.py|\.md))`", page.read_text())
    folders = [page.parent, *(ROOT / folder for folder in FOLDERS)]
    assert [name for name in named if not any((f / name).exists() for f in folders)] == []


@pytest.fixture(scope="module")
def doctests() -> dict[str, list[str]]:
    """The failing examples of every module that has examples."""
    done = run("doctests.py")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_of_module(module: str, doctests: dict[str, list[str]]) -> None:
    assert module in doctests, "none of the examples of this module was found"
    assert doctests[module] == [], "\n".join(doctests[module])


LINK = re.compile(r"(?<!!)\[[^\]]+\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    broken = [t for t in LINK.findall(page.read_text()) if not (page.parent / t).exists()]
    assert broken == []


def test_every_page_is_in_the_navigation() -> None:
    pages = {str(p.relative_to(ROOT / "docs")) for p in PAGES if ROOT / "docs" in p.parents}
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert pages == listed


def test_changelog_has_the_version_or_what_comes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] in ("Unreleased", project["version"])
    assert project["version"] in headings


def test_picture_is_what_its_page_draws() -> None:
    done = run("pictures.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_notebooks_are_what_the_tutorials_say() -> None:
    done = run("notebooks.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_links_of_the_package_index_lead_to_one_place() -> None:
    """README.md's links are relative; the index gets absolute ones, to the project's source."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    source = project["project"]["urls"]["Source"]
    text = (ROOT / "README.md").read_text()
    for change in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"][
        "substitutions"
    ]:
        text = re.sub(change["pattern"], change["replacement"], text)
    links = re.findall(r"\]\((\S+)\)", text)
    raw = source.replace("https://github.com", "https://raw.githubusercontent.com")
    assert all(link.startswith((f"{source}/blob/main/", f"{raw}/main/")) for link in links)
    paths = [re.sub(r"^.*?/main/|#.*", "", link) for link in links]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert len(text.splitlines()) < 160
