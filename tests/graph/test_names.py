"""What tools call an operation: the public function that was called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import wengert
import wengert.nn.functional as F
from wengert import nn
from wengert.autograd import Function
from wengert.graph import Recorder, describe, profile
from wengert.utils.checkpoint import checkpoint


def image(rank: int = 4) -> wengert.Tensor:
    return wengert.randn(*(2, 3, 8, 8, 8)[:rank], requires_grad=True)


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: wengert.Tensor) -> tuple[wengert.Tensor, wengert.Tensor]:
        return x**3, 2 * x

    @staticmethod
    def backward(ctx: Any, *grads: wengert.Tensor) -> Any:
        return grads[0]


def hooked() -> wengert.Tensor:
    layer = nn.Linear(8, 2)
    layer.register_full_backward_hook(lambda *_: None)
    return layer(image())


def written() -> wengert.Tensor:
    y = image() * 1
    y[0] = 0.0
    return y


PROGRAMS: dict[str, tuple[Callable[[], wengert.Tensor], list[str]]] = {
    "conv1d": (lambda: nn.Conv1d(3, 4, 3)(image(3)), ["conv1d"]),
    "conv2d": (lambda: nn.Conv2d(3, 4, 3)(image()), ["conv2d"]),
    "conv3d": (lambda: nn.Conv3d(3, 4, 3)(image(5)), ["conv3d"]),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(3, 4, 3)(image()), ["conv_transpose2d"]),
    "max_pool2d": (lambda: F.max_pool2d(image(), 2), ["max_pool2d"]),
    "avg_pool1d": (lambda: F.avg_pool1d(image(3), 2), ["avg_pool1d"]),
    "batch_norm": (lambda: nn.BatchNorm2d(3)(image()), ["batch_norm"]),
    "cross_entropy": (
        lambda: F.cross_entropy(image(2), wengert.zeros(2, dtype=wengert.int64)),
        ["cross_entropy"],
    ),
    "split": (lambda: image().split(1)[1], ["split", "split"]),
    "a Function": (lambda: Cube.apply(image())[0], ["Cube", "Cube"]),
    "a checkpoint": (
        lambda: checkpoint(wengert.exp, image(), use_reentrant=True),
        ["checkpoint"],
    ),
    "a hook": (hooked, ["backward_hook"] * 2 + ["linear"] + ["backward_hook"] * 2),
    "a write to a part": (written, ["mul", "copy_"]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_operations_have_the_names_of_what_was_called(name: str) -> None:
    program, names = PROGRAMS[name]
    report = describe(program())
    assert [node.op for node in report.nodes if node.state != "leaf"] == names


def test_a_run_counts_operations_by_these_names() -> None:
    recorder = Recorder()
    recorder.start()
    F.conv1d(nn.Conv2d(3, 4, 3)(image()).mean(3), wengert.ones(1, 4, 1)).sum().backward()
    recorder.stop()
    assert recorder.report().ops == {"conv2d": 1, "mean": 1, "conv1d": 1, "sum": 1}


def test_a_profile_has_these_names() -> None:
    with profile() as memory:
        loss = nn.Conv2d(3, 4, 3)(image()).exp().sum()
    assert {node.op for node in memory.timeline.left} == {"conv2d", "exp"}
    del loss


@pytest.mark.torch
def test_nodes_of_a_backward_hook_have_pytorchs_name(torch: Any) -> None:
    layer = torch.nn.Linear(8, 2)
    layer.register_full_backward_hook(lambda *_: None)
    theirs = layer(torch.randn(2, 8, requires_grad=True)).grad_fn.name()
    assert hooked().grad_fn.name() == theirs
