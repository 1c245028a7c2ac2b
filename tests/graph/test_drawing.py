"""`draw`: what becomes one box, what boxes add up to, what draw takes and refuses."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import weakref
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import wengert
from tests.cli.process import ENVIRONMENT, good, script
from tests.cli.process import wengert as wengert_command
from tests.graph import drawn
from tests.source import ROOT
from wengert import nn
from wengert.graph import Box, Drawing, Flops, describe, draw


@pytest.fixture(scope="module", params=drawn.ALL)
def drawing(request: pytest.FixtureRequest) -> Drawing:
    """Each of the graphs."""
    return drawn.ALL[request.param]()


def members(drawing: Drawing, box: Box) -> list[Box]:
    return [drawing.boxes[k] for k in box.members]


def titles(boxes: list[Box]) -> list[str]:
    return [f"{box.title} {box.tag}".strip() for box in boxes]


def named(drawing: Drawing, title: str) -> Box:
    """The first box of that title."""
    return next(box for box in drawing.boxes if box.title == title)


def test_boxes_add_up_to_the_report(drawing: Drawing) -> None:
    report_bytes = sum(node.nbytes for node in drawing.nodes)
    assert drawing.boxes[0].nbytes == report_bytes
    operations = [n.index for n in drawing.nodes if n.state != "leaf"]
    assert list(drawing.boxes[0].nodes) == operations
    for box in drawing.boxes:
        inside = members(drawing, box)
        if inside:
            ops = [b for b in inside if b.kind not in ("leaf", "data")]
            for what in ("nbytes", "frees", "released"):
                assert getattr(box, what) == sum(getattr(b, what) for b in ops), box
            assert [k for b in ops for k in b.nodes] == list(box.nodes)
            assert box.leaf_bytes <= sum(b.leaf_bytes for b in ops)


def test_boxes_are_a_tree(drawing: Drawing) -> None:
    for k, box in enumerate(drawing.boxes):
        assert box.index == k
        for member in members(drawing, box):
            assert (member.parent, member.depth) == (k, box.depth + 1)
            assert not member.opened or box.opened
    assert drawing.boxes[0].parent is None


def test_no_box_has_too_many_members(drawing: Drawing) -> None:
    assert max(len(box.members) for box in drawing.boxes) <= 60


def test_the_first_view_can_be_read(drawing: Drawing) -> None:
    placed = drawing._layout()
    closed = [k for k in placed.boxes if not drawing.boxes[k].opened]
    assert 0 < len(closed) <= 60


def test_every_edge_of_the_graph_is_an_edge_of_boxes(drawing: Drawing) -> None:
    boxes = {k: b.index for b in drawing.boxes if not b.members for k in b.nodes}
    edges = set(drawing.edges)
    for node in drawing.nodes:
        for k in node.inputs:
            if k is not None and not drawing.nodes[k].name:
                assert (boxes[k], boxes[node.index]) in edges


def test_layers_of_a_transformer_are_one_box() -> None:
    drawing = drawn.transformer()
    encoder = named(drawing, "TransformerEncoder")
    (layers,) = members(drawing, encoder)
    assert (layers.kind, layers.title, layers.tag) == ("repeat", "layers.0–11", "× 12")
    assert titles(members(drawing, layers)) == ["layers.0", "layers.1–11 × 11"]
    first, others = members(drawing, layers)
    assert titles(members(drawing, others)) == [f"layers.{k}" for k in range(1, 12)]
    assert len(others.nodes) == 11 * len(first.nodes)
    assert first.opened
    assert not others.opened


def test_steps_of_a_loop_are_one_box() -> None:
    drawing = drawn.recurrent()
    (loop,) = members(drawing, drawing.boxes[0])
    assert (loop.kind, loop.tag, len(loop.nodes)) == ("repeat", "× 300", 1800)
    first, others = members(drawing, loop)
    assert titles(members(drawing, first)) == ["RNNCell", "sum", "add"]
    assert others.tag == "× 299"
    assert [len(b.nodes) for b in members(drawing, others)] == [15 * 6] * 19 + [14 * 6]


def test_a_loop_without_modules_begins_at_its_first_line() -> None:
    w = wengert.ones(2, 2, requires_grad=True)
    state = wengert.ones(2, 2).tanh() + w.sum()
    for _ in range(20):
        gate = state.sigmoid()
        state = gate * w
        state = state.tanh()
    drawing = draw(state.sum())
    loop = next(box for box in drawing.boxes if box.kind == "repeat")
    assert loop.tag == "× 20"
    body = next(box for box in members(drawing, loop) if box.kind == "section")
    assert titles(members(drawing, body)) == ["sigmoid", "mul", "tanh"]


def test_a_loop_inside_of_a_loop() -> None:
    value = wengert.ones(2, requires_grad=True)
    for _ in range(6):
        value = value.exp()
        for _ in range(9):
            value = value.sin()
    drawing = draw(value.sum())
    outer = next(box for box in drawing.boxes if box.kind == "repeat")
    assert outer.tag == "× 6"
    body = next(box for box in members(drawing, outer) if box.kind == "section")
    assert titles(members(drawing, body)) == ["value", "exp", "sin × 9"]


def test_growing_shapes_repeat_too() -> None:
    value = wengert.ones(1, requires_grad=True)
    for _ in range(30):
        value = wengert.cat([value, value[-1:]])
    drawing = draw(value.sum())
    assert next(box.tag for box in drawing.boxes if box.kind == "repeat") == "× 30"


def test_blocks_of_a_residual_network() -> None:
    drawing = drawn.resnet()
    net = named(drawing, "ResNet")
    inside = titles(members(drawing, net))
    assert inside == ["data", "conv2d stem", "stages", "mean", "linear head"]
    first, second = members(drawing, named(drawing, "stages"))
    assert titles([first, second]) == ["0.0–2 × 3", "1"]
    assert titles(members(drawing, second)) == ["0", "1–4 × 4"]


def test_few_equal_operations_stay_apart() -> None:
    drawing = drawn.mlp()
    assert titles(members(drawing, named(drawing, "Sequential"))) == [
        "data", "linear 0", "relu 1", "linear 2",
    ]  # fmt: skip
    assert "repeat" not in {box.kind for box in drawing.boxes}


def test_calls_of_different_modules_do_not_repeat() -> None:
    class Three(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(2, 2) for _ in range(3))

        def forward(self, x: wengert.Tensor) -> wengert.Tensor:
            for _ in range(3):
                q, k, v = self.q(x), self.k(x), self.v(x)
            return q + k + v

    model = Three()
    drawing = draw(model(wengert.ones(1, 2, requires_grad=True)).sum())
    assert [t for t in titles(list(drawing.boxes)) if t.startswith("linear")] == [
        "linear q", "linear k", "linear v",
    ]  # fmt: skip


def test_inputs_are_pills_and_parameters_are_inside_their_modules() -> None:
    w = wengert.ones(3, 2, requires_grad=True)
    data, model = wengert.ones(4, 3), nn.Linear(2, 2)
    drawing = draw((model(data @ w) + (data * 2 @ w)).sum())
    pills = [(b.kind, b.title, b.shape) for b in drawing.boxes if b.kind in ("leaf", "data")]
    assert pills == [("leaf", "w", (3, 2))]
    drawing = draw(model(wengert.ones(4, 2)).sum())
    pills = [(b.kind, b.title, b.shape) for b in drawing.boxes if b.kind in ("leaf", "data")]
    assert pills == [("data", "data", (4, 2))]


def test_many_inputs_of_one_operation_are_one_pill() -> None:
    drawing = draw(wengert.cat([wengert.ones(2, requires_grad=True) for _ in range(50)]).sum())
    assert titles(members(drawing, drawing.boxes[0])) == ["50 tensors", "cat", "sum"]
    assert len(drawing.boxes[1].nodes) == 50


def test_losses_have_their_own_parts_and_share_the_trunk() -> None:
    drawing = drawn.two_losses()
    roots = {box.title: box.roots for box in members(drawing, drawing.boxes[0])}
    assert roots == {
        "Sequential": (0, 1), "linear": (1,), "pow": (0,), "mean": (1,), "logsumexp": (1,),
    }  # fmt: skip
    assert ", " in drawing.title


def test_released_operations_are_counted() -> None:
    w = wengert.ones(2, requires_grad=True)
    hidden = w.exp()
    first, second = hidden.sum(), (hidden * 2).sum()
    first.backward()
    drawing = draw(first, second)
    assert drawing.boxes[0].released == 2
    assert named(drawing, "exp").released == 1
    assert named(drawing, "mul").released == 0
    assert {box.kind for box in drawing.boxes[1:]} == {"op"}  # what exp was computed from is gone


def test_titles_are_whole_where_there_is_room() -> None:
    model = nn.Sequential()
    name = "a_module_whose_name_is_longer_than_its_box"
    model.add_module(name, nn.Sequential(nn.Tanh(), nn.Tanh()))
    model.append(nn.Tanh())
    logits = model(wengert.ones(2, 1, requires_grad=True))
    loss = nn.functional.binary_cross_entropy_with_logits(logits, wengert.ones(2, 1))
    drawing = draw(loss)
    inner, entropy = named(drawing, name), named(drawing, "binary_cross_entropy_with_logits")
    assert inner.opened
    assert inner.short.endswith("\N{HORIZONTAL ELLIPSIS}")
    assert inner.heading > 300
    assert entropy.short.endswith("\N{HORIZONTAL ELLIPSIS}")
    svg = drawing.svg()
    assert f">{name}<" in svg
    assert f">{entropy.short}<" in svg
    assert f">{entropy.title}<" not in svg
    assert named(draw(loss, boxes=3), name).title == name


def test_bodies_of_several_modules_are_named_from_first_to_last() -> None:
    model = nn.Sequential(
        *[make() for _ in range(10) for make in (partial(nn.Linear, 2, 2), nn.ReLU)]
    )
    drawing = draw(model(wengert.ones(1, 2)).sum())
    repeat = next(box for box in drawing.boxes if box.kind == "repeat")
    assert f"{repeat.title} {repeat.tag}" == "0\N{EN DASH}19 × 10"
    assert titles(members(drawing, repeat)) == ["0\N{EN DASH}1", "2\N{EN DASH}19 × 9"]


def test_several_outputs_have_no_shape_in_common() -> None:
    x = wengert.ones(4, 2, requires_grad=True)
    first, second = x.split(2)
    drawing = draw((first * second).sum())
    assert [(b.title, b.tag, b.shape) for b in drawing.boxes[2:5]] == [
        ("split", "", None), ("split", "output 0", (2, 2)), ("split", "output 1", (2, 2)),
    ]  # fmt: skip


def test_steps_with_a_loss_each_repeat_too() -> None:
    w, state, losses = wengert.ones(2, requires_grad=True), wengert.ones(2), []
    for _ in range(30):
        state = (w * state).tanh()
        losses.append(state.square().sum())
    drawing = draw(*losses)
    assert "30" in next(box.tag for box in drawing.boxes if box.kind == "repeat")
    assert drawing.title.count("\n") == 0
    assert len(drawing.title) < 200
    assert 'class="root-' not in drawing.svg()
    drawing = draw(*losses[:3])
    assert 'class="root-2"' in drawing.svg()
    assert "repeat" not in {box.kind for box in drawing.boxes}  # each has its own colours


def test_a_parameter_that_was_asked_for_is_drawn() -> None:
    model = nn.Linear(2, 2)
    drawing = draw(model(wengert.ones(1, 2)).sum(), model.weight)
    assert [b.nodes for b in drawing.boxes if b.kind == "leaf"] == [(drawing.roots[1],)]


def test_a_graph_is_drawn_alike_in_every_process(tmp_path: Path) -> None:
    text = """
        import hashlib, pathlib, sys, torch, wengert, gpt
        torch.manual_seed(0)
        model = gpt.GPT(30)
        logits = model(torch.zeros(2, 64, dtype=torch.int64))
        a, b = logits.sum(), logits.square().mean()
        a.backward(retain_graph="auto")
        for name in ("a.html", "a.svg", "a.dot", "a.png"):
            path = pathlib.Path(sys.argv[1], name)
            wengert.graph.draw(a, b, path)
            print(name, hashlib.sha256(path.read_bytes()).hexdigest())
    """
    path = script(tmp_path, text)
    printed = []
    for seed in ("1", "2"):
        folders = [str(ROOT / "examples"), os.environ.get("PYTHONPATH", "")]
        environment = ENVIRONMENT | {
            "PYTHONPATH": os.pathsep.join(filter(None, folders)), "PYTHONHASHSEED": seed,
        }  # fmt: skip
        arguments = ("run", "--quiet", str(path), str(tmp_path))
        printed.append(good(wengert_command(*arguments, env=environment)))
    assert printed[0].count("\n") == 4
    assert printed[0] == printed[1]


def test_a_leaf_alone() -> None:
    w = wengert.ones(2, requires_grad=True)
    drawing = draw(w)
    assert titles(members(drawing, drawing.boxes[0])) == ["w"]
    assert "w" in drawing.svg()


def test_a_drawing_is_plain_data_without_tensors() -> None:
    drawing = drawn.mlp()
    assert json.loads(drawing.to_json()) == json.loads(json.dumps(drawing.to_dict()))
    assert drawing.to_dict()["boxes"][1]["title"] == "Sequential"
    with pytest.raises(dataclasses.FrozenInstanceError):
        drawing.title = ""  # type: ignore[misc]
    w = wengert.ones(2, requires_grad=True)
    loss = (w * w).sum()
    node = weakref.ref(loss.grad_fn)
    kept = draw(loss)
    del loss
    assert node() is None, kept


def test_the_report_is_that_of_describe() -> None:
    w = wengert.ones(2, requires_grad=True)
    loss = (w * w).sum()
    assert draw(loss).nodes == describe(loss).nodes


def test_the_suffix_says_how(tmp_path: Path) -> None:
    loss = wengert.ones(2, requires_grad=True).sum()
    for name, start in (
        ("a.html", b"<!doctype html>"), ("a.SVG", b"<svg"), ("a.dot", b"digraph"),
        ("a.png", b"\x89PNG\r\n"),
    ):  # fmt: skip
        assert isinstance(draw(loss, tmp_path / name), Drawing)
        assert (tmp_path / name).read_bytes().startswith(start)
    draw(loss, path=str(tmp_path / "b.svg"))
    assert (tmp_path / "b.svg").read_bytes() == (tmp_path / "a.SVG").read_bytes()


@pytest.mark.parametrize("name", ["graph.pdf", "graph", "svg"])
def test_another_suffix_is_refused_before_the_work(name: str, tmp_path: Path) -> None:
    loss = wengert.ones(2, requires_grad=True).sum()
    with pytest.raises(ValueError, match=r"has '(\.pdf)?': one of \.html, \.svg, \.png, \.dot"):
        draw(loss, tmp_path / name)
    assert not (tmp_path / name).exists()


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    loss = wengert.ones(2, requires_grad=True).sum()
    with pytest.raises(TypeError, match="at least one tensor"):
        draw(tmp_path / "a.svg")
    with pytest.raises(TypeError, match="two paths"):
        draw(loss, tmp_path / "a.svg", path=tmp_path / "b.svg")
    with pytest.raises(ValueError, match="boxes must be a number above 0, and is 0"):
        draw(loss, boxes=0)
    with pytest.raises(RuntimeError, match="does not require grad"):
        draw(wengert.ones(2))
    for other in ([loss], None, nn.Linear(1, 1)):
        kind = type(other).__name__
        with pytest.raises(TypeError, match=f"a Tensor, a Node or a GradientEdge, not {kind}"):
            draw(other)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="no such folder"):
        draw(loss, tmp_path / "no such folder" / "a.svg")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loss = wengert.ones(2, requires_grad=True).sum()
    drawing = draw(loss)
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ImportError, match=r"pip install 'wengert\[graph\]'"):
        drawing.png()
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(ImportError, match=r"drawing a graph needs igraph.*'wengert\[graph\]'"):
        draw(loss, tmp_path / "a.svg")


def test_boxes_asks_for_more_or_less(drawing: Drawing) -> None:
    from wengert.graph.drawing._boxes import boxes_of

    report: Any = wengert.graph.GraphReport(drawing.nodes, drawing.roots, 0, 0, 0, Flops())
    small, _ = boxes_of(report, 10)
    large, _ = boxes_of(report, 10_000)
    assert sum(box.opened for box in small) <= sum(box.opened for box in drawing.boxes)
    repeats = {k for box in large if box.kind == "repeat" for k in box.members[1:]}
    assert all(box.opened for box in large if box.members and not _below(large, box, repeats))


def _below(boxes: tuple[Box, ...], box: Box, some: set[int]) -> bool:
    while box.parent is not None and box.index not in some:
        box = boxes[box.parent]
    return box.index in some


def test_models_of_the_examples(tmp_path: Path) -> None:
    text = """
        import torch, wengert, gpt, vae
        model = gpt.GPT(30)
        drawing = wengert.graph.draw(model(torch.zeros(2, 64, dtype=torch.int64)).sum())
        print([f"{b.title} {b.tag}" for b in drawing.boxes if b.kind == "repeat"])
        model = vae.VAE()
        drawing = wengert.graph.draw(model(torch.zeros(2, 64))[0].sum())
        print(*(b.title for b in drawing.boxes if b.kind in ("module", "op")))
    """
    path = script(tmp_path, text)
    folders = [str(ROOT / "examples"), os.environ.get("PYTHONPATH", "")]
    environment = ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    printed = good(wengert_command("run", "--quiet", str(path), env=environment)).splitlines()
    assert printed[0] == "['blocks.0–3 × 4', '1–3 × 3']"
    assert {"VAE", "encoder", "decoder", "exp"} <= set(printed[1].split())
