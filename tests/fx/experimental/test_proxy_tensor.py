"""make_fx: what is recorded computes the same on other values, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import wengert as w
import wengert.nn.functional as F
from wengert import jit, nn
from wengert.autograd.transforms.tree import flatten_tree
from wengert.export import export
from wengert.fx.experimental.proxy_tensor import make_fx


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([x.clone() if isinstance(x, w.Tensor) else x for x in args])


def assert_same(a: Any, b: Any) -> None:
    xs, ys = flatten_tree(a)[0], flatten_tree(b)[0]
    assert len(xs) == len(ys)
    for x, y in zip(xs, ys, strict=True):
        assert w.equal(x, y), (x, y)


def writes(x: Any) -> Any:
    h = w.zeros(2, 3)
    view = h[:, 0]
    h[:, 1:] = x
    view += 1
    y = h * 2
    h.mul_(3)
    return h, view, y


def writes_to_parts(x: Any) -> Any:
    x = x.clone()
    a, b = x.chunk(2, 1)
    a += 1
    b.zero_()
    return x, a, x.masked_fill_(x < 0, 0.5)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda x: (2 - x) / 3 + x**2 + x.exp().sum(),
    "lists": lambda x: w.cat(x.chunk(2), 1).sum() + w.stack(x.unbind(0)),
    "several outputs": lambda x: (x.max(1), x.topk(2), x.sort(0), x.split(1, 1)),
    "indices": lambda x: (x[w.tensor([1, 0])], x[:, None, 1:], x[0], x[..., ::2]),
    "indices of the input": lambda x: x[x.argmax(1)],
    "writes": lambda x: writes(x[:2, :2]),
    "writes to parts": writes_to_parts,
    "writes to the input": lambda x: (x.add_(1), x * 2),
    "constants": lambda x: x + w.arange(4).sin() + w.ones(4),
    "gradients": w.func.grad(lambda x: (x**3).sum()),
    "batches": w.vmap(lambda x: x.softmax(0)),
    "pooling": lambda x: F.max_pool2d(F.interpolate(x[None, None], scale_factor=2), 2),
    "dtypes": lambda x: (x.double(), x > 0, x.long() // 2, w.where(x > 0, x, 0.0)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_values(name: str) -> None:
    function = FUNCTIONS[name]
    w.manual_seed(0)
    module = make_fx(function)(w.randn(4, 4))
    for _ in range(2):
        x = w.randn(4, 4)
        mine, other = copies((x, x))
        assert_same(module(mine), function(other))
        assert_same(mine, other)  # written to alike


def scaled_in_parts(x: Any) -> Any:
    h = w.eye(4)
    h[:, 0] *= x[0]
    h[1:, 1] *= x[1, 1:]
    h[2].pow_(x[2].exp()).div_(x[3] + 9)
    return h @ x


@pytest.mark.parametrize(
    "record", [lambda f, x: make_fx(f)(x), jit.trace, lambda f, x: exported(f, x)]
)
def test_gradients_read_what_was_written_over(record: Any) -> None:
    recorded = record(scaled_in_parts, w.rand(4, 4))
    for _ in range(3):
        x = w.rand(4, 4, requires_grad=True)
        assert_same(recorded(x), scaled_in_parts(x))
        ours, theirs = [w.autograd.grad(f(x).cos().sum(), x) for f in (recorded, scaled_in_parts)]
        w.testing.assert_close(ours, theirs)


def exported(function: Callable[..., Any], x: Any) -> Any:
    class Calling(nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    return export(Calling(), (x,)).module()


def test_a_write_by_a_number_copies_nothing() -> None:
    def averaged(x: Any, mean: Any) -> Any:
        mean[:2].mul_(0.9)
        mean[2:].add_(x)
        return mean

    code = make_fx(averaged)(w.ones(2), w.ones(4)).code
    assert "clone" not in code


MODULES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "batch norm in training": (nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), (5, 4)),
    "LSTM": (nn.LSTM(4, 3, 2, bidirectional=True), (5, 2, 4)),
    "GRU cell": (nn.GRUCell(4, 3), (2, 4)),
    "encoder": (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (2, 3, 4)),
    "convolutions": (nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4)), (1, 2, 6, 6)),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    module, shape = MODULES[name]
    recorded = make_fx(module)(w.randn(shape))
    x = w.randn(shape)
    with w.no_grad():
        assert_same(recorded(x), module(x))


def test_nested_arguments() -> None:
    module = make_fx(lambda pair, scale: {"sum": (pair["a"] + pair["b"][0]) * scale})(
        {"a": w.ones(2), "b": [w.ones(2)]}, 3.0
    )
    out = module({"a": w.zeros(2), "b": [w.ones(2)]}, 3.0)
    assert out["sum"].tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="structure"):
        module({"a": w.zeros(2)}, 3.0)


def test_random_numbers_are_drawn_anew_and_not_while_recording() -> None:
    w.manual_seed(1)
    expected = w.rand(3)
    w.manual_seed(1)
    module = make_fx(lambda x: F.dropout(x, 0.5) + w.rand(3))(w.ones(3))
    assert w.equal(w.rand(3), expected)
    assert not w.equal(module(w.ones(3)), module(w.ones(3)))


REFUSED: dict[str, Callable[..., Any]] = {
    "item": lambda x: x.sum().item() * x,
    "bool": lambda x: x if x.any() else -x,
    "int": lambda x: w.arange(x.sum().long()),
    "numpy": lambda x: x.numpy(),
    "tolist": lambda x: w.tensor(x.tolist()),
    "equal": lambda x: w.equal(x, x),
    "mask": lambda x: x[x > 0],
    "nonzero": lambda x: x.nonzero(),
    "unique": lambda x: x.unique(),
    "lengths": lambda x: nn.utils.rnn.pack_padded_sequence(w.ones(2, 3, 1), x.long()).data,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_reads_elements_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"program is being recorded|program that is being"):
        make_fx(REFUSED[name])(w.ones(3))


def test_nodes_know_their_line_and_value() -> None:
    graph = make_fx(lambda x: x.exp())(w.ones(2, 3)).graph
    node = next(n for n in graph.nodes if n.name == "exp")
    assert node.meta["val"].shape == (2, 3)
    assert "test_proxy_tensor.py" in node.stack_trace


def test_bad_arguments() -> None:
    with pytest.raises(AssertionError, match="tracing_mode"):
        make_fx(w.exp, tracing_mode="other")
    with pytest.raises(NotImplementedError, match="decomposition_table"):
        make_fx(w.exp, decomposition_table={w.exp: w.exp})
