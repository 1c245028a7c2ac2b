"""Images whose channels lie last, seen as volumes: their channels are the last dimension of space.

Windows have one channel then, and kernels go along runs of channels, as they lie.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from wengert.kernels.geometry import Geometry, Shape
from wengert.kernels.layout import is_channels_last


def are_images(x: np.ndarray) -> bool:
    """Whether an array (batch, channel, y, x) is of such images, without gaps."""
    return x.ndim == 4 and is_channels_last(x) and x.transpose(0, 2, 3, 1).flags.c_contiguous


def as_volumes(images: np.ndarray) -> np.ndarray:
    """(batch, channel, y, x) as (batch, 1, y, x, channel)."""
    return images.transpose(0, 2, 3, 1)[:, None]


def as_images(volumes: np.ndarray) -> np.ndarray:
    """The inverse of `as_volumes`."""
    return volumes[:, 0].transpose(0, 3, 1, 2)


@lru_cache(256)
def windows_of(
    channels: int, kernel: Shape, out: Shape, geometry: Geometry
) -> tuple[Shape, Shape, Geometry]:
    """The windows of volumes of so many channels, from those of images."""
    stride, padding, dilation, groups = geometry
    volumes = Geometry((*stride, 1), (*padding, (0, 0)), (*dilation, 1), groups)
    return (*kernel, 1), (*out, channels), volumes
