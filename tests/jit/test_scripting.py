"""`jit.script`: names of ``torch.jit`` for what stays Python."""

from __future__ import annotations

import typing
import warnings

import pytest

import wengert
from wengert import jit, nn


def absolute(x):
    return x if x.sum() > 0 else -x


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        return self.again(x) if x.sum() > 0 else x

    @jit.export
    def again(self, x):
        return self.inner(self.inner(x))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        return self.inner(x).tanh()


def test_a_scripted_function_runs_its_python():
    scripted = jit.script(absolute)
    assert isinstance(scripted, jit.ScriptFunction)
    assert scripted.name == "absolute"
    assert scripted(-wengert.ones(1)).tolist() == [1.0]
    assert "def absolute" in scripted.code
    assert jit.script(scripted) is scripted
    assert jit.script(Gate) is Gate
    with pytest.raises(RuntimeError, match="example_inputs"):
        print(scripted.graph)


def test_a_scripted_module_is_the_module_and_a_script_module():
    gate = Gate()
    scripted = jit.script(gate)
    assert isinstance(scripted, Gate)
    assert isinstance(scripted, jit.ScriptModule)
    assert scripted.original_name == "Gate"
    assert jit.script(scripted) is scripted
    x = wengert.ones(3, 2)
    assert scripted(x).equal(gate(x))
    assert scripted(-x).equal(-x)
    assert scripted.again(x).equal(gate.again(x))
    assert scripted.inner.weight is gate.inner.weight
    assert "RecursiveScriptModule" in repr(scripted)
    assert not scripted.eval().training
    assert not gate.inner.training
    scripted.inner = nn.Identity()
    assert gate(x).equal(x)


def test_freezing_wants_a_script_module_in_evaluation_mode():
    with pytest.raises(RuntimeError, match="expects a ScriptModule"):
        jit.freeze(Gate())
    with pytest.raises(RuntimeError, match="eval mode"):
        jit.freeze(jit.script(Gate()))


def test_a_frozen_module_has_constants_of_its_own():
    x = wengert.ones(3, 2)
    for module in (jit.script(Gate().eval()), jit.trace(Pair().eval(), x)):
        before = module(x)
        for frozen in (jit.freeze(module), jit.optimize_for_inference(module)):
            with wengert.no_grad():
                module.inner.weight.zero_()
            assert frozen(x).equal(before)
            assert not frozen(x).requires_grad
            with wengert.no_grad():
                module.inner.weight.copy_(frozen.inner.weight)
        assert module(x).requires_grad


def test_only_functions_modules_and_containers_are_scripted():
    for value in (3, "a", None):
        with pytest.raises(TypeError, match="expected a function or module"):
            jit.script(value)
    assert jit.script([1]) == [1]
    assert jit.script(Gate) is Gate


def test_a_forked_call_is_a_future():
    future = jit.fork(lambda x: x + 1, wengert.ones(1))
    assert future.done()
    assert future.wait().item() == jit.wait(future).item() == 2


def test_fusers_are_without_effect():
    with jit.fuser("fuser1"):
        pass
    with pytest.raises(RuntimeError, match="unrecognized fuser"), jit.fuser("none"):
        pass


@pytest.mark.torch
def test_values_of_types_with_parameters(torch):
    lists = list[int]
    optional, unions = typing.Optional[int], typing.Union[int, str]  # noqa: UP007, UP045
    for value, kind in [
        ([1], lists), ([1.0], lists), ([], lists), ((1,), lists), ([[1]], list[lists]),
        ([["a"]], list[lists]), ({"a": 1}, dict[str, int]), ({"a": "b"}, dict[str, int]),
        ((1, 2.0), tuple[int, float]), ((1, 2), tuple[int, float]), ((1,), tuple[int, float]),
        (None, optional), (1.0, optional), (1, unions),
        ([1], (list[str], lists)), (1, int), ("a", unions), ([None], list[optional]),
    ]:  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a shortcoming that it had once
            theirs = torch.jit.isinstance(value, kind)
        assert jit.isinstance(value, kind) == theirs, (value, kind)
    assert jit.isinstance((1, 2), tuple[int, ...])
    assert not jit.isinstance((1, "a"), tuple[int, ...])
    assert jit.isinstance(object(), typing.Any)
    for library in (jit, torch.jit):
        with pytest.raises(RuntimeError, match="without a contained type"):
            library.isinstance([1], list)
