"""Calls with `out`: classes and modes are asked before anything is written."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
import wengert.overrides

LIBRARIES = pytest.mark.parametrize(
    "name", ["wengert", pytest.param("torch", marks=pytest.mark.torch)]
)
CALLS: dict[str, Any] = {
    "generated": lambda t, x, y, out: t.mul(x, y, out=out),
    "older order": lambda t, x, y, out: t.addcmul(x, x, y, value=2, out=out),
    "written by hand": lambda t, x, y, out: t.add(x, y, alpha=3, out=out),
    "list": lambda t, x, y, out: t.cat([x, y], 0, out=out),
    "reduction": lambda t, x, y, out: t.sum(y, 0, out=out),
}


@pytest.fixture
def library(name: str, request: pytest.FixtureRequest) -> Any:
    return wengert if name == "wengert" else request.getfixturevalue("torch")


def asking_class(library: Any, calls: list[Any]) -> Any:
    class Asking(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append((func, sorted(kwargs or {})))
            return "answer"

    return Asking


@LIBRARIES
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("place", ["input", "out"])
def test_classes(library: Any, call: Any, place: str) -> None:
    calls: list[Any] = []
    kind = asking_class(library, calls)
    plain, y, out = library.ones(2), library.ones(2), library.zeros(2)
    if place == "input":
        y = y.as_subclass(kind)
    else:
        out = library.zeros(2).as_subclass(kind)
    assert call(library, plain, y, out) == "answer"
    (func, options), = calls  # fmt: skip
    assert "out" in options
    assert func in (library.mul, library.addcmul, library.add, library.cat, library.sum)
    if place == "input":
        assert out.tolist() == [0, 0]


@LIBRARIES
def test_several_outputs(library: Any) -> None:
    calls: list[Any] = []
    out = library.zeros(1).as_subclass(asking_class(library, calls))
    indices = library.zeros(1, dtype=library.int64)
    assert library.topk(library.ones(3), 1, out=(out, indices)) == "answer"
    assert [func for func, _ in calls] == [library.topk]


@LIBRARIES
def test_modes(library: Any) -> None:
    module = library.overrides
    calls = []

    class Recording(module.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append((func, sorted(kwargs or {})))
            return func(*args, **(kwargs or {}))

    x, out = library.ones(2), library.zeros(2)
    with Recording():
        assert library.mul(x, 3, out=out) is out
        assert library.cat([x], 0, out=out) is out
    assert calls == [(library.mul, ["out"]), (library.cat, ["out"])]


@LIBRARIES
def test_subclasses_that_are_not_asked(library: Any) -> None:
    calls: list[Any] = []
    kind = asking_class(library, calls)
    out, x = library.zeros(2).as_subclass(kind), library.ones(2).as_subclass(kind)
    core = library if library is wengert else library._C
    with core.DisableTorchFunctionSubclass():
        for result in (library.mul(x, 2, out=out), library.add(x, x, out=out)):
            assert result is out
        assert out.tolist() == [2, 2]
    assert calls == []
