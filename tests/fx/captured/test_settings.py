"""Settings and counters of functions with backends, and functions that stay out of graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import wengert
from wengert import compiler, nn
from wengert.fx.captured import settings
from wengert.replay.failures import BackendCompilerFailed, Unsupported


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    values: dict[str, Any] = {}
    monkeypatch.setattr(settings, "sources", [values])
    settings.counters.clear()
    yield values
    settings.counters.clear()


class Kept:
    def __init__(self) -> None:
        self.graphs: list[list[str]] = []

    def __call__(self, gm: Any, inputs: Any) -> Any:
        self.graphs.append([n.name for n in gm.graph.nodes if n.op.startswith("call")])
        return gm.forward


def failing(gm: Any, inputs: Any) -> Any:
    raise ValueError("no")


def test_suppressed_errors_of_backends(config: dict[str, Any]) -> None:
    x = wengert.ones(2)
    function = compiler.compile(lambda x: x.add_(1) * 2, backend=failing)
    with pytest.raises(BackendCompilerFailed):
        function(x.clone())
    config["suppress_errors"] = True
    with pytest.warns(UserWarning, match="runs as it is, without its backend: backend='failing'"):
        assert function(x).tolist() == [4, 4]
    assert function(x).tolist() == [6, 6]
    assert x.tolist() == [3, 3]


@pytest.mark.parametrize("name", ["recompile_limit", "cache_size_limit"])
def test_the_limit_of_ways_is_a_setting(name: str, config: dict[str, Any]) -> None:
    config.update({"recompile_limit": 8, "cache_size_limit": 8, name: 2})
    backend = Kept()
    function = compiler.compile(lambda x: x * 2, backend=backend)
    function(wengert.ones(1))
    function(wengert.ones(2))
    with pytest.warns(UserWarning, match="2 ways, which is recompile_limit"):
        function(wengert.ones(3))
    function(wengert.ones(4))
    assert len(backend.graphs) == 2


def test_compiling_may_be_disabled(config: dict[str, Any]) -> None:
    config["disable"] = True
    backend = Kept()
    compiler.compile(lambda x: x * 2, backend=backend)(wengert.ones(1))
    assert not backend.graphs


def test_counters(config: dict[str, Any]) -> None:
    def function(x: Any) -> Any:
        x = x.sin() * 2
        return x.cos() if x.sum() > 0 else x

    compiler.compile(function, backend=Kept())(wengert.ones(2))
    assert settings.counters["stats"] == {"unique_graphs": 2, "calls_captured": 5}
    assert settings.counters["frames"] == {"total": 2, "ok": 2}
    ((place, count),) = settings.counters["graph_break"].items()
    assert place.startswith("__bool__() at ")
    assert count == 1


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(wengert.ones(2))
        self.calls: list[str] = []

    @compiler.disable
    def scaled(self, x: Any, *, by: int) -> Any:
        self.calls.append("scaled")
        return x * self.weight * by

    @compiler.disable
    def told(self, x: Any) -> None:
        self.calls.append("told")

    @compiler.disable
    def turns(self) -> int:
        return len(self.calls) % 3

    def forward(self, x: Any) -> Any:
        y = self.scaled(x.sin(), by=2)
        self.told(y)
        return y.cos() * self.turns()


def test_disabled_functions_run_once_a_call_between_graphs(config: dict[str, Any]) -> None:
    backend, plain = Kept(), Counting()
    model = Counting()
    compiled = compiler.compile(model, backend=backend)
    for k in range(7):
        x = wengert.full((2,), float(k), requires_grad=True)
        found, expected = compiled(x), plain(x)
        assert model.calls == plain.calls
        wengert.testing.assert_close(found, expected)
        ours, theirs = (
            wengert.autograd.grad(y.sum(), [x, net.weight])
            for y, net in ((found, model), (expected, plain))
        )
        wengert.testing.assert_close(ours, theirs)
    assert backend.graphs
    assert not any("mul" in names and "sin" in names for names in backend.graphs)


def test_disabled_functions_end_whole_graphs(config: dict[str, Any]) -> None:
    disabled = compiler.disable(lambda x: x + 1)
    function = compiler.compile(lambda x: disabled(x * 2), backend=Kept(), fullgraph=True)
    with pytest.raises(Unsupported, match="is disabled"):
        function(wengert.ones(1))
