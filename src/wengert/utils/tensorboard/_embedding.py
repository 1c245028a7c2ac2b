"""The files of TensorBoard's projector: points, their labels, their pictures."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from wengert.utils.tensorboard._arrays import in_a_grid, logged_array
from wengert.utils.tensorboard._packages import pillow, tensorboard

_TENSORS, _METADATA, _SPRITE = "tensors.tsv", "metadata.tsv", "sprite.png"
_ESCAPES = str.maketrans({sign: f"%{ord(sign):02x}" for sign in "%/\\"})


def folder_of(tag: str, step: int) -> str:
    """Where the files of an embedding are, below those of the run."""
    return f"{step:05d}/{tag.translate(_ESCAPES)}"


def save_points(folder: Path, points: np.ndarray) -> None:
    """A line for each point."""
    lines = ("\t".join(str(value) for value in point.tolist()) + "\n" for point in points)
    (folder / _TENSORS).write_text("".join(lines), encoding="utf-8")


def save_labels(folder: Path, labels: Sequence[Any], header: Sequence[str] | None) -> None:
    """A line for each point; with a header, a column for each of its names."""
    if header and len(header) != len(labels[0]):
        raise AssertionError(
            f"metadata_header={header!r}: expected a name for each of {len(labels[0])} columns"
        )
    rows = ["\t".join(map(str, row)) for row in [header, *labels]] if header else map(str, labels)
    (folder / _METADATA).write_text("\n".join(rows) + "\n", encoding="utf-8")


def save_pictures(folder: Path, pictures: Any) -> None:
    """The pictures of all points, in a square."""
    images = logged_array(pictures)
    grid = in_a_grid(images, math.ceil(math.sqrt(len(images)))).transpose(1, 2, 0)
    square = np.zeros((grid.shape[1], grid.shape[1], 3))
    square[: grid.shape[0]] = grid
    png = io.BytesIO()
    pillow("Image").fromarray((square * 255).clip(0, 255).astype(np.uint8)).save(png, format="PNG")
    (folder / _SPRITE).write_bytes(png.getvalue())


def description(tag: str, step: int, has_labels: bool, picture_size: Sequence[int] | None) -> Any:
    """What the projector is told about an embedding."""
    folder = folder_of(tag, step)
    info = tensorboard("plugins.projector.projector_config_pb2").EmbeddingInfo()
    info.tensor_name = f"{tag}:{step:05d}"
    info.tensor_path = f"{folder}/{_TENSORS}"
    if has_labels:
        info.metadata_path = f"{folder}/{_METADATA}"
    if picture_size is not None:
        info.sprite.image_path = f"{folder}/{_SPRITE}"
        info.sprite.single_image_dim.extend(picture_size)
    return info


def save_descriptions(folder: Path, descriptions: Sequence[Any]) -> None:
    """The file that tells the projector of all embeddings of a run."""
    text_format = import_module("google.protobuf.text_format")
    config = tensorboard("plugins.projector.projector_config_pb2").ProjectorConfig
    text = text_format.MessageToString(config(embeddings=descriptions))
    (folder / "projector_config.pbtxt").write_text(text, encoding="utf-8")
