"""Summaries of images and videos."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.utils.tensorboard._arrays import channels_last, logged_array, side_by_side
from wengert.utils.tensorboard._packages import pillow, proto


def _bytes_of(values: np.ndarray) -> np.ndarray:
    """Values from 0 to 1, or bytes, as bytes."""
    scale = 1 if values.dtype == np.uint8 else 255
    return (values.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """A summary of an image, or of several in a grid; floats go from 0 to 1."""
    pixels = _bytes_of(channels_last(logged_array(tensor), dataformats))
    return _summary(tag, make_image(pixels, rescale))


def image_boxes(
    tag: str,
    tensor_image: Any,
    tensor_boxes: Any,
    rescale: float = 1,
    dataformats: str = "CHW",
    labels: Sequence[str] | None = None,
) -> Any:
    """A summary of an image with boxes (left, top, right, bottom) drawn on it."""
    pixels = _bytes_of(channels_last(logged_array(tensor_image), dataformats))
    return _summary(tag, make_image(pixels, rescale, logged_array(tensor_boxes), labels))


def make_image(
    tensor: np.ndarray,
    rescale: float = 1,
    rois: np.ndarray | None = None,
    labels: Sequence[str] | None = None,
) -> Any:
    """The message of an image of bytes with the shape (H, W, C)."""
    images = pillow("Image")
    height, width, channels = tensor.shape
    size = int(width * rescale), int(height * rescale)
    picture = images.fromarray(tensor)
    if rois is not None:
        picture = draw_boxes(picture, rois, labels)
    png = io.BytesIO()
    picture.resize(size, images.Resampling.LANCZOS).save(png, format="PNG")
    return proto("summary").Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=png.getvalue()
    )


def draw_boxes(disp_image: Any, boxes: np.ndarray, labels: Sequence[str] | None = None) -> Any:
    """A picture of Pillow's, after red boxes and their labels have been drawn on it."""
    font = pillow("ImageFont").load_default()
    draw = pillow("ImageDraw").Draw(disp_image)
    for index, (left, top, right, bottom) in enumerate(boxes[:, :4]):
        corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        draw.line(corners, width=2, fill="Red")
        if labels is None or not labels[index]:
            continue
        x0, y0, x1, y1 = font.getbbox(labels[index])
        margin = np.ceil(0.05 * (y1 - y0))
        above = bottom - (y1 - y0) - margin
        draw.rectangle([(left, above - margin), (left + x1 - x0, bottom)], fill="Red")
        draw.text((left + margin, above), labels[index], fill="black", font=font)
    return disp_image


def video(tag: str, tensor: Any, fps: float = 4) -> Any:
    """A summary of videos of shape (N, T, C, H, W), side by side, as an animated GIF."""
    frames = logged_array(tensor)
    if frames.ndim != 5:
        raise ValueError(f"vid_tensor: expected shape (N, T, C, H, W), got {frames.shape}")
    return _summary(tag, make_video(_bytes_of(side_by_side(frames)), fps))


def make_video(tensor: np.ndarray, fps: float) -> Any:
    """The message of a video of bytes with the shape (T, H, W, C)."""
    _, height, width, channels = tensor.shape
    first, *others = map(pillow("Image").fromarray, tensor.squeeze(3) if channels == 1 else tensor)
    gif = io.BytesIO()
    first.save(gif, format="GIF", save_all=True, append_images=others, duration=1000 / fps, loop=0)
    return proto("summary").Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=gif.getvalue()
    )


def _summary(tag: str, message: Any) -> Any:
    messages = proto("summary").Summary
    return messages(value=[messages.Value(tag=tag, image=message)])
