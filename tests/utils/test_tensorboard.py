"""SummaryWriter writes the events that PyTorch's writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert

WALL = {"global_step": 1, "walltime": 2.0}


def log_numbers(writer: Any, lib: Any) -> None:
    """Numbers, distributions and curves."""
    rng = np.random.default_rng(0)
    writer.add_scalar("a", lib.tensor(1.5), **WALL)
    writer.add_scalar("a", 2, **WALL, new_style=True)
    writer.add_scalar("a", np.float64(0.1), **WALL, new_style=True, double_precision=True)
    writer.add_scalars("m/n", {"x": 1, "y": lib.tensor([2.0])}, **WALL)
    for dtype in ("float32", "float64", "int8", "int32", "int64", "bool", "complex64"):
        ones = lib.arange(6).reshape(2, 3).to(getattr(lib, dtype))
        writer.add_tensor(dtype, ones, **WALL)
    writer.add_histogram("h", lib.tensor(rng.normal(size=100)), **WALL)
    writer.add_histogram("h", lib.tensor(rng.integers(0, 9, size=100)), **WALL, max_bins=7)
    writer.add_histogram("h", lib.ones(4, requires_grad=True), **WALL)
    writer.add_histogram("h", rng.normal(size=(5, 5)), **WALL, bins="auto")
    writer.add_histogram("h", rng.normal(size=(5, 5)), **WALL, bins=10, max_bins=3)
    writer.add_histogram_raw("r", 0, 1, 3, 2.0, 5.0, [1, 2, 3], [1, 1, 1], **WALL)
    truth, guess = rng.integers(0, 2, 100), rng.random(100)
    writer.add_pr_curve("p", lib.tensor(truth), lib.tensor(guess), **WALL)
    writer.add_pr_curve("p", truth, guess, 1, 200, rng.random(100), 2.0)
    writer.add_pr_curve_raw("q", *rng.random((6, 5)), 1, 5, walltime=2.0)
    writer.add_custom_scalars_multilinechart(["a", "b"])
    writer.add_custom_scalars_marginchart(["a", "b", "c"], "category", "title")
    writer.add_mesh(
        "v", lib.tensor(rng.random((1, 4, 3))), None, lib.ones(1, 2, 3), {"a": 1}, **WALL
    )
    chosen = {"lr": 0.1, "on": True, "none": None}
    writer.add_hparams(chosen, {"acc": lib.tensor(2.0)}, {"lr": [0.1, 0.2]}, "run", 5)
    writer.add_hparams({"o": "sgd"}, {}, {"o": ["a", "b"]}, "run2", 5)
    writer.add_hparams({"t": lib.tensor([3.0])}, {}, None, "run3", 5)


def log_media(writer: Any, lib: Any) -> None:
    """Images, sounds, texts and embeddings."""
    rng = np.random.default_rng(0)
    image = rng.random((3, 40, 50), np.float32)
    writer.add_image("i", lib.tensor(image), **WALL)
    writer.add_image("i", (image * 255).astype("uint8"), **WALL)
    writer.add_image("i", image[0], **WALL, dataformats="HW")
    writer.add_image("i", image.transpose(1, 2, 0), **WALL, dataformats="hwc")
    writer.add_images("n", lib.tensor(rng.random((11, 3, 4, 5))), **WALL)
    writer.add_images("n", rng.random((3, 4, 5, 1)), **WALL, dataformats="NHWC")
    boxes = lib.tensor([[1.0, 2, 30, 35], [5, 6, 20, 20]])
    writer.add_image_with_boxes("b", lib.tensor(image), boxes, **WALL, labels=["cat", "dog"])
    writer.add_image_with_boxes("b", image, boxes, **WALL, rescale=2)
    writer.add_audio("s", lib.tensor(rng.random((1, 50))), **WALL, sample_rate=8000)
    writer.add_text("x", "hello *ü*", **WALL)
    labels, pictures = list("abcde"), lib.tensor(rng.random((5, 3, 4, 4)))
    writer.add_embedding(lib.tensor(rng.random((5, 3))), labels, pictures, 2, "t/%")
    writer.add_embedding(rng.integers(0, 5, (5, 3)), [[1, "x"]] * 5, metadata_header=["q", "r"])


def read(folder: Path) -> dict[str, Any]:
    """What is in a folder: the events of each file of events, without times, other files' bytes."""
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    from tensorboard.compat.proto.event_pb2 import Event

    contents: dict[str, Any] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if "tfevents" not in path.name:
            contents[str(path.relative_to(folder))] = path.read_bytes()
            continue
        events = [Event.FromString(raw) for raw in loader.RawEventFileLoader(str(path)).Load()]
        for event in events:
            event.ClearField("source_metadata")
            if event.wall_time != 2.0:
                event.wall_time = 0
        contents[str(path.parent.relative_to(folder))] = events
    return contents


@pytest.mark.torch
@pytest.mark.parametrize("log", [log_numbers, log_media])
def test_events_are_pytorchs(log: Any, torch: Any, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter as TorchWriter

    from wengert.utils.tensorboard import SummaryWriter

    for writers, lib, name in ((SummaryWriter, wengert, "w"), (TorchWriter, torch, "t")):
        with writers(str(tmp_path / name), purge_step=3) as writer:
            log(writer, lib)
    ours, theirs = read(tmp_path / "w"), read(tmp_path / "t")
    assert ours.keys() == theirs.keys()
    for path, events in ours.items():
        assert events == theirs[path], path


@pytest.mark.filterwarnings("ignore:Setting the dtype:DeprecationWarning:tensorboard")
def test_tensors_of_every_dtype_can_be_read(tmp_path: Path) -> None:
    """Halves, and bytes, too, which PyTorch writes where TensorBoard does not look."""
    pytest.importorskip("tensorboard")
    from tensorboard.util.tensor_util import make_ndarray

    from wengert.utils.tensorboard import summary

    for dtype in ("float16", "uint8", "int16", "float64", "complex128", "bool"):
        values = wengert.arange(6).reshape(2, 3).to(getattr(wengert, dtype))
        message = summary.tensor_proto("t", values).value[0].tensor
        np.testing.assert_array_equal(make_ndarray(message), values.numpy(), dtype)


def test_a_graph_is_what_a_call_records(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    from wengert.utils.tensorboard import SummaryWriter

    model = wengert.nn.Sequential(wengert.nn.Linear(2, 3), wengert.nn.Tanh())
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, wengert.ones(1, 2))
        with pytest.raises(RuntimeError, match="no output of the model depends"):
            writer.add_graph(wengert.nn.Identity(), wengert.ones(2, dtype=wengert.int64))
        videos = wengert.rand(4, 2, 1, 4, 5)
        writer.add_video("v", videos)
    assert model.training
    events = read(tmp_path)["."]
    graph = next(GraphDef.FromString(e.graph_def) for e in events if e.graph_def)
    nodes = {node.name.rpartition("_")[0] or node.name: node for node in graph.node}
    tanh = next(node for name, node in nodes.items() if name.endswith("tanh"))
    assert [d.size for d in tanh.attr["_output_shapes"].list.shape[0].dim] == [1, 3]
    assert {node.op for node in graph.node} >= {"Input", "Parameter", "TanhBackward0"}
    assert all(name in {node.name for node in graph.node} for n in graph.node for name in n.input)
    image = events[-1].summary.value[0].image
    assert (image.height, image.width, image.encoded_image_string[:3]) == (8, 10, b"GIF")


def test_bad_input_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from wengert.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(NotImplementedError, match=r"Got \[0.5\]"):
            writer.add_scalar("a", [0.5])
        with pytest.raises(AssertionError, match="expected one element, got 2"):
            writer.add_scalar("a", wengert.ones(2))
        with pytest.raises(ValueError, match="no element"):
            writer.add_histogram("a", wengert.ones(0))
        with pytest.raises(ValueError, match="none of the 2 values"):
            writer.add_histogram("a", wengert.ones(2), bins=[2, 3])
        with pytest.raises(TypeError, match="hparam_dict=3: expected a dict"):
            writer.add_hparams(3, {})
        with pytest.raises(AssertionError, match="dataformats='CHW'"):
            writer.add_image("a", wengert.ones(2, 2))
        with pytest.raises(AssertionError, match="got 2"):
            writer.add_embedding(wengert.ones(3, 2), ["a", "b"])


def test_without_tensorboard_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from wengert.utils import tensorboard

    for name in [n for n in sys.modules if n.partition(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ImportError, match=r"needs tensorboard: pip install tensorboard"):
        _ = tensorboard.SummaryWriter
