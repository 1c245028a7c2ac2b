"""`TorchFunctionMode`, and what `torch.overrides` tells of functions."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import wengert
from tests.garbage import garbage_of
from wengert import overrides
from wengert.core import fronts
from wengert.nn import functional as F

ROOT = Path(__file__).parents[2]


class Counting(overrides.TorchFunctionMode):
    """Counts calls, under a name."""

    def __init__(self, log: list[str], name: str = "") -> None:
        self.log, self.name = log, name

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.log.append(self.name + func.__name__)
        return func(*args, **(kwargs or {}))


def test_modes_nest_and_the_inner_one_goes_first() -> None:
    log: list[str] = []
    with Counting(log, "outer ") as outer, Counting(log, "inner ") as inner:
        assert overrides._get_current_function_mode_stack() == [outer, inner]
        wengert.tanh(wengert.ones(1))
    assert log == ["inner ones", "outer ones", "inner tanh", "outer tanh"]
    assert overrides._get_current_function_mode_stack() == []


def test_a_mode_goes_before_classes_and_may_leave_it_to_them() -> None:
    class Kind:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    class Silent(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(types)
            return NotImplemented

    seen: list[Any] = []
    with Silent():
        assert wengert.mul(Kind(), 2) is wengert.mul
        with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.ones'"):
            wengert.ones(2)
    assert seen == [(Kind,), ()]


def test_what_a_mode_answers_is_the_result() -> None:
    class Fixed(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 42 if func is wengert.rand else func(*args, **(kwargs or {}))

    with Fixed():
        assert wengert.rand(3) == 42
        assert wengert.ones(1).tolist() == [1.0]


def test_a_mode_ends_with_an_error() -> None:
    class Failing(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError(func.__name__)

    with pytest.raises(KeyError, match="ones"), Failing():
        wengert.ones(1)
    assert overrides._get_current_function_mode_stack() == []
    assert wengert.ones(1).tolist() == [1.0]


def test_a_mode_without_a_handler_says_so() -> None:
    with (
        pytest.raises(NotImplementedError, match="__torch_function__"),
        overrides.TorchFunctionMode(),
    ):
        wengert.ones(1)


def test_modules_call_their_functions_under_a_mode() -> None:
    log: list[str] = []
    net = wengert.nn.Sequential(wengert.nn.Linear(2, 2), wengert.nn.ReLU())
    x = wengert.ones(1, 2)
    with Counting(log):
        net(x)
    assert log == ["linear", "relu"]


def test_the_derivative_is_nobodys_business() -> None:
    log: list[str] = []
    x = wengert.ones(2, requires_grad=True)
    y = (x * x).sum()
    with Counting(log):
        y.backward(create_graph=True)
    assert log == ["backward"]


def test_all_fronts_go_with_the_last_mode() -> None:
    def armed() -> int:
        return sum(p.armed for p in fronts.public_functions.values() if p.generated)

    assert armed() == 0
    with Counting([]):
        inside = armed()
        with Counting([]):
            assert armed() == inside > 100
        assert armed() == inside
    assert armed() == 0


def test_signatures_stay_under_a_mode() -> None:
    functions = [wengert.sum, wengert.tanh, F.cross_entropy, wengert.Tensor.backward]
    before = [inspect.signature(f) for f in functions]
    with overrides.BaseTorchFunctionMode():
        assert [inspect.signature(f) for f in functions] == before


def test_a_first_call_under_a_mode_writes_the_function() -> None:
    code = (
        "import wengert; from wengert.overrides import BaseTorchFunctionMode as M\n"
        "with M(): a = wengert.sinh(wengert.ones(1)), wengert.cumsum(wengert.ones(2), axis=0)\n"
        "b = wengert.sinh(wengert.ones(1)), wengert.cumsum(wengert.ones(2), axis=0)\n"
        "assert str(a) == str(b), (a, b)\n"
    )
    assert python(code) == ""


def python(code: str, *options: str) -> str:
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(
        [sys.executable, *options, "-c", code], env=env, capture_output=True, text=True
    )
    return run.stdout + run.stderr


def test_the_first_argument_of_a_class_that_is_no_tensor() -> None:
    """Without an import of `wengert.overrides`, a function that has begun says what to do."""
    code = (
        "import wengert\n"
        "class A:\n"
        "    @classmethod\n"
        "    def __torch_function__(cls, func, types, args=(), kwargs=None): return 'answered'\n"
        "print(wengert.ones(1) * A())\n"
        "print(wengert.sum(A()), wengert.linalg.det(A()))\n"
    )
    assert python(code) == "answered\nanswered answered\n"
    swapped = code.replace("print(wengert.ones(1) * A())", "wengert.sum(A())")
    assert "import wengert.overrides first" in python(swapped)


def test_scripts_under_the_alias_need_no_import(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "class A:\n"
        "    @classmethod\n"
        "    def __torch_function__(cls, func, types, args=(), kwargs=None): return func\n"
        "print(torch.linalg.det(A()) is torch.linalg.det)\n"
        "from torch._C import _disabled_torch_function_impl as off\n"
        "print(torch.nn.Parameter.__torch_function__ is torch._C._disabled_torch_function_impl)\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "wengert", "run", "--quiet", str(script)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert run.stdout == "True\nTrue\n", run.stderr


@pytest.mark.parametrize("func", [*overrides.get_testing_overrides()])
def test_every_overridable_function_asks(func: Any) -> None:
    class Answer:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return -1

    asked: list[Any] = []
    if "__get__" in str(func) or "__set__" in str(func) or "__delete__" in str(func):
        kind = type("Kind", (wengert.Tensor,), dict(vars(Answer)))
        extra = () if func.__name__ != "__set__" else (1,)
        func(wengert.ones(1).as_subclass(kind), *extra)
    else:
        stand_in = overrides.get_testing_overrides()[func]
        parameters = inspect.signature(stand_in).parameters.values()
        required = [
            p for p in parameters
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
        ]  # fmt: skip
        args = [Answer() for _ in required] or [Answer()]
        assert func(*args) == -1 == stand_in(*args)
    assert asked == [func]


@pytest.mark.torch
@pytest.mark.parametrize(
    "path",
    ["Tensor.shape.__get__", "Tensor.add_", "nn.functional.linear", "linalg.cholesky", "tanh"],
)
def test_names_are_those_of_pytorch(path: str, torch: Any) -> None:
    import torch.overrides

    ours, theirs = wengert, torch
    for part in path.split("."):
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    expected = torch.overrides.resolve_name(theirs)
    assert overrides.resolve_name(ours) == expected
    assert (
        overrides.is_tensor_method_or_property(ours)
        == torch.overrides.is_tensor_method_or_property(theirs)
        or path == "tanh"
    )


def test_functions_outside_of_the_library() -> None:
    class Kind:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, types

    @overrides.wrap_torch_function(lambda x, y: (x, y))
    def area(x: Any, y: Any) -> Any:
        return x * y

    assert area(2, 3) == 6
    assert area(2, Kind()) == (area, (Kind,))
    assert overrides.has_torch_function_variadic(1, Kind())
    with pytest.raises(TypeError, match="Multiple dispatch failed for"):
        overrides.handle_torch_function(area, (), 1, 2)


def test_nothing_is_left_to_the_collector() -> None:
    class Kind(wengert.Tensor):
        pass

    x = wengert.ones(2, requires_grad=True).as_subclass(Kind)

    def computed() -> None:
        with Counting([]):
            (x * 2)[0].backward()

    def failing() -> None:
        wengert.add(x, wengert.ones(3))

    assert not garbage_of(computed)
    assert not garbage_of(failing)
