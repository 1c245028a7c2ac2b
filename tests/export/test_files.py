"""wengert.export: programs in files, and files that are none."""

from __future__ import annotations

import contextlib
import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

import wengert as w
import wengert.nn.functional as F
from wengert import nn
from wengert.autograd.transforms.tree import flatten_tree
from wengert.export import Dim, ExportedProgram, export, load, save

PROGRAM = "archive/program.json"


class Operations(nn.Module):
    """Arguments of all kinds: plans, slices, dtypes, infinities, lists, results with names."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.norm = nn.BatchNorm2d(2)
        self.lstm = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x: Any, scale: float = 2.0) -> Any:
        image = F.max_pool2d(self.norm(self.conv(x)).relu(), 2)
        steps = self.lstm(image.mean(1))[0]
        parts = w.cat([*steps.unbind(1), w.stack([steps[:, 0], steps[:, -1]]).sum(0)], 1)
        masked = parts.masked_fill(parts > parts.mean(), -float("inf"))
        picked = parts[w.tensor([0, 1])][..., None, ::2]
        return {
            "max": parts.max(1), "masked": masked.softmax(1).to(w.float64), "shift": parts * 1j,
            "rest": (F.pad(image, (1, 1, 1, 1), "reflect"), picked, parts * scale, w.zeros(2)),
        }  # fmt: skip


def saved(program: ExportedProgram, **options: Any) -> bytes:
    file = io.BytesIO()
    save(program, file, **options)
    return file.getvalue()


def assert_same(one: ExportedProgram, other: ExportedProgram, *inputs: Any) -> None:
    assert str(one.graph_signature) == str(other.graph_signature)
    assert one.graph_module.code == other.graph_module.code
    results, spec = flatten_tree(one.module()(*inputs))
    again, other_spec = flatten_tree(other.module()(*inputs))
    assert spec == other_spec
    for x, y in zip(results, again, strict=True):
        assert x.dtype == y.dtype
        assert w.equal(x, y)


@pytest.mark.parametrize("training", [True, False])
def test_a_program_comes_back(training: bool) -> None:
    model = Operations().train(training)
    x = w.rand(2, 1, 8, 8)
    program = export(model, (x, 3.0))
    again = load(io.BytesIO(saved(program)))
    assert_same(program, again, x, 3.0)
    assert w.equal(again.example_inputs[0][0], x)
    with pytest.raises(AssertionError, match="Guard failed"):
        again.module()(x, 4.0)


def test_sizes_gradients_and_tied_parameters(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5))
    model[1].weight = model[0].weight
    model[1].bias.requires_grad_(False)
    tokens = w.zeros(2, 3, dtype=w.int64)
    program = export(model, (tokens,), dynamic_shapes=({0: Dim("b", max=9), 1: Dim("t")},))
    save(program, tmp_path / "model.pt2", extra_files={"note": "text"})
    notes = {"note": "", "other": "as it was"}
    again = load(tmp_path / "model.pt2", extra_files=notes)
    assert notes == {"note": "text", "other": "as it was"}
    assert_same(program, again, w.ones(4, 2, dtype=w.int64))
    assert str(again.range_constraints) == str(program.range_constraints)
    assert again.state_dict["0.weight"] is again.state_dict["1.weight"]
    again.module()(tokens).sum().backward()
    assert [p.grad is None for p in again.parameters()] == [False, False, True]  # one twice
    with pytest.raises(IndexError):
        again.module()(w.full((2, 3), 7))


def test_what_a_file_cannot_hold() -> None:
    with pytest.raises(TypeError, match="'ep' parameter must be an instance"):
        save(nn.ReLU(), io.BytesIO())  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="random"):
        saved(export(nn.Dropout(), (w.ones(3),)))
    with pytest.raises(FileNotFoundError):
        load("/nowhere/model.pt2")


def changed(data: bytes, change: Any) -> io.BytesIO:
    """A file with another program."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == PROGRAM:
                program = json.loads(content)
                content = json.dumps(change(program) or program).encode()
            new.writestr(name, content)
    return file


HOSTILE = [
    lambda p: p["nodes"][-2].update(target="os.system"),
    lambda p: p["nodes"][-2].update(target="op._window"),
    lambda p: p["nodes"][-2].update(target=["op._cast", {"dict": {"to": {"dtype": "object"}}}]),
    lambda p: p["nodes"][-2].update(target=["op.clone", {"dict": {"f": {"memory_format": "x"}}}]),
    lambda p: p["nodes"][-2].update(target=["op.clone", {"dtype": "float32"}]),
    lambda p: p["nodes"][-2].update(op="call_method", target="__reduce__"),
    lambda p: p["nodes"][-2].update(op="get_attr", target='a"), print("b'),
    lambda p: p["nodes"][-2].update(name="x = print('ran')\n    y"),
    lambda p: p["nodes"][-2].update(kwargs={"dict": {"a=print(1), b": 1}}),
    lambda p: p["nodes"][0].update(target="self, x=print('ran')"),
    lambda p: p["nodes"][-2].update(args={"tuple": [{"node": "later"}]}),
    lambda p: p["nodes"][-2].update(args={"Geometry": [[1], [[0, 0]], [-9], 1]}),
    lambda p: p["nodes"][-2].update(args={"tuple": [{"type": "int"}]}),
    lambda p: p["nodes"][-2].update(args={"Refusal": ["SystemExit", "", ""]}),
    lambda p: p["nodes"][-2].update(args={"Refusal": ["IndexError", 1, ""]}),
    lambda p: p["nodes"].pop(),
    lambda p: p["nodes"].append(p["nodes"][0]),
    lambda p: p["inputs"].pop(),
    lambda p: p["inputs"][0].__setitem__(2, 'a"), print("b'),
    lambda p: p["state"].update({"a b": ["0", True, True]}),
    lambda p: p["state"]["weight"].__setitem__(0, "77"),
    lambda p: p.update(version=2),
    lambda p: p.update(in_spec=["object", [], []]),
    lambda p: p.update(in_spec=["result.__class__", [], []]),
    lambda p: [1],
]


@pytest.fixture(scope="module")
def linear() -> bytes:
    return saved(export(nn.Linear(2, 1), (w.ones(3, 2),)))


@pytest.mark.parametrize("change", HOSTILE)
def test_hostile_programs(linear: bytes, change: Any, capsys: Any) -> None:
    with pytest.raises(RuntimeError, match=r"export\.load"):
        load(changed(linear, change))
    assert not capsys.readouterr().out


def test_broken_files(linear: bytes) -> None:
    def packed(method: int) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            archive.writestr(PROGRAM, "[" * 10**6)
            archive.writestr("archive/tensors.safetensors", b"")
        return file.getvalue()

    packs = packed(zipfile.ZIP_DEFLATED), packed(zipfile.ZIP_STORED)
    for data in (b"", b"text", linear[:-40], linear[40:], *packs):
        with pytest.raises(RuntimeError, match="not a program"):
            load(io.BytesIO(data))


def test_any_change_of_a_program_is_refused_or_harmless(linear: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(linear)) as file:
        text = file.read(PROGRAM)
    source = random.Random(0)
    for _ in range(300):
        broken = bytearray(text)
        broken[source.randrange(len(text))] = source.choice(b'0"[]{},:ax-')
        try:
            program = json.loads(broken)
        except ValueError:
            continue
        with contextlib.suppress(RuntimeError):  # and nothing else
            load(changed(linear, lambda _, program=program: program))
