"""Neighbourhoods of images as the rows of a matrix, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import ops
from wengert.core.tensor import wrap
from wengert.symbolic.expressions.arithmetic import int_div
from wengert.symbolic.expressions.creation import zeros
from wengert.symbolic.expressions.indexing import index, set_subtensor
from wengert.symbolic.expressions.structure import reshape
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.expressions.wrapped import Bound, Wrapped

MODES = ("valid", "half", "full", "wrap_centered", "ignore_borders")


def _places(length: int, size: int, step: int, mode: str) -> np.ndarray:
    """The places of each neighbourhood along one dimension, as rows."""
    within = np.arange(size)
    if mode == "wrap_centered":
        if size % 2 == 0:
            raise TypeError(f"wrap_centered: neib_shape has to be odd, got {size}")
        if length < size:
            raise TypeError(f"wrap_centered: {length} elements, and neighbourhoods of {size}")
        starts = np.arange(0, length, step)
        return np.asarray((starts[:, None] + within - size // 2) % length)
    beyond = length - size
    if mode != "ignore_borders" and (beyond < 0 or beyond % step):
        raise TypeError(
            f"neib_shape {size}, neib_step {step} and an image of {length} elements are not"
            " consistent; mode='ignore_borders' leaves out what is beyond"
        )
    return np.asarray(np.arange(0, max(beyond + 1, 0), step)[:, None] + within)


def _neighbourhoods(x: Any, sizes: Any, steps: Any, mode: str) -> Any:
    sides = []
    for dim, size, step in zip((2, 3), sizes.tolist(), steps.tolist(), strict=True):
        if size < 1 or step < 1:
            raise ValueError(f"neib_shape and neib_step have to be positive: {size}, {step}")
        margin = {"half": size // 2, "full": size - 1}.get(mode, 0)
        length = x.shape[dim] + 2 * margin
        places = _places(length, size, step, mode) - margin
        outside = (places < 0) | (places >= x.shape[dim])
        sides.append((places.clip(0, max(x.shape[dim] - 1, 0)), outside))
    (rows, above), (columns, beside) = sides
    picked = x[:, :, rows.tolist()][..., columns.tolist()]  # images, channels, row, i, column, j
    outside = above[:, :, None, None] | beside[None, None]
    if outside.any():
        picked = ops.where(wrap(outside), picked.new_zeros(()), picked)
    return picked.permute(0, 1, 2, 4, 3, 5).reshape(-1, rows.shape[1] * columns.shape[1])


def images2neibs(ten4: Any, neib_shape: Any, neib_step: Any = None, mode: str = "valid") -> Any:
    """Neighbourhoods of images (of image, channel, row and column), each as a row of a matrix.

    Args:
        ten4: the images.
        neib_shape: rows and columns of a neighbourhood.
        neib_step: rows and columns from one to the next; by default they do not overlap.
        mode: "valid" if they have to fit, "ignore_borders" to leave out what is beyond the last,
            "half" and "full" with zeros around, "wrap_centered" around every step, beginning anew
            at the other side.

    Raises TypeError where neighbourhoods do not fit.

    >>> import numpy as np
    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dtensor4("x")
    >>> rows = T.nnet.neighbours.images2neibs(x, (2, 2))
    >>> function([x], rows)(np.arange(8.0).reshape(1, 1, 2, 4))
    array([[0., 1., 4., 5.],
           [2., 3., 6., 7.]])
    """
    if mode not in MODES:
        raise NotImplementedError(f"mode has to be one of {', '.join(MODES)}, got {mode!r}")
    x, sizes = as_tensor_variable(ten4), as_tensor_variable(neib_shape)
    steps = sizes if neib_step is None else as_tensor_variable(neib_step)
    if (x.ndim, sizes.ndim, steps.ndim) != (4, 1, 1):
        raise TypeError(f"images2neibs: images of 4 dimensions and vectors, got {x.type}")
    out = TensorType(x.dtype, (False, False))
    return Wrapped("Images2Neibs", Bound(_neighbourhoods, mode=mode), [out])(x, sizes, steps)


def neibs2images(neibs: Any, neib_shape: Any, original_shape: Any, mode: str = "valid") -> Any:
    """Images from neighbourhoods that do not overlap, as `images2neibs` gives them.

    With "ignore_borders" what was left out is zero. Raises NotImplementedError for other modes.
    """
    neibs, sizes = as_tensor_variable(neibs), as_tensor_variable(neib_shape)
    shape = as_tensor_variable(original_shape)
    if mode not in ("valid", "ignore_borders"):
        raise NotImplementedError(f"neibs2images: mode has to be 'valid', got {mode!r}")
    r, c = index(sizes, 0), index(sizes, 1)
    images, channels, height, width = (index(shape, k) for k in range(4))
    across, down = int_div(height, r), int_div(width, c)
    tiles = reshape(neibs, (images, channels, across, down, r, c), 6)
    covered = (images, channels, across * r, down * c)
    whole = reshape(tiles.dimshuffle(0, 1, 2, 4, 3, 5), covered, 4)
    if mode == "valid":
        return whole
    empty = zeros((images, channels, height, width), dtype=neibs.dtype)
    return set_subtensor(empty[:, :, : across * r, : down * c], whole)
