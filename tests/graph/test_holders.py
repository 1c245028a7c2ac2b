"""Who holds a graph: wherever a program may keep a tensor, and without running any of its code."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import sys
import threading
import time
import weakref
from collections import OrderedDict, deque, namedtuple
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, NoReturn

import numpy as np
import pytest

import wengert
from tests.graph.steps import result_of
from wengert import nn
from wengert.graph import live

pytestmark = pytest.mark.usefixtures("alone")


SIZES = iter(range(2001, 90001, 10))


class Kept:
    """A tensor with a graph of its own; afterwards, who holds it."""

    def __init__(self) -> None:
        self.size = next(SIZES)

    def make(self) -> wengert.Tensor:
        return wengert.ones(self.size, requires_grad=True).exp()

    def holders(self) -> list[wengert.graph.Holder]:
        (graph,) = [g for g in live().graphs if g.nbytes == 4 * self.size]
        return list(graph.tops[0].holders)

    def paths(self) -> list[str]:
        return [holder.path for holder in self.holders()]

    def scopes(self) -> list[str]:
        return [holder.scope for holder in self.holders()]


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.mark.parametrize("older", ["a", "b"])
def test_equally_short_ways_are_in_the_order_of_their_names(kept: Kept, older: str) -> None:
    """The collector has young objects and old ones, each in the order in which they were made."""
    holders = [Slotted(None), Slotted(None)]
    a, b = holders if older == "a" else holders[::-1]
    holders[0].state = kept.make()
    gc.collect()
    holders[1].state = holders[0].state
    fresh = {"state": b.state}
    c = Slotted(fresh)
    del holders, fresh
    assert kept.paths() == ["a.state", "b.state", "c.state['state']"]
    assert (a.state, c.state["state"]) == (b.state, b.state)


def test_class_attributes(kept: Kept) -> None:
    model: Any = type("Model", (), {"__module__": __name__})
    model.shared = [kept.make()]
    assert "Model.shared[0]" in kept.paths()
    assert f"class of {__name__}" in kept.scopes()


@dataclass(slots=True)
class Slotted:
    state: Any
    other: Any = None


Pair = namedtuple("Pair", ["a", "b"])


def test_objects_inside_of_objects(kept: Kept) -> None:
    deep = {"a": [Slotted(other=Pair(1, OrderedDict(x=deque([kept.make()]))), state=None)]}
    assert kept.paths() == ["deep['a'][0].other.b['x'][0]"]
    (holder,) = kept.holders()
    assert holder.containers == ("dict", "list", "OrderedDict", "deque")
    assert holder.places == "deep['a'][*].other.b['x'][*]"
    assert deep


def test_modules_by_the_names_of_their_children(kept: Kept) -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.Sequential(nn.ReLU(), nn.ReLU())

    model = Recurrent()
    model.cell[1].hidden = kept.make()
    assert "model.cell[1].hidden" in kept.paths()


def test_closures_and_default_arguments(kept: Kept) -> None:
    made = [kept.make()]

    def step(value: Any, seen: list[Any] = made, *, more: Any = None) -> None:
        del value, seen, more

    del made

    (path, scope), *_ = zip(kept.paths(), kept.scopes(), strict=True)
    assert (path, scope) == ("seen[0]", "default argument of step")
    other = Kept()

    state = other.make()

    def keyword(*, state: Any = state) -> None:
        del state

    del state

    assert ("state", "default argument of keyword") in zip(
        other.paths(), other.scopes(), strict=True
    )
    step(None)
    keyword()


def test_attributes_of_functions_partials_and_methods(kept: Kept) -> None:
    def step() -> None: ...

    step.history = [kept.make()]  # type: ignore[attr-defined]
    assert kept.paths() == ["step.history[0]"]
    given, named, bound = Kept(), Kept(), Kept()
    first = functools.partial(print, given.make())
    second = functools.partial(print, end=named.make())
    callbacks = [Slotted(bound.make()).__repr__]
    assert given.paths() == ["first.args[0]"]
    assert named.paths() == ["second.keywords['end']"]
    assert bound.paths() == ["callbacks[0].__self__.state"]
    assert all((first, second, callbacks))


@pytest.mark.parametrize("size", [None, 4])
def test_caches(kept: Kept, size: int | None) -> None:
    @functools.lru_cache(maxsize=size)
    def encode(k: int) -> wengert.Tensor:
        return kept.make()

    encode(1)
    assert "encode (in its cache)" in kept.paths()


def test_generators_and_coroutines(kept: Kept) -> None:
    @contextmanager_like
    def generator() -> Iterator[None]:
        mine = kept.make()
        yield
        assert mine.shape

    paused = generator()
    assert "paused.mine" in kept.paths()
    assert "kept by the generator generator" in kept.scopes()
    assert paused
    other, third = Kept(), Kept()

    async def agent() -> None:
        state = other.make()
        await asyncio.sleep(0)
        assert state.shape

    async def stream() -> AsyncIterator[int]:
        part = third.make()
        yield 1
        assert part.shape

    async def main() -> None:
        task = asyncio.create_task(agent())
        parts = stream()
        await anext(parts)
        await asyncio.sleep(0)
        assert ("state", "kept by the coroutine agent") in zip(
            other.paths(), other.scopes(), strict=True
        )
        assert "parts.part" in third.paths()
        assert "kept by the asynchronous generator stream" in third.scopes()
        await task
        await parts.aclose()  # type: ignore[attr-defined]

    result_of(main())


def contextmanager_like(function: Callable[[], Iterator[None]]) -> Callable[[], Iterator[None]]:
    def started() -> Iterator[None]:
        iterator = function()
        next(iterator)
        return iterator

    return started


def test_what_a_thread_has_for_itself(kept: Kept) -> None:
    local = threading.local()
    local.hidden = [kept.make()]
    assert kept.paths() == ["local.hidden[0]"]


def test_exceptions_keep_the_calls_that_they_ended(kept: Kept) -> None:
    def fails() -> NoReturn:
        loss = [kept.make()]
        raise ValueError(len(loss))

    errors = []
    try:
        fails()
    except ValueError as error:
        errors.append(error)
    (holder,) = kept.holders()
    assert holder.path == "loss[0]"
    assert holder.scope == "local of fails, kept by the traceback of errors[0]"
    assert holder.scopes == "local of fails, kept by the traceback of errors[*]"
    assert holder.where.endswith(str(fails.__code__.co_firstlineno + 2))
    sys.last_value = errors.pop()
    try:
        assert kept.scopes() == ["local of fails, kept by the traceback of sys.last_value"]
    finally:
        del sys.last_value


def test_hooks(kept: Kept) -> None:
    state = kept.make()
    layer, x = nn.ReLU(), wengert.ones(1, requires_grad=True)
    layer.register_forward_hook(lambda *_: print(state))
    y = x * 2
    y.register_hook(lambda g: g * state.sum())
    assert "kept by the function <lambda>" in kept.scopes()
    assert y.shape == x.shape


def test_the_context_of_a_function(kept: Kept) -> None:
    class Keeps(wengert.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: wengert.Tensor) -> wengert.Tensor:
            with wengert.enable_grad():
                ctx.extra = kept.make()
            return x * 2

    y = Keeps.apply(wengert.ones(1, requires_grad=True))
    (holder,) = kept.holders()
    assert (holder.path, holder.scope) == ("ctx.extra", "of a call of Keeps")
    assert y.shape == (1,)


def test_gradients_and_bases(kept: Kept) -> None:
    x = wengert.ones(kept.size, requires_grad=True)
    x.exp().sum().backward(create_graph=True)
    graphs = [g for g in live().graphs if g.tops[0].shape == (kept.size,)]
    assert "x.grad" in [h.path for g in graphs for h in g.tops[0].holders]
    other = Kept()
    whole = other.make()
    with wengert.no_grad():
        part = whole[:2]
    del whole
    assert other.paths() == ["part._base"]
    assert part.shape == (2,)


def test_weak_containers_hold_nothing(kept: Kept) -> None:
    weak = weakref.WeakValueDictionary[str, wengert.Tensor]()
    loss = weak["loss"] = kept.make()
    assert kept.paths() == ["loss"]
    assert loss.shape


def test_what_no_name_leads_to(kept: Kept) -> None:
    iterator = chain([kept.make()])
    assert kept.paths() == ["iterator (in a chain) (in a tuple_iterator)[0][0]"]
    assert iterator
    other, third = Kept(), Kept()
    gc.disable()
    try:
        cycle: list[Any] = [Slotted(other.make())]
        cycle.append(cycle)
        del cycle
        (holder,) = other.holders()
    finally:
        gc.enable()
    assert holder.path == "(no name)"
    assert holder.scope == "kept by a Slotted that no name leads to"
    hidden = hide(third.make())
    (holder,) = third.holders()
    assert holder.path == "(no name)"
    assert holder.scope.startswith("held by a running expression, or by something")
    assert hidden is not None


def hide(tensor: wengert.Tensor) -> Any:
    """Into a record, which the collector does not look into."""
    return np.array([(tensor.shape, tensor)], dtype=[("shape", object), ("tensor", object)])


def test_arrays_of_objects(kept: Kept) -> None:
    """The collector does not look into them, nor does it know that they are there."""
    row = np.empty(3, dtype=object)
    row[2] = kept.make()
    assert kept.paths() == ["row[2]"]
    other = Kept()
    table = Slotted([np.full((2, 2), None, dtype=object)])
    table.state[0][1, 0] = other.make()
    assert other.paths() == ["table.state[0][1, 0]"]
    assert other.holders()[0].containers == ("list", "ndarray")
    assert row is not None


def test_keys(kept: Kept) -> None:
    seen = {kept.make(): 1}
    other = Kept()
    pairs = {(1, other.make()): 2}
    assert kept.paths() == ["seen (a key)"]
    assert other.paths() == ["pairs (a key)[1]"]
    assert seen
    assert pairs


def test_context_variables(kept: Kept) -> None:
    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("losses")

    def inside() -> list[wengert.graph.Holder]:
        variable.set([kept.make()])
        return kept.holders()

    (holder,) = contextvars.copy_context().run(inside)
    assert (holder.path, holder.scope) == ("losses.get()[0]", "context variable")


def test_a_linked_list(kept: Kept) -> None:
    head = Slotted(kept.make())
    for _ in range(4):
        head = Slotted(None, head)
    (holder,) = kept.holders()
    assert holder.path == "head.other.other.other.other.state"
    assert holder.places == "head(.other)*.state"
    assert head


def test_the_result_of_a_task(kept: Kept) -> None:
    async def made() -> wengert.Tensor:
        return kept.make()

    async def run() -> list[wengert.graph.Holder]:
        tasks = [asyncio.create_task(made())]
        await asyncio.sleep(0)
        found = kept.holders()
        return found if tasks else []

    paths = [(holder.path, holder.scope) for holder in result_of(run())]
    assert ("tasks[0] (in a Task)", "local of run") in paths


class Angry:
    """Does something whatever it is asked."""

    asked: ClassVar[list[str]] = []

    def _note(self, what: str) -> NoReturn:
        Angry.asked.append(what)
        raise RuntimeError(what)

    def __getattribute__(self, name: str) -> Any:
        Angry.asked.append(name)
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        Angry._note(self, "==")

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        Angry._note(self, "repr")

    def __len__(self) -> int:
        Angry._note(self, "len")


class AngryDict(dict[Any, Any]):
    def items(self) -> NoReturn:  # type: ignore[override]
        raise RuntimeError

    __iter__ = __getitem__ = __len__ = items  # type: ignore[assignment]


class AngryList(list[Any]):
    def __iter__(self) -> NoReturn:
        raise RuntimeError

    __getitem__ = __len__ = __bool__ = __iter__  # type: ignore[assignment]


class AngryClass(type):
    def __getattribute__(cls, name: str) -> Any:
        if name in ("__mro__", "__dict__", "__name__"):
            raise RuntimeError(name)
        return super().__getattribute__(name)


class OfAngryClass(metaclass=AngryClass):
    pass


class WithProperties:
    def __init__(self, state: Any) -> None:
        self.state = state

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise RuntimeError

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise RuntimeError


def test_no_code_of_the_program_runs() -> None:
    tests = [Kept() for _ in range(5)]
    angry = Angry()
    object.__setattr__(angry, "state", tests[0].make())
    keyed = AngryDict({angry: tests[1].make()})
    listed = AngryList([tests[2].make()])
    of_class = OfAngryClass()
    of_class.state = tests[3].make()
    hiding = WithProperties(None)
    object.__setattr__(hiding, "state", tests[4].make())
    Angry.asked.clear()
    assert [kept.paths() for kept in tests[:4]] == [
        ["angry.state", "keyed (a key).state"], ["keyed[<Angry>]"], ["listed[0]"],
        ["of_class.state"],
    ]  # fmt: skip
    assert tests[4].paths()[0].startswith("hiding")
    assert Angry.asked == []
    assert all(x is not None for x in (keyed, listed, of_class, hiding))


def test_nothing_is_kept_and_nothing_changed() -> None:
    def work() -> weakref.ref[Any]:
        mine: Any = Slotted(Kept().make())
        cell = [mine]
        variables = locals()
        live()
        assert variables["cell"] is cell
        node: weakref.ref[Any] = weakref.ref(mine.state.grad_fn)
        return node

    gc.collect()
    gc.disable()
    try:
        node = work()
        assert node() is None
        assert not gc.isenabled()
    finally:
        gc.enable()
    live()
    assert gc.isenabled()


def test_other_threads_run_on() -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        store: Any = deque(maxlen=50)
        names: dict[int, Any] = {}
        k = 0
        try:
            while not stop.is_set():
                k += 1
                x = wengert.ones(3, requires_grad=True)
                store.append((x * k).exp())
                names[k % 100] = store[-1]
                if k % 3 == 0:
                    names.pop(k % 100)
                if k % 7 == 0:
                    (x * 2).sum().backward()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        until = time.monotonic() + 1
        while time.monotonic() < until:
            assert live().graphs is not None
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
    assert failures == []
