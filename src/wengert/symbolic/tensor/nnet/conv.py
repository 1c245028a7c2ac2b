"""``theano.tensor.nnet.conv``: the convolution of old programs."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.tensor.nnet import abstract_conv

_HINTS = {
    "unroll_batch", "unroll_kern", "unroll_patch", "imshp_logical", "kshp_logical",
    "kshp_logical_top_aligned", "direction_hint", "version", "verbose", "openmp",
}  # fmt: skip


def conv2d(input: Any, filters: Any, image_shape: Any = None, filter_shape: Any = None,
           border_mode: Any = "valid", subsample: Any = (1, 1), **hints: Any) -> Any:  # fmt: skip
    """The convolution of images of (batch, channels, rows, columns), filters mirrored.

    Args:
        input, filters, border_mode, subsample: as of `nnet.conv2d`.
        image_shape, filter_shape: what is known of the shapes; not needed.
        hints: how Theano was to write its loops, such as `unroll_batch`: accepted.
    """
    if not hints.keys() <= _HINTS:
        raise TypeError(f"conv2d: unknown arguments {sorted(hints.keys() - _HINTS)}")
    return abstract_conv.conv2d(input, filters, image_shape, filter_shape, border_mode, subsample)
