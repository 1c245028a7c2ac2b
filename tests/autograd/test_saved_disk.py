"""`save_to_disk`: gradients to the bit, memory that goes, files that go."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops import calls
from tests.ops.each import each
from tests.ops.rows import Row, all_rows
from wengert import nn
from wengert.autograd import GraphError, grad
from wengert.autograd.graph import save_to_disk
from wengert.graph import held_by, saved


@pytest.fixture
def no_gc() -> Any:
    """Reference counting alone has to do."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


ROWS = [r for r in all_rows() if r.grad]
# A routine of another order in memory sums in another order.
ROUNDED = ("linalg.householder_product", "orgqr", "ormqr", "Tensor.orgqr", "Tensor.ormqr")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """One folder for many tests: to make one takes longer than they do."""
    made: Path = tmp_path_factory.mktemp("saved")
    return made


@each(ROWS)
def test_gradients_are_the_same_to_the_bit(row: Row, folder: Path) -> None:
    def gradients() -> list[np.ndarray]:
        wengert.manual_seed(0)
        result, leaves = calls.call(wengert, row, row.make(calls.rng_of(row)), grad=True)
        loss = calls.scalar(wengert, result)
        return [g.numpy() for g in calls.gradients(wengert, loss, leaves)]

    expected = gradients()
    with save_to_disk(folder, min_bytes=0):
        found = gradients()
    for ours, plain in zip(found, expected, strict=True):
        rtol = 1e-14 if row.name in ROUNDED else 0
        np.testing.assert_allclose(ours, plain, rtol=rtol)
    assert list(folder.iterdir()) == []


def network() -> tuple[Any, Any]:
    wengert.manual_seed(0)
    layers = [m for _ in range(6) for m in (nn.Linear(256, 256), nn.Tanh())]
    return nn.Sequential(*layers), wengert.randn(512, 256)


def test_memory_drops_and_gradients_are_the_same(tmp_path: Path) -> None:
    net, x = network()
    held, grads = [], []
    for on_disk in (False, True):
        net.zero_grad()
        tracemalloc.start()
        try:
            if on_disk:
                with save_to_disk(tmp_path):
                    loss = net(x).pow(2).mean()
            else:
                loss = net(x).pow(2).mean()
            held.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
        if on_disk:
            activations = 512 * 256 * 4
            # The input and six outputs of tanh; the last one is also what pow saved.
            assert [f.stat().st_size for f in files(tmp_path)] == [activations] * 7
        loss.backward()
        grads.append([p.grad.clone() for p in net.parameters()])
    assert held[0] > 6 * 512 * 256 * 4
    assert held[1] < 0.05 * held[0]
    assert all(wengert.equal(a, b) for a, b in zip(*grads, strict=True))
    assert list(tmp_path.iterdir()) == []


def large(*shape: int) -> Any:
    return wengert.randn(*shape, requires_grad=True)


class TestFiles:
    def test_memory_is_written_once(self, tmp_path: Path) -> None:
        a = large(100, 100)
        with save_to_disk(tmp_path):
            y = a.exp()
            losses = [(y * y).sum(), (y.t() @ y).sum(), y.view(-1).sin().sum(), (y / a).sum()]
        assert len(files(tmp_path)) == 1
        assert files(tmp_path)[0].stat().st_size == 40_000
        sum(losses).backward()

    def test_leaves_are_not_written(self, tmp_path: Path) -> None:
        a, b = large(100, 100), large(100, 100)
        with save_to_disk(tmp_path):
            y = (a * b).sum() + (a.t() @ b.view(100, 100)).sum()
        assert files(tmp_path) == []
        y.backward()

    def test_small_tensors_are_not_written(self, tmp_path: Path) -> None:
        a = large(1000)
        with save_to_disk(tmp_path):
            a.exp()
            kept = [large(1023).exp(), large(1024).exp()]
        assert [f.stat().st_size for f in files(tmp_path)] == [4096]
        with save_to_disk(tmp_path, min_bytes=8000):
            kept.append(large(1999).exp())
        assert len(files(tmp_path)) == 1
        assert len(kept) == 3

    def test_a_part_is_written_alone(self, tmp_path: Path) -> None:
        with save_to_disk(tmp_path):
            part = large(1000, 1000).mul(1.0)[::2, :10]
            y = part.sin()
        assert [f.stat().st_size for f in files(tmp_path)] == [500 * 10 * 4]
        y.sum().backward()

    def test_an_expanded_tensor_is_written_as_it_is(self, tmp_path: Path) -> None:
        a = large(2000)
        with save_to_disk(tmp_path):
            y = a.mul(1.0).expand(50, 2000).sin()
        assert [f.stat().st_size for f in files(tmp_path)] == [8000]
        (g,) = grad(y.sum(), a)
        assert wengert.allclose(g, 50 * a.cos())

    def test_what_is_written_in_place_is_a_new_file(self, tmp_path: Path) -> None:
        a = large(2000)
        with save_to_disk(tmp_path):
            b = a.mul(1.0)
            first = b.sin().sum()
            b.mul_(2.0)
            second = b.sin().sum()
        assert len(files(tmp_path)) == 2
        assert wengert.equal(grad(first, a, retain_graph=True)[0], a.cos())
        assert wengert.allclose(grad(second, a)[0], 2 * (2 * a).cos())

    def test_they_go_one_by_one(self, tmp_path: Path, no_gc: None) -> None:
        left = []
        context = save_to_disk(tmp_path)
        unpack = context.unpack_hook
        context.unpack_hook = lambda packed: left.append(len(files(tmp_path))) or unpack(packed)
        y = large(2000)
        with context:
            for _ in range(3):
                y = y.exp().sin()
        y.sum().backward()
        # Of each pair of nodes, sin reads what exp wrote, and exp reads it again.
        assert left == [3, 3, 2, 2, 1, 1]
        assert list(tmp_path.iterdir()) == []

    def test_dropping_the_graph_drops_them(self, tmp_path: Path, no_gc: None) -> None:
        def run() -> None:
            with save_to_disk(tmp_path):
                y = large(2000).exp().sin()
                assert len(files(tmp_path)) == 1
                (y * y).sum()

        run()
        assert list(tmp_path.iterdir()) == []

    def test_retained_graphs_keep_them(self, tmp_path: Path) -> None:
        a = large(2000)
        with save_to_disk(tmp_path):
            y = a.exp().sum()
        y.backward(retain_graph=True)
        assert len(files(tmp_path)) == 1
        y.backward()
        assert wengert.allclose(a.grad, 2 * a.exp())
        assert files(tmp_path) == []

    def test_second_derivatives(self, tmp_path: Path) -> None:
        a = large(2000)
        with save_to_disk(tmp_path):
            (g,) = grad((a.exp() * a).sum(), a, create_graph=True)
        assert len(files(tmp_path)) > 1
        (h,) = grad(g.sum(), a)
        assert wengert.allclose(h, (a + 2) * a.exp())

    def test_they_go_when_the_program_ends(self, tmp_path: Path) -> None:
        program = (
            "import os, sys, wengert\n"
            "from wengert.autograd.graph import save_to_disk\n"
            "a = wengert.randn(2000, requires_grad=True)\n"
            "with save_to_disk(sys.argv[1]):\n"
            "    y = a.exp()\n"
            "if os.fork() == 0:\n"
            "    del y\n"
            "    sys.exit()\n"
            "os.wait()\n"
            "print(sum(len(f) for _, _, f in os.walk(sys.argv[1])))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == "1\n"
        assert list(tmp_path.iterdir()) == []


class TestErrors:
    def test_a_file_is_gone(self, tmp_path: Path) -> None:
        a = large(2000)
        with save_to_disk(tmp_path):
            y = a.exp().sum()
        os.unlink(files(tmp_path)[0])
        with pytest.raises(GraphError, match="cannot read back a saved tensor"):
            y.backward()
        assert a.grad is None

    def test_a_file_is_cut_short(self, tmp_path: Path) -> None:
        a = large(2000)
        with save_to_disk(tmp_path):
            y = a.exp().sum()
        os.truncate(files(tmp_path)[0], 100)
        with pytest.raises(GraphError, match="has 100 bytes, and 8000 were written"):
            y.backward()
        assert a.grad is None

    def test_no_such_folder(self, tmp_path: Path) -> None:
        with (
            pytest.raises(NotADirectoryError, match="nowhere"),
            save_to_disk(tmp_path / "nowhere"),
        ):
            pass
        large(2).exp()


def test_held_by_does_not_count_what_is_on_disk(tmp_path: Path) -> None:
    with save_to_disk(tmp_path):
        y = large(2000).exp()
    assert held_by([y.grad_fn]).graph == 0
    (value,) = saved(y.grad_fn)
    assert (value.packed, value.nbytes, value.value) == (True, 8000, None)
    assert wengert.equal(y.grad_fn._saved_result, y)
    assert len(files(tmp_path)) == 1
