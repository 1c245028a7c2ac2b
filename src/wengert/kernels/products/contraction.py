"""Contractions of arrays whose axes carry labels, brought to transposes and matrix products.

A label is any hashable value; in each array it has one size.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wengert.kernels.layout import arranged
from wengert.kernels.products.matmul import product
from wengert.kernels.reduction import total

Labels = tuple[Hashable, ...]


def contract(a: np.ndarray, b: np.ndarray, la: Labels, lb: Labels, lo: Labels) -> Any:
    """The product of two arrays, summed over the labels that `lo` lacks.

    No label repeats within an array, and a label of one array alone occurs in `lo`.
    """
    if not in_order(la, lb, lo):
        return contract(b, a, lb, la, lo)
    batch, summed, left, right = groups_of(la, lb, lo)
    sizes = dict(zip(la + lb, a.shape + b.shape, strict=True))
    if all(sizes[x] == 1 for x in summed):  # NumPy is slow at batches of products of inner size 1
        (a, la), (b, lb) = (_without(x, labels, summed) for x, labels in ((a, la), (b, lb)))
        return _outer(a, b, la, lb, lo)
    m, k, n = (math.prod(sizes[x] for x in group) for group in (left, summed, right))
    many = tuple(sizes[x] for x in batch)
    x = _arranged(a, la, batch + left + summed).reshape(*many, m, k)
    y = _arranged(b, lb, batch + summed + right).reshape(*many, k, n)
    out = np.ascontiguousarray(product(x, y))
    out = out.reshape(tuple(sizes[x] for x in batch + left + right))
    return _arranged(out, tuple(batch + left + right), list(lo))


def groups_of(la: Labels, lb: Labels, lo: Labels) -> tuple[list[Hashable], ...]:
    """The labels of batches, of what is summed, and those of one array alone."""
    return (
        [x for x in lo if x in la and x in lb],
        [x for x in la if x in lb and x not in lo],
        [x for x in lo if x not in lb],
        [x for x in lo if x not in la],
    )


def in_order(la: Labels, lb: Labels, lo: Labels) -> bool:
    """Whether the product of the two, and not of the second and the first, lies as `lo` says."""
    _, _, left, right = groups_of(la, lb, lo)
    return not left or not right or lo.index(right[-1]) > lo.index(left[0])


def _arranged(array: np.ndarray, labels: Labels, order: list[Hashable]) -> np.ndarray:
    return array if list(labels) == order else array.transpose([labels.index(x) for x in order])


def _without(array: np.ndarray, labels: Labels, dropped: list[Hashable]) -> tuple[Any, Labels]:
    """An array without some axes of length 1."""
    axes = tuple(d for d, x in enumerate(labels) if x in dropped)
    return array.squeeze(axes), tuple(x for x in labels if x not in dropped)


def _outer(a: np.ndarray, b: np.ndarray, la: Labels, lb: Labels, lo: Labels) -> Any:
    """The product of two arrays where nothing is summed."""

    def aligned(array: np.ndarray, labels: Labels) -> Any:
        array = _arranged(array, labels, [x for x in lo if x in labels])
        return array[tuple(slice(None) if x in labels else None for x in lo)]

    x, y = aligned(a, la), aligned(b, lb)
    return arranged(np.asarray(x * y), (x, y))


def _diagonals(array: np.ndarray, labels: Labels) -> tuple[np.ndarray, Labels]:
    """A view with each label once, which NumPy recognises as a view of the array."""
    writeable = array.flags.writeable
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            array = array.diagonal(0, first, second)  # whose axis comes last
            labels = (*(x for d, x in enumerate(labels) if d not in (first, second)), label)
    array.flags.writeable = writeable
    return array, labels


def _diagonal_view(array: np.ndarray, labels: Labels) -> tuple[np.ndarray, Labels]:
    """A view with each label once, along whose axis all axes of that label move together."""
    unique = tuple(dict.fromkeys(labels))
    strides = [
        sum(s for s, label in zip(array.strides, labels, strict=True) if label == x) for x in unique
    ]
    shape = [array.shape[labels.index(x)] for x in unique]
    return as_strided(array, shape, strides), unique


def rearrange(array: np.ndarray, source: Labels, target: Labels) -> np.ndarray:
    """Diagonals of repeated labels, sums over those that `target` lacks, axes in its order."""
    if len(set(source)) < len(source):
        array, source = _diagonals(array, source)
    dropped = tuple(d for d, x in enumerate(source) if x not in target)
    if dropped:
        array = np.asarray(total(array, dropped)).astype(array.dtype, copy=False)
        source = tuple(x for x in source if x in target)
    return _arranged(array, source, list(target))


def spread(g: np.ndarray, shape: tuple[int, ...], source: Labels, target: Labels) -> np.ndarray:
    """The adjoint of `rearrange`: an array of `shape` with axes `source`."""
    repeats = len(set(source)) < len(source)
    out = np.zeros(shape, g.dtype) if repeats else np.empty(0, g.dtype)
    view, unique = _diagonal_view(out, source) if repeats else (out, source)
    lengths = dict(zip(source, shape, strict=True))
    missing = [x for x in unique if x not in target]
    order = missing + list(target)
    full = np.broadcast_to(g, tuple(lengths[x] for x in order))
    full = _arranged(full, tuple(order), list(unique))
    if not repeats:
        return full
    view[...] = full
    return out
