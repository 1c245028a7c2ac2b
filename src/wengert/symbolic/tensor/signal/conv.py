"""``theano.tensor.signal.conv``: convolutions of images that have no channels."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.expressions.indexing import index
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.tensor.nnet.abstract_conv import conv2d as conv2d_of_channels


def conv2d(input: Any, filters: Any, image_shape: Any = None, filter_shape: Any = None,
           border_mode: Any = "valid", subsample: Any = (1, 1), **options: Any
           ) -> Any:  # fmt: skip
    """Each filter, mirrored, laid over each image.

    Args:
        input: an image, or images of (batch, rows, columns).
        filters: a filter, or filters of (outputs, rows, columns).
        image_shape, filter_shape: what is known of the shapes; not needed.
        border_mode: "valid", "full" or "half".

    The result has a dimension for images where there are several, and one for filters.

    >>> from wengert.symbolic import tensor as T
    >>> T.signal.conv.conv2d([[1.0, 2.0, 3.0]], [[1.0, 10.0]]).eval()
    array([[12., 23.]])
    """
    x, w = as_tensor_variable(input), as_tensor_variable(filters)
    for what, v in (("input", x), ("filters", w)):
        if v.ndim not in (2, 3):
            raise Exception(f"conv2d: {what} must have 2 or 3 dimensions, and {v} is {v.type}")
    images = x.dimshuffle(0, "x", 1, 2) if x.ndim == 3 else x.dimshuffle("x", "x", 0, 1)
    kernels = w.dimshuffle(0, "x", 1, 2) if w.ndim == 3 else w.dimshuffle("x", "x", 0, 1)
    out = conv2d_of_channels(images, kernels, border_mode=border_mode, subsample=subsample)
    return index(out, (slice(None) if x.ndim == 3 else 0, slice(None) if w.ndim == 3 else 0))
