"""What the error of a second backward says, by what the two calls have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wengert
from wengert import nn
from wengert.autograd import GraphReleasedError
from wengert.autograd.engine import compatibility

PYTORCH = (
    "Trying to backward through the graph a second time (or directly access saved tensors after"
    " they have already been freed). Saved intermediate values of the graph are freed when you"
    " call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward"
    " through the graph a second time or if you need to access saved tensors after calling"
    " backward."
)


@pytest.fixture(autouse=True, params=[False, True], ids=["native", "alias"])
def _lenient(request: pytest.FixtureRequest) -> Iterator[None]:
    compatibility.lenient = request.param
    yield
    compatibility.lenient = False


def error_of(program: Callable[[], Any]) -> str:
    """The message, with lines of this file by their distance from the program's first."""
    with pytest.raises(GraphReleasedError) as caught:
        program()
    code = program.__code__

    def relative(match: re.Match[str]) -> str:
        return f"line {int(match[1]) - code.co_firstlineno}"

    return re.sub(rf"{re.escape(code.co_filename)}:(\d+)", relative, str(caught.value))


@pytest.mark.filterwarnings("ignore:this backward passes")
def test_the_text_begins_with_the_whole_of_pytorchs(torch: Any) -> None:
    y = torch.ones(2, requires_grad=True).exp().sum()
    y.backward()
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    assert str(caught.value) == PYTORCH

    def program() -> None:
        y = wengert.ones(2, requires_grad=True).exp().sum()
        y.backward()
        y.backward()

    assert error_of(program).splitlines()[0] == PYTORCH


def test_one_root_twice() -> None:
    x = wengert.ones(2, requires_grad=True)

    def program() -> None:
        loss = x.exp().sum()
        loss.backward()
        loss.backward()

    text = error_of(program)
    assert "loss was already differentiated at line 2  loss.backward(). Remedies:" in text
    assert "1. compute it again before this call (line 1  loss = x.exp().sum())" in text
    assert "2. keep the graph (and its memory): retain_graph=True at line 2  loss.backw" in text
    assert "detach" not in text
    assert "sum the" not in text
    assert "joined by" not in text


def test_one_root_twice_in_a_line() -> None:
    x = wengert.ones(2, requires_grad=True)

    def program() -> None:
        loss = x.exp().sum()
        loss.backward(), loss.backward()

    text = error_of(program)
    assert "loss was already differentiated at line 2  loss.backward(), loss.back" in text
    assert "1. compute it again before this call (line 1  loss = x.exp().sum())" in text
    assert "turn of the loop" not in text


def test_a_loss_that_is_computed_before_the_loop() -> None:
    x = wengert.ones(2, requires_grad=True)

    def program() -> None:
        loss = x.exp().sum()
        for _ in range(3):
            loss.backward()

    text = error_of(program)
    assert "This line differentiated loss before, in an earlier turn of the loop. Remedies:" in text
    assert "1. compute it anew in each turn: move line 1  loss = x.exp().sum()  into the" in text
    assert "2. keep the graph (and its memory): retain_graph=True in this call" in text
    assert "detach" not in text


def test_a_root_of_another_function() -> None:
    x = wengert.ones(2, requires_grad=True)
    loss = x.exp().sum()

    def step() -> None:
        loss.backward()

    def program() -> None:
        step()
        step()

    text = error_of(program)
    assert "1. compute it again before each call" in text
    assert "into the loop" not in text


def test_a_hidden_value_that_is_computed_before_the_loop() -> None:
    trunk, head = nn.Linear(2, 3), nn.Linear(3, 1)
    x = wengert.ones(4, 2)

    def program() -> None:
        features = trunk(x).tanh()
        for _ in range(2):
            head(features).mean().backward()

    text = error_of(program)
    assert "1. it is trained: move line 1  features = trunk(x).tanh()  into the loop" in text
    assert "2. it is not to be trained: use features.detach() for features in that line" in text


def test_auto_is_no_remedy_where_it_was_given() -> None:
    x = wengert.ones(2, requires_grad=True)

    def program() -> None:
        loss = x.exp().sum()
        loss.backward(retain_graph="auto")
        loss.backward()

    text = error_of(program)
    assert 'released by: backward(retain_graph="auto")  at line 2' in text
    assert 'or "auto"' not in text


def test_a_part_of_what_was_differentiated() -> None:
    """The root of the second call was no root of the first."""
    x = wengert.ones(2, requires_grad=True)

    def program() -> None:
        part = x.exp().prod()
        whole = part.exp() + 1
        whole.backward()
        part.backward()

    text = error_of(program)
    assert "part was already differentiated at line 3  whole.backward(). Remedies:" in text
