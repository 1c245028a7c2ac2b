"""Random copies and views of tensors of random layouts, and writes through them, in both libraries.

What shares memory shares it in both, so that a write reaches the same tensors; and the strides are
the same, so that `view()` works on the same ones.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert

# Each with a library, a tensor, another tensor, and a number that chooses the arguments.
Function = Callable[[Any, Any, Any, int], Any]


def dim(t: Any, k: int) -> int:
    return k % max(t.ndim, 1)


def window(t: Any, k: int) -> slice:
    return slice(k % 2, None if k % 3 else max(t.shape[dim(t, k)] - 1, 0), 1 + k % 2)


def along(t: Any, k: int, item: Any) -> Any:
    """An index of dimension `dim(t, k)` alone."""
    return (*(slice(None),) * dim(t, k), item)


def permuted(t: Any, k: int) -> Any:
    order = [*range(t.ndim)]
    for d in range(t.ndim - 1):
        other = d + k // (d + 1) % (t.ndim - d)
        order[d], order[other] = order[other], order[d]
    return t.permute(order)


def squares(t: Any, k: int) -> tuple[int, ...]:
    """A shape of as many elements."""
    n = t.numel()
    factor = [f for f in (1, 2, 3, 4, 6) if n % f == 0][k % 2]
    return [(n,), (factor, n // factor), (n // factor, factor), (1, n)][k % 4]


VIEWS: dict[str, Function] = {
    "view": lambda lib, t, u, k: t.view(squares(t, k)),
    "view(-1)": lambda lib, t, u, k: t.view(-1),
    "view_as": lambda lib, t, u, k: t.view_as(u),
    "view(dtype)": lambda lib, t, u, k: t.view(lib.int16 if t.numel() > 1 else t.dtype),
    "reshape": lambda lib, t, u, k: t.reshape(squares(t, k)),
    "flatten": lambda lib, t, u, k: t.flatten(min(dim(t, k), dim(t, k + 1)), -1),
    "ravel": lambda lib, t, u, k: t.ravel(),
    "unflatten": lambda lib, t, u, k: t.unflatten(dim(t, k), (-1, 1 + k % 3)),
    "transpose": lambda lib, t, u, k: t.transpose(dim(t, k), dim(t, k // 2)),
    "t": lambda lib, t, u, k: t.t(),
    "permute": lambda lib, t, u, k: permuted(t, k),
    "movedim": lambda lib, t, u, k: t.movedim(dim(t, k), dim(t, k // 2)),
    "select": lambda lib, t, u, k: t.select(dim(t, k), k % 2),
    "slice": lambda lib, t, u, k: t[along(t, k, window(t, k))],
    "narrow": lambda lib, t, u, k: t.narrow(dim(t, k), k % 2, 1 + k % 2),
    "diagonal": lambda lib, t, u, k: t.diagonal(k % 3 - 1, dim(t, k), dim(t, k + 1)),
    "unfold": lambda lib, t, u, k: t.unfold(dim(t, k), 1 + k % 2, 1 + k % 2),
    "split": lambda lib, t, u, k: t.split(1 + k % 2, dim(t, k))[-1],
    "chunk": lambda lib, t, u, k: t.chunk(2, dim(t, k))[0],
    "unbind": lambda lib, t, u, k: t.unbind(dim(t, k))[k % 2],
    "squeeze": lambda lib, t, u, k: t.squeeze(),
    "unsqueeze": lambda lib, t, u, k: t.unsqueeze(dim(t, k)),
    "None": lambda lib, t, u, k: t[None, ..., None],
    "expand": lambda lib, t, u, k: t.unsqueeze(dim(t, k)).expand(
        *t.shape[: dim(t, k)], 2, *t.shape[dim(t, k) :]
    ),
    "expand_as": lambda lib, t, u, k: t.expand_as(u),
    "broadcast_tensors": lambda lib, t, u, k: lib.broadcast_tensors(t, u)[0],
    "detach": lambda lib, t, u, k: t.detach(),
    "data": lambda lib, t, u, k: t.data,
    "real": lambda lib, t, u, k: t.real,
    "to": lambda lib, t, u, k: t.to(t.dtype),
    "contiguous": lambda lib, t, u, k: t.contiguous(),
    "asarray": lambda lib, t, u, k: lib.asarray(t),
    "Parameter": lambda lib, t, u, k: lib.nn.Parameter(t, requires_grad=False),
    "squeeze_": lambda lib, t, u, k: t.detach().squeeze_(dim(t, k)),
    "transpose_": lambda lib, t, u, k: t.detach().transpose_(dim(t, k), dim(t, k + 1)),
}
COPIES: dict[str, Function] = {
    "clone": lambda lib, t, u, k: t.clone(),
    "clone in order": lambda lib, t, u, k: t.clone(memory_format=lib.contiguous_format),
    "channels_last": lambda lib, t, u, k: t.to(memory_format=lib.channels_last),
    "deepcopy": lambda lib, t, u, k: copy.deepcopy(t),
    "float": lambda lib, t, u, k: (t % 3).float(),
    "zeros_like": lambda lib, t, u, k: lib.zeros_like(t),
    "full_like": lambda lib, t, u, k: lib.full_like(t, k),
    "empty_like": lambda lib, t, u, k: lib.empty_like(t).fill_(3),
    "new_full": lambda lib, t, u, k: t.new_full(t.shape, k),
    "neg": lambda lib, t, u, k: -t,
    "relu": lambda lib, t, u, k: t.relu(),
    "mul": lambda lib, t, u, k: t * 2,
    "add": lambda lib, t, u, k: t + u,
    "where": lambda lib, t, u, k: lib.where(t > k % 5, t, u),
    "maximum": lambda lib, t, u, k: lib.maximum(t, u),
    "eq": lambda lib, t, u, k: t == u,
    "clamp": lambda lib, t, u, k: t.clamp(1, 5),
    "sum": lambda lib, t, u, k: t.sum(dim(t, k), keepdim=k % 2 == 0),
    "max": lambda lib, t, u, k: t.max(dim(t, k)).values,
    "cumsum": lambda lib, t, u, k: t.cumsum(dim(t, k)),
    "sort": lambda lib, t, u, k: t.sort(dim(t, k)).values,
    "topk": lambda lib, t, u, k: (t * 1).topk(1, dim(t, k)).values,
    "flip": lambda lib, t, u, k: t.flip(dim(t, k)),
    "roll": lambda lib, t, u, k: t.roll(1 + k % 2, dim(t, k)),
    "rot90": lambda lib, t, u, k: t.rot90(k % 4, (0, 1)),
    "tril": lambda lib, t, u, k: t.tril(),
    "repeat": lambda lib, t, u, k: t.repeat(*[1] * (t.ndim - 1), 1 + k % 2),
    "cat": lambda lib, t, u, k: lib.cat([t, t], dim(t, k)),
    "stack": lambda lib, t, u, k: lib.stack([t, t], dim(t, k)),
    "index": lambda lib, t, u, k: t[along(t, k, lib.tensor([0, -(k % 2)]))],
    "indices": lambda lib, t, u, k: t[lib.tensor([0, 0]), ..., lib.tensor([0, k % 2])],
    "mask": lambda lib, t, u, k: t[t > k % 5],
    "index_select": lambda lib, t, u, k: t.index_select(dim(t, k), lib.tensor([k % 2, 0])),
    "gather": lambda lib, t, u, k: t.gather(dim(t, k), lib.zeros_like(t, dtype=lib.int64)),
    "take": lambda lib, t, u, k: t.take(lib.tensor([[0], [k % 2]])),
    "pad": lambda lib, t, u, k: lib.nn.functional.pad(t, (k % 2, 1)),
    "matmul": lambda lib, t, u, k: (t % 3) @ (t % 3).mT,
    "fill": lambda lib, t, u, k: lib.fill(t, k),
    "masked_fill": lambda lib, t, u, k: t.masked_fill(t > 2, 0),
    "select_scatter": lambda lib, t, u, k: t.clone().select_scatter(t.select(0, 0) * 2, 0, 0),
    "bool": lambda lib, t, u, k: t.bool(),
    "dropout": lambda lib, t, u, k: lib.nn.functional.dropout(t, 0.5, training=False),
}
WRITES: dict[str, Function] = {
    "fill_": lambda lib, t, u, k: t.fill_(k),
    "zero_": lambda lib, t, u, k: t.zero_(),
    "add_": lambda lib, t, u, k: t.add_(k),
    "mul_": lambda lib, t, u, k: t.mul_(2),
    "+=": lambda lib, t, u, k: t.__iadd__(u.clone()),
    "relu_": lambda lib, t, u, k: t.relu_(),
    "clamp_": lambda lib, t, u, k: t.clamp_(1, 6),
    "copy_": lambda lib, t, u, k: t.copy_(u.clone()),
    "row": lambda lib, t, u, k: t.__setitem__(0, k),
    "element": lambda lib, t, u, k: t.__setitem__((0,) * t.ndim, k),
    "window": lambda lib, t, u, k: t.__setitem__(along(t, k, window(t, k)), k),
    "values": lambda lib, t, u, k: t.__setitem__(0, u[1].clone()),
    "everything": lambda lib, t, u, k: t.__setitem__(..., k),
    "flat": lambda lib, t, u, k: t.view(-1).__setitem__(0, k),
    "flat copy": lambda lib, t, u, k: t.reshape(-1).__setitem__(0, k),
    "mask =": lambda lib, t, u, k: t.__setitem__(t > k % 5, k),
    "masked_fill_": lambda lib, t, u, k: t.masked_fill_(t > k % 5, k),
    "index =": lambda lib, t, u, k: t.__setitem__(along(t, k, lib.tensor([0, -1])), k),
    "index_fill_": lambda lib, t, u, k: t.index_fill_(dim(t, k), lib.tensor([0]), k),
    "index_copy_": lambda lib, t, u, k: t.index_copy_(0, lib.tensor([0]), t[1:2].clone()),
    "scatter_": lambda lib, t, u, k: t.scatter_(0, lib.zeros_like(t, dtype=lib.int64), k),
    "fill_diagonal_": lambda lib, t, u, k: t.fill_diagonal_(k),
    "detach =": lambda lib, t, u, k: t.detach().add_(1),
    "numpy =": lambda lib, t, u, k: t.numpy().fill(k),
}
OF_ONE_VALUE = {"fill_", "zero_", "row", "element", "window", "everything", "flat copy", "numpy ="}
FUNCTIONS = {**VIEWS, **COPIES, **WRITES}

number = st.integers(0, 11)
step = st.tuples(
    st.one_of([st.sampled_from(sorted(names)) for names in (VIEWS, COPIES, WRITES)]),
    number,
    number,
    number,
)
shapes = st.lists(st.sampled_from([1, 2, 3, 4]), max_size=4).map(tuple)


def storage(t: Any) -> int:
    return int(t.untyped_storage().data_ptr())


def overlaps(t: Any) -> bool:
    """Whether indices of different elements lead to one place, other than by a stride of 0."""
    strides = [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1 and s]
    sizes = [n for s, n in zip(t.stride(), t.shape, strict=True) if n > 1 and s]
    places = sum((s * i for s, i in zip(strides, np.indices(sizes), strict=True)), np.zeros(sizes))
    return len(np.unique(places)) < places.size


class Run:
    """A program, step by step, in one library."""

    def __init__(self, library: Any, shape: tuple[int, ...], dtype: str) -> None:
        self.library = library
        n = int(np.prod(shape))
        self.pool = [library.arange(n, dtype=getattr(library, dtype)).view(shape)]

    def step(self, name: str, *where: int) -> bool:
        """Whether a step was possible; its result, if it has one, joins the pool."""
        t, u = (self.pool[-1 - k % len(self.pool)] for k in where[:2])
        try:
            result = FUNCTIONS[name](self.library, t, u, where[2])
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
            return False
        if name not in WRITES:
            self.pool.append(result)
        return True

    def target(self, where: int) -> Any:
        return self.pool[-1 - where % len(self.pool)]

    def seen(self) -> list[Any]:
        """What a program can see of the memory of the pool."""
        return [
            (
                t.tolist(),
                [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1 and t.numel()],
                t.storage_offset() if t.numel() else 0,
                t.is_contiguous(),
                [storage(t) == storage(u) for u in self.pool if t.numel() and u.numel()],
            )
            for t in self.pool
        ]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.torch
@settings(max_examples=200, deadline=None)
@given(
    shape=shapes,
    dtype=st.sampled_from(["float64", "int64", "int32"]),
    program=st.lists(step, min_size=2, max_size=9),
)
def test_views_and_writes(
    shape: tuple[int, ...], dtype: str, program: list[tuple[Any, ...]], torch: Any
) -> None:
    ours, theirs = Run(wengert, shape, dtype), Run(torch, shape, dtype)
    for name, *where in program:
        if name in WRITES and name not in OF_ONE_VALUE and overlaps(theirs.target(where[0])):
            continue  # PyTorch does not say in which order it writes
        if not 0 < theirs.target(where[0]).numel() <= 5_000:
            continue  # PyTorch lets any index pass where there are no elements
        assert ours.step(name, *where) == theirs.step(name, *where), name
        assert ours.seen() == theirs.seen(), name
