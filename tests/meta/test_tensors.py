"""What users ask of tensors on the meta device, and PyTorch's answers."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import wengert
from wengert import nn


def described(lib: Any, value: Any) -> Any:
    if isinstance(value, lib.Tensor):
        return tuple(value.shape), str(value.dtype), value.stride(), str(value.device)
    if isinstance(value, tuple | list):
        return [described(lib, v) for v in value]
    return value


QUESTIONS: list[Callable[[Any, Any], Any]] = [
    lambda t, x: repr(x),
    lambda t, x: repr(t.empty(2, device="meta", dtype=t.int64)),
    lambda t, x: x.is_meta,
    lambda t, x: x.is_cpu,
    lambda t, x: x.data_ptr(),
    lambda t, x: x[1].storage_offset(),
    lambda t, x: x[1].untyped_storage().nbytes(),
    lambda t, x: str(x.untyped_storage().device),
    lambda t, x: x.type(),
    lambda t, x: x.to(t.float64),
    lambda t, x: t.ones(2).to(x),
    lambda t, x: x.new_zeros(2),
    lambda t, x: x.new_zeros(2, device="cpu"),
    lambda t, x: t.empty_like(x.t()),
    lambda t, x: t.ones_like(x, device="cpu"),
    lambda t, x: t.rand_like(x),
    lambda t, x: t.randint_like(x, 3),
    lambda t, x: t.arange(10**12, device="meta"),
    lambda t, x: t.linspace(0, 1, 10**12, device="meta"),
    lambda t, x: t.eye(10**6, device="meta"),
    lambda t, x: t.randperm(10**12, device="meta"),
    lambda t, x: t.randint(3, (10**6, 10**6), device="meta"),
    lambda t, x: t.normal(0.0, 1.0, (10**6, 10**6), device="meta"),
    lambda t, x: t.full((10**6, 10**6), 1, device="meta"),
    lambda t, x: t.tensor([1.0], device="meta"),
    lambda t, x: t.tril_indices(3, 3, device="meta"),
    lambda t, x: t.fft.rfftfreq(5, device="meta"),
    lambda t, x: t.hann_window(5, device="meta"),
    lambda t, x: t.empty(2, 3, 4, 5, device="meta", memory_format=t.channels_last),
    lambda t, x: t.empty_strided((2, 3), (1, 2), device="meta"),
    lambda t, x: x.resize_(5, 6),
    lambda t, x: x[x > 0].shape,
    lambda t, x: x.item(),
    lambda t, x: t.empty((), device="meta").item(),
    lambda t, x: bool(t.empty((), device="meta")),
    lambda t, x: x.numpy(),
    lambda t, x: x.tolist(),
    lambda t, x: x.cpu(),
    lambda t, x: x + t.ones(3, 4),
    lambda t, x: t.cat([x, t.ones(3, 4)]),
    lambda t, x: x + t.tensor(2.0),
    lambda t, x: t.ones(3, 4).copy_(x),
    lambda t, x: t.equal(x, x),
    lambda t, x: setattr(t.ones(3, 4), "data", x),
    lambda t, x: setattr(x, "grad", t.ones(3, 4)),
    lambda t, x: x.to_sparse(),
    lambda t, x: copy.deepcopy(x.t()),
    lambda t, x: pickle.loads(pickle.dumps(x.t())),
    lambda t, x: t.nn.init.orthogonal_(x),
    lambda t, x: t.nn.init.trunc_normal_(x),
    lambda t, x: t.func.grad(lambda a: (a * a).sum())(x),
    lambda t, x: t.vmap(lambda a: a @ a)(x),
    lambda t, x: t.nn.Linear(3, 4, device="meta").to("cpu"),
    lambda t, x: t.nn.Linear(3, 4, device="meta").to_empty(device="cpu").weight,
    lambda t, x: t.nn.Linear(3, 4).to("meta").weight,
    lambda t, x: t.nn.LSTM(4, 5, device="meta")(t.empty(3, 2, 4, device="meta"))[0],
]


@pytest.mark.torch
@pytest.mark.parametrize("k", range(len(QUESTIONS)))
def test_answers_are_those_of_torch(torch: Any, k: int) -> None:
    answers: list[Any] = []
    for lib in (wengert, torch):
        try:
            answer = QUESTIONS[k](lib, lib.empty(3, 4, device="meta"))
        except Exception as error:
            answers.append(error)
        else:
            answers.append(described(lib, answer))
    if isinstance(answers[1], Exception):
        assert isinstance(answers[0], type(answers[1]))
    else:
        assert answers[0] == answers[1]


def test_random_numbers_are_not_drawn() -> None:
    x = wengert.empty(3, 4, device="meta")
    before = wengert.get_rng_state()
    wengert.rand(5, device="meta")
    wengert.randperm(5, device="meta")
    wengert.randn_like(x)
    wengert.bernoulli(x)
    wengert.multinomial(x, 2)
    x.normal_()
    nn.functional.dropout(x)
    nn.Linear(3, 4, device="meta")
    assert wengert.equal(before, wengert.get_rng_state())


MODULES = [
    kind
    for kind in vars(nn).values()
    if isinstance(kind, type)
    and issubclass(kind, nn.Module)
    and "device" in inspect.signature(kind).parameters
    and kind.__name__ not in ("RNNBase", "RNNCellBase")
]
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "AdaptiveLogSoftmaxWithLoss": (8, 20, [5, 10]),
    "Bilinear": (2, 3, 4),
    "Embedding": (5, 4),
    "EmbeddingBag": (5, 4),
    "GroupNorm": (2, 4),
    "LayerNorm": (4,),
    "MultiheadAttention": (8, 2),
    "PReLU": (),
    "RMSNorm": (4,),
    "Transformer": (8, 2, 1, 1, 16),
    "TransformerDecoderLayer": (8, 2),
    "TransformerEncoderLayer": (8, 2),
}


@pytest.mark.parametrize("kind", MODULES, ids=lambda kind: kind.__name__)
def test_every_module_on_the_meta_device(kind: Any) -> None:
    name = kind.__name__
    width = 3 if "Conv" in name else 1 if "Norm" in name else 2
    arguments = ARGUMENTS.get(name, (4, 6, 3)[:width])
    if name.startswith("Lazy"):
        arguments = () if "Norm" in name else arguments[1:]
    module = kind(*arguments, device="meta")
    state = [*module.parameters(), *module.buffers()]
    assert all(t.device.type == "meta" for t in state)
    if not name.startswith("Lazy"):
        module.to_empty(device="cpu")
        assert all(t.device.type == "cpu" for t in (*module.parameters(), *module.buffers()))


def test_state_dictionaries() -> None:
    source, target = nn.Linear(3, 4), nn.Linear(3, 4, device="meta")
    with pytest.warns(UserWarning, match="is a no-op"):
        target.load_state_dict(source.state_dict())
    assert target.weight.is_meta
    target.load_state_dict(source.state_dict(), assign=True)
    assert wengert.equal(target.weight, source.weight)
    with pytest.raises(RuntimeError, match="Cannot copy out of meta tensor"):
        source.load_state_dict(nn.Linear(3, 4, device="meta").state_dict())


def test_files() -> None:
    file = io.BytesIO()
    wengert.save({"a": wengert.ones(3, 4), "b": wengert.empty(2, 3, device="meta").t()}, file)
    file.seek(0)
    loaded = wengert.load(file, map_location="meta")
    assert [t.device.type for t in loaded.values()] == ["meta", "meta"]
    assert [t.stride() for t in loaded.values()] == [(4, 1), (1, 3)]


def test_tied_weights_stay_tied() -> None:
    net = nn.Sequential(nn.Linear(3, 3, device="meta"), nn.Linear(3, 3, device="meta"))
    net[1].weight = net[0].weight
    net.to_empty(device="cpu")
    assert net[0].weight.device.type == "cpu"


def test_parameters_are_replaced_as_accelerate_does() -> None:
    net = nn.Linear(3, 4)
    kind, state = type(net._parameters["weight"]), net._parameters["weight"].__dict__
    state["requires_grad"] = net.weight.requires_grad
    net._parameters["weight"] = kind(net._parameters["weight"].to("meta"), **state)
    assert (net.weight.is_meta, isinstance(net.weight, nn.Parameter)) == (True, True)
    net._parameters["weight"] = type(net.weight)(wengert.ones(4, 3), requires_grad=True)
    assert type(net.weight) is nn.Parameter


class Square(wengert.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * g


def test_backward() -> None:
    x = wengert.empty(3, 4, device="meta", requires_grad=True)
    a, b = x.split(2, 1)
    y = wengert.cat([a.sin(), b, a]).max(0)[0] * wengert.sort(x)[0].sum()
    (Square.apply(y).sum() + wengert.einsum("ij,kj->", x, x)).backward()
    assert x.grad is not None
    assert (x.grad.shape, x.grad.is_meta, x.grad.requires_grad) == ((3, 4), True, False)


def test_no_gradient_comes_from_the_meta_device() -> None:
    x = wengert.ones(3, requires_grad=True)
    y = x.to("meta") * 2
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        y.sum().backward()
    assert x.grad is None
