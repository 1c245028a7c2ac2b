"""A model as a graph of TensorBoard's, from the operations that a call of it records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.autograd.transforms.tree import flatten_tree, map_leaves
from wengert.core.tensor import Tensor
from wengert.graph import NodeInfo, describe
from wengert.utils.tensorboard._messages import shape_message
from wengert.utils.tensorboard._packages import proto

_PRODUCER = 22  # of the format that TensorBoard reads


def graph_of(model: Any, inputs: Any) -> tuple[Any, Any]:
    """The graph of a call of a model in eval mode, and when its operations ran: at no time.

    What autograd records is in it: the operations that the output depends on through floating
    point numbers. Raises RuntimeError if there are none.
    """
    arguments = inputs if isinstance(inputs, tuple | list) else (inputs,)
    was_training = model.training
    model.eval()
    try:
        outputs = model(*map_leaves(_watched, arguments))
    finally:
        model.train(was_training)
    roots = [t for t in flatten_tree(outputs)[0] if isinstance(t, Tensor) and t.requires_grad]
    if not roots:
        raise RuntimeError("add_graph: no output of the model depends on an input or a parameter")
    nodes = list(_nodes(describe(*roots).nodes))
    versions = proto("versions").VersionDef(producer=_PRODUCER)
    steps = proto("step_stats")
    stats = steps.StepStats(dev_stats=[steps.DeviceStepStats(device="/device:CPU:0")])
    run = proto("config").RunMetadata(step_stats=stats)
    return proto("graph").GraphDef(node=nodes, versions=versions), run


def _watched(value: Any) -> Any:
    """A tensor whose way through the model is recorded."""
    if isinstance(value, Tensor) and value.is_floating_point():
        return value.detach().requires_grad_()
    return value


def _nodes(recorded: tuple[NodeInfo, ...]) -> Iterator[Any]:
    messages, values = proto("node_def"), proto("attr_value").AttrValue
    shapes = proto("tensor_shape").TensorShapeProto
    names = [_name(node) for node in recorded]
    for node, name in zip(recorded, names, strict=True):
        shape = values.ListValue(shape=[shape_message(shapes, node.shape)])
        yield messages.NodeDef(
            name=name,
            op=node.kind if node.state != "leaf" else "Parameter" if node.name else "Input",
            input=[names[index] for index in node.inputs if index is not None],
            attr={"_output_shapes": values(list=shape), "attr": values(s=node.where.encode())},
        )


def _name(node: NodeInfo) -> str:
    """A path of modules: TensorBoard draws a box around what has the beginning in common."""
    if node.state == "leaf":
        return f"{node.name or 'input'}/{node.index}".replace(".", "/")
    return "/".join([*node.module.split("."), f"{node.op}_{node.index}"]).lstrip("/")


def onnx_graph_of(path: Any) -> Any:
    """The graph of an ONNX file. Raises ModuleNotFoundError without the package onnx."""
    from onnx import load

    model = load(path).graph
    messages, values = proto("node_def"), proto("attr_value").AttrValue
    shapes = proto("tensor_shape").TensorShapeProto
    nodes = []
    for value in [*model.input, *model.output]:
        kind = value.type.tensor_type
        shape = shape_message(shapes, [size.dim_value for size in kind.shape.dim])
        attributes = {"dtype": values(type=kind.elem_type), "shape": values(shape=shape)}
        nodes.append(messages.NodeDef(name=value.name, op="Variable", attr=attributes))
    for node in model.node:
        words = [" = ".join(str(f) for _, f in part.ListFields()) for part in node.attribute]
        attributes = {"parameters": values(s=", ".join(words).encode())}
        name, inputs = node.output[0], node.input
        nodes.append(messages.NodeDef(name=name, op=node.op_type, input=inputs, attr=attributes))
    versions = proto("versions").VersionDef(producer=_PRODUCER)
    return proto("graph").GraphDef(node=nodes, versions=versions)
