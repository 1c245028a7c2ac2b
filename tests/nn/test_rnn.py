"""Recurrent layers beyond values and gradients, which `test_layers.py` compares."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.parity import array, flat, load, ours
from wengert import func, nn
from wengert.autograd import GraphReleasedError, gradcheck, gradgradcheck

KINDS = ["RNN", "GRU", "LSTM"]
each_kind = pytest.mark.parametrize("kind", KINDS)


def small(kind: str, **options: Any) -> Any:
    wengert.manual_seed(0)
    return getattr(nn, kind)(2, 3, dtype=wengert.float64, **options)


def inputs(*shape: int) -> Any:
    wengert.manual_seed(1)
    return wengert.randn(*shape, dtype=wengert.float64)


WRONG = [
    "nn.LSTM(2, 3)(torch.zeros(1, 2, 2, 2))",
    "nn.GRU(2, 3)(torch.zeros(2))",
    "nn.LSTM(2, 3)(torch.zeros(4, 1, 5))",
    "nn.LSTM(2, 3)(torch.zeros(0, 1, 2))",
    "nn.RNN(2, 3)(torch.zeros(4, 1, 2).double())",
    "nn.RNN(2, 3)(torch.zeros(4, 1, 2), torch.zeros(1, 2, 3))",
    "nn.RNN(2, 3)(torch.zeros(4, 1, 2), torch.zeros(1, 3))",
    "nn.GRU(2, 3)(torch.zeros(4, 2), torch.zeros(1, 1, 3))",
    "nn.LSTM(2, 3)(torch.zeros(4, 1, 2), (torch.zeros(1, 2, 3), torch.zeros(1, 1, 3)))",
    "nn.LSTM(2, 3)(torch.zeros(4, 1, 2), (torch.zeros(1, 1, 3), torch.zeros(2, 1, 3)))",
    "nn.LSTM(2, 3)(torch.zeros(4, 2), (torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)))",
    "nn.LSTM(2, 3, proj_size=3)",
    "nn.LSTMCell(2, 3)(torch.zeros(1, 2), torch.zeros(1, 3))",
    "nn.LSTM(2, 3, proj_size=-1)",
    "nn.LSTM(0, 3)",
    "nn.LSTM(2, 0)",
    "nn.LSTM(2, 3, 0)",
    "nn.LSTM(2.0, 3)",
    "nn.LSTM(2, 3.0)",
    "nn.LSTM(2, 3, bias=1)",
    "nn.LSTM(2, 3, batch_first=1)",
    "nn.LSTM(2, 3, dropout=2)",
    "nn.LSTM(2, 3, dropout=True)",
    "nn.GRU(2, 3, proj_size=1)",
    "nn.RNN(2, 3, proj_size=1)",
    "nn.RNN(2, 3, nonlinearity='x')",
    "nn.RNNBase('x', 2, 3)",
]


@pytest.mark.torch
@pytest.mark.parametrize("text", WRONG)
def test_errors_are_torchs(text: str, torch: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (whatever torch raises)
        eval(text, {"nn": torch.nn, "torch": torch})
    with pytest.raises(type(theirs.value)) as caught:
        eval(text, {"nn": nn, "torch": wengert})
    assert str(caught.value).split()[:2] == str(theirs.value).split()[:2]


def test_dropout_of_one_layer_warns() -> None:
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last") as seen:
        nn.GRU(2, 3, dropout=0.5)
    assert seen[0].filename == __file__


@pytest.mark.torch
@each_kind
def test_dropout_draws_as_torch(kind: str, torch: Any) -> None:
    reference = getattr(torch.nn, kind)(3, 4, 3, dropout=0.4, bidirectional=True)
    module = getattr(nn, kind)(3, 4, 3, dropout=0.4, bidirectional=True)
    load(module, reference)
    x = torch.randn(5, 2, 3)
    torch.manual_seed(5)
    wengert.manual_seed(5)
    for a, b in zip(flat(module(ours(x))), flat(reference(x)), strict=True):
        np.testing.assert_allclose(array(a), array(b), rtol=1e-4, atol=1e-5)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@each_kind
def test_dtypes_equal_torch(kind: str, dtype: str, torch: Any) -> None:
    reference = getattr(torch.nn, kind)(3, 4, 2)
    module = getattr(nn, kind)(3, 4, 2)
    load(module, reference)
    x = torch.randn(5, 2, 3)
    a = flat(module.to(getattr(wengert, dtype))(ours(x).to(getattr(wengert, dtype))))
    b = flat(reference.to(getattr(torch, dtype))(x.to(getattr(torch, dtype))))
    digits = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 4e-2}[dtype]
    for p, q in zip(a, b, strict=True):
        assert str(p.dtype) == str(q.dtype)
        p, q = array(p.float()), array(q.float())
        np.testing.assert_allclose(p, q, rtol=digits, atol=digits)


@each_kind
def test_weights_by_layer_and_direction(kind: str) -> None:
    layer = small(kind, num_layers=2, bidirectional=True)
    assert layer.flatten_parameters() is None
    assert [len(several) for several in layer.all_weights] == [4] * 4
    assert [w for several in layer.all_weights for w in several] == [*layer.parameters()]
    again = copy.deepcopy(layer)
    x = inputs(4, 1, 2)
    assert array(again(x)[0]).tolist() == array(layer(x)[0]).tolist()


@each_kind
def test_second_derivatives(kind: str) -> None:
    layer = small(kind, bidirectional=True)
    names = [name for name, _ in layer.named_parameters()]

    def apply(x: Any, *weights: Any) -> Any:
        return flat(func.functional_call(layer, dict(zip(names, weights, strict=True)), (x,)))

    given = [inputs(3, 2, 2).requires_grad_(), *layer.parameters()]
    assert gradcheck(apply, given)
    assert gradgradcheck(apply, given, fast_mode=True)


@each_kind
def test_gradients_per_sample(kind: str) -> None:
    layer = small(kind)
    weights = {name: w.detach() for name, w in layer.named_parameters()}

    def loss(weights: Any, x: Any) -> Any:
        return func.functional_call(layer, weights, (x,))[0].square().sum()

    batch = inputs(5, 4, 2)
    found = func.vmap(func.grad(loss), (None, 0))(weights, batch)
    for k in range(5):
        for name, gradient in func.grad(loss)(weights, batch[k]).items():
            np.testing.assert_allclose(array(found[name][k]), array(gradient), rtol=1e-10)


@each_kind
def test_truncated_backpropagation(kind: str) -> None:
    layer = small(kind)
    state = None
    for window in inputs(3, 4, 1, 2):
        out, state = layer(window, state)
        out.square().sum().backward()
        state = tuple(s.detach() for s in state) if kind == "LSTM" else state.detach()
    assert all(w.grad is not None for w in layer.parameters())

    _, state = layer(window)
    flat(state)[0].sum().backward()
    with pytest.raises(GraphReleasedError, match="second time"):
        layer(window, state)[0].sum().backward()


@each_kind
def test_writes_to_what_a_layer_saved_are_found(kind: str) -> None:
    layer = small(kind)
    out, _ = layer(inputs(4, 1, 2))
    with wengert.no_grad():
        layer.weight_hh_l0.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@each_kind
def test_frozen_weights(kind: str) -> None:
    layer = small(kind).requires_grad_(False)
    x = inputs(4, 1, 2)
    assert not layer(x)[0].requires_grad
    layer(x.requires_grad_())[0].sum().backward()
    expected, x.grad = x.grad, None
    layer.requires_grad_()
    layer.weight_hh_l0.requires_grad_(False)
    layer(x)[0].sum().backward()
    np.testing.assert_allclose(array(x.grad), array(expected), rtol=1e-12)
    assert layer.weight_hh_l0.grad is None
    assert layer.weight_ih_l0.grad is not None


@pytest.mark.parametrize("frozen", [False, True])
def test_states_are_saved_for_the_weight_that_they_meet_alone(frozen: bool) -> None:
    layer = small("LSTM")
    layer.weight_hh_l0.requires_grad_(not frozen)
    node = layer(inputs(4, 1, 2))[0].grad_fn
    while type(node).__name__ != "LstmBackward0":
        node = node.next_functions[0][0]
    assert (node.s_out is None) == frozen


@each_kind
def test_initial_states_of_zeros_are_the_default(kind: str) -> None:
    layer = small(kind, num_layers=2)
    x, zeros = inputs(4, 3, 2), wengert.zeros(2, 3, 3, dtype=wengert.float64)
    given = layer(x, (zeros, zeros) if kind == "LSTM" else zeros)
    for a, b in zip(flat(given), flat(layer(x)), strict=True):
        assert array(a).tolist() == array(b).tolist()
