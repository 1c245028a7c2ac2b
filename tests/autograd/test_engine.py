"""A planned walk: what arrives where, and what each node lets go of, and when."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from tests.autograd.walks import ONES, edge, leaf, planned, ran, walk
from wengert.autograd._release_errors import AutoCall, Interrupted
from wengert.autograd.engine import (
    innermost,
    lift_to_tensor,
    observers,
    running_walks,
)
from wengert.core.tensor import Leaf, Node, NodeState, Tensor, state_of

# -- walk --------------------------------------------------------------------------------------


class TestRun:
    def test_results_are_set_aside(self) -> None:
        x = leaf(1.0, 2.0)
        it = ran(x * x)
        (g,) = it.final.values()
        assert [*it.final] == [edge(x)]
        np.testing.assert_array_equal(g, [2.0, 4.0])
        assert x.grad is None

    def test_the_plan_is_given_up(self) -> None:
        it = ran(leaf().exp())
        assert it.pending == {}
        assert it.order == []
        assert it.roots == ()
        assert not it.stops
        assert not running_walks.walks

    def test_cotangents_of_a_root_that_is_named_twice_add_up(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * 3
        it = walk()
        it.go((edge(y), edge(y)), [ONES, 2 * ONES])
        np.testing.assert_array_equal(it.final[edge(x)], [9.0, 9.0])

    def test_a_root_below_another_gets_both(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * 3
        z = y * 5
        np.testing.assert_array_equal(ran(y, z).final[edge(x)], [18.0, 18.0])

    def test_a_leaf_as_root_gets_the_seed(self) -> None:
        x = leaf(1.0, 2.0)
        np.testing.assert_array_equal(ran(x).final[edge(x)], ONES)

    def test_the_seed_is_not_written(self) -> None:
        big = wengert.ones(5000, requires_grad=True)
        y = big + big
        seed = np.ones(5000, np.float32)
        it = walk()
        it.go((edge(y),), [seed])
        assert (seed == 1).all()
        assert (it.final[edge(big)] == 2).all()

    def test_targets_take_what_arrives_at_them(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * 3
        z = y * 5
        it = walk()
        it.go((edge(z),), [ONES], {edge(y)})
        assert [*it.final] == [edge(y)]
        np.testing.assert_array_equal(it.final[edge(y)], [5.0, 5.0])

    def test_retained_gradients(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * 3
        y.retain_grad()
        it = ran(y * 5)
        assert [*it.retained] == [edge(y)]
        np.testing.assert_array_equal(it.retained[edge(y)], [5.0, 5.0])

    def test_both_loops_agree(self) -> None:
        """A hook that changes nothing sends the walk through the general loop."""
        results = []
        for listening in (False, True):
            x, w = leaf(0.5, 2.0), leaf(3.0, -1.0)
            y = (x * w).sin()
            if listening:
                y.register_hook(lambda g: None)
            it = ran((y * w + y) * x)
            results.append([it.final[edge(t)] for t in (x, w)])
        np.testing.assert_array_equal(results[0], results[1])

    def test_create_graph_gives_tensors_with_a_graph(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * x
        it = walk(True, create_graph=True)
        it.go((edge(y),), [wengert.ones(2)])
        g = it.final[edge(x)]
        assert isinstance(g, Tensor)
        assert g._edge is not None

    def test_accept_may_refuse_what_is_planned(self) -> None:
        y = leaf().exp()

        def refuse() -> None:
            raise ValueError("not this one")

        with pytest.raises(ValueError, match="not this one"):
            walk().go((edge(y),), [ONES], accept=refuse)
        assert not running_walks.walks
        assert edge(y).state is None

    def test_observers_see_a_walk_before_and_after(self) -> None:
        seen: list[tuple[str, int]] = []
        observers.append(lambda w, stage: seen.append((stage, len(w.order))))
        try:
            ran(leaf().exp())
        finally:
            observers.pop()
        assert seen == [("before", 2), ("after", 0)]

    def test_an_error_names_its_node(self) -> None:
        x = leaf()
        y = x.exp()
        y.register_hook(lambda g: 1 / 0)
        seen: list[str] = []
        observers.append(lambda w, stage: seen.append(stage))
        try:
            with pytest.raises(ZeroDivisionError) as caught:
                ran(y.sin())
        finally:
            observers.pop()
        assert "in the derivative of exp" in caught.value.__notes__[0]
        assert "of backward()  at " in caught.value.__notes__[0]
        assert seen == ["before", "raised"]
        assert innermost.walk is None

    def test_modes_are_put_back_after_hooks(self) -> None:
        inside = []
        x = leaf()
        y = x.exp()
        y.register_hook(lambda g: inside.append(wengert.is_grad_enabled()))
        ran(y)
        assert inside == [False]
        assert wengert.is_grad_enabled()

    def test_records_hold_plain_values(self) -> None:
        x = leaf()
        y = x.exp()
        node = weakref.ref(edge(y))
        ran(y)
        record = running_walks.recent[-1]
        assert record.call.what == "backward()"
        assert record.releases
        assert record.step
        assert record.oldest == edge(y).seq
        del y
        assert node() is None

    @pytest.mark.parametrize(
        ("retain", "create_graph", "inner", "step"),
        [
            (False, False, False, True),
            (True, False, False, True),
            (True, True, False, False),
            (False, False, True, False),
        ],
    )
    def test_which_walks_are_steps(
        self, retain: bool, create_graph: bool, inner: bool, step: bool
    ) -> None:
        x = leaf()
        y = x.exp()
        it = walk(retain, create_graph)
        it.plan((edge(y.sin()),))
        if inner:
            it.restrict({edge(y)})
        assert it._record().step is step
        assert it._record().releases is not retain


# -- release -----------------------------------------------------------------------------------


def slots(node: Node) -> dict[str, Any]:
    """What a node keeps: its saved values and its edges."""
    return {
        name: getattr(node, name)
        for name in type(node).__slots__
        if name.startswith(("s_", "e_")) and isinstance(getattr(node, name), (np.ndarray, Node))
    }


class TestRelease:
    def test_slot_by_slot(self) -> None:
        x, w = leaf(), leaf()
        y = x * w
        node = edge(y)
        assert {*slots(node)} == {"s_input", "s_other", "e_input", "e_other"}
        node.clear()
        assert {*slots(node)} == {"e_input", "e_other"}
        node.release()
        assert slots(node) == {}
        assert node.edges == (None, None)

    def test_only_what_a_rule_reads_is_kept(self) -> None:
        x = leaf()
        assert {*slots(edge(x * wengert.ones(2)))} == {"s_other", "e_input"}
        assert {*slots(edge(x + 1))} == {"e_input"}
        assert {*slots(edge(x.exp()))} == {"s_out", "e_input"}

    def test_all_nodes_of_a_walk_share_a_mark(self) -> None:
        x = leaf()
        y = x.exp()
        z = y.sin()
        it = ran(z)
        assert edge(y).state is edge(z).state is it.mark
        assert it.mark.shared
        assert it.mark.released is it.call
        assert it.mark.below == {edge(x)}
        assert edge(x).state is None  # leaves are not released

    def test_a_node_with_a_state_of_its_own_notes_the_call_there(self) -> None:
        x = leaf()
        y = x.exp()
        y.retain_grad()
        own = edge(y).state
        it = ran(y.sin())
        assert edge(y).state is own
        assert own is not None
        assert own.released is it.call
        assert own.below is it.mark.below
        assert slots(edge(y)) == {}

    def test_a_state_made_after_the_release_knows_of_it(self) -> None:
        y = leaf().exp()
        it = ran(y)
        state = state_of(edge(y))
        assert state is not it.mark
        assert not state.shared
        assert state.released is it.call
        assert state.below is it.mark.below

    @pytest.mark.parametrize("listening", [False, True])
    def test_retained_nodes_keep_everything(self, listening: bool) -> None:
        x = leaf()
        y = x.exp()
        if listening:
            y.register_hook(lambda g: None)
        before = slots(edge(y))
        ran(y.sin(), retain=True)
        after = slots(edge(y))
        assert after.keys() == before.keys() == {"s_out", "e_input"}
        assert all(after[name] is before[name] for name in before)

    def test_memory_goes_while_the_walk_goes_on(self) -> None:
        """The newest node's saved values are gone when an older node's rule runs."""
        x = leaf()
        trunk = x.exp()
        top = trunk.sin()
        out = top.tanh()
        saved = weakref.ref(out._array)
        states: list[Any] = []
        rule = type(edge(trunk)).send

        class Spy(type(edge(trunk))):  # type: ignore[misc]
            __slots__ = ()
            op = None
            saved = ()

            def send(self, g: Any, pending: Any) -> None:
                states.append((edge(out).state is not None, slots(edge(out))))
                rule(self, g, pending)

        edge(trunk).__class__ = Spy
        assert saved() is not None
        ran(out)
        assert states == [(True, {})]

    def test_with_listeners_nothing_goes_before_all_of_them_ran(self) -> None:
        x = leaf()
        y = x.exp()
        z = y.sin()
        seen: list[set[str]] = []
        x.register_hook(lambda g: seen.append({*slots(edge(z)), *slots(edge(y))}))
        ran(z)
        assert seen == [{"s_input", "s_out", "e_input"}]
        assert slots(edge(z)) == slots(edge(y)) == {}

    def test_a_failing_listener_leaves_the_graph_whole(self) -> None:
        x = leaf()
        y = x.exp()
        z = y.sin()
        handle = x.register_hook(lambda g: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ran(z)
        assert {*slots(edge(z))} == {"s_input", "e_input"}
        assert edge(z).state is None
        handle.remove()
        assert [*ran(z).final] == [edge(x)]

    def test_an_interrupted_walk_marks_what_it_released(self) -> None:
        x = leaf()
        y = x.exp()
        z = y.sin()
        retained = z.tanh()
        retained.retain_grad()

        class Stop(type(edge(y))):  # type: ignore[misc]
            __slots__ = ()
            op = None
            saved = ()

            def send(self, g: Any, pending: Any) -> None:
                raise KeyboardInterrupt

        edge(y).__class__ = Stop
        it = walk()
        with pytest.raises(KeyboardInterrupt):
            it.go((edge(retained),), [ONES])
        for tensor in (z, retained):
            state = edge(tensor).state
            assert state is not None
            assert isinstance(state.released, Interrupted)
        assert edge(y).state is None
        assert x.grad is None
        assert not running_walks.walks

    def test_a_node_is_marked_before_it_lets_go(self) -> None:
        y = leaf().exp()

        class Stop(type(edge(y))):  # type: ignore[misc]
            __slots__ = ()
            op = None

            def release(self) -> None:
                raise KeyboardInterrupt

        edge(y).__class__ = Stop
        with pytest.raises(KeyboardInterrupt):
            ran(y)
        state = edge(y).state
        assert state is not None
        assert isinstance(state.released, Interrupted)

    def test_auto_releases_what_only_this_graph_refers_to(self) -> None:
        x = leaf()
        y = x.exp()
        inner = weakref.ref(edge(y))
        top = y.sin()
        node = edge(top)
        del y
        loss = top.sum()
        ran(loss, retain="auto")
        assert inner() is not None  # sin keeps it: its own tensor is still there
        assert slots(node).keys() == {"s_input", "e_input"}
        assert slots(edge(loss)) == {}
        del top, node
        assert inner() is None

    def test_auto_releases_along_a_chain(self) -> None:
        x = leaf()
        loss = x.exp().sin().sum()
        below = [edge(loss).edges[0], edge(loss).edges[0].edges[0]]  # type: ignore[union-attr]
        references = [weakref.ref(node) for node in below]
        del below
        ran(loss, retain="auto")
        assert [r() for r in references] == [None, None]

    def test_the_alias_keeps_edges_and_drops_values(self, lenient: None) -> None:
        x = leaf()
        y = x.exp()
        ran(y)
        assert {*slots(edge(y))} == {"e_input"}
        assert edge(y).state is not None
        assert edge(y).state.released is not None

    def test_nothing_is_left_for_the_collector(self) -> None:
        gc.collect()
        gc.disable()
        try:
            x = leaf()
            y = x.exp()
            y.register_hook(lambda g: None)
            node = weakref.ref(edge(y))
            it = ran(y.sin())
            walked = weakref.ref(it)
            del y, it
            assert node() is None
            assert walked() is None
        finally:
            gc.enable()


# -- parts -------------------------------------------------------------------------------------


def test_lifting_saved_values() -> None:
    node = edge(leaf().exp())
    array = np.ones(2)
    lifted = lift_to_tensor(array, node)
    assert isinstance(lifted, Tensor)
    assert lifted._array is array
    assert lifted._edge is node
    several = lift_to_tensor([array, array], node)
    assert [type(v) for v in several] == [Tensor, Tensor]
    assert all(v._edge is None for v in several)
    assert lift_to_tensor(3.5, node) == 3.5
    assert lift_to_tensor(None, None) is None


def test_a_walk_knows_the_line_that_began_it() -> None:
    it = walk()
    assert it.call.what == "backward()"
    assert it.call.code is walk.__code__
    assert type(it.call) is not AutoCall


def test_a_new_state_says_nothing() -> None:
    state = NodeState()
    assert not any(getattr(state, name) for name in NodeState.__slots__)


def test_only_leaves_have_no_edges() -> None:
    x = leaf()
    assert type(edge(x)) is Leaf
    assert edge(x).edges == ()
    assert all(node.edges for node in planned(x.exp().sum()).order if type(node) is not Leaf)
