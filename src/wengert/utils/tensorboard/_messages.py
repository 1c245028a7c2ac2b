"""Parts of which summaries are made: tensors, and the plugin that shows a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.utils.tensorboard._packages import proto


def metadata_of(plugin: str, content: Any = None) -> Any:
    """Which plugin shows a value, and what the plugin wants to know about it."""
    messages = proto("summary").SummaryMetadata
    data = {} if content is None else {"content": content.SerializeToString()}
    return messages(plugin_data=messages.PluginData(plugin_name=plugin, **data))


def tensor_message(dtype: str, shape: Sequence[int] | None, **values: Any) -> Any:
    """A tensor of TensorFlow's, with its values in the field of its dtype."""
    shapes = proto("tensor_shape").TensorShapeProto
    sizes = {} if shape is None else {"tensor_shape": shape_message(shapes, shape)}
    return proto("tensor").TensorProto(dtype=dtype, **sizes, **values)


def shape_message(shapes: Any, shape: Sequence[int]) -> Any:
    """A shape of TensorFlow's."""
    return shapes(dim=[shapes.Dim(size=size) for size in shape])


def summary_of(tag: str, **fields: Any) -> Any:
    """A summary with one value."""
    messages = proto("summary").Summary
    return messages(value=[messages.Value(tag=tag, **fields)])
