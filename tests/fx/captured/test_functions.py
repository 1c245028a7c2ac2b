"""wengert.fx.captured: what a backend is given, when it is called, and what is computed then."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wengert
from tests.fx.captured import changing, programs, special
from wengert import compiler, nn
from wengert.fx.joint import compiled_with_backward
from wengert.replay.failures import BackendCompilerFailed, InvalidBackend, Unsupported

PLAIN, AGAIN = list(programs.plain(wengert)), list(programs.again(wengert))
MODULES, BROKEN = list(programs.modules(wengert)), ["chosen", "masked", "asked"]
Graph = list[tuple[str, str]]


def as_written(gm: Any, example_inputs: Any) -> Any:
    return gm


def with_backward(gm: Any, example_inputs: Any) -> Any:
    return compiled_with_backward(gm, example_inputs, as_written)


def failing(gm: Any, example_inputs: Any) -> Any:
    raise ValueError("no such instruction")


class Recorder:
    """A backend that keeps what it is given, and counts how often it is run."""

    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.inputs: list[int] = []
        self.runs = 0

    def __call__(self, gm: Any, example_inputs: Any) -> Callable[..., Any]:
        nodes = list(gm.graph.nodes)
        self.graphs.append([(n.op, named(n.target)) for n in nodes if n.op.startswith("call")])
        self.inputs.append(sum(n.op == "placeholder" for n in nodes))
        assert len(example_inputs) == self.inputs[-1]

        def run(*args: Any) -> Any:
            self.runs += 1
            return gm.forward(*args)

        return run


def named(target: Any) -> str:
    return target if isinstance(target, str) else str(target.__name__)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [x for part in value.values() for x in leaves(part)]
    if isinstance(value, list | tuple):
        return [x for part in value for x in leaves(part)]
    return leaves(value.tolist()) if hasattr(value, "tolist") else [value]


def close(result: Any, expected: Any) -> None:
    for own, other in zip(leaves(result), leaves(expected), strict=True):
        assert own == (pytest.approx(other, rel=1e-5, abs=1e-6) if type(other) is float else other)


def compiled_by(torch: Any, function: Any, backend: Any) -> Any:
    if torch is wengert:
        return compiler.compile(function, backend=backend)
    torch._dynamo.reset()
    return torch.compile(function, backend=backend, dynamic=False)


def compiled_calls(torch: Any, made: programs.Made) -> tuple[list[Any], Recorder]:
    function, calls = made
    compiled = compiled_by(torch, function, backend := Recorder())
    return [leaves(compiled(*args)) for args in calls], backend


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.torch
@pytest.mark.parametrize("name", PLAIN)
def test_one_graph_as_in_pytorch(name: str, torch: Any) -> None:
    results, backend = compiled_calls(wengert, programs.plain(wengert)[name])
    expected, other = compiled_calls(torch, programs.plain(torch)[name])
    close(results, expected)
    assert backend.graphs == other.graphs
    assert backend.inputs == other.inputs
    assert backend.runs == other.runs


@pytest.mark.torch
@pytest.mark.parametrize("name", AGAIN)
def test_other_kinds_of_arguments_are_compiled_as_in_pytorch(name: str, torch: Any) -> None:
    results, backend = compiled_calls(wengert, programs.again(wengert)[name])
    expected, other = compiled_calls(torch, programs.again(torch)[name])
    close(results, expected)
    assert backend.graphs == other.graphs


@pytest.mark.torch
@pytest.mark.parametrize("name", BROKEN)
def test_several_graphs_as_in_pytorch(name: str, torch: Any) -> None:
    results, _ = compiled_calls(wengert, programs.broken(wengert)[name])
    expected, _ = compiled_calls(torch, programs.broken(torch)[name])
    close(results, expected)
    function, calls = programs.broken(wengert)[name]
    close(results, [leaves(function(*args)) for args in calls])


@pytest.mark.torch
@pytest.mark.parametrize("name", MODULES)
def test_modules_and_their_gradients_as_in_pytorch(name: str, torch: Any) -> None:
    found, backends = [], []
    state = None
    for library in (wengert, torch):
        module, x = programs.modules(library)[name]
        module, x = module.double(), x.double() if x.is_floating_point() else x
        if state is None:
            state = {k: v.numpy().copy() for k, v in module.state_dict().items()}
        else:
            module.load_state_dict({k: library.as_tensor(v) for k, v in state.items()})
        compiled = compiled_by(library, module, backend := Recorder())
        for _ in range(4):
            result = compiled(x)
            out = result["out"] if isinstance(result, dict) else result
            out.square().sum().backward()
        grads = [p.grad for p in module.parameters()]
        found.append((leaves(result), leaves(grads), leaves(dict(module.named_buffers()))))
        backends.append(backend)
    close(*found)
    own, other = backends
    assert (own.graphs, own.inputs) == (other.graphs, other.inputs)
    assert own.runs == other.runs == 4


@pytest.mark.parametrize(
    "program", [*changing.PROGRAMS, *special.PROGRAMS], ids=lambda f: f.__name__
)
@pytest.mark.filterwarnings("ignore:torch.compile")
@pytest.mark.parametrize("backend", [as_written, with_backward], ids=["forward", "joint"])
def test_nothing_is_stale(program: Any, backend: Any) -> None:
    if backend is with_backward and program is special.gradients_twice:
        pytest.skip("there is no graph of a second derivative, in PyTorch either")

    def compiled(function: Any) -> Any:
        return compiler.compile(function, backend=backend)

    warnings.simplefilter("ignore")
    expected = [exactly(found) for found in program(lambda function: function)]
    assert [exactly(found) for found in program(compiled)] == expected


def exactly(found: Any) -> Any:
    if isinstance(found, wengert.Tensor):
        return found.dtype, found.requires_grad, [repr(n) for n in leaves(found.detach())]
    if isinstance(found, dict):
        return {k: exactly(v) for k, v in found.items()}
    return [exactly(x) for x in found] if isinstance(found, list | tuple) else found


# What PyTorch 2.13 says, before the hint at its log: its compiler changes how Python runs in the
# process once a backend has failed there.
FAILURES: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"backend": "nobody"}, InvalidBackend,
        "Invalid backend: 'nobody', see `torch._dynamo.list_backends()` for available backends.",
    ),
    (
        {"backend": failing}, BackendCompilerFailed,
        "backend='failing' raised:\nValueError: no such instruction",
    ),
    (
        {"backend": lambda gm, inputs: None}, BackendCompilerFailed,
        "backend='<lambda>' raised:\nAssertionError: compiler_fn did not return callable",
    ),
    (
        {"backend": as_written, "mode": "max-autotune"}, BackendCompilerFailed,
        "backend='as_written' raised:\nTypeError: as_written() got an unexpected keyword argument"
        " 'mode'",
    ),
    (
        {"backend": as_written, "options": {"a": 1}}, BackendCompilerFailed,
        "backend='as_written' raised:\nTypeError: as_written() got an unexpected keyword argument"
        " 'options'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("options", "kind", "text"), FAILURES, ids=map(str, range(5)))
def test_errors_of_backends(options: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind) as caught:
        compiler.compile(lambda x: x + 1, **options)(wengert.ones(2))
    assert str(caught.value) == text


@pytest.mark.torch
def test_backends_are_given_options_as_in_pytorch(torch: Any) -> None:
    given: list[Any] = []

    def optional(gm: Any, example_inputs: Any, **options: Any) -> Any:
        given.append(options)
        return gm.forward

    every: list[dict[str, Any]] = [
        {"mode": "reduce-overhead"}, {"options": {"a": 1}}, {"mode": "default"},
    ]  # fmt: skip
    for options in every:
        for library in (wengert, torch):
            compile = library.compiler.compile if library is wengert else library.compile
            compile(lambda x: x + 1, backend=optional, **options)(library.ones(2))
    assert given[::2] == given[1::2]


def test_a_function_that_no_graph_holds_runs_as_it_is_with_one_warning() -> None:
    backend, seen = Recorder(), list[Any]()

    def noted(x: Any) -> Any:
        print("called", end="")
        seen.append(x)
        return x * 2

    compiled = compiler.compile(noted, backend=backend)
    with pytest.warns(UserWarning, match=r"noted\(\) runs as it is, .*print\(\), called at .*test"):
        compiled(wengert.ones(2))
    for _ in range(3):
        assert compiled(wengert.ones(2)).tolist() == [2.0, 2.0]
    assert (len(seen), backend.runs) == (4, 0)
    whole = compiler.compile(noted, backend=backend, fullgraph=True)
    with pytest.raises(Unsupported, match=r"no graph can be made of .*noted\(\): print\(\)"):
        whole(wengert.ones(2))
    asked = compiler.compile(lambda x: x if x.sum() > 0 else -x, backend=backend, fullgraph=True)
    with pytest.raises(Unsupported, match=r"__bool__\(\) gives Python a value, at .*test_func"):
        asked(wengert.ones(2))


def test_what_a_backend_returns_computes_the_calls() -> None:
    def tripled(gm: Any, example_inputs: Any) -> Any:
        return lambda *args: [x * 3 for x in gm(*args)]

    def inner(x: Any) -> Any:
        calls.append(1)
        return x + 1

    calls: list[int] = []
    compiled = compiler.compile(lambda x: x + 1, backend=tripled)
    assert [compiled(wengert.ones(1)).item() for _ in range(4)] == [6.0] * 4
    other = compiler.compile(inner, backend=tripled)
    assert other(wengert.ones(1)).item() == 6
    with pytest.warns(UserWarning, match="it changes something that its code can reach"):
        assert other(wengert.ones(1)).item() == 2
    assert [other(wengert.ones(1)).item() for _ in range(2)] == [2.0, 2.0]
    assert len(calls) == 4


def test_python_is_skipped_once_two_calls_are_alike() -> None:
    compiled = compiler.compile(lambda x: doubled(x) + 1, backend=as_written)
    for _ in range(2):
        compiled(wengert.ones(2))
    seen: list[str] = []
    sys.setprofile(lambda frame, event, arg: seen.append(frame.f_code.co_name))
    try:
        out = compiled(wengert.ones(2))
    finally:
        sys.setprofile(None)
    assert out.tolist() == [3.0, 3.0]
    assert "doubled" not in seen


def doubled(x: Any) -> Any:
    return x * 2


def test_the_limit_of_ways() -> None:
    backend = Recorder()
    compiled = compiler.compile(lambda x, k: x * k, backend=backend, recompile_limit=2)
    with pytest.warns(UserWarning, match="gone 2 ways, which is recompile_limit"):
        found = [compiled(wengert.ones(1), k).item() for k in (1, 2, 3, 4, 1, 2)]
    assert found == [1, 2, 3, 4, 1, 2]
    assert len(backend.graphs) == 2


def test_fx_passes_rewrite_what_is_computed() -> None:
    def cosines(gm: Any, example_inputs: Any) -> Any:
        for node in gm.graph.nodes:
            if node.target is wengert.sin:
                node.target = wengert.cos
        gm.graph.lint()
        gm.recompile()
        return gm

    compiled = compiler.compile(lambda x: wengert.sin(x) * 2, backend=cosines)
    x = wengert.zeros(2, requires_grad=True)
    assert compiled(x).tolist() == [2.0, 2.0]
    compiled(x + 1).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == pytest.approx([-1.682942] * 2)


def test_reset_compiles_anew() -> None:
    compiled = compiler.compile(lambda x: x + 1, backend=(backend := Recorder()))
    for _ in range(3):
        compiled(wengert.ones(1))
    compiler.reset()
    compiled(wengert.ones(1))
    assert len(backend.graphs) == 2


def test_nothing_keeps_arguments_or_functions() -> None:
    model = nn.Linear(2, 2)
    compiled = compiler.compile(model, backend=as_written)
    references = []
    for _ in range(3):
        x = wengert.ones(1, 2)
        references += [weakref.ref(x), weakref.ref(compiled(x))]
    del x
    assert [r() for r in references] == [None] * 6
    references = [weakref.ref(model), weakref.ref(compiled)]
    del model, compiled
    gc.collect()
    assert [r() for r in references] == [None] * 2


def test_compiled_modules_are_copied_and_pickled() -> None:
    model = compiler.compile(nn.Linear(2, 1), backend=as_written)
    x = wengert.ones(1, 2)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other(x).tolist() == model(x).tolist()


def test_threads_record_apart() -> None:
    compiled = compiler.compile(lambda x, k: (x * k).sin().sum(), backend=as_written)
    wrong: list[int] = []

    def work(k: int) -> None:
        for n in range(50):
            x = wengert.full((3,), float(n))
            if compiled(x, k).item() != (x * k).sin().sum().item():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_slice_up_to_a_tensor_is_a_value_that_is_read() -> None:
    function = compiler.compile(lambda x, n: x[:n] * 2, backend=lambda gm, _: gm.forward)
    x = wengert.arange(4.0)
    for n in (2, 3, 2, 3):
        assert function(x, wengert.tensor(n)).tolist() == (x[:n] * 2).tolist()


def test_graphs_behind_a_value_are_compiled_for_its_shape() -> None:
    def jointly(gm: Any, inputs: Any) -> Any:
        return compiled_with_backward(gm.forward, inputs, lambda graph, _: graph.forward)

    function = compiler.compile(lambda x: x[x > 0].sum(), backend=jointly)
    for values in ([1.0, -2.0, 3.0], [1.0, 2.0, 3.0]) * 3:
        x = wengert.tensor(values, requires_grad=True)
        assert wengert.autograd.grad(function(x), x)[0].tolist() == [float(v > 0) for v in values]
