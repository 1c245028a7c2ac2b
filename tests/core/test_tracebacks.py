"""Tracebacks without frames inside wengert, and errors that name their module."""

from __future__ import annotations

import gc
import sys
import traceback
import weakref
from pathlib import Path
from typing import Any

import pytest

import wengert
from tests.cli.process import script
from tests.cli.process import wengert as command
from wengert import nn
from wengert.core.tracebacks import shorten


def raised(function: Any) -> Exception:
    try:
        function()
    except Exception as error:
        return error
    pytest.fail("nothing was raised")


def files(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def backward_through(hook: Any) -> None:
    x = wengert.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    y.sum().backward()


FAILING = {
    "operator": lambda: wengert.ones(2, 3) + wengert.ones(4),
    "method": lambda: wengert.zeros(3).reshape(2),
    "module": lambda: nn.Sequential(nn.Linear(4, 8), nn.Linear(9, 4))(wengert.ones(2, 4)),
    "function": lambda: nn.functional.cross_entropy(wengert.ones(2, 3), wengert.tensor([0, 5])),
    "backward": lambda: wengert.ones(2).sum().backward(),
    "NumPy": lambda: wengert.linalg.solve(wengert.zeros(2, 2), wengert.ones(2)),
    "hook": lambda: backward_through(lambda g: {}["mine"]),
}


@pytest.mark.parametrize("name", FAILING)
def test_only_frames_of_the_program_are_left(name: str) -> None:
    error = raised(FAILING[name])
    whole = len(files(error))
    removed = shorten(error)
    assert removed >= whole - len(files(error)) > 0
    assert {*files(error)} == {__file__}
    text = "".join(traceback.format_exception(error))
    assert "src/wengert" not in text.replace(__file__, "")
    assert "<op " not in text
    assert shorten(error) == 0


def test_calls_back_into_the_program_are_left() -> None:
    error = raised(FAILING["hook"])
    shorten(error)
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names == ["raised", "<lambda>", "backward_through", "<lambda>"]


def test_earlier_errors_of_the_program_are_left() -> None:
    def failing() -> None:
        try:
            {}["first"]
        except KeyError:
            wengert.ones(2) + wengert.ones(3)

    error = raised(failing)
    shorten(error)
    assert isinstance(error.__context__, KeyError)


def test_an_error_that_leads_to_itself_ends() -> None:
    error = raised(FAILING["operator"])
    error.__cause__ = error
    assert shorten(error) > 0


class Shell:
    """What `load_ipython_extension` uses of a session."""

    handler: Any = None
    shown: Any = None

    def set_custom_exc(self, kinds: Any, handler: Any) -> None:
        self.handler = handler

    def showtraceback(self, exc_tuple: Any, tb_offset: Any = None) -> None:
        self.shown = exc_tuple


def test_in_an_interactive_session() -> None:
    shell = Shell()
    wengert.load_ipython_extension(shell)
    try:
        wengert.zeros(3).reshape(2)
    except RuntimeError:
        shell.handler(shell, *sys.exc_info(), tb_offset=1)
    kind, error, trace = shell.shown
    assert kind is RuntimeError
    assert trace is error.__traceback__
    assert files(error) == [__file__]
    wengert.unload_ipython_extension(shell)
    assert shell.handler is None


SCRIPT = """
    import torch
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(9, 4))
        def forward(self, x):
            return self.net(x)
    Model()(torch.ones(2, 4))
"""


def test_wengert_run_leaves_frames_out(tmp_path: Path) -> None:
    path = str(script(tmp_path, SCRIPT))
    done = command("run", "--quiet", path)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert [line for line in lines if line.startswith("  File")] == [
        f'  File "{path}", line 9, in <module>',
        f'  File "{path}", line 8, in forward',
    ]
    assert (
        lines[-2] == "in the module Model.net.1: Linear(in_features=9, out_features=4, bias=True)"
    )
    assert "--full-traceback" in lines[-1]
    full = command("run", "--quiet", "--full-traceback", path).stderr
    assert "call.py" in full
    assert "--full-traceback" not in full


class Scale(nn.Module):
    def __init__(self, by: Any) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Any) -> Any:
        return x * self.by

    def extra_repr(self) -> str:
        return f"by={self.by.shape}"


def notes(error: BaseException) -> list[str]:
    return getattr(error, "__notes__", [])


def test_an_error_names_the_innermost_module() -> None:
    net = nn.Sequential(nn.Sequential(nn.Identity(), Scale(wengert.ones(3))), nn.ReLU())
    net[0].enc = nn.Identity()
    error = raised(lambda: net(wengert.ones(2)))
    assert notes(error) == ["in the module Sequential.0.1: Scale(by=torch.Size([3]))"]


def test_errors_of_the_program_name_it_too() -> None:
    class Strict(nn.Module):
        def forward(self, x: Any) -> Any:
            raise KeyError("mine")

    error = raised(lambda: nn.Sequential(Strict())(1))
    assert isinstance(error, KeyError)
    assert notes(error) == ["in the module Sequential.0: Strict()"]


def test_hooks_are_inside_of_the_module() -> None:
    net = nn.Sequential(nn.ReLU())
    net[0].register_forward_hook(lambda *args: wengert.zeros(3).reshape(2))
    assert notes(raised(lambda: net(wengert.ones(2))))[0].startswith("in the module Sequential.0:")


def test_a_repr_that_fails_hides_nothing() -> None:
    error = raised(lambda: Scale(None)(wengert.ones(2)))
    assert isinstance(error, TypeError)
    assert notes(error) == []


def test_failing_calls_of_modules_leave_no_cycles() -> None:
    class Strict(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("mine")

    net = nn.Sequential(nn.Linear(2, 3), Strict())
    gc.collect()
    gc.disable()
    try:
        x = wengert.ones(1, 2)
        seen = weakref.ref(x)
        with pytest.raises(ValueError, match="mine") as failed:
            net(x)
        del failed, x
        assert seen() is None
    finally:
        gc.enable()
