"""What packaging tools are told about torch while the alias is installed in a process."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys

import pytest

from wengert import compat


@pytest.fixture
def alias(monkeypatch: pytest.MonkeyPatch) -> None:
    """The finder alone: PyTorch may be imported in this process."""
    monkeypatch.setattr(sys, "meta_path", [compat._finder, *sys.meta_path])


@pytest.mark.usefixtures("alias")
def test_version_and_distribution() -> None:
    assert importlib.metadata.version("torch") == "2.13.0"
    assert importlib.metadata.version("Torch") == "2.13.0"
    distribution = importlib.metadata.distribution("torch")
    assert distribution.metadata["Name"] == "torch"
    assert distribution.requires == ["wengert"]
    assert distribution.read_text("no such file") is None


@pytest.mark.usefixtures("alias")
def test_all_distributions_contain_it_once_more() -> None:
    names = [d.metadata["Name"] for d in importlib.metadata.distributions()]
    assert "torch" in names
    assert "numpy" in names
    packages = importlib.metadata.packages_distributions()
    assert "torch" in packages["torch"]
    assert "torch" in packages["functorch"]


@pytest.mark.usefixtures("alias")
def test_other_distributions_are_not_touched() -> None:
    assert importlib.metadata.distribution("numpy").files
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("torch-zork")


@pytest.mark.usefixtures("alias")
def test_specs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "functorch", raising=False)  # PyTorch's own, say
    for name in ("torch.nn", "functorch"):
        spec = (
            importlib.util.find_spec(name)
            if name == "functorch"
            else compat._finder.find_spec(name)
        )
        assert spec is not None
        assert spec.origin == "wengert"
