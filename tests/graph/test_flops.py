"""Counts of floating-point operations: those of products as PyTorch counts, the rest by rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import wengert
from wengert import nn
from wengert.core.tensor import nodes_below
from wengert.graph import Flops, describe
from wengert.graph._flops import _MOVING, _PRODUCTS, _SUMMING, flops_of, summed
from wengert.ops.op import REGISTRY

Program = Callable[[Any], Any]  # of the library


def made(library: Any, *shape: int, grad: bool = True) -> Any:
    return library.randn(*shape, requires_grad=grad)


def attention(library: Any) -> Any:
    q, k, v = made(library, 2, 3, 4, 8), made(library, 2, 3, 6, 8), made(library, 2, 3, 6, 5)
    return library.nn.functional.scaled_dot_product_attention(q, k, v)


def attention_to_what_is_fixed(library: Any) -> Any:
    q, k, v = (made(library, 2, 3, 4, 8, grad=grad) for grad in (True, False, False))
    return library.nn.functional.scaled_dot_product_attention(q, k, v)


def multihead(library: Any) -> Any:
    x = made(library, 2, 5, 8)
    return library.nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x, need_weights=False)[0]


PROGRAMS: dict[str, Program] = {
    "two layers": lambda lib: lib.nn.Sequential(
        lib.nn.Linear(10, 20), lib.nn.ReLU(), lib.nn.Linear(20, 5)
    )(made(lib, 7, 10, grad=False)),
    "a layer on a sequence": lambda lib: lib.nn.Linear(10, 20)(made(lib, 3, 7, 10)),
    "mm": lambda lib: lib.mm(made(lib, 3, 4), made(lib, 4, 5)),
    "bmm": lambda lib: lib.bmm(made(lib, 2, 3, 4), made(lib, 2, 4, 5, grad=False)),
    "matmul, broadcast": lambda lib: made(lib, 2, 1, 3, 4) @ made(lib, 6, 4, 5),
    "addmm": lambda lib: lib.addmm(made(lib, 3, 5), made(lib, 3, 4), made(lib, 4, 5)),
    "baddbmm": lambda lib: lib.baddbmm(
        made(lib, 2, 3, 5), made(lib, 2, 3, 4), made(lib, 2, 4, 5)
    ),
    "einsum": lambda lib: lib.einsum(
        "bhid,bhjd->bhij", made(lib, 2, 3, 4, 6), made(lib, 2, 3, 5, 6)
    ),
    "conv1d": lambda lib: lib.nn.Conv1d(3, 6, 3)(made(lib, 2, 3, 9)),
    "conv2d": lambda lib: lib.nn.Conv2d(3, 6, 3, stride=2, padding=1)(made(lib, 2, 3, 9, 8)),
    "conv2d on data": lambda lib: lib.nn.Conv2d(3, 6, 3)(made(lib, 2, 3, 9, 8, grad=False)),
    "conv3d": lambda lib: lib.nn.Conv3d(2, 3, 2)(made(lib, 2, 2, 4, 5, 6)),
    "conv_transpose2d": lambda lib: lib.nn.ConvTranspose2d(3, 5, 3, stride=2)(
        made(lib, 2, 3, 5, 4)
    ),
    "attention": attention,
    "attention to what is fixed": attention_to_what_is_fixed,
    "multi-head attention": multihead,
    "a layer of a transformer": lambda lib: lib.nn.TransformerEncoderLayer(
        16, 4, 32, batch_first=True
    )(made(lib, 2, 5, 16)),
    "a cell of an LSTM": lambda lib: lib.nn.LSTMCell(4, 6)(made(lib, 3, 4))[0],
}  # fmt: skip


def of_products(result: Any) -> Flops:
    nodes = nodes_below([result._edge])
    return summed(
        flops_of(n) for n in nodes if getattr(getattr(n, "op", None), "name", "") in _PRODUCTS
    )


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_products_count_as_in_pytorch(torch: Any, name: str) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    forward, backward = FlopCounterMode(display=False), FlopCounterMode(display=False)
    with sdpa_kernel(SDPBackend.MATH):  # of its others it counts some of a CPU's, and not all
        with forward:
            result = PROGRAMS[name](torch)
        with backward:
            result.sum().backward()
    theirs = Flops(forward.get_total_flops(), backward.get_total_flops())
    assert of_products(PROGRAMS[name](wengert)) == theirs


BEYOND: dict[str, tuple[Program, Flops]] = {
    # 2 x 3 x 4, and once for each factor.
    "matrix and vector": (lambda lib: made(lib, 3, 4) @ made(lib, 4), Flops(24, 48)),
    # PyTorch counts the gradient of the weight as if there were one group.
    "groups": (
        lambda lib: lib.nn.Conv2d(4, 6, 3, groups=2)(made(lib, 2, 4, 9, 8)),
        Flops(18144, 2 * 18144),
    ),
    # 15 rows, and blocks of rows of weights for 4 inputs and 6 states.
    "lstm": (
        lambda lib: lib.nn.LSTM(4, 6)(made(lib, 5, 3, 4))[0],
        Flops(2 * 15 * 24 * (4 + 6), 4 * 15 * 24 * (4 + 6)),
    ),
    "gru on data": (
        lambda lib: lib.nn.GRU(4, 6)(made(lib, 5, 3, 4, grad=False))[0],
        Flops(2 * 15 * 18 * (4 + 6), 2 * 15 * 18 * (4 + 6 + 6)),
    ),
}


@pytest.mark.parametrize("name", BEYOND)
def test_products_that_pytorch_does_not_count_so(name: str) -> None:
    program, count = BEYOND[name]
    assert of_products(program(wengert)) == count


def x() -> wengert.Tensor:
    return wengert.randn(4, 6, requires_grad=True)


RULES: dict[str, tuple[Callable[[], wengert.Tensor], Flops]] = {
    "an element": (lambda: x().exp(), Flops(24, 24)),
    "two of them": (lambda: x() * x(), Flops(24, 48)),
    "of one the gradient": (lambda: x() * x().detach(), Flops(24, 24)),
    "broadcast": (lambda: x() + wengert.randn(6, requires_grad=True), Flops(24, 30)),
    "a sum": (lambda: x().sum(1), Flops(24, 24)),
    "a norm": (lambda: nn.functional.layer_norm(x(), (6,)), Flops(24, 24)),
    "dropout": (lambda: nn.functional.dropout(x()), Flops(24, 24)),
    "pooling": (lambda: nn.functional.avg_pool1d(x(), 2), Flops(24, 24)),
    "a view": (lambda: x().t(), Flops(0, 0)),
    "a copy": (lambda: x().clone(), Flops(0, 0)),
    "a choice": (lambda: x()[[0, 2]], Flops(0, 0)),
    "where": (lambda: wengert.where(x() > 0, x(), 0.0), Flops(0, 0)),
    "several": (lambda: wengert.cat([x(), x()]), Flops(0, 0)),
}


@pytest.mark.parametrize("name", RULES)
def test_the_rest_counts_by_element(name: str) -> None:
    program, count = RULES[name]
    result = program()
    assert result._edge is not None
    found = flops_of(result._edge)
    if name == "pooling":  # of a batch of one
        found = describe(result).flops
    assert found == count


def test_lines_and_modules_sum_up() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    report = describe(model(wengert.randn(3, 8)).sum())
    assert report.flops == Flops(
        2 * 3 * (8 * 16 + 16 * 4) + 3 * 16 + 12, 2 * 3 * (8 * 16 + 2 * 16 * 4) + 3 * 16 + 12
    )
    assert summed(group.flops for group in report.by_line()) == report.flops
    modules = {group.name: group.flops for group in report.by_module()}
    assert modules["Sequential.2"] == Flops(2 * 3 * 16 * 4, 2 * 2 * 3 * 16 * 4)
    assert "forward" in report.table("module")
    assert report.to_dict()["flops"] == report.flops


def test_of_what_is_released_nothing_is_known() -> None:
    loss = x().exp().sum()
    loss.backward()
    report = describe(loss)
    assert report.nodes[-1].flops is None
    assert report.flops == Flops(0, 0)
    assert "FLOP" not in str(report)


def test_saved_values_that_are_packed_have_shapes() -> None:
    with wengert.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
        y = nn.Linear(8, 16)(wengert.randn(3, 8))
    assert describe(y).flops == Flops(2 * 3 * 8 * 16, 2 * 3 * 8 * 16)


def test_the_tables_name_operations_that_there_are() -> None:
    wengert.nn.LSTM(1, 1)(wengert.ones(1, 1, 1))
    attention(wengert)
    assert {*_PRODUCTS, *_SUMMING, *_MOVING} <= REGISTRY.keys()
    assert all(REGISTRY[name].kind == "multilinear" for name in _SUMMING)
    assert all(REGISTRY[name].kind != "multilinear" for name in _MOVING)
