"""What each call of a `SummaryWriter` writes, as a message that TensorBoard reads."""

from __future__ import annotations

import io
import json
import warnings
import wave
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.tensor import as_tensor
from wengert.utils.tensorboard._arrays import logged_array
from wengert.utils.tensorboard._hparams import hparams as hparams
from wengert.utils.tensorboard._messages import metadata_of, summary_of, tensor_message
from wengert.utils.tensorboard._packages import proto, tensorboard
from wengert.utils.tensorboard._pictures import draw_boxes as draw_boxes
from wengert.utils.tensorboard._pictures import image as image
from wengert.utils.tensorboard._pictures import image_boxes as image_boxes
from wengert.utils.tensorboard._pictures import make_image as make_image
from wengert.utils.tensorboard._pictures import make_video as make_video
from wengert.utils.tensorboard._pictures import video as video

__all__ = [
    "audio", "compute_curve", "custom_scalars", "draw_boxes", "histogram", "histogram_raw",
    "hparams", "image", "image_boxes", "make_histogram", "make_image", "make_video", "mesh",
    "pr_curve", "pr_curve_raw", "scalar", "tensor_proto", "text", "video",
]  # fmt: skip

_MOST_THRESHOLDS = 127  # TensorBoard shows no more
_LEAST_COUNT = 1e-7  # instead of a division by zero

# The dtype and the field of TensorFlow's that have a dtype's values.
_FIELDS = {
    "bool": ("DT_BOOL", "bool_val"),
    "uint8": ("DT_UINT8", "int_val"),
    "int8": ("DT_INT8", "int_val"),
    "int16": ("DT_INT16", "int_val"),
    "int32": ("DT_INT32", "int_val"),
    "int64": ("DT_INT64", "int64_val"),
    "bfloat16": ("DT_BFLOAT16", "half_val"),
    "float16": ("DT_HALF", "half_val"),
    "float32": ("DT_FLOAT", "float_val"),
    "float64": ("DT_DOUBLE", "double_val"),
    "complex64": ("DT_COMPLEX64", "scomplex_val"),
    "complex128": ("DT_COMPLEX128", "dcomplex_val"),
}


def scalar(
    name: str,
    tensor: Any,
    collections: Any = None,
    new_style: bool = False,
    double_precision: bool = False,
) -> Any:
    """A summary of a number. Raises AssertionError for more than one element."""
    values = logged_array(tensor).squeeze()
    if values.ndim != 0:
        raise AssertionError(
            f"scalar_value: expected one element, got {values.size} of shape {values.shape}"
        )
    number = float(values)
    if not new_style:
        return summary_of(name, simple_value=number)
    if double_precision:
        message = tensor_message("DT_DOUBLE", None, double_val=[number])
    else:
        message = tensor_message("DT_FLOAT", None, float_val=[number])
    return summary_of(name, tensor=message, metadata=metadata_of("scalars"))


def tensor_proto(tag: str, tensor: Tensor) -> Any:
    """A summary of a tensor. Raises ValueError for a dtype without a counterpart, or 2 GB."""
    if tensor.nbytes >= 1 << 31:
        raise ValueError(f"{tag}: a tensor of {tensor.nbytes} bytes; messages have less than 2 GB")
    values = tensor.detach().numpy()
    if values.dtype.name not in _FIELDS:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    dtype, field = _FIELDS[values.dtype.name]
    if field == "half_val":
        values = values.reshape(-1).view(np.uint16)  # the bits
    elif values.dtype.kind == "c":
        values = values.reshape(-1).view(values.real.dtype)
    message = tensor_message(dtype, tensor.shape, **{field: values.reshape(-1).tolist()})
    return summary_of(tag, tensor=message, metadata=metadata_of("tensor"))


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """A summary of the distribution of some values."""
    return summary_of(
        name, histo=make_histogram(logged_array(values).astype(float), bins, max_bins)
    )


def make_histogram(values: np.ndarray, bins: Any, max_bins: int | None = None) -> Any:
    """The message of a histogram, from the bin before the first that has values to the last.

    Raises ValueError without values, or if no value is in a bin.
    """
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _coarser(counts, limits, len(counts) // max_bins)
    occupied = np.flatnonzero(counts)
    if not occupied.size:
        raise ValueError(f"bins: none of the {len(values)} values is between the first and last")
    first, last = int(occupied[0]), int(occupied[-1])
    counts = np.concatenate([[0], counts])[first : last + 2]
    return proto("summary").HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits[first : last + 2].tolist(),
        bucket=counts.tolist(),
    )


def _coarser(counts: np.ndarray, limits: np.ndarray, factor: int) -> tuple[np.ndarray, np.ndarray]:
    """Bins that are each made of several."""
    counts = np.pad(counts, (0, -len(counts) % factor))
    return counts.reshape(-1, factor).sum(axis=1), np.append(limits[:-1:factor], limits[-1])


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: int,
    sum: float,
    sum_squares: float,
    bucket_limits: Sequence[float],
    bucket_counts: Sequence[float],
) -> Any:
    """A summary of a histogram that has been computed already."""
    message = proto("summary").HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares,
        bucket_limit=bucket_limits, bucket=bucket_counts,
    )  # fmt: skip
    return summary_of(name, histo=message)


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """A summary of a sound: one channel, from -1 to 1; louder is clipped, with a warning."""
    sound = logged_array(tensor).squeeze()
    if sound.ndim != 1:
        raise AssertionError(f"snd_tensor: expected one dimension, got shape {sound.shape}")
    if abs(sound).max() > 1:
        warnings.warn(f"add_audio({tag!r}): amplitudes beyond -1 and 1 are clipped", stacklevel=3)
    samples = (sound.clip(-1, 1) * np.iinfo(np.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(samples.tobytes())
    message = proto("summary").Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return summary_of(tag, audio=message)


def text(tag: str, text: str) -> Any:
    """A summary of a text in Markdown."""
    content = tensorboard("plugins.text.plugin_data_pb2").TextPluginData(version=0)
    message = tensor_message("DT_STRING", [1], string_val=[text.encode()])
    return summary_of(f"{tag}/text_summary", metadata=metadata_of("text", content), tensor=message)


def pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None
) -> Any:
    """A summary of precision and recall at each threshold."""
    count = min(num_thresholds, _MOST_THRESHOLDS)
    return _curve_summary(tag, compute_curve(labels, predictions, count, weights), count)


def pr_curve_raw(
    tag: str,
    tp: Any,
    fp: Any,
    tn: Any,
    fn: Any,
    precision: Any,
    recall: Any,
    num_thresholds: int = 127,
    weights: Any = None,
) -> Any:
    """A summary of precision and recall that have been computed already."""
    curve = np.stack(list(map(logged_array, (tp, fp, tn, fn, precision, recall))))
    return _curve_summary(tag, curve, min(num_thresholds, _MOST_THRESHOLDS))


def _curve_summary(tag: str, curve: np.ndarray, count: int) -> Any:
    plugin = tensorboard("plugins.pr_curve.plugin_data_pb2")
    content = plugin.PrCurvePluginData(version=0, num_thresholds=count)
    message = tensor_message("DT_FLOAT", curve.shape, float_val=curve.reshape(-1).tolist())
    return summary_of(tag, metadata=metadata_of("pr_curves", content), tensor=message)


def compute_curve(
    labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None
) -> np.ndarray:
    """Six rows: true and false positives, true and false negatives, precision, recall."""
    truth, scores = logged_array(labels).astype(float), logged_array(predictions)
    weight = 1.0 if weights is None else logged_array(weights)
    bins = np.floor(scores * (num_thresholds - 1)).astype(np.int32)

    def at_or_above(counted: np.ndarray) -> np.ndarray:
        span = 0, num_thresholds - 1
        counts, _ = np.histogram(bins, num_thresholds, span, weights=counted * weight)
        return counts[::-1].cumsum()[::-1]

    positives, negatives = at_or_above(truth), at_or_above(1 - truth)
    missed = positives[0] - positives
    precision = positives / np.maximum(_LEAST_COUNT, positives + negatives)
    recall = positives / np.maximum(_LEAST_COUNT, positives + missed)
    return np.stack((positives, negatives, negatives[0] - negatives, missed, precision, recall))


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> Any:
    """A summary of which scalars are shown in which chart: {category: {title: [kind, tags]}}."""
    messages = tensorboard("plugins.custom_scalar.layout_pb2")
    categories = [
        messages.Category(title=name, chart=[_chart(messages, *chart) for chart in charts.items()])
        for name, charts in layout.items()
    ]
    content = messages.Layout(category=categories).SerializeToString()
    message = tensor_message("DT_STRING", [], string_val=[content])
    metadata = metadata_of("custom_scalars")
    return summary_of("custom_scalars__config__", tensor=message, metadata=metadata)


def _chart(messages: Any, title: str, chart: Sequence[Any]) -> Any:
    kind, tags = chart[0], chart[1]
    if kind != "Margin":
        return messages.Chart(title=title, multiline=messages.MultilineChartContent(tag=tags))
    if len(tags) != 3:
        raise AssertionError(f"tags={tags!r}: expected 3, of a value, its lower and upper bound")
    series = messages.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
    return messages.Chart(title=title, margin=messages.MarginChartContent(series=[series]))


def mesh(
    tag: str,
    vertices: Any,
    colors: Any,
    faces: Any,
    config_dict: Mapping[str, Any] | None,
    display_name: str | None = None,
    description: str | None = None,
) -> Any:
    """A summary of meshes or clouds of points: a value for each of vertices, faces, colors."""
    metadata = tensorboard("plugins.mesh.metadata")
    kinds = tensorboard("plugins.mesh.plugin_data_pb2").MeshPluginData
    arrays = {kinds.VERTEX: vertices, kinds.FACE: faces, kinds.COLOR: colors}
    arrays = {k: logged_array(as_tensor(v)) for k, v in arrays.items() if v is not None}
    components = metadata.get_components_bitmask(list(arrays))
    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    messages = proto("summary").Summary
    values = [
        messages.Value(
            tag=metadata.get_instance_name(tag, kind),
            tensor=tensor_message("DT_FLOAT", array.shape, float_val=array.reshape(-1).tolist()),
            metadata=metadata.create_summary_metadata(
                tag, display_name, kind, components, array.shape, description, json_config=config
            ),
        )
        for kind, array in arrays.items()
    ]
    return messages(value=values)
