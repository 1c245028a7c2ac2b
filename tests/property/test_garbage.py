"""Calls that fail, and calls that do not, leave no reference cycles: none holds a tensor."""

from __future__ import annotations

import copy
import io
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert
from tests.garbage import garbage_of
from tests.nn import layers
from tests.ops import calls
from tests.ops.rows import ErrorRow, Row, all_errors, all_rows
from wengert import distributions, func, linalg, nn, optim
from wengert.autograd import Function
from wengert.autograd.graph import saved_tensors_hooks
from wengert.nn import functional as F
from wengert.utils.checkpoint import checkpoint
from wengert.utils.data import DataLoader

ROWS = all_rows()
NONE: Counter[str] = Counter()

pytestmark = pytest.mark.filterwarnings("ignore")


def recorded(array: np.ndarray) -> Any:
    """A tensor with a graph behind it, if it can have one."""
    tensor = wengert.from_numpy(array.copy())
    return tensor.requires_grad_() * 1 if array.dtype.kind in "fc" else tensor


def call(row: Row | ErrorRow, args: Any, leaf: Callable[[np.ndarray], Any]) -> Any:
    kwargs = {name: calls.convert(value, leaf) for name, value in row.kwargs.items()}
    function = calls.lookup(wengert, row.name)
    if isinstance(row, Row):
        function = calls.function_of(wengert, row)
    return function(*calls.convert(args, leaf), **kwargs)


def test_operations_that_fail_leave_no_cycles() -> None:
    left = {}
    for row in all_errors():
        args = row.make(calls.rng_of(row))
        for leaf in (wengert.from_numpy, recorded):
            left[str(row), leaf] = garbage_of(partial(call, row, args, leaf))
    assert {name: found for (name, _), found in left.items() if found} == {}


def test_a_failing_operation_lets_go_of_its_tensors() -> None:
    h = recorded(np.zeros((2, 3)))
    reference = weakref.ref(h)
    with pytest.raises(RuntimeError, match="invalid for input of size 6") as caught:
        h.view(4)
    assert caught.value.__cause__ is not caught.value
    del h, caught
    assert reference() is None


WRONG = [
    None, "x", 99, -99, 2.5, True, [1, 2], (1, 2, 3, 4, 5, 6), object(), {}, np.zeros((7, 5, 3)),
    np.zeros(0), np.zeros((2, 3), np.int64), np.zeros(3, bool), np.zeros((2, 2), complex),
    np.zeros((3, 4), np.float32),
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ROWS), st.integers(0, 3), st.sampled_from(WRONG), st.booleans())
def test_any_argument_may_be_wrong(row: Row, place: int, wrong: Any, records: bool) -> None:
    args = list(row.make(calls.rng_of(row)))
    args[place % len(args) : place % len(args) + 1] = [wrong]
    leaf = recorded if records else wengert.from_numpy
    assert garbage_of(partial(call, row, tuple(args), leaf)) == NONE


def first_of_each_name() -> Iterator[Row]:
    names: set[str] = set()
    for row in ROWS:
        if row.name not in names:
            names.add(row.name)
            yield row


def step(row: Row, args: Any) -> None:
    """An operation and its derivative, which is recorded if it has one itself."""
    result, leaves = calls.call(wengert, row, args, grad=row.grad)
    loss = calls.scalar(wengert, result)
    if loss is not None and row.second:
        calls.gradients(wengert, loss, leaves, create_graph=True)
    elif loss is not None:
        loss.backward()


def test_operations_and_derivatives_leave_no_cycles() -> None:
    left = {}
    for row in first_of_each_name():
        left[str(row)] = garbage_of(partial(step, row, row.make(calls.rng_of(row))))
    assert {name: found for name, found in left.items() if found} == {}


def layer_step(row: layers.Row) -> None:
    """A layer: made, copied, called, differentiated, saved, loaded and shown."""
    layer = getattr(nn, row.name)(*row.args, **row.options).double()
    layer.load_state_dict(copy.deepcopy(layer).state_dict())
    loss = calls.scalar(wengert, layer(*row.inputs(wengert)))
    if loss is not None:
        loss.backward()
    repr(layer)


def test_layers_leave_no_cycles() -> None:
    rows = {row.name: row for row in layers.ROWS}
    left = {name: garbage_of(partial(layer_step, row)) for name, row in rows.items()}
    assert {name: found for name, found in left.items() if found} == {}


class Failing(Function):
    """Its derivative raises."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("no derivative")


class Twice(Failing):
    """Its derivative has a gradient too many."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, g


def fail(*args: Any, **kwargs: Any) -> Any:
    raise ValueError("on purpose")


def backward_of(result: Any) -> None:
    result.sum().backward()


def hooked(register: Callable[[Any], Any]) -> Callable[[Any], None]:
    """The backward of what has a hook that raises."""

    def run(h: Any) -> None:
        register(h)
        backward_of(h)

    return run


def packed(pack: Any, unpack: Any) -> Callable[[Any], None]:
    def run(h: Any) -> None:
        with saved_tensors_hooks(pack, unpack):
            y = h.exp()
        backward_of(y)

    return run


def recomputed(second: Callable[[Any], Any]) -> Callable[[Any], None]:
    """A checkpoint whose function is another one in the second run."""

    def run(h: Any) -> None:
        runs: list[Callable[[Any], Any]] = [lambda x: x.exp().sin(), second]
        backward_of(checkpoint(lambda x: runs.pop(0)(x), h, use_reentrant=False))

    return run


def module_with(register: Callable[[Any], Any], use: Callable[[Any, Any], Any]) -> Any:
    def run(h: Any) -> None:
        layer = nn.Linear(3, 3, dtype=wengert.float64)
        register(layer)
        use(layer, h)

    return run


def forwards(layer: Any, h: Any) -> None:
    backward_of(layer(h))


def loads(layer: Any, h: Any) -> None:
    layer.load_state_dict(layer.state_dict())


def saved(value: Any) -> bytes:
    file = io.BytesIO()
    wengert.save(value, file)
    return file.getvalue()


def cut_off(h: Any) -> None:
    wengert.load(io.BytesIO(saved(h.detach())[:-100]))


def in_anomaly_mode(h: Any) -> None:
    with wengert.autograd.detect_anomaly():
        backward_of((h * float("nan")).sqrt())


def in_autocast(h: Any) -> None:
    with wengert.autocast("cpu"), wengert.random.fork_rng(), wengert.no_grad():
        h.view(99)


def twice_backward(h: Any) -> None:
    y = h.exp().sum()
    y.backward()
    y.backward()


def written_over(h: Any) -> None:
    y = h.exp()
    z = y.sin()
    y.zero_()
    backward_of(z)


# Each is called with a tensor of shape (2, 3) that has a graph.
FAILURES: dict[str, Callable[[Any], Any]] = {
    "creation": lambda h: wengert.tensor([h, 1]),
    "creation of a ragged list": lambda h: wengert.tensor([[1], [1, 2]]),
    "normal": lambda h: wengert.normal(h, -1.0),
    "item": lambda h: h.item(),
    "numpy": lambda h: h.numpy(),
    "index": lambda h: h[9],
    "index of a tensor": lambda h: h[wengert.tensor([9])],
    "assignment": lambda h: h.__setitem__(0, wengert.ones(5)),
    "grad of another shape": lambda h: setattr(h, "grad", wengert.ones(5)),
    "operator": lambda h: h + "x",
    "in-place, leaf": lambda h: wengert.ones(3, requires_grad=True).add_(h),
    "cat": lambda h: wengert.cat([h, h.sum()]),
    "backward of a matrix": lambda h: h.backward(),
    "backward twice": twice_backward,
    "backward of what was written over": written_over,
    "grad": lambda h: wengert.autograd.grad(h.sum(), wengert.ones(1, requires_grad=True)),
    "cholesky": lambda h: linalg.cholesky(-h @ h.mT),
    "inv": lambda h: linalg.inv(h @ h.mT * 0),
    "linear": lambda h: nn.Linear(4, 5)(h),
    "sequential": lambda h: nn.Sequential(nn.Linear(3, 4).double(), nn.Linear(5, 5))(h),
    "embedding": lambda h: F.embedding(wengert.tensor([9]), h),
    "cross entropy": lambda h: F.cross_entropy(h, wengert.tensor([7, 7])),
    "lstm": lambda h: nn.LSTM(5, 4)(h),
    "lazy": lambda h: nn.LazyConv2d(3, 3)(h),
    "load_state_dict": lambda h: nn.Linear(2, 2).load_state_dict({"weight": h}),
    "forward hook": module_with(lambda m: m.register_forward_hook(fail), forwards),
    "forward pre-hook": module_with(lambda m: m.register_forward_pre_hook(fail), forwards),
    "full backward hook": module_with(lambda m: m.register_full_backward_hook(fail), forwards),
    "load pre-hook": module_with(lambda m: m.register_load_state_dict_pre_hook(fail), loads),
    "load post-hook": module_with(lambda m: m.register_load_state_dict_post_hook(fail), loads),
    "tensor hook": hooked(lambda h: h.register_hook(fail)),
    "tensor hook of another shape": hooked(lambda h: h.register_hook(lambda g: g[0])),
    "node hook": hooked(lambda h: h.grad_fn.register_hook(fail)),
    "node prehook": hooked(lambda h: h.grad_fn.register_prehook(fail)),
    "function": lambda h: backward_of(Failing.apply(h)),
    "function with a gradient too many": lambda h: backward_of(Twice.apply(h)),
    "pack": packed(fail, lambda x: x),
    "unpack": packed(lambda x: x, fail),
    "unpack of another type": packed(lambda x: x, lambda x: "x"),
    "checkpoint": lambda h: checkpoint(fail, h, use_reentrant=False),
    "checkpoint, reentrant": lambda h: checkpoint(fail, h, use_reentrant=True),
    "recomputation that fails": recomputed(fail),
    "recomputation that saves less": recomputed(lambda x: x + 1),
    "recomputation of other shapes": recomputed(lambda x: x[:1].exp().sin()),
    "optimizer": lambda h: optim.SGD([h], lr=0.1),
    "optimizer's closure": lambda h: optim.SGD([h.detach()], lr=0.1).step(h.backward),
    "optimizer's state": lambda h: optim.Adam([h.detach()]).load_state_dict({"state": h}),
    "scheduler": lambda h: optim.lr_scheduler.LambdaLR(optim.SGD([h.detach()]), fail),
    "distribution": lambda h: distributions.Normal(h, -1.0),
    "log_prob": lambda h: distributions.Normal(h, 1.0).log_prob(wengert.ones(5)),
    "vmap": lambda h: func.vmap(lambda a: a @ h)(h),
    "vmap of item": lambda h: func.vmap(lambda a: a.item())(h),
    "grad of a matrix": lambda h: func.grad(lambda a: a * 2)(h),
    "jacrev": lambda h: func.jacrev(lambda a: a @ h)(h),
    "jvp": lambda h: func.jvp(lambda a: a @ h, (h,), (h,)),
    "gradcheck": lambda h: wengert.autograd.gradcheck(Twice.apply, h.detach().requires_grad_()),
    "functional.jacobian": lambda h: wengert.autograd.functional.jacobian(lambda a: a @ h, h),
    "anomaly mode": in_anomaly_mode,
    "contexts": in_autocast,
    "save": lambda h: saved({"a": h, "b": lambda: h}),
    "load": cut_off,
    "data loader": lambda h: list(DataLoader([h, h.sum()], batch_size=2)),
    "collate_fn": lambda h: list(DataLoader([h, h], collate_fn=fail)),
    "describe": lambda h: wengert.graph.describe(h.detach()),
    "assert_close": lambda h: wengert.testing.assert_close(h, h + 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_leaves_no_cycles(name: str) -> None:
    run, failed = FAILURES[name], []

    def attempt() -> None:
        try:
            run(recorded(np.ones((2, 3))))
        except Exception as error:
            failed.append(type(error))
            raise

    assert garbage_of(attempt) == NONE
    assert failed


def profiled(h: Any) -> None:
    with wengert.autograd.profiler.profile() as seen:
        backward_of(h.exp())
    seen.key_averages()


def drawn(h: Any) -> None:
    wengert.graph.draw(nn.Sequential(nn.Linear(3, 3), nn.Tanh()).double()(h).sum()).svg()


def checkpointed(h: Any) -> None:
    for use_reentrant in (False, True):
        y = checkpoint(lambda x: x.exp().sin(), h, use_reentrant=use_reentrant)
        y.sum().backward(retain_graph=True)


def trained(h: Any) -> None:
    layer = nn.Linear(3, 1).double()
    for kind in (optim.SGD, optim.Adam, optim.LBFGS):
        optimizer = kind(layer.parameters(), lr=0.01)
        scheduler = optim.lr_scheduler.StepLR(optimizer, 2)

        def closure(optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = layer(h.detach()).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        scheduler.step()
        optimizer.load_state_dict(optimizer.state_dict())


USES: dict[str, Callable[[Any], Any]] = {
    "profiler": profiled,
    "drawing": drawn,
    "describe": lambda h: str(wengert.graph.describe(h.exp().sum())),
    "why": lambda h: str(wengert.graph.why(h)),
    "checkpoint": checkpointed,
    "pack": packed(lambda x: x.numpy(), wengert.from_numpy),
    "optimizers": trained,
    "vmap of grad": lambda h: func.vmap(func.grad(lambda a: a.sin().sum()))(h),
    "hessian": lambda h: func.hessian(lambda a: a.sin().sum())(h),
    "jvp": lambda h: func.jvp(wengert.sin, (h,), (h,)),
    "double backward": lambda h: backward_of(
        wengert.autograd.grad((h**3).sum(), h, create_graph=True)[0]
    ),
    "save and load": lambda h: wengert.load(io.BytesIO(saved({"a": h.detach()}))),
    "data loader": lambda h: list(DataLoader([h, h], batch_size=2, shuffle=True)),
}


@pytest.mark.parametrize("name", USES)
def test_what_works_leaves_no_cycles(name: str) -> None:
    USES[name](recorded(np.ones((2, 3))))  # raises nothing
    assert garbage_of(lambda: USES[name](recorded(np.ones((2, 3))))) == NONE
