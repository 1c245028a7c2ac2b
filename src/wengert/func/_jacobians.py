"""Jacobians and Hessians: derivatives along a basis, all at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from wengert.autograd.transforms.tree import flatten_tree, unflatten_tree
from wengert.autograd.transforms.vmap import vmap
from wengert.core.tensor import Tensor, wrap
from wengert.func._derivatives import Argnums, Chosen, jvp, vjp
from wengert.ops.shape import movedim, reshape
from wengert.ops.splitting import split


def basis(values: list[Any]) -> list[Tensor]:
    """For each value the unit tensors of all values that fall on it, one below the other."""
    sizes = [prod(x.shape) for x in values]
    total, start = sum(sizes), 0
    units = []
    for x, n in zip(values, sizes, strict=True):
        rows = np.zeros((total, n), x._array.dtype)
        rows[np.arange(start, start + n), np.arange(n)] = 1
        units.append(wrap(rows.reshape(total, *x.shape)))
        start += n
    return units


def _check_real(name: str, which: str, leaves: list[Any]) -> None:
    """A derivative in a complex number is no single number."""
    for i, x in enumerate(leaves):
        if isinstance(x, Tensor) and x.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {which} to be real but received complex tensor at flattened"
                f" input idx: {i}"
            )


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func`, in reverse mode.

    For an output of shape `m` and an argument of shape `n` that is a tensor of shape `m + n`.
    One walk over the graph, with a batch of as many cotangents as the output has elements;
    `chunk_size` limits how many at a time.

    >>> import wengert
    >>> wengert.func.jacrev(lambda x: x**2)(wengert.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"jacrev: `chunk_size` should be greater than 0, got {chunk_size}")

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(args, argnums)
        _check_real("jacrev", "inputs", flatten_tree(args)[0])

        def of_leaves(*leaves: Any) -> Any:
            return func(*chosen.replaced(leaves), **kwargs)

        value, pull, *aux = vjp(of_leaves, *chosen.leaves, has_aux=has_aux)
        outputs, spec = flatten_tree(value)
        _check_real("jacrev", "outputs", outputs)
        unit = basis(outputs)
        rows = vmap(lambda *gs: pull(unflatten_tree(gs, spec)), chunk_size=chunk_size)(
            *unit
        )  # one item per leaf: (all elements of all outputs, *shape of the leaf)
        sizes = [prod(y.shape) for y in outputs]
        blocks = [
            [
                reshape(block, (*y.shape, *x.shape))
                for block, y in zip(split(row, sizes), outputs, strict=True)
            ]
            for row, x in zip(rows, chosen.leaves, strict=True)
        ]
        blocks_of_outputs = unflatten_tree(
            [chosen.tree(list(column)) for column in zip(*blocks, strict=True)], spec
        )
        return (blocks_of_outputs, aux[0]) if has_aux else blocks_of_outputs

    return jacobian


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func`, in forward mode: see `jacrev`.

    Fit for functions with more outputs than inputs.

    >>> import wengert
    >>> wengert.func.jacfwd(lambda x: x**2)(wengert.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(args, argnums)
        _check_real("jacfwd", "inputs", flatten_tree(args)[0])

        def push(*tangents: Any) -> Any:
            def of_leaves(*leaves: Any) -> Any:
                return func(*chosen.replaced(leaves), **kwargs)

            results = jvp(of_leaves, tuple(chosen.leaves), tangents, has_aux=has_aux)
            return results[1:] if has_aux else results[1]

        columns = vmap(push, randomness=randomness)(*basis(chosen.leaves))
        columns, aux = columns if has_aux else (columns, None)
        outputs, spec = flatten_tree(columns)
        _check_real("jacfwd", "outputs", outputs)
        sizes = [prod(x.shape) for x in chosen.leaves]
        results = []
        for column in outputs:  # (all elements of all leaves, *shape of the output)
            shape = tuple(column.shape[1:])
            columns_of_leaves = split(movedim(column, 0, -1), sizes, -1)
            blocks = [
                reshape(p, (*shape, *x.shape))
                for p, x in zip(columns_of_leaves, chosen.leaves, strict=True)
            ]
            results.append(chosen.tree(blocks))
        if has_aux:
            leaves, tree = flatten_tree(aux)
            return unflatten_tree(results, spec), unflatten_tree([x[0] for x in leaves], tree)
        return unflatten_tree(results, spec)

    return jacobian


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that computes the Hessian of `func`: forward over reverse mode.

    >>> import wengert
    >>> wengert.func.hessian(lambda x: (x**3).sum())(wengert.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
