"""Modes see each operation once, below autograd, by PyTorch's name, and change no gradient."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import wengert
from tests.dispatch.programs import logged, ours, theirs
from wengert.dispatch import ops
from wengert.utils import _python_dispatch as dispatch
from wengert.utils._python_dispatch import TorchDispatchMode


class Plain(TorchDispatchMode):
    """Computes what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


# What PyTorch's log has, too, argument by argument. `x` is 2 x 3, `w` 4 x 3, `b` 4, `m` 2 x 3 x 4.
SAME = {
    "addition": lambda n, x, **_: (x + 1, 1 + x, x + x, x.add(x, alpha=2)),
    "subtraction": lambda n, x, **_: (x - 1, 2 - x, x.sub(x)),
    "product": lambda n, x, **_: (x * 2, 2 * x, x * x, x / 2, 1 / x),
    "power": lambda n, x, **_: (x**2, x**x, 2**x, x.sqrt()),
    "unary": lambda n, x, **_: (x.exp(), x.sin(), -x, x.abs(), x.sigmoid(), x.tanh()),
    "comparison": lambda n, x, **_: (x > 0, x == x, x.lt(1)),
    "sum": lambda n, x, **_: (x.sum(), x.sum(0), x.sum(1, keepdim=True), x.mean(), x.mean(0)),
    "extrema": lambda n, x, **_: (x.max(), x.max(1), x.argmax(), x.amax(0)),
    "spread": lambda n, x, **_: (x.var(), x.std(0)),
    "views": lambda n, x, **_: (
        x.t(), x.transpose(0, 1), x.permute(1, 0), x.view(3, 2), x.reshape(-1), x.unsqueeze(0),
        x.squeeze(), x.expand(2, 2, 3), x.flatten(), x.mT,
    ),
    "copies": lambda n, x, **_: (x.clone(), x.detach(), x.double()),
    "subscripts": lambda n, x, **_: (x[0], x[:, 1:], x[None], x[..., 0], x[0, 1], x[x > 0]),
    "lists": lambda n, x, **_: (n.lib.cat([x, x]), n.lib.stack([x, x], 1), x.split(1), x.unbind()),
    "linear": lambda n, x, w, b, **_: (n.F.linear(x, w, b), n.F.linear(x, w)),
    "linear of more": lambda n, m, b, **_: n.F.linear(m, n.lib.ones_like(m[0]), b[:3]),
    "matrices": lambda n, x, w, **_: (x @ w.t(), x @ x[0], x[0] @ x[1], w.mm(x.t())),
    "batches": lambda n, m, **_: (m @ m.transpose(1, 2), m @ m[0].t(), m.bmm(m.mT)),
    "softmax": lambda n, x, **_: (x.softmax(-1), x.log_softmax(0)),
    "activations": lambda n, x, **_: (x.relu(), n.F.gelu(x), n.F.silu(x), n.F.leaky_relu(x)),
    "convolution": lambda n, **_: n.F.conv2d(
        n.lib.ones(1, 2, 5, 5), n.lib.ones(3, 2, 3, 3), stride=2, padding=1
    ),
    "transposed": lambda n, **_: n.F.conv_transpose2d(
        n.lib.ones(1, 2, 5, 5), n.lib.ones(2, 3, 3, 3), stride=2, output_padding=1
    ),
    "embedding": lambda n, w, **_: n.F.embedding(w.argmax(1), w),
    "in place": lambda n, x, **_: (
        x.add_(1), x.mul_(2), x.clamp_(0, 1), x.zero_(), x.fill_(3), x.copy_(n.lib.ones(3)),
        x.relu_(), x.normal_(),
    ),
    "factories": lambda n, x, **_: (
        n.lib.zeros(2), n.lib.ones(2, 3), n.lib.full((2,), 1.0), n.lib.randn(2), n.lib.arange(3),
        n.lib.arange(1, 3), n.lib.empty(2), n.lib.zeros_like(x), n.lib.eye(2), n.lib.randperm(3),
        n.lib.linspace(0, 1, 3), x.new_zeros(2),
    ),
    "loss": lambda n, x, **_: n.F.mse_loss(x, x),
    "item": lambda n, x, **_: x.sum().item(),
    "vmap": lambda n, x, **_: n.lib.vmap(lambda a: a.sin() * a)(x),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("program", SAME)
def test_the_log_is_pytorchs(torch: Any, program: str) -> None:
    logs = []
    for names in (ours(), theirs(torch)):
        lib = names.lib
        x = lib.arange(6.0).reshape(2, 3) + 1
        values = {
            "x": x, "w": lib.ones(4, 3), "b": lib.ones(4), "m": lib.ones(2, 3, 4) / 2,
        }  # fmt: skip
        logs.append(logged(names, lambda n=names, v=values: SAME[program](n, **v)))
    assert logs[0] == logs[1]


@pytest.mark.torch
def test_the_backward_of_a_network_is_seen(torch: Any) -> None:
    """The same products as in PyTorch; it also shows how gradients are added up."""
    products = []
    for names in (ours(), theirs(torch)):
        x, w = names.lib.ones(2, 3), names.lib.ones(4, 3, requires_grad=True)
        log = logged(names, lambda n=names, x=x, w=w: n.F.linear(x, w).exp().sum().backward())
        products.append([name for name, _ in log if name.split(".")[1] in ("mm", "exp", "mul")])
    assert products[0] == products[1] == [
        "aten.mm.default", "aten.exp.default", "aten.mul.Tensor", "aten.mm.default",
    ]  # fmt: skip


def _loss(x: Any, w: Any, b: Any) -> Any:
    net = wengert.nn.functional
    h = net.layer_norm(net.linear(x, w, b).relu(), (4,))
    return (h.softmax(-1) * h.exp()).sum() + net.dropout(h, 0.0)[0].var() + h.view(-1)[1:].mean()


def test_gradients_in_a_mode_are_those_without() -> None:
    wengert.manual_seed(0)
    leaves = [
        wengert.randn(*shape, dtype=wengert.float64, requires_grad=True)
        for shape in ((5, 3), (4, 3), (4,))
    ]
    expected = wengert.autograd.grad(_loss(*leaves), leaves)
    with Plain():
        loss = _loss(*leaves)
    outside = wengert.autograd.grad(loss, leaves)
    with Plain():
        inside = wengert.autograd.grad(_loss(*leaves), leaves)
        second = wengert.autograd.grad(_loss(*leaves), leaves[0], create_graph=True)[0]
    for grads in (outside, inside):
        for g, e in zip(grads, expected, strict=True):
            np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(second.detach().numpy(), expected[0].numpy(), rtol=1e-12, atol=1e-14)
    assert second.requires_grad


def test_nothing_is_recorded_inside() -> None:
    class Look(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            assert not result.requires_grad
            assert result.grad_fn is None
            assert not (args[0] * 2).requires_grad
            return result

    x = wengert.ones(2, requires_grad=True)
    with Look():
        y = x.exp()
    assert type(y.grad_fn).__name__ == "ExpBackward0"


def test_a_result_in_the_place_of_another_has_the_gradient_of_the_operation() -> None:
    class Doubled(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {})) * 2

    x = wengert.tensor([1.0, 2.0], requires_grad=True)
    with Doubled():
        y = x.exp()
    np.testing.assert_allclose(y.detach().numpy(), 2 * np.exp([1.0, 2.0]), rtol=1e-6)
    (g,) = wengert.autograd.grad(y.sum(), x)  # exp saves its result, which is the mode's
    np.testing.assert_allclose(g.numpy(), 2 * np.exp([1.0, 2.0]), rtol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("computes", [True, False])
def test_a_replaced_result_as_in_pytorch(torch: Any, computes: bool) -> None:
    results = []
    for names in (ours(), theirs(torch)):
        lib = names.lib

        class Replaced(names.dispatch.TorchDispatchMode):  # type: ignore[misc]
            lib = names.lib

            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                if computes:
                    func(*[a.double() for a in args])
                return self.lib.full((2,), 5.0)

        x = lib.tensor([1.0, 2.0], requires_grad=True)
        with Replaced():
            y = x * x if computes else x.exp()
        y.backward(lib.ones(2))
        results.append((y.tolist(), x.grad.tolist()))
    assert results[0] == results[1]


def test_a_result_of_another_shape_is_refused() -> None:
    class Wrong(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return wengert.zeros(7)

    x = wengert.ones(2, requires_grad=True)
    with Wrong(), pytest.raises(RuntimeError, match=r"shape \[7\] for aten.exp.default"):
        x.exp()


def test_modes_nest() -> None:
    order: list[str] = []

    class Named(TorchDispatchMode):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            order.append(f"{self.name} {func}")
            return func(*args, **(kwargs or {}))

    x = wengert.ones(2, requires_grad=True)
    with Named("outer") as outer, Named("inner") as inner:
        assert dispatch._get_current_dispatch_mode() is inner
        assert dispatch._get_current_dispatch_mode_stack() == [outer, inner]
        y = x.exp()
        with dispatch._disable_current_modes() as modes:
            x.sin()
        assert modes == [outer, inner]
        with dispatch._pop_mode_temporarily():
            x.cos()
    assert order == ["inner aten.exp.default", "outer aten.exp.default", "outer aten.cos.default"]
    assert y.requires_grad
    assert dispatch._get_current_dispatch_mode() is None
    assert not dispatch.is_in_torch_dispatch_mode()


def test_a_mode_counts_for_its_thread() -> None:
    mode = Plain()
    with mode:
        thread = threading.Thread(target=lambda: wengert.ones(2) * 2)
        thread.start()
        thread.join()
    assert mode.seen == []


def test_a_mode_ends_when_it_raises() -> None:
    class Failing(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            raise ValueError(str(func))

    codes = {f: f.__code__ for f in (wengert.exp, wengert.add, wengert.zeros, wengert.Tensor.add_)}
    x = wengert.ones(2)
    with pytest.raises(ValueError, match=r"aten.exp.default"), Failing():
        x.exp()
    assert x.exp().shape == (2,)
    assert {f: f.__code__ for f in codes} == codes


def test_no_code_is_left_behind_beside_function_modes() -> None:
    from wengert.overrides import TorchFunctionMode

    class Calls(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            calls.append(func.__name__)
            return func(*args, **(kwargs or {}))

    calls: list[str] = []
    functions = (wengert.exp, wengert.add, wengert.zeros, wengert.tanh)
    x = wengert.ones(2)
    for f in functions[:2]:
        f(x, x) if f is wengert.add else f(x)
    codes = [f.__code__ for f in functions[:3]]
    with Plain() as outer, Calls():
        x.exp()
    with Calls():
        inner = Plain()
        inner.__enter__()
        x.tanh()
    x.exp()
    inner.__exit__(None, None, None)
    assert calls == ["exp", "tanh"]
    assert outer.seen == ["aten.exp.default"]
    assert inner.seen == ["aten.tanh.default", "aten.exp.default"]
    assert [f.__code__ for f in functions[:3]] == codes
    assert wengert.tanh(x).shape == (2,)


def test_not_implemented_is_an_error() -> None:
    class Silent(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented

    x = wengert.ones(2)
    with Silent(), pytest.raises(TypeError, match=r"Multiple dispatch failed for 'aten.exp"):
        x.exp()


def test_operations_without_a_name_in_pytorch_have_their_own() -> None:
    x = wengert.ones(1, 1, 4, 4)
    with Plain() as mode:
        wengert.nn.functional.interpolate(x, scale_factor=2)
    assert mode.seen == ["wengert.resample.default"]
    assert str(ops.wengert.resample.default._schema).startswith("wengert::resample(Tensor? input")


def test_a_failing_operation_leaves_no_cycle() -> None:
    x = wengert.ones(2, 3)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(3):
            with Plain(), pytest.raises(RuntimeError):
                x @ x
            with Plain():
                y = wengert.ones(2, requires_grad=True)
                (y * y).sum().backward()
        del y
        assert gc.collect() == 0 or len(gc.get_objects()) - before < 200
    finally:
        gc.enable()


class TestPrograms:
    """Modes that people write."""

    def test_nan_checker(self) -> None:
        class Checker(TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                result = func(*args, **(kwargs or {}))
                for t in result if isinstance(result, tuple) else (result,):
                    if isinstance(t, wengert.Tensor) and t.is_floating_point():
                        assert not t.isnan().any(), f"{func} makes NaN"
                return result

        x = wengert.tensor([0.0, 1.0], requires_grad=True)
        with Checker():
            (x * 2).sum().backward()
            with pytest.raises(AssertionError, match=r"aten.div.Tensor makes NaN"):
                x / x
            y = x.sqrt().sum() * 0
            with pytest.raises(AssertionError, match="makes NaN"):
                y.backward()

    def test_dtypes(self) -> None:
        pairs = []

        class Dtypes(TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                result = func(*args, **(kwargs or {}))
                pairs.append((func, result.dtype))
                return result

        with Dtypes():
            (wengert.ones(2) + wengert.ones(2, dtype=wengert.float64)).half()
        assert [(str(f), d) for f, d in pairs] == [
            ("aten.ones.default", wengert.float32),
            ("aten.ones.default", wengert.float64),
            ("aten.add.Tensor", wengert.float64),
            ("aten._to_copy.default", wengert.float16),
        ]

    def test_memory(self) -> None:
        class Memory(TorchDispatchMode):
            made = 0

            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                result = func(*args, **(kwargs or {}))
                if not func.is_view and not func._schema.is_mutable:
                    self.made += result.untyped_storage().nbytes()
                return result

        with Memory() as memory:
            x = wengert.ones(10)
            x.view(2, 5).add_(1)
            (x * 2).reshape(5, 2).exp()
        assert memory.made == 3 * 40


@pytest.mark.torch
@pytest.mark.parametrize(
    "call",
    [
        lambda n, x: n.ops.aten.mm.default(x, x.t()),
        lambda n, x: n.ops.aten.add.Tensor(x, x, alpha=3),
        lambda n, x: n.ops.aten.add(x, 2),
        lambda n, x: n.ops.aten.sum.dim_IntList(x, [1], True),
        lambda n, x: n.ops.aten._softmax.default(x, -1, False),
        lambda n, x: n.ops.aten.slice.Tensor(x, 1, 0, 2),
        lambda n, x: n.ops.aten.select.int(x, 0, 1),
        lambda n, x: n.ops.aten._to_copy.default(x, dtype=n.lib.float64),
        lambda n, x: n.ops.aten.rsub.Scalar(x, 2, 3),
        lambda n, x: n.ops.aten.native_layer_norm.default(x, [3], None, None, 1e-5)[2],
        lambda n, x: n.ops.aten.index.Tensor(x, [None, n.lib.tensor([2, 0])]),
        lambda n, x: n.ops.aten.embedding.default(x, n.lib.tensor([1, 0])),
        lambda n, x: n.ops.aten.relu(x - 3),
        lambda n, x: n.ops.aten.threshold_backward.default(x, x - 3, 0),
        lambda n, x: n.ops.aten._log_softmax_backward_data.default(x, x, 1, x.dtype),
        lambda n, x: n.ops.aten.convolution.default(
            x[None], n.lib.ones(1, 2, 2), None, [1], [0], [1], False, [0], 1
        ),
        lambda n, x: n.ops.aten.convolution_backward.default(
            x[None, :1],
            x[None],
            n.lib.ones(1, 2, 1),
            [1],
            [1],
            [0],
            [1],
            False,
            [0],
            1,
            [True, True, True],
        )[1],
        lambda n, x: n.lib.stack(n.ops.aten._foreach_add([x, -x], [x, x], alpha=2)),
        lambda n, x: str(n.ops.aten._foreach_norm.Scalar([x, x])),
        lambda n, x: str([n.ops.aten._foreach_maximum_([x, y := -x], 1.5), x, y]),
        lambda n, x: n.ops.aten._foreach_clamp_min_.overloads(),
        lambda n, x: n.ops.aten._foreach_zork,
        lambda n, x: n.ops.aten.zork,
        lambda n, x: n.ops.aten.mm.zork,
        lambda n, x: n.ops.nowhere.zork,
        lambda n, x: str(n.ops.aten.add.Tensor),
        lambda n, x: repr(n.ops.aten.add.Tensor),
        lambda n, x: repr(n.ops.aten.add),
        lambda n, x: n.ops.aten.add.Tensor.name(),
        lambda n, x: n.ops.aten.mm.default.__name__,
        lambda n, x: str(n.ops.aten.add.Tensor._schema),
        lambda n, x: str(n.ops.aten.add_.Tensor._schema),
        lambda n, x: [(a.name, a.kwarg_only) for a in n.ops.aten.add.Tensor._schema.arguments],
        lambda n, x: n.ops.aten.add_.Tensor._schema.is_mutable,
        lambda n, x: n.ops.aten.view.default.is_view,
        lambda n, x: n.ops.aten.gelu.default.namespace,
    ],
)
def test_torch_ops_as_in_pytorch(torch: Any, call: Any) -> None:
    results: list[Any] = []
    for names in (ours(), theirs(torch)):
        x = names.lib.arange(6.0).reshape(2, 3)
        try:
            result = call(names, x)
        except (AttributeError, RuntimeError) as error:
            result = type(error), str(error).split(":")[0]
        results.append(result.numpy() if hasattr(result, "numpy") else result)
    assert type(results[0]) is type(results[1])
    if isinstance(results[1], np.ndarray):
        np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    else:
        assert results[0] == results[1]


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda op: pickle.loads(pickle.dumps(op))]
)
def test_there_is_one_operation_of_a_name(again: Any) -> None:
    for op in (ops.aten, ops.aten.mm, ops.aten.mm.default, ops.aten.add_.Tensor):
        assert again(op) is op
        assert again({"of": [op]})["of"][0] is op


def test_wrong_arguments_of_an_operation() -> None:
    with pytest.raises(
        RuntimeError, match=r"failed to match any schema:\naten::add\(\) is missing"
    ):
        ops.aten.add(wengert.ones(2))
