"""Drawings of compiled functions: their programs as graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wengert
from wengert import compiler, nn
from wengert.graph import draw
from wengert.replay.background import background


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "at_once", True)
    compiler.reset()


def trained() -> Any:
    """A compiled step that has been called."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

    @compiler.compile
    def step(x: Any) -> Any:
        model.zero_grad()
        loss = (model(x) * 2).square().mean()
        loss.backward()
        return loss

    for _ in range(4):
        step(wengert.rand(5, 3)).item()
    return step


def test_a_program_is_drawn_from_its_inputs_to_its_results(tmp_path: Path) -> None:
    step = trained()
    path = tmp_path / "program.svg"
    drawing = draw(step, path)
    (program,) = step.compiled.programs()
    operations = [node for node in drawing.nodes if node.state != "leaf"]
    assert [node.op for node in operations] == [i.name for i in program.instructions]
    assert len(drawing.roots) == len(program.results) == 5  # the loss and four gradients
    first = operations[0]
    assert (first.op, first.shape) == ("linear", (5, 4))
    assert [drawing.nodes[k].text for k in first.inputs] == [
        "input_0 = float32[5, 3]", "input_1 = float32[4, 3]", "input_2 = float32[4]"
    ]  # fmt: skip
    assert first.where.startswith(f"{__file__}:")
    assert first.text == "loss = (model(x) * 2).square().mean()"
    assert len(first.roots) > 1
    assert "linear_backward_weight" in path.read_text("utf-8")
    leaf = next(box for box in drawing.boxes if box.title == "input_0")
    assert (leaf.kind, leaf.shape) == ("leaf", (5, 3))


def test_compiled_modules_and_several_programs_are_drawn() -> None:
    layer = compiler.compile(nn.Linear(2, 2))
    step = trained()
    for _ in range(2):
        layer(wengert.ones(1, 2)).sum().item()
    both = draw(layer, step)
    assert len(both.roots) == len(draw(layer).roots) + len(draw(step).roots)
    assert len(both.nodes) == len(draw(layer).nodes) + len(draw(step).nodes)
    in_place = nn.Linear(2, 2)
    in_place.compile()
    for _ in range(2):
        in_place(wengert.ones(1, 2)).sum().item()
    assert [node.op for node in draw(in_place).nodes][3:] == ["linear", "sum"]


def test_what_has_no_program_is_refused() -> None:
    with pytest.raises(RuntimeError, match="no program until it has been called twice"):
        draw(compiler.compile(nn.Linear(2, 2)))
    with pytest.raises(TypeError, match=r"a root must be .* not builtin_function_or_method"):
        draw(len)
    with pytest.raises(TypeError, match=r"a root must be .* not function"):
        draw(wengert.ones(2, requires_grad=True).sum(), trained())
