"""`with torch.device("meta")` and `set_default_device`: where tensors are made."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import wengert
from wengert import nn

MADE = {
    "empty": lambda w: w.empty(2, 3), "zeros": lambda w: w.zeros(2), "ones": lambda w: w.ones(2),
    "full": lambda w: w.full((2,), 1.5), "tensor": lambda w: w.tensor([1.0, 2.0]),
    "arange": lambda w: w.arange(4), "linspace": lambda w: w.linspace(0, 1, 3),
    "eye": lambda w: w.eye(2), "rand": lambda w: w.rand(2), "randn": lambda w: w.randn(2),
    "randint": lambda w: w.randint(3, (2,)), "randperm": lambda w: w.randperm(3),
    "as_tensor": lambda w: w.as_tensor([1.0]), "tril_indices": lambda w: w.tril_indices(2, 2),
    "empty_strided": lambda w: w.empty_strided((2,), (1,)),
    "linear": lambda w: w.nn.Linear(2, 3).weight,
    "running mean": lambda w: w.nn.BatchNorm1d(2).running_mean,
    "padded embedding": lambda w: w.nn.Embedding(3, 2, padding_idx=0).weight,
    "lstm": lambda w: w.nn.LSTM(2, 3).weight_ih_l0,
    "named": lambda w: w.ones(2, device="cpu"),
    "inner": lambda w: within_cpu(w),
}  # fmt: skip
KEPT = {
    "zeros_like": lambda w, x: w.zeros_like(x), "rand_like": lambda w, x: w.rand_like(x),
    "new_ones": lambda w, x: x.new_ones(2), "new_tensor": lambda w, x: x.new_tensor([1.0]),
    "sum": lambda w, x: (x + 1).sum(), "clone": lambda w, x: x.clone(), "item": lambda w, x: x[0],
    "softmax": lambda w, x: w.softmax(x, 0), "deepcopy": lambda w, x: x.detach().clone(),
}  # fmt: skip


def within_cpu(w: Any) -> Any:
    with w.device("cpu"):
        return w.ones(2)


@pytest.mark.torch
@pytest.mark.parametrize("name", MADE)
def test_what_makes_tensors(name: str, torch: Any) -> None:
    devices = []
    for w in (wengert, torch):
        with w.device("meta"):
            devices.append(str(MADE[name](w).device))
        assert w.ones(1).device.type == "cpu"
    assert devices[0] == devices[1]


@pytest.mark.torch
@pytest.mark.parametrize("name", KEPT)
def test_what_follows_its_input(name: str, torch: Any) -> None:
    for w in (wengert, torch):
        x = w.ones(3)
        with w.device("meta"):
            assert KEPT[name](w, x).device.type == "cpu"
            y = x.to("meta")
            assert KEPT[name](w, y).device.type == "meta"


@pytest.fixture
def on_meta() -> Iterator[None]:
    wengert.set_default_device("meta")
    yield
    wengert.set_default_device(None)


@pytest.mark.usefixtures("on_meta")
def test_the_default_is_of_a_thread() -> None:
    assert wengert.get_default_device() == wengert.device("meta")
    assert wengert.ones(1).is_meta
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(wengert.ones(1).device.type))
    thread.start()
    thread.join()
    assert found == ["cpu"]
    with wengert.device("cpu"):
        assert wengert.ones(1).device.type == "cpu"
    assert wengert.ones(1).is_meta


def test_an_error_inside_leaves_the_default_as_it_was() -> None:
    with pytest.raises(ZeroDivisionError), wengert.device("meta"):
        raise ZeroDivisionError
    assert wengert.get_default_device() == wengert.device("cpu")
    with pytest.raises(AssertionError, match="not compiled with CUDA"), wengert.device("cuda"):
        pass
    assert wengert.get_default_device() == wengert.device("cpu")


def test_a_model_made_without_memory_is_filled_later() -> None:
    with wengert.device("meta"):
        net = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))
    state = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)).state_dict()
    net.load_state_dict(state, assign=True)
    assert net(wengert.ones(2, 3)).shape == (2, 4)
