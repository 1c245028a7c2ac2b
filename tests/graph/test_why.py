"""Why a tensor has no graph or no gradient, and who keeps its graph alive."""

from __future__ import annotations

import gc
import inspect
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

import wengert
from wengert import Tensor, nn
from wengert.graph import Because, why

pytestmark = pytest.mark.usefixtures("alone")


def line_of(function: Callable[..., object], mark: str) -> int:
    """The line of a function that a mark is on."""
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if mark in line)


def cut(tensor: Tensor) -> Because:
    found = why(tensor).requires_grad
    assert found is not None
    return found


x = wengert.tensor([1.0, 2.0, 4.0], requires_grad=True)


def by_detach() -> Tensor:
    return (x * 2).detach()  # here


def by_detach_in_place() -> Tensor:
    y = x * 2
    return y.detach_()  # here


def by_data() -> Tensor:
    return (x * 2).data  # here


def by_tensor() -> Tensor:
    values = [x[0] * 2, x[1] * 3]
    return wengert.tensor(values)  # here


def by_argmax() -> Tensor:
    return (x * 2).argmax()  # here


def by_comparison() -> Tensor:
    return x > 2  # here


def by_integers() -> Tensor:
    return x.long()  # here


def by_no_grad() -> Tensor:
    with wengert.no_grad():  # here
        return x * 2


def by_set_grad_enabled() -> Tensor:
    with wengert.set_grad_enabled(False):  # here
        return x.exp()


def by_inference_mode() -> Tensor:
    with wengert.inference_mode():  # here
        return x.exp()


def by_decorated() -> Tensor:
    @wengert.no_grad()
    def evaluate() -> Tensor:
        return x.sum()

    return evaluate()  # here


def by_freezing() -> Tensor:
    layer = nn.Linear(3, 2)
    layer.requires_grad_(False)  # here
    return layer(wengert.ones(3))


CUTS: dict[Callable[[], Tensor], str] = {
    by_detach: "detach()",
    by_detach_in_place: "detach_()",
    by_data: ".data",
    by_tensor: "tensor()",
    by_argmax: "argmax",
    by_comparison: "gt",
    by_integers: "to",
    by_no_grad: "no_grad()",
    by_set_grad_enabled: "set_grad_enabled(False)",
    by_inference_mode: "inference_mode()",
    by_decorated: "no_grad() around evaluate()",
}
AFTER: dict[str, Callable[[Tensor], Tensor]] = {
    "itself": lambda y: y,
    "a number": lambda y: y * 2,
    "a number first": lambda y: 2 * y,
    "second": lambda y: wengert.ones(()) + y.float(),
    "a view": lambda y: y.reshape(-1)[:1],
    "a reduction": lambda y: y.float().sum(),
    "a list": lambda y: wengert.stack([wengert.zeros_like(y), y]),
    "several": lambda y: wengert.split(y.reshape(-1), 1)[0],
    "a product": lambda y: y.reshape(1, -1).float() @ wengert.ones(y.numel(), 2),
    "an index": lambda y: y.reshape(-1)[wengert.tensor([0])],
    "written": lambda y: wengert.zeros(y.shape).copy_(y),
    "added in place": lambda y: wengert.zeros(y.shape).add_(y),
    "assigned": lambda y: _assigned(y),
    "a module": lambda y: nn.Linear(y.numel(), 1).requires_grad_(False)(y.reshape(-1).float()),
}


def _assigned(y: Tensor) -> Tensor:
    target = wengert.zeros(2, y.numel())
    target[1] = y.reshape(-1)
    return target


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("make", CUTS, ids=lambda f: f.__name__)
def test_the_line_that_cut_goes_with_the_values(make: Callable[[], Tensor], after: str) -> None:
    found = cut(AFTER[after](make()))
    assert any(
        f"{CUTS[make]}  at {__file__}:{line_of(make, '# here')}" in f for _, f in found.facts
    )
    assert found.remedies


@pytest.mark.parametrize(
    "inner",
    [wengert.no_grad, wengert.inference_mode, lambda: wengert.set_grad_enabled(False)],
    ids=["no_grad", "inference_mode", "set_grad_enabled"],
)
def test_a_block_that_is_through_has_turned_nothing_off(inner: Callable[[], Any]) -> None:
    def make() -> Tensor:
        with wengert.no_grad():  # here
            with inner():
                pass
            return x * 2

    line = line_of(make, "# here")
    assert f"no_grad()  at {__file__}:{line}" in cut(make()).facts[0][1]


def test_what_was_frozen() -> None:
    found = cut(by_freezing().sum())
    assert found.text == "what it was computed from was frozen"
    assert f"{__file__}:{line_of(by_freezing, '# here')}" in found.facts[0][1]


def test_the_operation_that_was_cut_off_as_long_as_it_lives() -> None:
    y = x.exp()
    detached = y.detach()
    assert cut(detached).facts[1][1].startswith("exp (")
    del y
    assert len(cut(detached).facts) == 1


def test_an_integer_tensor() -> None:
    assert "torch.int64" in cut(wengert.arange(3)).text


def test_data_only() -> None:
    assert cut(wengert.ones(3) * 2).text == "nothing that it was computed from requires grad"


def test_a_number_that_left_a_graph() -> None:
    number = (x.sum() * 1.25).item()  # here
    found = cut(wengert.tensor(number))
    where = line_of(test_a_number_that_left_a_graph, "# here")
    assert found.facts == (
        ("taken by", f"item()  at {__file__}:{where}  number = (x.sum() * 1.25).item()  # here"),
    )
    assert "nothing" in cut(wengert.tensor(number + 1)).text


def test_recording_tells_nothing() -> None:
    found = why(x * 2)
    assert found.requires_grad is None


def test_a_thread_has_its_own_mode() -> None:
    results = []

    def other() -> None:
        with wengert.no_grad():
            results.append(x * 2)

    with wengert.inference_mode():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        here = x * 2
    assert "no_grad()" in cut(results[0]).facts[0][1]
    assert "inference_mode()" in cut(here).facts[0][1]


def grad(tensor: Tensor) -> Because:
    found = why(tensor).grad
    assert found is not None
    return found


def test_no_backward_yet() -> None:
    w = wengert.ones(2, requires_grad=True)
    assert grad(w).text == "no backward has begun since it was made"
    (w * 2).sum().backward()
    assert why(w).grad is None


def test_dropped_gradients() -> None:
    layer = nn.Linear(2, 1)
    optimizer = wengert.optim.SGD(layer.parameters(), 0.1)
    layer(wengert.ones(2)).sum().backward()
    optimizer.zero_grad()
    assert grad(layer.weight).text == "it was dropped, and no backward has begun since"
    assert "optimizer.zero_grad()" in grad(layer.weight).facts[0][1]
    layer(wengert.ones(2)).sum().backward()
    layer.zero_grad()
    assert "layer.zero_grad()" in grad(layer.bias).facts[0][1]
    layer(wengert.ones(2)).sum().backward()
    layer.bias.grad = None
    assert "layer.bias.grad = None" in grad(layer.bias).facts[0][1]
    assert why(layer.weight).grad is None


def test_another_optimizer_has_dropped_nothing() -> None:
    w = wengert.ones(2, requires_grad=True)
    wengert.optim.SGD([wengert.ones(1, requires_grad=True)], 0.1).zero_grad()
    assert grad(w).text == "no backward has begun since it was made"


def test_an_unused_parameter() -> None:
    used, unused = nn.Linear(2, 1), nn.Linear(2, 1)
    used(wengert.ones(2)).sum().backward()
    found = grad(unused.weight)
    assert "the losses do not depend on it" in found.text
    assert "used(wengert.ones(2)).sum().backward()" in found.facts[0][1]


def test_a_parameter_whose_use_was_cut_off() -> None:
    first, second = nn.Linear(2, 2), nn.Linear(2, 1)
    hidden = first(wengert.ones(2))
    features = hidden.detach()
    second(features).sum().backward()
    found = grad(first.weight)
    assert found.text == "its values were used without its graph"
    assert any("features = hidden.detach()" in fact for _, fact in found.facts)


def test_a_parameter_in_a_graph_that_no_backward_went_through() -> None:
    first, second = nn.Linear(2, 1), nn.Linear(2, 1)
    waiting = first(wengert.ones(2))
    second(wengert.ones(2)).sum().backward()
    found = grad(first.weight)
    assert found.text == "it is used in a graph that no backward has gone through"
    assert any("waiting = first(wengert.ones(2))" in fact for _, fact in found.facts)
    assert waiting.requires_grad


def test_grad_leaves_no_gradient() -> None:
    w = wengert.ones(2, requires_grad=True)
    wengert.autograd.grad((w * 2).sum(), [w])
    assert grad(w).text == "grad() returns gradients, and leaves .grad as it is"


def test_a_result_is_no_leaf() -> None:
    y = x * 2
    found = grad(y)
    assert found.text == "it is not a leaf: gradients pass it, and are not kept"
    y.retain_grad()
    assert grad(y).text == "no backward has passed it since retain_grad()"
    y.sum().backward()
    assert why(y).grad is None
    x.grad = None


def test_who_keeps_a_graph() -> None:
    hidden = wengert.ones(1000, requires_grad=True).exp()
    losses = [hidden.square().sum()]
    found = why(hidden)
    assert [k.holders[0].path for k in found.alive] == ["hidden", "losses[0]"]
    assert {(k.nodes, k.nbytes) for k in found.alive} == {(1, 4000)}
    (only,) = (k for k in why(losses[0]).alive if k.nodes == 3)
    assert only.nbytes == 4000  # square reads what exp keeps
    del hidden
    (keeper,) = why(losses[0]).alive
    assert (keeper.nodes, keeper.holders[0].path) == (3, "losses[0]")


def test_a_node_that_somebody_holds() -> None:
    y = wengert.ones(10, requires_grad=True).exp()
    node = (y * 2).grad_fn
    found = why(y).alive
    assert sorted(h.path for k in found for h in k.holders) == ["node", "y"]
    assert node is not None


def test_a_released_graph_is_kept_by_nobody() -> None:
    y = wengert.ones(10, requires_grad=True).exp().sum()
    y.backward()
    assert why(y).alive == ()


def test_asking_keeps_nothing_alive() -> None:
    y = wengert.ones(10, requires_grad=True).exp()
    node = wengert.autograd.graph.Node
    gc.collect()
    gc.disable()
    try:
        before = sum(issubclass(type(o), node) for o in gc.get_objects())
        why(y)
        assert sum(issubclass(type(o), node) for o in gc.get_objects()) == before
    finally:
        gc.enable()


def test_it_is_plain_data() -> None:
    found = why((x * 2).detach())
    assert json.loads(found.to_json())["requires_grad"]["text"] == found.requires_grad.text  # type: ignore[union-attr]
    assert "Remedy: use the tensor itself" in str(found)
    assert str(found).splitlines()[0] == "a tensor without a graph, float32 [3]"


def test_only_tensors() -> None:
    with pytest.raises(TypeError, match="must be a Tensor, not list"):
        why([x])  # type: ignore[arg-type]


@pytest.mark.parametrize("make", CUTS, ids=lambda f: f.__name__)
def test_backward_names_the_line(make: Callable[[], Tensor]) -> None:
    y = make().float().sum()
    with pytest.raises(wengert.autograd.NoGraphError) as caught:
        y.backward()
    assert f"{CUTS[make]}  at {__file__}:{line_of(make, '# here')}" in str(caught.value)
