"""Compiled functions as objects: options, what they say of themselves, what they leave behind."""

from __future__ import annotations

import copy
import gc
import io
import math
import pickle
import weakref
from typing import Any

import pytest

import wengert
from tests.garbage import garbage_of
from tests.replay.harness import batch, mlp
from wengert import compiler, nn
from wengert.fx.captured.functions import graph_break
from wengert.replay import trial
from wengert.replay.compiled import compiled_of
from wengert.replay.failures import Unsupported


@pytest.fixture(autouse=True)
def fresh():
    compiler.reset()


def norm(x):
    """Of a vector."""
    return (x * x).sum().sqrt()


def test_a_function_keeps_its_name_and_prints_its_program() -> None:
    function = compiler.compile(norm)
    assert (function.__name__, function.__doc__) == ("norm", "Of a vector.")
    for _ in range(2):
        assert function(wengert.tensor([3.0, 4.0])).item() == 5
    lines = function.graph().splitlines()
    assert lines[0] == "%0 = input float32[2]"
    assert lines[1].startswith("%2: float32[] = mul+sum(%0, %0)")
    assert lines[1].endswith("return (x * x).sum().sqrt()")
    assert lines[-1] == "return %3"


def test_what_code_hears_does_not_depend_on_how_often_it_ran() -> None:
    told = []

    @compiler.compile
    def step(x):
        told.append(compiler.is_compiling())
        return (x * 2).item()  # runs do not pay

    def steps():
        for _ in range(40):
            step(wengert.ones(1))

    with pytest.warns(UserWarning, match="runs as it is from here on"):
        steps()
    assert compiled_of(step).record.retired
    assert all(told)
    assert not compiler.is_compiling()


def test_explain_names_the_line_that_reads() -> None:
    def step(x):
        y = x.tanh() * 2
        if y.sum() > 0:
            y = y.exp()
        return y.mean()

    report = compiler.explain(step)(wengert.ones(100, 100))
    assert (report.operations, report.backwards) == (6, 0)
    (split,) = report.splits
    assert split.endswith("if y.sum() > 0:")
    assert any("tanh+mul" in loop for loop in report.loops)
    assert report.bytes[0] <= report.bytes[1] + 64  # what the kernel of the mean writes between
    assert "split where a value is read" in str(report)


def test_a_compiled_module_lists_what_its_module_has() -> None:
    model = compiler.compile(mlp())
    model.later = 3
    assert {"later", "_orig_mod"} <= {*dir(model)}


def test_fullgraph_refuses_breaks_and_disabled_functions() -> None:
    disabled = compiler.disable(lambda x: x + 1)

    def broken(x):
        graph_break()
        return x + 1

    for function, why in [
        (broken, r"graph_break\(\) is called"),
        (lambda x: disabled(x * 2), "is disabled"),
    ]:
        whole = compiler.compile(function, fullgraph=True)
        with pytest.raises(Unsupported, match=f"fullgraph=True.*{why}"):
            whole(wengert.ones(2))
        parts = compiler.compile(function)
        assert [parts(wengert.ones(1)).item() for _ in range(3)] == [function(wengert.ones(1))] * 3


def test_fullgraph_computes_what_no_record_holds() -> None:
    a = wengert.eye(3) * 2

    def solved(x):
        factor = wengert.linalg.cholesky(a * x.abs().sum())
        y = wengert.linalg.solve_triangular(factor, x[:, None] * 2, upper=False)
        return wengert.fft.fft(y, dim=0).abs().sum()

    whole = compiler.compile(solved, fullgraph=True)
    for _ in range(20):
        x = wengert.rand(3) + 1
        wengert.testing.assert_close(whole(x), solved(x))


def test_modules() -> None:
    layer = nn.Linear(4, 3)
    model = compiler.compile(layer)
    assert isinstance(model, nn.Module)
    assert model._orig_mod is layer
    assert model
    with pytest.raises(TypeError, match="Linear does not support len"):
        len(model)
    assert len(compiler.compile(nn.Sequential(layer, nn.ReLU()))) == 2
    assert [*model.state_dict()] == ["_orig_mod.weight", "_orig_mod.bias"]
    model.eval()
    assert not layer.training
    model.extra = 3
    assert layer.extra == model.extra == 3
    x = wengert.randn(5, 4)
    for _ in range(3):
        assert wengert.equal(model(x), layer(x))
    assert wengert.equal(copy.deepcopy(model)(x), layer(x))
    layer.compile()
    assert compiled_of(layer) is not None
    for _ in range(3):
        assert wengert.equal(layer(x), model(x))
    other = pickle.loads(pickle.dumps(layer))
    assert wengert.equal(other(x), layer(x))


def saved(module: nn.Module) -> nn.Module:
    """What a file gives that has a whole module."""
    file = io.BytesIO()
    wengert.save(module, file)
    loaded: nn.Module = wengert.load(io.BytesIO(file.getvalue()), weights_only=False)
    return loaded


@pytest.mark.parametrize("again", [saved, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize(
    "options",
    [{}, {"mode": "reduce-overhead"}, {"fullgraph": True, "options": {"exact": True}}, None,
     {"backend": "eager"}],
)  # fmt: skip
def test_compiled_modules_are_saved_with_how_they_are_compiled(again: Any, options: Any) -> None:
    layer, x = nn.Linear(4, 3), wengert.randn(5, 4)
    disabled = options is None
    model = compiler.disable(layer) if disabled else compiler.compile(layer, **options)
    expected = model(x).tolist()
    other = again(model)
    assert type(other) is type(model)
    assert other(x).tolist() == expected
    assert [*other.state_dict()] == ["_orig_mod.weight", "_orig_mod.bias"]
    ours, theirs = compiled_of(other), compiled_of(model)
    assert type(ours) is type(theirs)
    if ours is not None and theirs is not None:
        assert (ours.fullgraph, ours.exact) == (theirs.fullgraph, theirs.exact)
    with wengert.no_grad():
        other._orig_mod.weight.zero_()
    assert model(x).tolist() == expected


@pytest.mark.parametrize("again", [saved, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_modules_compiled_in_place_are_as_they_were_before(again: Any) -> None:
    layer, x = nn.Linear(4, 3), wengert.randn(5, 4)
    layer.compile()
    other = again(layer)
    assert other(x).tolist() == layer(x).tolist()
    assert compiled_of(other) is None
    assert compiled_of(layer) is not None


def test_values_that_nobody_reads_are_not_computed() -> None:
    step = compiler.compile(lambda x: [(x * k).exp() for k in (1.0, 2.0, 3.0)])
    for _ in range(2):
        results = step(wengert.ones(3))
    first = results[0]
    del results
    assert first.sum() > 0
    report = compiler.explain(step)(wengert.ones(3))
    assert report.calls <= report.operations


def test_functions_that_read_too_often_are_left_alone() -> None:
    @compiler.compile
    def step(x):
        for _ in range(5):
            x = x * 0.5
            if x.sum() < 0:
                break
        return x

    def run() -> None:
        for _ in range(40):
            step(wengert.ones(3))

    with pytest.warns(UserWarning, match=r"step\(\) runs as it is from here on: values are read"):
        run()


def test_masks_of_integers_split_no_program() -> None:
    @compiler.compile
    def step(x, ids):
        y = x.tanh() * 2
        absent = (ids == 0) | (ids == 4)
        ids = ids.masked_fill(absent, 1)
        return (y * ids.float()).masked_fill(absent, 0.0).sum()

    x, ids = wengert.rand(4, 3), wengert.tensor([0, 2, 3])
    for _ in range(4):
        assert step(x, ids).item() == pytest.approx((x.tanh() * 2 * ids).sum().item(), rel=1e-5)
    assert len(step.compiled.record.plans) == 1


def test_ways_that_no_call_goes_again_are_let_go_of() -> None:
    @compiler.compile
    def wander(x, first):
        for k in range(first, first + 700):
            x = x + k
        return x

    x = wengert.zeros(4)
    with pytest.warns(UserWarning, match="takes another way too often"):
        kept = [wander(x, 1000 * k) for k in range(9)]
    record = wander.compiled.record
    assert record.retired
    assert not record.root.children
    assert [y[0].item() for y in kept] == [sum(range(1000 * k, 1000 * k + 700)) for k in range(9)]


def test_the_class_of_what_nobody_has_read_is_equal_to_tensor() -> None:
    step = compiler.compile(lambda x: (x * 2, x + 1))
    step(wengert.ones(2))
    y, z = step(wengert.ones(2))
    assert type(y) == wengert.Tensor  # noqa: E721 (as programs compare)
    assert {wengert.Tensor: "tensor", nn.Parameter: "parameter"}[type(y)] == "tensor"
    assert type(y) not in (nn.Parameter, int)
    assert y.__class__ is wengert.Tensor

    class Named(wengert.Tensor):
        __slots__ = ()

    z.__class__ = Named
    assert isinstance(z, Named)
    assert z.tolist() == [2.0, 2.0]


def test_reading_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "AS_IT_IS", range(0))
    step = compiler.compile(lambda x: (x * 2, x + 1))
    for _ in range(2):
        y, z = step(wengert.ones(2, 3))
    assert (y.shape, y.dtype, y.ndim, len(y), y.size(1), y.numel()) == (
        (2, 3), wengert.float32, 2, 2, 3, 6,
    )  # fmt: skip
    assert isinstance(y, wengert.Tensor)
    assert type(y) is not wengert.Tensor
    assert repr(type(y)) == repr(wengert.Tensor)
    assert not y.requires_grad
    assert y.is_leaf
    assert wengert.equal(copy.deepcopy(y), y)
    assert repr(z) == repr(wengert.ones(2, 3) + 1)
    assert pickle.loads(pickle.dumps(step(wengert.ones(1))[0])).tolist() == [2]


def test_disabled_parts_are_computed_at_once() -> None:
    kinds = []

    @compiler.disable
    def inner(x):
        y = x * 2
        kinds.append(type(y))
        return y

    step = compiler.compile(lambda x: inner(x + 1) * 3)
    for _ in range(3):
        assert step(wengert.ones(1)).item() == 12
    assert kinds == [wengert.Tensor] * 3


def test_no_cycles() -> None:
    def train() -> None:
        model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
        step = compiler.compile(lambda x: model(x).square().mean())
        for _ in range(4):
            model.zero_grad()
            step(wengert.ones(64, 8)).backward()
            model[0].weight.grad.sum().item()
        step(wengert.ones(64, 8)).backward()  # which nobody reads

    assert garbage_of(train) == {}


def test_memory_goes_with_the_last_value() -> None:
    step = compiler.compile(lambda x: (x * 2).tanh())
    for _ in range(3):
        x = wengert.ones(1000)
        y = step(x)
    seen = weakref.ref(x._array)
    del x
    gc.disable()
    try:
        assert seen() is not None  # it is read later
        del y
        assert seen() is None
    finally:
        gc.enable()


def test_a_module_is_wrapped_by_every_backend() -> None:
    layer = wengert.nn.Linear(2, 1)
    for backend in ("eager", "inductor"):
        model = wengert.compiler.compile(layer, backend=backend)
        assert type(model).__name__ == "OptimizedModule"
        assert model._orig_mod is layer
        assert wengert.equal(model(wengert.ones(1, 2)), layer(wengert.ones(1, 2)))


def test_gradients_one_by_one_are_as_many_instructions_as_jointly() -> None:
    model = mlp(8, 64, 64, 3)
    parameters = list(model.parameters())

    @compiler.compile
    def separate(x):
        loss = model(x).square().mean()
        return [wengert.autograd.grad(loss, p, retain_graph=True)[0] for p in parameters]

    @compiler.compile
    def joint(x):
        return wengert.autograd.grad(model(x).square().mean(), parameters)

    counts = []
    for function in (separate, joint):
        for _ in range(3):
            for g in function(batch()):
                g.numpy()
        (plan,) = function.compiled.record.plans.values()
        counts.append(len(plan.program.instructions))
    assert counts[0] == counts[1]


def test_hundreds_of_numbers() -> None:
    @compiler.compile
    def chain(x):
        for k in range(300):
            x = x * (1 + k / 1e6)
        return x

    x = wengert.ones(3)
    for _ in range(3):
        found = chain(x).tolist()
    assert found == pytest.approx([math.prod(1 + k / 1e6 for k in range(300))] * 3, rel=1e-4)


def test_values_that_are_used_twice_again_and_again() -> None:
    @compiler.compile
    def doubled(x):
        for _ in range(60):
            x = (x + x) * 0.5
        return x

    for _ in range(3):  # 2 ** 60 ways lead to the input
        assert doubled(wengert.ones(3)).tolist() == [1.0] * 3


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        compiler.compile(norm, mode="default", options={"max_autotune": True})
    with pytest.raises(AssertionError, match="argument 'model' is 3"):
        compiler.compile(3)
    with pytest.raises(AssertionError, match="argument 'fn' is 3"):
        compiler.disable(3)
    with pytest.raises(RuntimeError, match="argument 'backend' is 3"):
        compiler.compile(norm, backend=3)
    assert compiler.compile(norm, mode="lite").__wrapped__ is norm
    assert compiler.compile(norm)._torchdynamo_orig_callable is norm


class Doubled(nn.Linear):
    """Computes twice what a layer does."""

    def forward(self, x):
        return super().forward(x) * 2


def test_a_disabled_module_is_a_module() -> None:
    layer = Doubled(2, 1)
    model = nn.Sequential(compiler.disable(layer))
    assert [*dict(model.named_parameters())] == ["0._orig_mod.weight", "0._orig_mod.bias"]
    x = wengert.ones(3, 2)
    assert wengert.equal(model(x), layer(x))
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        with wengert.no_grad():
            other[0]._orig_mod.weight.add_(1)
        assert not wengert.equal(other(x), layer(x))


def test_a_disabled_class_is_the_class() -> None:
    class Twice:
        def __call__(self, x):
            kinds.append(type(x * 2))
            return x * 2

    kinds = []
    assert compiler.disable(Twice) is Twice
    twice = Twice()
    step = compiler.compile(lambda x: twice(x + 1))
    for _ in range(3):
        assert step(wengert.ones(1)).item() == 4
    assert kinds == [wengert.Tensor] * 3


def test_a_module_with_a_forward_of_its_own_is_compiled_with_it() -> None:
    layer = nn.Linear(2, 1)
    layer.forward = lambda x: x * 3
    for _ in range(2):
        layer.compile()
        assert layer(wengert.ones(2)).tolist() == [3, 3]
    layer = nn.Linear(2, 1)
    layer.compile(backend="eager")
    layer.compile()
    assert layer(wengert.ones(1, 2)).shape == (1, 1)


def test_explain_says_where_ways_part_and_why() -> None:
    dropout, frozen = nn.Dropout(0.5), wengert.ones(3)

    def step(x, more):
        y = dropout(x.tanh())
        if more:
            y = y * 2
        return (y + frozen).square().sum()

    compiled = compiler.compile(step)
    for x, more in ((wengert.ones(3), False), (wengert.ones(2, 3), False), (wengert.ones(3), True)):
        for _ in range(3):
            compiled(x, more).item()
    dropout.eval()
    with wengert.no_grad():
        compiled(wengert.ones(3), False).item()
    compiled(wengert.ones(3), False).item()
    report = compiler.explain(compiled)(wengert.ones(3), False)
    lines, why = zip(*[one.rsplit(": ", 1) for one in report.branches], strict=True)
    assert report.ways == 5
    assert sorted(why) == [
        "add where there was masked", "float32[2, 3] where there was float32[3]",
        "mul where there was add", "no gradients are recorded",
    ]  # fmt: skip
    assert any(line.endswith("y = y * 2") for line in lines)
    assert all(f"  {one}" in str(report).splitlines() for one in report.branches)


def test_explain_says_how_long_a_step_takes_as_it_is_and_compiled() -> None:
    model = nn.Sequential(*[nn.Linear(16, 16) for _ in range(8)])
    step = compiler.compile(lambda x: model(x).sum().backward())
    for _ in range(40):
        step(wengert.ones(2, 16))
    report = compiler.explain(step)(wengert.ones(2, 16))
    eager, compiled = report.trial
    assert eager > 0 < compiled
    assert f"a step takes {eager * 1e3:.3g} ms as it is, {compiled * 1e3:.3g} ms compiled" in str(
        report
    )
