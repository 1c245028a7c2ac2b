"""wengert.fx: recording, code, running, rewriting."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from tests.fx.programs import programs
from wengert import fx, nn
from wengert.fx._traceback import (
    annotate,
    annotate_fn,
    format_stack,
    get_current_meta,
    has_preserved_node_meta,
    preserve_node_meta,
    set_stack_trace,
)
from wengert.fx.passes.shape_prop import ShapeProp
from wengert.fx.proxy import TraceError

NAMES = list(programs(wengert))


def with_torch_names(text: str) -> str:
    return text.replace("wengert.", "torch.")


def without_wraps(code: str) -> str:
    """PyTorch's programs wrap their functions again; here it is the functions that are known."""
    lines = [line for line in code.split("\n") if not line.startswith("torch.fx._symbolic_trace")]
    return "\n".join(lines).strip().replace("torch._C._nn.", "torch.nn.functional.")


@pytest.mark.torch
@pytest.mark.parametrize("name", NAMES)
def test_code_and_graph_are_pytorchs(name: str, torch: Any) -> None:
    own = fx.symbolic_trace(programs(wengert)[name])
    other = torch.fx.symbolic_trace(programs(torch)[name])
    assert with_torch_names(own.code).strip() == without_wraps(other.code)
    expected = str(other.graph).replace("torch._C._nn.", "torch.nn.functional.")
    assert with_torch_names(str(own.graph)) == expected
    assert [n.op for n in own.graph.nodes] == [n.op for n in other.graph.nodes]
    assert repr(own) == repr(other)


@pytest.mark.torch
@pytest.mark.torch
def test_what_is_computed_of_parameters_is_part_of_programs(torch: Any) -> None:
    def made(t: Any, constant: bool) -> tuple[list[str], list[Any]]:
        class Gated(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.gate = t.nn.Parameter(t.tensor([0.5, -1.0]))

            def forward(self, x):
                rows = self.gate.size()[0] if constant else 2
                assert not constant or (self.gate.ndim, len(self.gate.shape)) == (1, 1)
                return x.view(rows, -1) * self.gate.reshape(-1, 1).tanh()

        module, x = Gated(), t.ones(4)
        graph = t.fx.Tracer(param_shapes_constant=constant).trace(module)
        program = t.fx.GraphModule(module, graph)
        program(x).sum().backward()
        gate = module.gate
        with t.no_grad():
            gate.mul_(2)
        return [n.name for n in graph.nodes], [gate.grad.tolist(), program(x).tolist()]

    for constant in (False, True):
        (names, values), (expected, numbers) = made(wengert, constant), made(torch, constant)
        assert names == expected
        for ours, theirs in zip(values, numbers, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_retraced_programs_are_the_same(name: str) -> None:
    own = fx.symbolic_trace(programs(wengert)[name])
    own.graph.lint()
    if name != "rest":  # takes the rest of its arguments as one
        assert fx.symbolic_trace(own).code == own.code


def test_a_recorded_module_computes_the_same() -> None:
    module = programs(wengert)["layers"]
    traced = fx.symbolic_trace(module)
    x = wengert.randn(5, 3)
    expected, result = module(x), traced(x)
    assert wengert.equal(result["z"], expected["z"])
    assert result["a"] == expected["a"]
    result["z"].sum().backward()
    assert module.w.grad is not None  # parameters are shared


def test_copies_and_pickles_compute_the_same() -> None:
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.Tanh()))
    x = wengert.randn(4, 3)
    for other in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced)), copy.copy(traced)):
        assert other.code == traced.code
        assert wengert.equal(other(x), traced(x))
    twin = copy.deepcopy(traced)
    with wengert.no_grad():
        twin.get_submodule("0").weight.zero_()
    assert not wengert.equal(twin(x), traced(x))


def test_to_folder_writes_a_module_that_runs(tmp_path: Any, monkeypatch: Any) -> None:
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.Tanh()))
    traced.to_folder(tmp_path / "recorded", "Recorded")
    monkeypatch.syspath_prepend(tmp_path)
    from recorded import Recorded  # type: ignore[import-not-found]

    x = wengert.randn(4, 3)
    assert wengert.equal(Recorded()(x), traced(x))


@pytest.mark.parametrize(
    ("program", "error", "text"),
    [
        (lambda x: x if x.sum() > 0 else -x, TraceError, "control flow"),
        (lambda x: [*x], TraceError, "cannot be iterated"),
        (lambda x: len(x), RuntimeError, "'len' is not supported"),
        (lambda x: range(x), TypeError, "cannot be interpreted as an integer"),
        (lambda x: x + wengert.nn.Parameter(wengert.ones(1)), NameError, "not a member"),
        (lambda x: x.add(object()), NotImplementedError, "argument of type"),
    ],
)
def test_what_cannot_be_recorded(program: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        fx.symbolic_trace(program)
    # What was changed for the recording is as before.
    assert wengert.equal(nn.ReLU()(wengert.ones(1)), wengert.ones(1))


def test_known_inputs_choose_the_way_and_are_checked() -> None:
    traced = fx.symbolic_trace(
        lambda x, flag=True: x if flag else -x, concrete_args={"flag": False}
    )
    assert traced(wengert.ones(1), False).item() == -1
    with pytest.raises(AssertionError, match="flag has been specialized to have value False"):
        traced(wengert.ones(1), True)


def test_graphs_can_be_edited() -> None:
    traced = fx.symbolic_trace(lambda x: x.relu() + 1)
    relu = next(n for n in traced.graph.nodes if n.target == "relu")
    with traced.graph.inserting_after(relu):
        tanh = traced.graph.call_method("tanh", (relu,))
    relu.replace_all_uses_with(tanh, delete_user_cb=lambda user: user is not tanh)
    traced.graph.lint()
    traced.recompile()
    assert traced(wengert.zeros(1)).item() == 1
    assert [n.name for n in traced.graph.nodes] == ["x", "relu", "tanh", "add", "output"]
    assert relu.users == {tanh: None}
    with pytest.raises(RuntimeError, match="still had 1 users"):
        traced.graph.erase_node(relu)


def test_lint_says_what_is_wrong() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    first = graph.call_method("relu", (x,))
    second = graph.call_method("tanh", (first,))
    graph.output(second)
    first.args = (second,)
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        graph.lint()
    with pytest.raises(RuntimeError, match="that target was not provided"):
        fx.GraphModule(nn.Module(), _of_path("missing.weight"))


def _of_path(path: str) -> fx.Graph:
    graph = fx.Graph()
    graph.output(graph.get_attr(path))
    return graph


def test_dead_code_goes_and_effects_stay() -> None:
    traced = fx.symbolic_trace(lambda x: (x.tanh(), x.add_(1), x.sum())[2])
    assert traced.graph.eliminate_dead_code()
    assert [n.name for n in traced.graph.nodes] == ["x", "add_", "sum_1", "output"]
    assert not traced.graph.eliminate_dead_code()


def test_interpreter_says_where_a_node_failed() -> None:
    traced = fx.symbolic_trace(lambda x, y: x @ y)
    with pytest.raises(RuntimeError) as caught:
        fx.Interpreter(traced).run(wengert.ones(2, 3), wengert.ones(2, 3))
    assert "While executing %matmul" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter y"):
        fx.Interpreter(traced).run(wengert.ones(2, 3))


def test_interpreter_and_transformer_follow_subclasses() -> None:
    class Doubled(fx.Transformer):
        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            result = super().call_method(target, args, kwargs)
            return result * 2 if target == "relu" else result

    traced = fx.symbolic_trace(lambda x: x.relu().tanh())
    assert Doubled(traced).transform()(wengert.ones(1)).item() == pytest.approx(0.9640276)


def test_replace_pattern_replaces_each_match() -> None:
    def program(x: Any, y: Any) -> Any:
        return (x.relu() + 1) * (y.relu() + 1) + x.relu().sum()

    traced = fx.symbolic_trace(program)
    matches = fx.replace_pattern(traced, lambda x: x.relu() + 1, lambda x: x.sigmoid())
    assert len(matches) == 2
    traced.graph.lint()
    x, y = wengert.randn(3), wengert.randn(3)
    expected = x.sigmoid() * y.sigmoid() + x.relu().sum()
    assert wengert.equal(traced(x, y), expected)


def test_shapes_of_all_values() -> None:
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.Flatten(0)))
    ShapeProp(traced).propagate(wengert.ones(4, 3))
    shapes = [tuple(n.meta["tensor_meta"].shape) for n in traced.graph.nodes]
    assert shapes == [(4, 3), (4, 2), (8,), (8,)]


def test_own_tracers_choose_leaves_and_attributes() -> None:
    class Leaves(fx.Tracer):
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return isinstance(m, nn.Sequential)

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(2, 2))

        def forward(self, x: Any) -> Any:
            return self.layers(x)

    graph = Leaves().trace(Outer())
    assert [n.target for n in graph.nodes] == ["x", "layers", "output"]


def test_a_recording_leaves_nothing_behind_in_other_threads_or_after() -> None:
    call = nn.Module.__call__
    fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    assert nn.Module.__call__ is call
    assert "__call__" not in vars(nn.Module)


def test_graphs_are_freed_with_their_modules() -> None:
    traced = fx.symbolic_trace(lambda x: operator.add(x, wengert.ones(10)))
    constant = weakref.ref(traced._tensor_constant0)
    del traced
    gc.collect()
    assert constant() is None


def test_metadata_follows_annotations_and_transformers() -> None:
    @annotate_fn({"part": 2})
    def part(x):
        return x * 2

    def function(x):
        with annotate({"stage": 1}):
            return part(x.sin()) + 1

    with preserve_node_meta():
        assert has_preserved_node_meta()
        traced = wengert.fx.symbolic_trace(function)
    assert not has_preserved_node_meta()
    custom = {n.name: n.meta.get("custom") for n in traced.graph.nodes if n.op == "call_function"}
    assert custom == {"mul": {"stage": 1, "part": 2}, "add": {"stage": 1}}
    assert not any(n.meta for n in wengert.fx.symbolic_trace(function).graph.nodes)
    for node in traced.graph.nodes:
        node.stack_trace = f"line {node.name}"
    again = wengert.fx.Transformer(traced).transform()
    computed = [n for n in again.graph.nodes if n.op.startswith("call")]
    assert [n.stack_trace for n in computed] == [f"line {n.name}" for n in computed]


def test_lines_of_code_can_be_set_for_what_is_recorded() -> None:
    with preserve_node_meta():
        set_stack_trace(["a", "b"])
        assert format_stack() == ["ab"]
        node = wengert.fx.symbolic_trace(lambda x: x + 1).graph.output_node()
    assert node.stack_trace == "ab"
    assert format_stack() == [""]
    assert get_current_meta() == {}


def test_unused_submodules_go_though_a_part_of_a_used_one_is_gone() -> None:
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.used = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
            self.whole = nn.TransformerEncoderLayer(2, 1, 2)

        def forward(self, x):
            return self.whole(self.used(x))

    traced = wengert.fx.symbolic_trace(Two())
    assert traced.add_submodule("other.inner", nn.ReLU())
    assert traced.delete_submodule("used.1")
    before = {name for name, _ in traced.named_modules()}
    traced.delete_all_unused_submodules()
    assert before - {name for name, _ in traced.named_modules()} == {"other", "other.inner"}


def test_nodes_are_renamed() -> None:
    graph = wengert.fx.symbolic_trace(lambda x: x.sin().cos()).graph
    first, second = list(graph.nodes)[1:3]
    first._rename("value")
    second._rename("value")
    assert (first.name, second.name) == ("value", "value_1")


@pytest.mark.torch
def test_containers_of_arguments_refuse_writes_as_in_torch(torch) -> None:
    for library in (torch, wengert):
        graph = library.fx.symbolic_trace(lambda x: library.cat([x, x], dim=0)).graph  # noqa: B023
        node = list(graph.nodes)[1]
        for write in (lambda n: n.args[0].append(1), lambda n: n.kwargs.update(dim=1)):
            with pytest.raises(TypeError, match="mutation"):
                write(node)
