"""Shapes, keys and writes inside of transforms, against torch.func."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert

pytestmark = pytest.mark.torch

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 5, 6))
V = RNG.standard_normal(3)
I = np.array([[0, 1], [2, 3], [3, -4]])  # noqa: E741
J = np.array([[1, 0], [2, 1], [0, 3]])
K = np.array([1, 3, 0])
MASK = np.array([True, False, True, True])

Key = Callable[..., Any]
ALL = slice(None)
KEYS: dict[str, Key] = {
    "one": lambda lib, i, j, k: i,
    "behind-slice": lambda lib, i, j, k: (ALL, i),
    "adjacent": lambda lib, i, j, k: (i, j),
    "divided": lambda lib, i, j, k: (i, ALL, j),
    "adjacent-behind": lambda lib, i, j, k: (ALL, i, j),
    "all": lambda lib, i, j, k: (i, j, j),
    "ellipsis": lambda lib, i, j, k: (..., i),
    "new-dimension": lambda lib, i, j, k: (None, i),
    "number": lambda lib, i, j, k: (1, i),
    "range": lambda lib, i, j, k: (i, slice(1, 3)),
    "outer": lambda lib, i, j, k: (i[:, None], j),
    "beside-shared": lambda lib, i, j, k: (i, lib.tensor([0, 1])),
    "divided-shared": lambda lib, i, j, k: (lib.tensor([0, 1]), ALL, i),
    "beside-single": lambda lib, i, j, k: (k, i),
    "single": lambda lib, i, j, k: k,
    "int32": lambda lib, i, j, k: i.to(lib.int32),
    "shared": lambda lib, i, j, k: lib.tensor([2, 0]),
    "shared-divided": lambda lib, i, j, k: (lib.tensor([2, 0]), ALL, lib.tensor([1, 4])),
    "shared-mask": lambda lib, i, j, k: lib.tensor(MASK.tolist()),
    "shared-mask-divided": lambda lib, i, j, k: (lib.tensor(MASK.tolist()), ALL, 1),
}
# What torch 2.13 refuses: an index of no dimensions inside of grad(), a write to divided indices.
NO_GRADIENT = {"single", "beside-single"}
NO_WRITE = {"shared-divided"}


def compare(torch: Any, make: Callable[[Any], Callable[..., Any]], *arrays: Any) -> None:
    """`make(library)` on the library's tensors of the arrays gives the same in both."""
    mine = make(wengert)(*[wengert.from_numpy(np.array(a)) for a in arrays])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch says of itself
        theirs = make(torch)(*[torch.from_numpy(np.array(a)) for a in arrays])
    if isinstance(mine, wengert.Tensor):
        mine, theirs = (mine,), (theirs,)
    for a, b in zip(mine, theirs, strict=True):
        assert a.shape == tuple(b.shape)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12, atol=1e-14)


def raises_alike(torch: Any, make: Callable[[Any], Callable[..., Any]], *arrays: Any) -> str:
    """Both raise an exception of one class; the message of ours."""
    kinds, texts = [], []
    for library in (torch, wengert):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            make(library)(*[library.from_numpy(np.array(a)) for a in arrays])
        kinds.append(caught.type)
        texts.append(str(caught.value))
    assert issubclass(kinds[1], kinds[0])
    return texts[1]


@pytest.mark.parametrize("name", KEYS)
def test_a_key_that_differs_between_samples(torch: Any, name: str) -> None:
    key = KEYS[name]
    compare(torch, lambda lib: lib.vmap(lambda x, i, j, k: x[key(lib, i, j, k)]), X, I, J, K)

    def of_shared(lib: Any) -> Any:
        x = lib.from_numpy(X[0].copy())
        return lib.vmap(lambda i, j, k: x[key(lib, i, j, k)])

    compare(torch, of_shared, I, J, K)


@pytest.mark.parametrize("name", KEYS)
def test_derivatives_of_a_key(torch: Any, name: str) -> None:
    key = KEYS[name]

    def tangent(lib: Any) -> Any:
        def one(x: Any, i: Any, j: Any, k: Any) -> Any:
            return lib.func.jvp(lambda y: y[key(lib, i, j, k)] ** 2, (x,), (x.cos(),))[1]

        return lib.vmap(one)

    compare(torch, tangent, X, I, J, K)

    def gradient(lib: Any) -> Any:
        return lib.vmap(lib.func.grad(lambda x, i, j, k: (x[key(lib, i, j, k)] ** 3).sum()))

    if name not in NO_GRADIENT:
        compare(torch, gradient, X, I, J, K)


def written(lib: Any, key: Key) -> Any:
    def function(x: Any, v: Any, i: Any, j: Any, k: Any) -> Any:
        y = x * 2
        y[key(lib, i, j, k)] = v
        return y

    return function


@pytest.mark.parametrize("name", [n for n in KEYS if n not in NO_WRITE])
def test_a_write_to_a_key(torch: Any, name: str) -> None:
    key = KEYS[name]
    compare(torch, lambda lib: lib.vmap(written(lib, key)), X, V, I, J, K)

    def tangent(lib: Any) -> Any:
        def one(x: Any, v: Any, *indices: Any) -> Any:
            function = lambda a, b: written(lib, key)(a, b, *indices)  # noqa: E731
            return lib.func.jvp(function, (x, v), (x.cos(), v.cos()))[1]

        return lib.vmap(one)

    compare(torch, tangent, X, V, I, J, K)

    def gradient(lib: Any) -> Any:
        loss = lambda *args: (written(lib, key)(*args) ** 3).sum()  # noqa: E731
        return lib.vmap(lib.func.grad(loss, argnums=(0, 1)))

    if name not in NO_GRADIENT:
        compare(torch, gradient, X, V, I, J, K)


def test_a_write_of_one_of_two_equal_places_has_the_tangent_of_what_is_there() -> None:
    def function(v: Any) -> Any:
        y = v * 0
        y[wengert.tensor([1, 1])] = v[:2]
        return y

    v = wengert.tensor([2.0, 3.0, 4.0])
    value, tangent = wengert.func.jvp(function, (v,), (wengert.tensor([10.0, 20.0, 30.0]),))
    assert value.tolist() == [0, 3, 0]
    assert tangent.tolist() == [0, 20, 0]


def recurrence(x: Any) -> Any:
    y = x.clone()
    for t in range(1, 4):
        y[t] = y[t - 1] + x[t] ** 2
    return y


def fresh(x: Any) -> Any:
    y = x.new_zeros(5)
    y[0] = x[1]
    y[2:4] = x[:2] * x[2:]
    return y


@pytest.mark.parametrize("transform", ["jacrev", "jacfwd", "hessian"])
def test_writes_in_derivatives(torch: Any, transform: str) -> None:
    x = X[0, 0, 0, :4]
    compare(torch, lambda lib: getattr(lib.func, transform)(recurrence), x)
    compare(torch, lambda lib: getattr(lib.func, transform)(fresh), x)


def test_writes_in_a_batch_of_derivatives(torch: Any) -> None:
    compare(torch, lambda lib: lib.vmap(recurrence), X[:, :, 0, 0])
    loss = lambda x: (recurrence(x) ** 2).sum()  # noqa: E731
    compare(torch, lambda lib: lib.vmap(lib.func.grad(loss)), X[:, :, 0, 0])
    compare(torch, lambda lib: lib.vmap(lib.func.jacfwd(fresh)), X[:, :, 0, 0])


def test_a_write_reaches_the_batch_and_its_views() -> None:
    def function(x: Any) -> Any:
        y = x.clone()
        column = y[:, 1]
        y[0] = 7
        return column

    found = wengert.vmap(function)(wengert.zeros(2, 3, 2))
    assert found.tolist() == [[7, 0, 0], [7, 0, 0]]


REFUSED = {
    "mask": lambda x, m: x[m],
    "write to a mask": lambda x, m: x.clone().__setitem__(m, 0.0),
    "masked_select": lambda x, m: x.masked_select(m),
    "nonzero": lambda x, m: x.nonzero(),
    "index_put of a mask": lambda x, m: x.index_put((m,), x[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_shapes_that_would_differ_between_samples(torch: Any, name: str) -> None:
    x = X[:, :, 0, 0]
    text = raises_alike(torch, lambda lib: lib.vmap(REFUSED[name]), x, x > 0)
    assert text.startswith("vmap: We do not support batching operators that can")


def test_indices_out_of_bounds(torch: Any) -> None:
    x, i = X[:, :, 0, 0], np.array([[0], [1], [4]])
    for function in (
        lambda x, i: x[i],
        lambda x, i: x[i - 5],
        lambda x, i: x.take(i),
        lambda x, i: x.gather(0, i),
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.index_copy(0, i, x[:1]),
        lambda x, i: x.index_fill(0, i, 1.0),
        lambda x, i: x.scatter(0, i, x[:1]),
    ):
        text = raises_alike(torch, lambda lib, f=function: lib.vmap(f), x, i)
        assert "4" in text or "-5" in text
    with pytest.raises(RuntimeError, match="index 4 is out of bounds for dimension 0 with size 4"):
        wengert.vmap(lambda x, i: x.index_add(0, i, x[:1]))(
            wengert.from_numpy(x.copy()), wengert.from_numpy(i)
        )


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "reshape": lambda lib, x: x.reshape(-1, 2),
    "view": lambda lib, x: x.contiguous().view(x.shape[0], -1),
    "flatten": lambda lib, x: lib.flatten(x, 1),
    "permute": lambda lib, x: x.permute(2, 0, 1),
    "transpose": lambda lib, x: x.transpose(0, -1).contiguous(),
    "expand": lambda lib, x: x[:1].expand(2, 3, -1, -1),
    "repeat": lambda lib, x: x.repeat(2, 1, 1, 2),
    "squeeze": lambda lib, x: x[:1].squeeze(),
    "unsqueeze": lambda lib, x: x.unsqueeze(-2),
    "flip": lambda lib, x: x.flip((0, -1)),
    "roll": lambda lib, x: lib.roll(x, 3),
    "cat": lambda lib, x: lib.cat([x, x * 2, x.new_zeros(0)], -2),
    "stack": lambda lib, x: lib.stack([x, x], 1),
    "split": lambda lib, x: x.split(2, -1),
    "unbind": lambda lib, x: x.unbind(1),
    "diagonal": lambda lib, x: x.diagonal(1, -1, 0),
    "diag_embed": lambda lib, x: lib.diag_embed(x[0], 1, 0, -1),
    "tril": lambda lib, x: x.tril(-1),
    "unfold": lambda lib, x: x.unfold(1, 2, 1),
    "as_strided": lambda lib, x: x.clone().as_strided((3, 2), (2, 3), 1),
    "where": lambda lib, x: lib.where(x > 0, x, x[0]),
    "masked_fill": lambda lib, x: x.masked_fill(x > 0, x.sum()),
    "masked_scatter": lambda lib, x: x.masked_scatter(x > 0, x * 2),
    "block_diag": lambda lib, x: lib.block_diag(x[0], x[1, 0]),
    "to": lambda lib, x: x.to(lib.int32) + x.bool(),
    "meshgrid": lambda lib, x: lib.meshgrid(x[0, 0], x[:, 0, 0], indexing="xy"),
    "slice_scatter": lambda lib, x: lib.slice_scatter(x, x[:, :2] * 2, 1, 1, 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batches_anywhere_and_in_batches(torch: Any, name: str) -> None:
    def place(d: int, where: int) -> Any:
        return lambda lib: lib.vmap(partial(FUNCTIONS[name], lib), in_dims=d, out_dims=where)

    def twice(lib: Any) -> Any:
        return lib.vmap(lib.vmap(partial(FUNCTIONS[name], lib), in_dims=2), in_dims=-1)

    for d, where in ((0, 0), (-1, 1), (2, -1), (1, 0)):
        compare(torch, place(d, where), X)
    compare(torch, twice, RNG.standard_normal((3, 4, 2, 5, 2)))


def test_batches_of_indices_in_batches(torch: Any) -> None:
    x, i = X[:, :, :, 0], I % 4

    def inside(lib: Any) -> Any:
        return lib.vmap(lambda x, i: lib.vmap(lambda j: x[j])(i))

    def outside(lib: Any) -> Any:
        return lambda x, i: lib.vmap(lambda k: lib.vmap(lambda y, j: y[k, j])(x, i[:, 0]))(i)

    def gathered(lib: Any) -> Any:
        return lib.vmap(lambda x, i: lib.vmap(lambda y: y.gather(0, i), in_dims=1)(x))

    def added(lib: Any) -> Any:
        return lib.vmap(lambda x, i: lib.vmap(lambda j: x.index_add(0, j[None], x[:1]))(i))

    for make in (inside, outside, gathered, added):
        compare(torch, make, x, i)


def test_an_empty_batch() -> None:
    x, i = wengert.zeros(0, 4, 3), wengert.zeros(0, 2, dtype=wengert.int64)
    assert wengert.vmap(lambda x, i: x[i])(x, i).shape == (0, 2, 3)
    assert wengert.vmap(lambda x: x.reshape(-1)[1:])(x).shape == (0, 11)
    assert wengert.vmap(lambda x, i: x.index_add(0, i, x[:2]))(x, i).shape == (0, 4, 3)


def test_a_window_stays_within_its_sample() -> None:
    with pytest.raises(RuntimeError, match=r"as_strided\(\) with size \[5\] can access memory"):
        wengert.vmap(lambda x: x.as_strided((5,), (1,)))(wengert.zeros(3, 4))


def test_a_window_of_a_tangent_that_is_laid_out_otherwise() -> None:
    x = wengert.from_numpy(X[0, 0].copy())
    v = wengert.from_numpy(X[1, 0].copy().T.copy().T)
    function = lambda y: y.as_strided((4, 2), (3, 5), 2)  # noqa: E731
    tangent = wengert.func.jvp(function, (x,), (v,))[1]
    np.testing.assert_array_equal(tangent.numpy(), function(v.contiguous()).numpy())
