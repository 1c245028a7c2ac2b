"""The reference has every public name, under the path by which users import it."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from types import ModuleType
from typing import Any

import pytest

from tests.public import public, tensor_methods
from tests.source import ROOT
from wengert import Tensor, nn, optim


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """tools/reference_pages.py, which writes the reference when the site is built."""
    path = ROOT / "tools" / "reference_pages.py"
    spec = importlib.util.spec_from_file_location("reference_pages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(reference: ModuleType) -> dict[str, str]:
    """The pages of the reference as the site gets them."""
    files = sorted((ROOT / "docs" / "reference").glob("*.md"))
    return {
        path.name: reference.expanded(path.name, path.read_text())
        for path in files
        if path.name in reference.plan()
    }


ANCHOR = re.compile(r"^#+ `[\w.]+` \{ #([\w.]+) ", re.MULTILINE)


@pytest.fixture(scope="module")
def anchors(pages: dict[str, str]) -> list[str]:
    """The anchors of all pages."""
    return [anchor for text in pages.values() for anchor in ANCHOR.findall(text)]


def test_every_public_name_has_an_entry(anchors: list[str]) -> None:
    assert sorted(public().keys() - set(anchors)) == []


def test_tensor_has_its_methods_and_attributes(anchors: list[str]) -> None:
    attributes = [n for n, v in vars(Tensor).items() if n[0] != "_" and isinstance(v, property)]
    names = [*tensor_methods(), *attributes]
    assert [n for n in names if f"wengert.Tensor.{n}" not in anchors] == []


def test_members_that_bases_without_a_name_define(anchors: list[str]) -> None:
    names = ("register_forward_hook", "state_dict", "to", "named_parameters", "zero_grad")
    assert {f"wengert.nn.Module.{name}" for name in names} <= set(anchors)


def test_anchors_are_there_once(anchors: list[str]) -> None:
    assert sorted({a for a in anchors if anchors.count(a) > 1}) == []


def test_no_heading_and_no_anchor_names_a_private_module(pages: dict[str, str]) -> None:
    headings = [h for text in pages.values() for h in re.findall(r"^#+ .*$", text, re.MULTILINE)]
    assert [h for h in headings if re.search(r"[.#]_[a-z]", h) or "README" in h] == []


def test_nothing_is_left_of_the_directives(pages: dict[str, str], reference: ModuleType) -> None:
    assert [name for name, text in pages.items() if reference.DIRECTIVE.search(text)] == []
    empty = [
        d for found in reference.plan().values() for d, entries in found.items() if not entries
    ]
    assert empty == []


def test_an_entry(reference: ModuleType) -> None:
    def scaled(input: Any, factor: float = 2.0, *, mode: str = "a" * 70) -> Any:
        """The product with `factor`, as `add` does.

        Args:
            input: of any
                shape.
            factor: a number.

        >>> scaled(1)
        2
        """

    entry = reference.Entry("wengert.scaled", scaled, 3)
    text = reference.written(entry, "creation.md")
    assert text.startswith('### `scaled` { #wengert.scaled data-toc-label="scaled" }')
    assert "wengert.scaled(\n    input, factor=2.0, *,\n    mode='" in text
    assert "- `input` – of any shape.\n- `factor` = `2.0` – a number." in text
    assert "[`add`](ops.md#wengert.add)" in text
    assert "```pycon\n>>> scaled(1)\n2\n```" in text


def explained(cls: type) -> set[str]:
    """The arguments that a class's docstring lists."""
    _, _, section = (inspect.getdoc(cls) or "").partition("\nArgs:\n")
    return set(re.findall(r"^    \*{0,2}(\w+):", section, re.MULTILINE))


def taken(cls: type) -> set[str]:
    """The arguments that a class takes, without those for other libraries."""
    parameters = inspect.signature(cls).parameters.values()
    plain = (p for p in parameters if p.name[0] != "_")
    return {p.name for p in plain if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


LAYERS = {
    name: value
    for name, value in public().items()
    if isinstance(value, type)
    and issubclass(value, (nn.Module, optim.Optimizer, optim.lr_scheduler.LRScheduler))
    and name.startswith(("wengert.nn.", "wengert.optim."))
    and not name.startswith("wengert.nn.parallel.")
}


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layers_explain_their_arguments(name: str) -> None:
    assert taken(LAYERS[name]) - explained(LAYERS[name]) == set()
