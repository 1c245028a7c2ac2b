"""Arrays of what programs log, and many pictures as one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor

_CHANNELS_FIRST, _CHANNELS_LAST = "NCHW", "HWC"


def logged_array(value: Any) -> np.ndarray:
    """The values of a tensor, an array or a number; bfloat16 as float16.

    Raises NotImplementedError for anything else.
    """
    if isinstance(value, np.ndarray):
        return value
    if np.isscalar(value):
        return np.array([value])
    if not isinstance(value, Tensor):
        raise NotImplementedError(
            f"Got {value!r} ({type(value)}): expected a number, an array or a tensor"
        )
    array = value.detach().numpy()
    return array.astype(np.float16) if array.dtype.name == "bfloat16" else array


def in_a_grid(images: np.ndarray, columns: int = 8) -> np.ndarray:
    """Images of shape (N, C, H, W) as one of shape (3, rows*H, columns*W)."""
    if images.ndim == 4 and images.shape[1] == 1:
        images = images.repeat(3, axis=1)
    if images.ndim != 4 or images.shape[1] != 3:
        raise AssertionError(
            f"images: expected shape (N, 3, H, W) or (N, 1, H, W), got {images.shape}"
        )
    count, channels, height, width = images.shape
    columns = min(count, columns)
    rows = math.ceil(count / columns)
    cells = np.zeros((rows * columns, channels, height, width), images.dtype)
    cells[:count] = images
    cells = cells.reshape(rows, columns, channels, height, width)
    return cells.transpose(2, 0, 3, 1, 4).reshape(channels, rows * height, columns * width)


def channels_last(images: np.ndarray, dataformats: str) -> np.ndarray:
    """An image, or a grid of images, with the shape (H, W, 3) from the order of its dimensions.

    Raises AssertionError where the order does not fit the shape.
    """
    order = dataformats.upper()
    if len(set(dataformats)) != len(dataformats) or len(order) != images.ndim:
        raise AssertionError(
            f"dataformats={dataformats!r}: expected a letter for each dimension of an image of"
            f" shape {images.shape}, none of them twice"
        )
    if len(order) == 4:
        batch = images.transpose([order.find(letter) for letter in _CHANNELS_FIRST])
        return in_a_grid(batch).transpose(1, 2, 0)
    if len(order) == 2:
        return np.stack([images.transpose([order.find(letter) for letter in "HW"])] * 3, axis=2)
    image = images.transpose([order.find(letter) for letter in _CHANNELS_LAST])
    return image.repeat(3, axis=2) if image.shape[2] == 1 else image


def side_by_side(videos: np.ndarray) -> np.ndarray:
    """Videos of shape (N, T, C, H, W) as one of shape (T, rows*H, columns*W, C).

    Rows and columns are powers of two; places without a video are black.
    """
    count, frames, channels, height, width = videos.shape
    if videos.dtype == np.uint8:
        videos = videos.astype(np.float32) / 255
    places = 1 << (count - 1).bit_length()
    rows = 1 << (count.bit_length() - 1) // 2
    cells = np.zeros((places, *videos.shape[1:]), videos.dtype)
    cells[:count] = videos
    cells = cells.reshape(rows, places // rows, frames, channels, height, width)
    cells = cells.transpose(2, 0, 4, 1, 5, 3)
    return cells.reshape(frames, rows * height, places // rows * width, channels)


def figure_image(figure: Any, close: bool) -> np.ndarray:
    """A figure of Matplotlib's as an image of shape (3, H, W)."""
    from wengert.utils.tensorboard._packages import matplotlib

    canvas = matplotlib("backends.backend_agg").FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1).copy()
    if close:
        matplotlib("pyplot").close(figure)
    return pixels
