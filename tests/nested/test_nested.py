"""Nested tensors beside PyTorch's."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import pytest

import wengert

ROWS = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [3.2, -2.0, 1.0], [0.1, 1.1, 4.0],
        [-0.3, 0.9, 2.2], [1.7, -1.4, 0.2], [2.6, 0.4, -3.0]]  # fmt: skip
DATA = [ROWS[:2], ROWS[2:3], ROWS[3:]]


def sample(t: Any, requires_grad: bool = False, layout: str = "jagged") -> Any:
    """Components of 2, 1 and 4 rows of three numbers."""
    components = [t.tensor(rows) for rows in DATA]
    chosen = {"layout": getattr(t, layout)}
    return t.nested.nested_tensor(components, requires_grad=requires_grad, **chosen)


def plain(x: Any) -> Any:
    """What is compared: components, sizes, dtypes."""
    if isinstance(x, list | tuple):
        return [plain(item) for item in x]
    if getattr(x, "is_nested", False):
        return ["nested", str(x.layout), x.dim(), str(x.dtype), plain(x.unbind())]
    if hasattr(x, "tolist"):
        return [tuple(x.shape), x.double().flatten().tolist()]
    return x


WEIGHT = [[1.0, 0.5, -1.0], [0.0, 2.0, 1.0]]


def weight(t: Any, x: Any) -> Any:
    """Of a layer, in the dtype of its input."""
    return t.tensor(WEIGHT, dtype=x.dtype)


CALLS = {
    "scalar": lambda t, x: (x + 1) * 2 / 4 - 1,
    "reflected": lambda t, x: 1 - x,
    "two": lambda t, x: x * x + x.clone(),
    "row": lambda t, x: x * t.tensor([1.0, 2.0, 3.0]),
    "row of each": lambda t, x: x * t.arange(9.0).view(3, 1, 3),
    "one row": lambda t, x: x + t.arange(3.0).view(1, 1, 3),
    "exp": lambda t, x: x.exp().clamp(max=3.0).tanh(),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "where": lambda t, x: t.where(x > 0, x, x * 2).masked_fill(x > 3, 0.5),
    "double": lambda t, x: x.double().to(x.dtype),
    "like": lambda t, x: t.zeros_like(x) + t.ones_like(x) * x,
    "linear": lambda t, x: t.nn.functional.linear(x, weight(t, x), weight(t, x)[:, 0]),
    "matmul": lambda t, x: x @ weight(t, x).T,
    "layer norm": lambda t, x: t.nn.functional.layer_norm(x, (3,), *weight(t, x)),
    "rms norm": lambda t, x: t.nn.functional.rms_norm(x, (3,)),
    "softmax": lambda t, x: x.softmax(-1),
    "ragged softmax": lambda t, x: t.nn.functional.softmax(x, 1),
    "sum": lambda t, x: x.sum(),
    "mean": lambda t, x: x.mean(),
    "row sums": lambda t, x: x.sum(-1),
    "kept sums": lambda t, x: x.sum(-1, keepdim=True),
    "ragged sum": lambda t, x: x.sum(1),
    "ragged mean": lambda t, x: x.mean(1),
    "kept mean": lambda t, x: x.mean(1, keepdim=True),
    "ragged amax": lambda t, x: x.amax(1),
    "ragged amin": lambda t, x: x.amin(1),
    "unbind": lambda t, x: x.unbind(),
    "item": lambda t, x: [x[0], x[-1], x[1, 0], x[..., 0]],
    "select": lambda t, x: x.select(-1, 1),
    "unflatten": lambda t, x: x.unflatten(-1, [1, 3]).flatten(-2),
    "view": lambda t, x: [x.view(3, -1, 1, 3), x.reshape(3, -1, 3, 1), x.view(x.shape)],
    "transpose": lambda t, x: x.unflatten(-1, [3, 1]).transpose(1, 2).transpose(1, 2) * 2,
    "permute": lambda t, x: x.permute(0, 2, 1).permute(0, 2, 1) + 1,
    "squeeze": lambda t, x: x.unsqueeze(-1).squeeze(-1),
    "chunk": lambda t, x: x.chunk(3, -1),
    "split": lambda t, x: x.split([1, 2], dim=-1),
    "cat": lambda t, x: t.cat([x, x * 2], dim=-1),
    "padded": lambda t, x: x.to_padded_tensor(-1.0),
    "padded larger": lambda t, x: t.nested.to_padded_tensor(x, 7.0, (3, 5, 3)),
    "padded behind": lambda t, x: x.unsqueeze(1).to_padded_tensor(0.0),
}  # fmt: skip


def total(x: Any) -> Any:
    """A weighted sum of all elements, to differentiate."""
    if isinstance(x, list | tuple):
        return sum(total(item) for item in x)
    values = x.values() if getattr(x, "is_nested", False) else x
    return (values * values).sum()


@pytest.mark.torch
@pytest.mark.parametrize("name", CALLS)
def test_functions(torch: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = plain(CALLS[name](torch, sample(torch)))
    assert _close(plain(CALLS[name](wengert, sample(wengert))), theirs)


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name: str) -> None:
    """Against finite differences: PyTorch has no backward for many, and crashes in one."""
    offsets = wengert.tensor([0, 2, 3, 7])

    def function(values: Any) -> Any:
        x = wengert.nested.nested_tensor_from_jagged(values, offsets)
        return total(CALLS[name](wengert, x))

    values = wengert.tensor(ROWS, dtype=wengert.float64, requires_grad=True)
    function(values).backward()
    step, numeric = 1e-5, []
    for k in range(values.numel()):
        moved = wengert.zeros(values.numel(), dtype=wengert.float64)
        moved[k] = step
        moved = moved.view(values.shape)
        with wengert.no_grad():
            numeric.append((function(values + moved) - function(values - moved)) / (2 * step))
    numeric = wengert.stack(numeric).view(values.shape)
    wengert.testing.assert_close(values.grad, numeric, rtol=1e-6, atol=1e-6)


def _close(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(_close, ours, theirs))
    return ours == (pytest.approx(theirs, 1e-5, 1e-6) if isinstance(theirs, float) else theirs)


MADE = {
    "irregular": lambda t: t.nested.nested_tensor([t.ones(2, 3), t.ones(3, 2)]),
    "numbers": lambda t: t.nested.nested_tensor([[1, 2], [3]]),
    "last": lambda t: t.nested.nested_tensor([t.ones(2, 3), t.ones(2, 1)], layout=t.jagged),
    "rows": lambda t: t.nested.as_nested_tensor(t.arange(6).view(3, 2), layout=t.jagged),
    "offsets": lambda t: t.nested.nested_tensor_from_jagged(t.arange(6), t.tensor([0, 1, 6])),
    "lengths": lambda t: t.nested.nested_tensor_from_jagged(
        t.arange(6), lengths=t.tensor([2, 4])
    ),
    "narrow": lambda t: t.nested.narrow(
        t.arange(6).view(2, 3), 1, t.tensor([0, 1]), t.tensor([1, 2]), layout=t.jagged
    ),
    "masked": lambda t: t.nested.masked_select(
        t.arange(4).view(2, 2), t.tensor([[True, False], [True, True]])
    ),
    "strided": lambda t: sample(t, layout="strided").transpose(1, 2),
    "strided linear": lambda t: t.nn.functional.linear(
        sample(t, layout="strided"), t.tensor(WEIGHT)
    ),
    "strided products": lambda t: sample(t, layout="strided")
    @ sample(t, layout="strided").transpose(1, 2),
    "embedding": lambda t: t.nn.functional.embedding(
        t.nested.nested_tensor([[1, 2], [3]], layout=t.jagged), t.arange(8.0).view(4, 2)
    ),
    "bags": lambda t: t.nn.functional.embedding_bag(
        t.nested.nested_tensor([[1, 2], [3]], layout=t.jagged), t.arange(8.0).view(4, 2)
    ),
    "asks": lambda t: [
        getattr(sample(t), name)() for name in ("dim", "numel", "is_contiguous", "lengths")
    ],
    "sizes": lambda t: [sample(t).size(0), sample(t).size(-1), len(sample(t)), sample(t).is_nested],
    "strided size": lambda t: sample(t, layout="strided").size(2),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("name", MADE)
def test_nested_tensors_are_made_as_in_pytorch(torch: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = plain(MADE[name](torch))
    assert _close(plain(MADE[name](wengert)), theirs)


FAILING = {
    "dtypes": lambda t: t.nested.nested_tensor([t.ones(2), t.ones(2).long()], layout=t.jagged),
    "ranks": lambda t: t.nested.nested_tensor([t.ones(2), t.ones(2, 2)]),
    "jagged": lambda t: t.nested.nested_tensor([t.ones(2, 3), t.ones(3, 2)], layout=t.jagged),
    "no list": lambda t: t.nested.nested_tensor(t.ones(2)),
    "no offsets": lambda t: t.nested.nested_tensor_from_jagged(t.ones(6)),
    "strided shape": lambda t: sample(t, layout="strided").shape,
    "irregular size": lambda t: sample(t, layout="strided").size(1),
    "dense beside strided": lambda t: sample(t, layout="strided") * t.ones(3),
    "batch sum": lambda t: sample(t).sum(0),
    "other components": lambda t: sample(t) + t.nested.nested_tensor([t.ones(2, 3)] * 3,
                                                                     layout=t.jagged),
    "product": lambda t: sample(t) @ sample(t).transpose(1, 2),
    "cat": lambda t: t.cat([sample(t), sample(t)]),
    "cumsum": lambda t: sample(t).cumsum(1),
    "tolist": lambda t: sample(t).tolist(),
    "numpy": lambda t: sample(t).numpy(),
    "truth": lambda t: bool(sample(t)),
    "batch slice": lambda t: sample(t)[:, 0],
    "flatten": lambda t: sample(t).flatten(1),
    "view": lambda t: sample(t).view(-1, 3),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("name", FAILING)
def test_errors_have_pytorchs_classes(torch: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:  # noqa: PT011 (whatever PyTorch raises)
            FAILING[name](torch)
    with pytest.raises(type(theirs.value)):
        FAILING[name](wengert)


def test_what_there_is_not_says_what_to_do() -> None:
    x = sample(wengert)
    with pytest.raises(NotImplementedError, match=r"sort\(\) .*to_padded_tensor"):
        x.sort()
    with pytest.raises(RuntimeError, match=r"expected at least \[3, 4, 3\]"):
        x.to_padded_tensor(0.0, (3, 2, 3))
    bags = wengert.nested.nested_tensor([[1], [0, 1]], layout=wengert.jagged)
    with pytest.raises(ValueError, match="the components are the bags"):
        wengert.nn.functional.embedding_bag(bags, wengert.ones(2, 2), wengert.tensor([0, 1]))


@pytest.mark.torch
@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_that_of_each_component(torch: Any, causal: bool) -> None:
    """PyTorch has none for components of one row."""

    def of_each(t: Any, rows: Any) -> Any:
        x = t.tensor(rows, dtype=t.float64, requires_grad=True)
        out = t.nn.functional.scaled_dot_product_attention(x, x * 2, x + 1, is_causal=causal)
        out.square().sum().backward()
        return plain([out, x.grad])

    x = sample(wengert).double().requires_grad_()
    query, key, value = [part.unflatten(-1, [1, 3]).transpose(1, 2) for part in (x, x * 2, x + 1)]
    out = wengert.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
    out = out.transpose(1, 2).flatten(-2)
    out.values().square().sum().backward()
    ours = plain([list(pair) for pair in zip(out, x.grad, strict=True)])
    assert _close(ours, [of_each(torch, rows) for rows in DATA])


def test_gradients_reach_components_and_inputs() -> None:
    parts = [wengert.ones(n, 2, requires_grad=True) for n in (1, 3)]
    x = wengert.nested.as_nested_tensor(parts, layout=wengert.jagged)
    (x * x).sum().backward()
    assert [p.grad.tolist() for p in parts] == [[[2.0, 2.0]] * n for n in (1, 3)]
    leaf = sample(wengert, requires_grad=True)
    (gradient,) = wengert.autograd.grad((leaf * 3).sum(), [leaf])
    assert gradient.is_nested
    assert gradient.values().tolist() == [[3.0] * 3] * 7
    y = leaf * 2
    y.backward(wengert.ones_like(y))
    assert leaf.grad.values().tolist() == [[2.0] * 3] * 7


def test_texts_name_the_irregular_dimension() -> None:
    x = sample(wengert)
    name = str(x.shape[1])
    assert repr(x) == (
        f"NestedTensor(size=(3, {name}, 3), offsets=tensor([0, 2, 3, 7]), contiguous=True)"
    )
    assert (x + 1).shape == x.shape
    with pytest.raises(RuntimeError, match=r"have \[2, 1, 4\]"):
        int(x.shape[1])
    small = wengert.nested.nested_tensor([[1.0], [2.0, 3.0]])
    assert repr(small) == "nested_tensor([\n  tensor([1.]),\n  tensor([2., 3.])\n])"


def test_modules_take_them_and_nothing_is_left_behind() -> None:
    layer = wengert.nn.Sequential(
        wengert.nn.Linear(3, 4), wengert.nn.ReLU(), wengert.nn.LayerNorm(4), wengert.nn.Dropout(0.1)
    )
    layer(sample(wengert)).sum().backward()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(3):
            layer(sample(wengert)).to_padded_tensor(0.0).sum().backward()
        assert gc.collect() == 0
        assert len(gc.get_objects()) - before < 500
    finally:
        gc.enable()
    assert layer[0].weight.grad is not None
