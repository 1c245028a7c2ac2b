"""Commit alone: what arrives in `.grad`, in which memory, and that it is all of it or nothing."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd import _commit
from wengert.autograd._commit import commit, own_array
from wengert.core.tensor import Node, Tensor, state_of, wrap


def edge(tensor: Tensor) -> Node:
    assert tensor._edge is not None
    return tensor._edge


def leaf(*shape: int, dtype: Any = wengert.float32) -> Tensor:
    return wengert.ones(*(shape or (3,)), dtype=dtype, requires_grad=True)


def ones(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.ones(shape or (3,), dtype)


def array_of(tensor: Tensor) -> np.ndarray:
    assert tensor.grad is not None
    return tensor.grad._array


class TestFirst:
    def test_the_table_is_emptied(self) -> None:
        x, y = leaf(), leaf()
        table: dict[Node, Any] = {edge(x): ones(), edge(y): 2 * ones()}
        commit(table)
        assert table == {}
        assert x.grad.tolist() == [1, 1, 1]
        assert y.grad.tolist() == [2, 2, 2]

    def test_what_nobody_else_has_is_taken_as_it_is(self) -> None:
        x = leaf()
        table: dict[Node, Any] = {edge(x): ones()}
        address = id(table[edge(x)])
        commit(table)
        assert id(array_of(x)) == address

    def test_what_somebody_has_is_copied(self) -> None:
        x = leaf()
        g = ones()
        commit({edge(x): g})
        assert array_of(x) is not g
        assert not np.shares_memory(array_of(x), g)

    def test_one_array_for_two_leaves(self) -> None:
        x, y = leaf(), leaf()
        table: dict[Node, Any] = dict.fromkeys([edge(x), edge(y)], ones())
        commit(table)
        assert not np.shares_memory(array_of(x), array_of(y))

    def test_views_are_copied(self) -> None:
        x = leaf()
        table: dict[Node, Any] = {edge(x): ones(6)[::2]}
        commit(table)
        assert array_of(x).base is None
        assert array_of(x).flags.c_contiguous

    def test_a_part_of_a_larger_memory_is_copied(self) -> None:
        x = leaf()
        table: dict[Node, Any] = {edge(x): ones(6)[:3]}
        commit(table)
        assert array_of(x).base is None

    def test_the_dtype_is_the_tensors(self) -> None:
        x = leaf(dtype=wengert.float64)
        commit({edge(x): ones()})
        assert x.grad.dtype is wengert.float64

    def test_a_recorded_gradient_keeps_its_graph(self) -> None:
        x = leaf()
        g = leaf() * 2
        commit({edge(x): g})
        assert x.grad is not g
        assert x.grad._edge is not None
        assert x.grad.tolist() == [2, 2, 2]

    def test_a_leaf_that_is_gone(self) -> None:
        x = leaf()
        node = edge(x)
        del x
        table: dict[Node, Any] = {node: ones()}
        commit(table)
        assert table == {}

    def test_a_tensor_that_retains(self) -> None:
        y = leaf() * 2
        y.retain_grad()
        commit({edge(y): ones()})
        assert y.grad.tolist() == [1, 1, 1]

    def test_a_node_of_which_nobody_asked(self) -> None:
        y = leaf() * 2
        state_of(edge(y))
        table: dict[Node, Any] = {edge(y): ones(), edge(leaf().exp()): ones()}
        commit(table)
        assert table == {}
        assert getattr(y, "_grad", None) is None


class TestLater:
    def test_sums_are_made_in_place(self) -> None:
        x = leaf()
        x.grad = wengert.ones(3)
        before, address = x.grad, id(x.grad._array)
        commit({edge(x): 2 * ones()})
        assert x.grad is before
        assert id(x.grad._array) == address
        assert x.grad.tolist() == [3, 3, 3]

    def test_in_the_dtype_of_the_gradient(self) -> None:
        x = leaf()
        x.grad = wengert.ones(3)
        commit({edge(x): ones(dtype=np.float64)})
        assert x.grad.dtype is wengert.float32
        assert x.grad.tolist() == [2, 2, 2]

    def test_a_recorded_one_is_added_out_of_place(self) -> None:
        x = leaf()
        x.grad = wengert.ones(3)
        before = x.grad
        commit({edge(x): leaf() * 2})
        assert x.grad is not before
        assert before.tolist() == [1, 1, 1]
        assert x.grad.tolist() == [3, 3, 3]
        assert x.grad._edge is not None

    def test_what_is_added_to_a_recorded_one(self) -> None:
        x = leaf()
        x.grad = leaf() * 2
        before = x.grad
        commit({edge(x): ones()})
        assert x.grad is not before
        assert before.tolist() == [2, 2, 2]
        assert x.grad.tolist() == [3, 3, 3]

    @pytest.mark.parametrize("kind", ["expanded", "read-only"])
    def test_memory_that_takes_no_sums_is_replaced(self, kind: str) -> None:
        x = leaf()
        memory = np.broadcast_to(np.ones(1, np.float32), 3) if kind == "expanded" else ones()
        memory.flags.writeable = kind == "expanded" and memory.flags.writeable
        x._grad = wrap(memory)
        commit({edge(x): ones()})
        assert x.grad.tolist() == [2, 2, 2]
        assert (memory == 1).all()

    def test_overflow_is_silent(self) -> None:
        x = leaf()
        largest = float(np.finfo(np.float32).max)
        x.grad = wengert.full((3,), largest)
        with np.errstate(all="raise"):
            commit({edge(x): np.full(3, largest, np.float32)})
        assert x.grad.tolist() == [float("inf")] * 3


def test_two_nodes_of_one_tensor_add_up() -> None:
    x = leaf()
    other = edge(leaf().exp())
    state_of(other).retain = weakref.ref(x)
    commit({edge(x): ones(), other: 4 * ones()})
    assert x.grad.tolist() == [5, 5, 5]


class Failing:
    """What arrives and cannot be added."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.shape, self.dtype = (3,), np.dtype(np.float64)

    def astype(self, dtype: Any) -> Any:
        raise self.error


@pytest.mark.parametrize("error", [MemoryError("no memory"), KeyboardInterrupt(), ValueError()])
@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_failure_changes_nothing(error: BaseException, at: int) -> None:
    """Whether gradients are new, added in place or replaced."""
    new, added, recorded = leaf(), leaf(), leaf()
    added.grad, recorded.grad = wengert.ones(3), leaf() * 2
    failing = leaf()
    failing.grad = wengert.ones(3)
    before = [t.grad for t in (new, added, recorded, failing)]
    arrivals: list[tuple[Tensor, Any]] = [(new, ones()), (added, ones()), (recorded, ones())]
    arrivals.insert(at, (failing, Failing(error)))
    with pytest.raises(type(error)):
        commit({edge(t): g for t, g in arrivals})
    assert [t.grad for t in (new, added, recorded, failing)] == before
    assert added.grad.tolist() == [1, 1, 1]


def test_an_allocation_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = leaf(), leaf()
    first.grad = wengert.ones(3)
    shared = ones()

    def empty(*arguments: Any, **options: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(_commit, "own_array", empty)
    with pytest.raises(MemoryError):
        commit({edge(first): shared, edge(second): shared})
    assert first.grad.tolist() == [1, 1, 1]
    assert second.grad is None


def test_signals_anywhere_in_it_change_all_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """KeyboardInterrupt before each instruction of it, as a trace function raises it."""
    outcomes = set()
    for stop in range(1, 2000):
        # A lock of its own: unlike a signal, a trace function can raise where nobody releases it.
        monkeypatch.setattr(_commit, "_committing", _commit.Committing())
        leaves = [leaf(), leaf(), leaf()]
        leaves[0].grad = wengert.ones(3)
        table: dict[Node, Any] = {edge(x): ones() for x in leaves}
        if _interrupted(table, stop):
            outcomes.add(tuple([None if x.grad is None else x.grad.tolist()[0] for x in leaves]))
        else:
            break
    else:
        pytest.fail("never through")
    assert stop > 50
    assert outcomes == {(1.0, None, None), (2.0, 1.0, 1.0)}


def _interrupted(table: dict[Node, Any], stop: int) -> bool:
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        if frame.f_code is not commit.__code__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count == stop:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for one when tracing begins
    sys.settrace(trace)
    try:
        commit(table)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_finalizers_come_after_all_of_it() -> None:
    """A replaced gradient may be the last to hold something whose end looks at the others."""
    x, y = leaf(), leaf()
    x.grad = leaf() * 2  # recorded: it is replaced
    seen: list[Any] = []
    weakref.finalize(x.grad, lambda: seen.append((x.grad is not None, y.grad is not None)))
    commit({edge(x): ones(), edge(y): ones()})
    assert seen == [(True, True)]


def test_the_lock_may_be_taken_again() -> None:
    x = leaf()
    with _commit._committing.lock:
        commit({edge(x): ones()})
    assert x.grad is not None


# -- own_array ---------------------------------------------------------------------------------

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def fresh() -> Iterator[np.ndarray]:
    """Arrays to which nothing refers but who takes them."""
    while True:
        yield np.ones((2, 3), np.float32)


def test_an_own_array_is_kept() -> None:
    table = [next(fresh())]
    address = id(table[0])
    assert id(own_array(table.pop(), F32)) == address


def test_a_shared_one_is_copied() -> None:
    g = next(fresh())
    other = g
    assert own_array(g, F32) is not other


def test_another_dtype_is_converted() -> None:
    out = own_array(next(fresh()), F64)
    assert out.dtype == F64
    assert out.flags.c_contiguous


def test_columns_become_rows() -> None:
    out = own_array(np.asfortranarray(next(fresh())), F32)
    assert out.flags.c_contiguous


def test_it_lies_as_its_tensor() -> None:
    like = np.zeros((2, 3), np.float32, order="F")
    out = own_array(next(fresh()), F32, like)
    assert out.strides == like.strides
    table = [np.asfortranarray(next(fresh()))]
    table[0] = table[0].copy(order="F")
    address = id(table[0])
    assert id(own_array(table.pop(), F32, like)) == address


@pytest.mark.parametrize("turned", [False, True])
def test_a_tensor_with_gaps_gets_a_gradient_in_rows(turned: bool) -> None:
    like = np.zeros((6, 4), np.float32).T[::2, ::2] if turned else np.zeros((4, 6))[::2, ::2]
    out = own_array(next(fresh()), F32, like)
    assert out.strides == (12, 4)
    assert (out == 1).all()
