"""What a backward leaves behind: `retain_graph="auto"` keeps exactly what is still wanted.

Random programs are built twice. One copy keeps every graph and says what each gradient is; the
other drops some of its tensors and goes backward with "auto".
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert
from wengert import Tensor
from wengert.autograd import GraphReleasedError, grad
from wengert.autograd.engine import compatibility
from wengert.autograd.graph import GradientEdge, get_gradient_edge
from wengert.core.tensor import Leaf, Node, nodes_below
from wengert.utils.checkpoint import checkpoint


class Scale(wengert.autograd.Function):
    """A Function of two outputs."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(a)
        return a * 2, a.exp()

    @staticmethod
    def backward(ctx: Any, g: Tensor, h: Tensor) -> Tensor:
        (a,) = ctx.saved_tensors
        return g * 2 + h * a.exp()


def _written(fill: Callable[[Tensor, Tensor], Any]) -> Callable[[Tensor, Tensor], Tensor]:
    def consumer(a: Tensor, b: Tensor) -> Tensor:
        target = wengert.ones(3)
        fill(target, a)
        return target * b.detach()

    return consumer


# Each takes two tensors of three elements and gives one: every kind of consumer that a node has.
CONSUMERS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "exp": lambda a, b: (a * 0.1).exp(),
    "constant + a": lambda a, b: wengert.ones(3) + a,
    "add_": _written(lambda target, a: target.add_(a)),
    "setitem": _written(lambda target, a: target.__setitem__(slice(0, 1), a[:1])),
    "copy_": _written(lambda target, a: target.copy_(a)),
    "write to itself": lambda a, b: a.clone().mul_(2),
    "view": lambda a, b: a.view(3),
    "select": lambda a, b: a[0].expand(3),
    "index": lambda a, b: a[[2, 0, 1]],
    "cat": lambda a, b: wengert.cat([a, b])[1:4],
    "stack": lambda a, b: wengert.stack([a, b]).sum(0),
    "unbind": lambda a, b: wengert.stack(a.unbind()[::-1]),
    "split": lambda a, b: wengert.cat(a.split([1, 2])[::-1]),
    "function": lambda a, b: Scale.apply(a)[0],
    "both outputs": lambda a, b: sum(Scale.apply(a)),  # type: ignore[arg-type, return-value]
    "checkpoint": lambda a, b: checkpoint(lambda v: v.tanh(), a, use_reentrant=False),
    "subclass": lambda a, b: a.as_subclass(wengert.nn.Buffer) * 1.0,
    "sum": lambda a, b: a.sum() + b,
}
# How a tensor is given to the walk, and how the walk is started.
CALLS = ["backward", "autograd.backward", "edge", "grad", "jac"]
OWN = ["backward", "autograd.backward", "grad"]  # they take the tensor itself for a root

index = st.integers(0, 1_000)
programs = st.lists(
    st.tuples(st.sampled_from(sorted(CONSUMERS)), index, index), min_size=1, max_size=8
)
calls = st.lists(st.tuples(st.sampled_from(CALLS), index), min_size=1, max_size=4)


def built(program: list[tuple[str, int, int]]) -> tuple[Tensor, list[Tensor]]:
    """The leaf, and the results of each step of a program."""
    leaf = wengert.tensor([0.5, -1.0, 2.0], dtype=wengert.float64, requires_grad=True)
    pool: list[Tensor] = [leaf]
    for name, i, j in program:
        pool.append(CONSUMERS[name](pool[i % len(pool)], pool[j % len(pool)]))
    return leaf, pool[1:]


def gradient(call: str, leaf: Tensor, root: Tensor, retain: Any) -> np.ndarray:
    """The gradient of the sum of a tensor, by one of the calls."""
    ones = wengert.ones_like(root)
    if call == "grad":
        return grad(root, leaf, ones, retain_graph=retain)[0].numpy()
    if call == "jac":
        (rows,) = wengert.autograd.jac(list(root.unbind()), [leaf], retain_graph=retain)
        return rows.sum(0).numpy()
    leaf.grad = None
    place: Tensor | GradientEdge = get_gradient_edge(root) if call == "edge" else root
    if call == "backward":
        root.backward(ones, retain_graph=retain)
    else:
        wengert.autograd.backward(place, ones, retain_graph=retain)
    return leaf.grad.numpy()


def operations(tensors: list[Tensor]) -> set[Node]:
    """The operations that tensors can reach."""
    edges = [t._edge for t in tensors if t._edge is not None]
    return {node for node in nodes_below(edges) if type(node) is not Leaf}


@pytest.fixture(autouse=True, params=[False, True], ids=["native", "alias"])
def _lenient(request: pytest.FixtureRequest) -> Iterator[None]:
    compatibility.lenient = request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    compatibility.lenient = False


@settings(max_examples=150, deadline=None)
@given(programs, calls, st.sets(index, max_size=4))
def test_auto_keeps_what_other_tensors_reach_and_nothing_else(
    program: list[tuple[str, int, int]],
    calls: list[tuple[str, int]],
    dropped: set[int],
) -> None:
    reference_leaf, reference = built(program)
    leaf, results = built(program)
    pool = dict(enumerate(results))
    del results
    for i in dropped:
        if len(pool) > 1:
            pool.pop(i % len(reference), None)
    for call, i in calls:
        key = sorted(pool)[i % len(pool)]
        expected = gradient(call, reference_leaf, reference[key], True)
        others = operations([t for k, t in pool.items() if k != key or call not in OWN])
        kept = pool[key]._edge in others
        unwanted = [weakref.ref(n) for n in operations([pool[key]]) - others]
        actual = gradient(call, leaf, pool[key], "auto")
        np.testing.assert_allclose(actual, expected, rtol=1e-12)
        assert not any(n.state is not None and n.state.released for n in others)
        del others
        if not kept:
            with pytest.raises(GraphReleasedError):
                gradient(call, leaf, pool[key], "auto")
            del pool[key]
            assert [node() for node in unwanted if node() is not None] == []
        if not pool:
            break


def _late(node: Node, tensors: list[Tensor], what: str) -> None:
    """Give a node a state of its own."""
    if what == "metadata":
        node.metadata["key"] = 1
    elif what == "prehook":
        node.register_prehook(lambda gradients: None)
    elif what == "hook":
        node.register_hook(lambda inputs, outputs: None)
    else:
        for tensor in tensors:
            if tensor._edge is node and what == "retain_grad":
                tensor.retain_grad()
            elif tensor._edge is node:
                tensor.register_hook(lambda g: None)


LATE = ["metadata", "prehook", "hook", "retain_grad", "tensor hook"]


def _outcome(target: Tensor, root: Tensor, call: str) -> Any:
    """What a second call comes to: a gradient, None, or the class of an error."""
    ones = wengert.ones_like(root)
    try:
        if call == "grad":
            (g,) = grad(root, target, ones, allow_unused=True, retain_graph=True)
        else:
            target.grad = None
            root.backward(ones, inputs=[target] if call == "inputs" else None, retain_graph=True)
            g = target.grad
    except RuntimeError as error:
        return type(error)
    return None if g is None else g.tolist()


@settings(max_examples=80, deadline=None)
@given(programs, index, st.lists(st.tuples(index, st.sampled_from(LATE)), min_size=1, max_size=4))
def test_listeners_that_come_late_hide_no_release(
    program: list[tuple[str, int, int]], released: int, listeners: list[tuple[int, str]]
) -> None:
    outcomes = []
    for late in (False, True):
        leaf, results = built(program)
        root = results[released % len(results)]
        nodes = sorted(operations(results), key=lambda n: n.seq)
        root.backward(wengert.ones_like(root))
        for i, what in listeners if late else []:
            _late(nodes[i % len(nodes)], results, what)
        outcomes.append(
            [
                *[_outcome(leaf, r, call) for r in results for call in ("inputs", "backward")],
                *[_outcome(target, r, "grad") for r in results for target in (leaf, *results)],
            ]
        )
    assert repr(outcomes[0]) == repr(outcomes[1])  # nan is the same as nan
