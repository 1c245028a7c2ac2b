"""Lazy modules: before, at and after their first call."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import wengert
from tests.nn.both import agree, error
from wengert import nn

NORMS = [
    ("LazyBatchNorm1d", (3, 4)),
    ("LazyBatchNorm2d", (3, 4, 2, 2)),
    ("LazyBatchNorm3d", (3, 4, 2, 2, 2)),
    ("LazyInstanceNorm1d", (3, 4, 2)),
    ("LazyInstanceNorm2d", (3, 4, 2, 2)),
    ("LazyInstanceNorm3d", (3, 4, 2, 2, 2)),
]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "shape"), NORMS)
@pytest.mark.parametrize("options", [{}, {"affine": False}, {"bias": False}])
def test_norms(torch: Any, name: str, shape: Any, options: dict[str, Any]) -> None:
    def scenario(lib: Any) -> list[Any]:
        m = getattr(lib.nn, name)(**options)
        answers = [m, list(m.state_dict())]
        y = m(lib.arange(float(lib.ones(shape).numel())).reshape(shape))
        return [*answers, y, m, type(m).__name__, list(m.state_dict())]

    agree(torch, scenario)


@pytest.mark.torch
def test_linear(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        m = lib.nn.LazyLinear(3)
        answers = [m, m.weight, list(m.state_dict()), error(lambda: m.weight.shape)]
        answers += [error(lambda: m.weight + 1), lib.nn.parameter.is_lazy(m.bias)]
        again, x = pickle.loads(pickle.dumps(m)), lib.ones(2, 4)
        answers += [again(x).shape, again, m.double().weight.dtype]
        other, x = copy.deepcopy(m), x.double()
        answers += [m(x).shape, m, m.weight.shape, type(m).__name__, other, other(x).dtype, other]
        return [*answers, lib.nn.LazyLinear(3, bias=False)]

    agree(torch, scenario)


@pytest.mark.torch
def test_loading(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        full, lazy = lib.nn.Linear(5, 3), lib.nn.LazyLinear(3)
        loaded = lazy.load_state_dict(full.state_dict())
        y = lazy(lib.ones(2, 5))
        return [
            loaded, y, lazy,
            error(lambda: lib.nn.Linear(5, 3).load_state_dict(lib.nn.LazyLinear(3).state_dict())),
            error(lambda: lib.nn.LazyLinear(3).load_state_dict(lib.nn.LazyLinear(3).state_dict())),
        ]  # fmt: skip

    agree(torch, scenario)


@pytest.mark.torch
def test_convolutions(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        m = lib.nn.LazyConv2d(4, 3, groups=2)
        answers = [error(lambda: m(lib.ones(2, 3, 4, 4))), error(lambda: m(lib.ones(2, 3)))]
        answers += [m(lib.ones(2, 4, 5, 5)), m]
        odd = lib.nn.LazyConv2d(4, (3, 2), padding_mode="reflect", padding=1)
        up = lib.nn.LazyConvTranspose2d(4, 3, stride=2)
        return [*answers, odd(lib.ones(2, 4, 5, 5)), odd, up(lib.ones(4, 5, 5)), up]

    agree(torch, scenario)


def test_a_mixin_of_ones_own() -> None:
    class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self, forget: bool = False) -> None:
            super().__init__()
            self.factor = nn.UninitializedParameter()
            self.mean = nn.UninitializedBuffer()
            self.forget = forget

        def initialize_parameters(self, x: Any, *, fill: float) -> None:
            self.factor.materialize(x.shape)
            if not self.forget:
                self.mean.materialize((1,))
            nn.init.constant_(self.factor, fill)

        def forward(self, x: Any, *, fill: float) -> Any:
            return x * self.factor

    class Bare(nn.modules.lazy.LazyModuleMixin, nn.Module):
        pass

    m = Scale()
    assert m(wengert.ones(2), fill=3.0).tolist() == [3.0, 3.0]
    assert m(wengert.ones(2), fill=4.0).tolist() == [3.0, 3.0]
    assert type(m) is Scale
    assert not m._forward_pre_hooks
    with pytest.raises(RuntimeError, match="has not been fully initialized"):
        Scale(forget=True)(wengert.ones(2), fill=1.0)
    with pytest.raises(NotImplementedError, match="initialize_parameters"):
        Bare()(wengert.ones(2))


def test_parameters_without_a_shape_are_not_shared() -> None:
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized"):
        nn.LazyLinear(2).share_memory()


def test_materialized_parameters_learn() -> None:
    p = nn.UninitializedParameter()
    p.materialize((2,), dtype=wengert.float64)
    nn.init.ones_(p)
    (p * p).sum().backward()
    assert p.grad is not None
    assert p.grad.tolist() == [2.0, 2.0]
    assert type(p) is nn.Parameter
