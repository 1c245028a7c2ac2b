"""`jit.trace`: programs in the place of functions and modules."""

from __future__ import annotations

import copy
import warnings

import pytest

import wengert
from wengert import jit, nn
from wengert.compat._private import c


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.head, self.drop = nn.Linear(4, 2), nn.Dropout()
        self.register_buffer("scale", wengert.tensor(2.0), persistent=False)

    def forward(self, x):
        x = wengert.relu(self.norm(self.conv(x))).mean((2, 3))
        return self.head(self.drop(x)) * self.scale

    def divided(self, x, by):
        return self.forward(x) / by


def images(n=2, height=6, width=6):
    return wengert.randn(n, 3, height, width)


def test_a_traced_module_computes_what_the_module_does_at_other_sizes():
    net = Net().eval()
    traced = jit.trace(net, images(1))
    for x in (images(1), images(5), images(3, 7, 9)):
        wengert.testing.assert_close(traced(x), net(x))
    wengert.testing.assert_close(traced(x=images(2) * 0), net(images(2) * 0))


def test_parameters_are_shared_and_trained():
    net = Net().eval()
    traced = jit.trace(net, images())
    assert list(traced.state_dict()) == list(net.state_dict())
    assert traced.head.weight is net.head.weight
    optimizer = wengert.optim.SGD(traced.parameters(), lr=0.1)
    x = images(3)
    traced(x).square().mean().backward()
    grad = net.conv.weight.grad.clone()
    net.zero_grad()
    net(x).square().mean().backward()
    wengert.testing.assert_close(net.conv.weight.grad, grad)
    optimizer.step()
    wengert.testing.assert_close(traced(x), net(x))
    traced.load_state_dict({k: v * 0 for k, v in net.state_dict().items()})
    assert not traced(x).any()


def test_a_traced_module_is_a_script_module_and_a_module():
    traced = jit.trace(Net().eval(), images())
    assert isinstance(traced, jit.ScriptModule)
    assert traced.original_name == "Net"
    assert traced.conv.original_name == "Conv2d"
    assert not traced.training
    assert "linear" in str(traced.graph)
    assert "def forward(self" in traced.code
    other = copy.deepcopy(traced)
    with wengert.no_grad():
        traced.head.weight.zero_()
    assert other.head.weight.any()
    assert not other(images()).equal(traced(images()))
    x = images().double()
    assert traced.double()(x).dtype == wengert.float64


def test_training_mode_is_that_of_the_trace():
    net = Net()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = jit.trace(net, images())
    before = net.norm.running_mean.clone()
    wengert.manual_seed(0)
    first = traced(images(8))
    assert not net.norm.running_mean.equal(before)
    wengert.manual_seed(0)
    net.norm.reset_running_stats()
    wengert.testing.assert_close(net(images(8)), first)


def test_values_that_python_reads_are_told_of():
    def sign(x):
        if x.sum() > 0:
            return x * 2
        return x

    with pytest.warns(jit.TracerWarning, match="Python boolean") as told:
        traced = jit.trace(sign, wengert.ones(3))
    assert len(told) == 1
    assert told[0].filename == __file__
    assert traced(-wengert.ones(2)).tolist() == [-2.0, -2.0]
    with pytest.warns(jit.TracerWarning, match="Python number"):
        traced = jit.trace(lambda x: x * x.max().item(), wengert.tensor([1.0, 3.0]))
    assert traced(wengert.ones(2)).tolist() == [3.0, 3.0]
    with pytest.warns(jit.TracerWarning, match="Python index"):
        jit.trace(lambda x, k: x * range(5)[k], (wengert.ones(2), wengert.tensor(2)))


def test_a_trace_that_is_not_the_function_is_told_of():
    calls = []

    def counting(x):
        calls.append(1)
        return x * len(calls)

    with pytest.warns(jit.TracerWarning, match="does not match"):
        jit.trace(counting, wengert.ones(3))

    def other(x):
        return x if x.sum() > 0 else -x

    with pytest.warns(jit.TracerWarning) as told:
        jit.trace(other, wengert.ones(3), check_inputs=[(-wengert.ones(3),)])
    assert ["does not match" in str(w.message) for w in told] == [False, True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit.trace(lambda x: x + wengert.rand(3), wengert.ones(3))


def test_what_a_trace_is_not_for_is_refused():
    traced = jit.trace(lambda x: x.reshape(3, 4) + 1, wengert.ones(12))
    with pytest.raises(RuntimeError, match="x has size 6 in dimension 0"):
        traced(wengert.ones(6))
    with pytest.raises(RuntimeError, match=r"x has 2 dimensions of torch\.float32"):
        traced(wengert.ones(3, 4))
    with pytest.raises(RuntimeError, match=r"1 of torch\.float32"):
        traced(wengert.ones(12, dtype=wengert.int64))
    with pytest.raises(RuntimeError, match="expected the arguments x"):
        traced(wengert.ones(12), 1)
    with pytest.raises(RuntimeError, match="expected the arguments x"):
        traced(y=wengert.ones(12))
    with pytest.raises(RuntimeError, match="expected a tensor"):
        traced(3.0)
    add = jit.trace(lambda x, y: x + y, (wengert.ones(3), wengert.ones(3)))
    with pytest.raises(RuntimeError, match="y has size 1 in dimension 0"):
        add(wengert.ones(4), wengert.ones(1))


def test_elements_are_written_where_a_mask_says_so():
    def f(x):
        y = x.clone()
        y[y > 0.5] = 0
        y[x.sum(1) > 0] = wengert.tensor(2.0, dtype=wengert.float64)
        return y

    def too_short(x):
        x[x[:3, 0] > 0] = 1
        return x

    traced, x = jit.trace(f, wengert.randn(4, 3)), wengert.randn(4, 3)
    assert traced(x).equal(f(x))
    for call in (too_short, lambda x: jit.trace(too_short, x)):
        with pytest.raises(IndexError, match=r"mask \[3\] at index 0 does not match"):
            call(x.clone())


def test_arguments_and_results_are_made_of_tensors():
    with pytest.raises(RuntimeError, match="Type 'float' cannot be traced"):
        jit.trace(lambda x, y: x * y, (wengert.ones(2), 2.0))
    with pytest.raises(RuntimeError, match="output from traced functions, got int"):
        jit.trace(lambda x: (x, 3), wengert.ones(2))
    with pytest.raises(RuntimeError, match="strict=False"):
        jit.trace(lambda x: {"y": x * 2}, wengert.ones(2))
    with pytest.warns(jit.TracerWarning, match="Encountering a list"):
        pyramid = jit.trace(lambda x: (x, [x * 2]), wengert.ones(2))
    assert pyramid(wengert.ones(3))[1][0].tolist() == [2.0] * 3
    traced = jit.trace(lambda x: {"y": x * 2}, wengert.ones(2), strict=False)
    assert traced(wengert.ones(3))["y"].tolist() == [2.0] * 3
    weight = nn.Parameter(wengert.ones(2))
    with pytest.raises(RuntimeError, match="requires grad as a constant"):
        jit.trace(lambda x: x * weight, wengert.ones(2))
    nested = jit.trace(
        lambda d, p: (d["a"] + p[0], p[1]), ({"a": wengert.ones(2)}, (wengert.ones(2),) * 2)
    )
    assert (
        nested({"a": wengert.ones(3)}, (wengert.ones(3), wengert.zeros(3)))[0].tolist() == [2.0] * 3
    )
    with pytest.raises(RuntimeError, match="the arguments are"):
        nested({"b": wengert.ones(3)}, (wengert.ones(3), wengert.zeros(3)))


def test_detached_values_stay_detached():
    traced = jit.trace(lambda x: (x * x.detach()).sum(), wengert.ones(2))
    x = wengert.tensor([2.0, 3.0], requires_grad=True)
    traced(x).backward()
    assert x.grad.tolist() == [2.0, 3.0]


def test_several_methods_and_arguments_by_name():
    net = Net().eval()
    traced = jit.trace_module(
        net, {"forward": images(), "divided": (images(), wengert.tensor(4.0))}
    )
    x = images(3)
    wengert.testing.assert_close(traced.divided(x, wengert.tensor(2.0)), net(x) / 2)
    wengert.testing.assert_close(traced(x), net(x))
    named = jit.trace(net, example_kwarg_inputs={"x": images()})
    wengert.testing.assert_close(named(x=x), net(x))
    assert jit.trace(net.forward, images()).original_name == "Net"
    with pytest.raises(AttributeError, match="dictionary"):
        jit.trace_module(net, images())


def test_code_can_ask_whether_it_is_traced():
    seen = []

    def f(x):
        seen.append((jit.is_tracing(), c._get_tracing_state() is not None))
        return x * 2

    jit.trace(f, wengert.ones(2), check_trace=False)
    assert set(seen) == {(True, True)}
    assert not jit.is_tracing()
    assert c._get_tracing_state() is None


@pytest.mark.torch
def test_names_and_classes_are_those_of_torch(torch):
    for name in ("trace", "trace_module", "script", "save", "load", "freeze"):
        assert hasattr(torch.jit, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.jit.trace(torch.nn.Linear(2, 1), torch.ones(3, 2))
        with pytest.raises(RuntimeError, match="strict"):
            torch.jit.trace(lambda x: {"y": x}, torch.ones(2))
    ours = jit.trace(nn.Linear(2, 1), wengert.ones(3, 2))
    assert type(theirs).__name__ == type(ours).__name__ == "TopLevelTracedModule"
    assert theirs.original_name == ours.original_name
    assert issubclass(torch.jit.TracerWarning, Warning)
