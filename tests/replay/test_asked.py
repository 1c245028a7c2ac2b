"""What code of compiled functions is told, and which decisions of it are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import wengert
from tests.cli.process import forked
from tests.replay.asked import IN_ONE_PROGRAM, asking, refusals
from wengert import compiler


@pytest.fixture(scope="module")
def theirs() -> Any:
    """What PyTorch says of the programs."""
    pytest.importorskip("torch")
    told = forked("torch", "-m", "tests.replay.asked")
    return json.loads(told.stdout.splitlines()[-1])


def as_written(graph: Any, _: Any) -> Any:
    """A backend."""
    return graph.forward


@pytest.mark.torch
@pytest.mark.parametrize("backend", ["inductor", "eager", as_written])
def test_code_may_ask_whether_it_is_compiled(theirs: Any, backend: Any) -> None:
    assert asking(wengert, backend) == theirs[0] == [3, 3, 2, 2, 20, 3, 2, 3, 2]
    assert not compiler.is_compiling()


@pytest.mark.torch
@pytest.mark.parametrize("name", IN_ONE_PROGRAM)
@pytest.mark.parametrize("backend", ["inductor", "eager"])
def test_what_is_to_be_one_program_is_refused_as_by_pytorch(
    theirs: Any, name: str, backend: str
) -> None:
    ours = refusals(wengert, backend, name)
    assert len(ours) == theirs[1][name]  # from the first call on
    for text in ours:
        assert "decides by a value inside of the function, at" in text
        assert "asked.py" in text
