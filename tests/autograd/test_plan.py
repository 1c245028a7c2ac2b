"""What a walk plans, and what it refuses before anything has changed."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from tests.autograd.walks import ONES, edge, leaf, names, planned, walk
from wengert.autograd import GraphInUseError, GraphReleasedError, SavedTensorOverwrittenError
from wengert.autograd._release_errors import AutoCall
from wengert.autograd.engine import (
    Walk,
    observers,
    running_walks,
)
from wengert.core.tensor import Tensor, state_of

# -- plan --------------------------------------------------------------------------------------


class TestPlan:
    def test_a_chain_is_oldest_first(self) -> None:
        x = leaf()
        y = x.exp().sin().tanh()
        assert names(planned(y)) == ["AccumulateGrad", "Exp", "Sin", "Tanh"]

    def test_a_diamond_has_each_node_once(self) -> None:
        x = leaf()
        top = x.exp()
        left, right = top.sin(), top.cos()
        it = planned(left * right)
        assert names(it) == ["AccumulateGrad", "Exp", "Sin", "Cos", "Mul"]
        assert it.nodes == 5
        assert {*it.pending} == {*it.order}
        assert {*it.pending.values()} == {None}

    def test_nested_diamonds_do_not_grow_the_plan(self) -> None:
        y = leaf()
        for _ in range(40):
            y = y + y.exp()
        assert planned(y).nodes == 81  # a path for each subset of the diamonds: 2**40

    def test_a_leaf_of_several_consumers(self) -> None:
        x, w = leaf(), leaf()
        it = planned(x * w + w.exp() + w)
        assert names(it).count("AccumulateGrad") == 2

    def test_roots_below_each_other(self) -> None:
        x = leaf()
        y = x.exp()
        z = y.sin()
        it = planned(y, z, y)
        assert names(it) == ["AccumulateGrad", "Exp", "Sin"]
        assert it.roots == (edge(y), edge(z), edge(y))

    def test_a_leaf_as_root(self) -> None:
        x = leaf()
        it = planned(x)
        assert it.order == [edge(x)]

    def test_inputs_without_gradient_are_not_in_it(self) -> None:
        it = planned(leaf() * wengert.ones(2))
        assert names(it) == ["AccumulateGrad", "Mul"]

    def test_nothing_changes(self) -> None:
        x = leaf()
        y = x.exp()
        node = edge(y)
        it = planned(y)
        assert node.state is None
        assert node.edges == (edge(x),)
        assert x.grad is None
        assert not running_walks.walks
        assert it.final == {}
        assert it.stateful_nodes == []

    def test_nodes_with_a_state_are_noted(self) -> None:
        x = leaf()
        y = x.exp()
        z = y.sin()
        y.retain_grad()
        it = planned(z)
        assert it.stateful_nodes == [edge(y)]
        assert not it.listeners  # nobody's code runs

    @pytest.mark.parametrize("where", ["leaf", "inner", "node", "prehook", "accumulated"])
    def test_hooks_make_listeners(self, where: str) -> None:
        x = leaf()
        y = x.exp()
        z = y.sin()
        {
            "leaf": lambda: x.register_hook(lambda g: None),
            "inner": lambda: y.register_hook(lambda g: None),
            "node": lambda: y.grad_fn.register_hook(lambda i, o: None),
            "prehook": lambda: y.grad_fn.register_prehook(lambda o: None),
            "accumulated": lambda: x.register_post_accumulate_grad_hook(lambda t: None),
        }[where]()
        assert planned(z).listeners

    def test_a_removed_hook_is_no_listener(self) -> None:
        x = leaf()
        y = x.exp()
        y.register_hook(lambda g: None).remove()
        assert not planned(y).listeners

    def test_a_function_of_the_users_is_a_listener(self) -> None:
        class Double(wengert.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2

        assert planned(Double.apply(leaf())).listeners

    def test_a_leaf_with_a_hook_comes_right_after_its_last_consumer(self) -> None:
        x, w = leaf(), leaf()
        first = w.exp()
        y = (first * x).sin().tanh()
        plain = names(planned(y))
        assert plain[:2] == ["AccumulateGrad", "AccumulateGrad"]
        x.register_hook(lambda g: None)
        # The walk goes from the end: x is complete once Mul has passed.
        it = planned(y)
        assert names(it) == ["AccumulateGrad", "Exp", "AccumulateGrad", "Mul", "Sin", "Tanh"]
        assert it.order[2] is edge(x)

    def test_of_two_such_leaves_the_first_input_is_first(self) -> None:
        a, b = leaf(), leaf()
        y = a * b
        for x in (b, a):
            x.register_hook(lambda g: None)
        assert planned(y).order[::-1] == [edge(y), edge(a), edge(b)]

    def test_of_several_consumers_the_oldest_counts(self) -> None:
        x, w = leaf(), leaf()
        y = (x * w).sin() * x
        x.register_hook(lambda g: None)
        assert names(planned(y)) == ["AccumulateGrad", "AccumulateGrad", "Mul", "Sin", "Mul"]
        assert planned(y).order[1] is edge(x)

    def test_auto_counts_the_roots(self) -> None:
        y = leaf().exp()
        it = planned(y, y, retain="auto")
        assert it.own_references[id(edge(y))] == 2
        assert type(it.call) is AutoCall


class TestRestrict:
    """`a -> b = exp(a), c = sin(b); d = tanh(a)`, with loss c * d."""

    def setup_method(self) -> None:
        self.a, self.other = leaf(), leaf()
        self.b = self.a.exp()
        self.c = self.b.sin()
        self.d = self.a.tanh() * self.other
        self.loss = self.c * self.d

    def restricted(self, *targets: Tensor) -> Walk:
        it = planned(self.loss)
        it.restrict({edge(t) for t in targets})
        return it

    def test_what_lies_between(self) -> None:
        it = self.restricted(self.b)
        assert names(it) == ["Exp", "Sin", "Mul"]
        assert it.targets == {edge(self.b)}
        assert it.stops == {edge(self.b)}
        assert {*it.pending} == {*it.order}
        assert not it.reaches_all_leaves

    def test_a_target_above_another_is_no_stop(self) -> None:
        it = self.restricted(self.a, self.b)
        assert it.stops == {edge(self.a)}
        assert it.targets == {edge(self.a), edge(self.b)}

    def test_all_leaves(self) -> None:
        it = self.restricted(self.a, self.other)
        assert it.reaches_all_leaves
        assert len(it.order) == it.nodes

    def test_one_leaf_of_two(self) -> None:
        assert not self.restricted(self.a).reaches_all_leaves

    def test_all_leaves_and_an_inner_node(self) -> None:
        assert not self.restricted(self.a, self.other, self.b).reaches_all_leaves

    def test_a_target_out_of_reach(self) -> None:
        it = self.restricted(leaf())
        assert it.order == []
        assert it.targets == set()
        assert it.pending == {}

    def test_the_root_as_target(self) -> None:
        it = self.restricted(self.loss)
        assert names(it) == ["Mul"]
        assert it.stops == {edge(self.loss)}

    def test_the_mark_knows_all_leaves_below(self) -> None:
        it = self.restricted(self.b)
        assert it.mark.below == {edge(self.a), edge(self.other)}

    def test_values_of_nodes_beyond_do_not_matter(self) -> None:
        with wengert.no_grad():
            self.other.add_(1)  # saved by the product in d
        self.restricted(self.b).check()
        with pytest.raises(SavedTensorOverwrittenError):
            self.restricted(self.a).check()


# -- check -------------------------------------------------------------------------------------


class TestCheck:
    def test_a_released_node(self) -> None:
        x = leaf()
        y = x.exp()
        z = y.sin()
        y.sum().backward()
        grad = x.grad.clone()
        it = planned(z)
        with pytest.raises(GraphReleasedError):
            it.check()
        assert edge(z).state is None
        assert wengert.equal(x.grad, grad)

    def test_a_saved_value_that_was_written(self) -> None:
        x = leaf()
        y = x.exp()
        z = y * 2
        with wengert.no_grad():
            y.mul_(3)  # exp saved its result
        with pytest.raises(SavedTensorOverwrittenError, match="of exp, float32"):
            planned(z).check()

    def test_a_write_before_the_node_does_no_harm(self) -> None:
        x = leaf()
        y = x * 2
        with wengert.no_grad():
            y.mul_(3)
        planned(y.sin()).check()

    def test_a_value_that_nobody_saved_may_be_written(self) -> None:
        x = leaf()
        y = x * 2
        z = y + 1
        with wengert.no_grad():
            y.zero_()
        planned(z).check()

    def test_other_elements_of_the_same_memory_may_be_written(self) -> None:
        base = wengert.ones(4)
        y = leaf() * base[:2]
        base[2:] = 5.0
        planned(y).check()
        base[1:3] = 6.0
        with pytest.raises(SavedTensorOverwrittenError):
            planned(y).check()

    def test_refusals_come_first(self) -> None:
        x = leaf()
        y = x.exp()
        state_of(edge(y)).refusal = lambda: RuntimeError("not here")
        with pytest.raises(RuntimeError, match="not here"):
            planned(y.sin()).check()

    def test_a_stop_is_not_looked_at(self) -> None:
        x = leaf()
        y = x.exp()
        z = y.sin()
        y.sum().backward()
        it = planned(z)
        it.restrict({edge(y)})
        it.check()

    def test_what_a_stop_saved_may_be_written(self) -> None:
        y = leaf().exp()
        z = y + 1
        with wengert.no_grad():
            y.zero_()
        it = planned(z)
        it.restrict({edge(y)})
        it.check()

    @pytest.mark.usefixtures("lenient")
    def test_released_nodes_that_saved_nothing_pass_under_the_alias(self) -> None:
        x = leaf()
        y = x + 1
        z = y.sin()
        y.sum().backward()
        it = planned(z)
        with pytest.warns(UserWarning, match=r"passes add .*, which was released by"):
            it.check()

    @pytest.mark.usefixtures("lenient")
    def test_released_nodes_that_saved_something_do_not(self) -> None:
        y = leaf().exp()
        z = y.sin()
        y.sum().backward()
        with pytest.raises(GraphReleasedError):
            planned(z).check()

    def test_a_released_node_may_hide_a_target(self) -> None:
        x = leaf()
        y = x.exp()
        z = y.sin() + x
        y.sum().backward()
        it = planned(z)
        targets = {edge(x)}
        it.restrict(targets)
        assert edge(y) not in it.pending  # nothing leads from it to x any more
        with pytest.raises(GraphReleasedError):
            it._check_hidden(targets)

    def test_a_released_node_hides_no_other_leaf(self) -> None:
        x, w = leaf(), leaf()
        y = x.exp()
        z = y.sin() + w
        y.sum().backward()
        it = planned(z)
        it.restrict({edge(w)})
        it._check_hidden({edge(w)})
        it.check()

    def test_a_released_inner_target(self) -> None:
        x = leaf()
        y = x.exp()
        top = y.sin()
        z = top.tanh() + y
        top.sum().backward()
        it = planned(z)
        it.restrict({edge(y)})
        with pytest.raises(GraphReleasedError):
            it._check_hidden({edge(y)})


class TestOthers:
    """Walks that have begun, and what they and another want of the same nodes."""

    def setup_method(self) -> None:
        self.x = leaf()
        self.y = self.x.exp()
        self.first, self.second = self.y.sin(), self.y.cos()

    def disturbs(
        self, retain: Any, other_retain: Any, inside: bool, at: Tensor | None = None
    ) -> bool:
        other, own = planned(self.first, retain=other_retain), planned(self.second, retain=retain)
        if not inside:
            other.thread = -1
        if at is not None:
            other.current_node = edge(at)
        return own._disturbs(other, other.pending, other.stops)

    @pytest.mark.parametrize(
        ("own", "other", "inside", "expected"),
        [
            (False, False, True, True),
            (False, True, True, True),
            (True, False, True, False),  # the outer one releases when the inner is through
            ("auto", False, True, False),
            (False, False, False, True),
            (True, False, False, True),
            (False, True, False, True),
            (True, True, False, False),
            ("auto", "auto", False, True),
        ],
    )
    def test_who_releases(self, own: Any, other: Any, inside: bool, expected: bool) -> None:
        assert self.disturbs(own, other, inside) is expected

    def test_what_the_outer_walk_has_passed_may_be_released(self) -> None:
        assert self.disturbs(False, False, True, at=self.y)  # it is just there
        assert not self.disturbs(False, False, True, at=self.x)

    def test_leaves_may_be_shared(self) -> None:
        other, own = planned(self.x.tanh()), planned(self.second)
        assert not own._disturbs(other, other.pending, other.stops)

    def test_stops_may_be_shared(self) -> None:
        other, own = planned(self.first), planned(self.second)
        own.restrict({edge(self.y)})
        assert not own._disturbs(other, other.pending, other.stops)
        own, other = planned(self.second), planned(self.first)
        other.restrict({edge(self.y)})
        assert not own._disturbs(other, other.pending, other.stops)

    def test_a_refused_walk_has_not_begun(self) -> None:
        other = planned(self.first)
        running_walks.walks.add(other)
        seen: list[str] = []
        observers.append(lambda w, stage: seen.append(stage))
        try:
            own = walk()
            with pytest.raises(GraphInUseError):
                own.go((edge(self.second),), [ONES])
            assert running_walks.walks == {other}
            assert seen == ["refused"]
        finally:
            observers.pop()
            running_walks.walks.discard(other)
        assert self.x.grad is None
        self.second.backward(wengert.ones(2))  # all is there still
