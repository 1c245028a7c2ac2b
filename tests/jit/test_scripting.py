"""`jit.script`: names of ``torch.jit`` for what stays Python."""

from __future__ import annotations

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
    scripted = jit.script(Gate().eval())
    assert jit.freeze(scripted) is scripted
    assert jit.optimize_for_inference(scripted) is scripted
