"""`torch.onnx.export`: a module, recorded and written as an ONNX model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wengert.autograd.transforms.tree import flatten_tree
from wengert.core.signals import contextmanager
from wengert.core.tensor import Tensor, memory_of
from wengert.export.exported_program import program_of
from wengert.export.tracing import TracedModule, input_names_of, trace_module
from wengert.fx import Node
from wengert.nn import Module
from wengert.onnx import conversions as conversions
from wengert.onnx.builder import Builder
from wengert.onnx.constants import OperatorExportTypes, TrainingMode, state
from wengert.onnx.conversion import GraphConversion
from wengert.onnx.errors import OnnxExporterError
from wengert.onnx.onnx_program import ONNXProgram
from wengert.onnx.packages import onnx_package

_IR_VERSION = 10
_WRITTEN = 18  # the oldest opset that models are written in
_OLDEST = 7  # the oldest one that onnx converts to


def export(
    model: Any, args: Any = (), f: str | os.PathLike[str] | None = None, *,
    kwargs: dict[str, Any] | None = None, verbose: bool | None = None,
    input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
    opset_version: int | None = None, dynamo: bool = True, external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: dict[Any, Callable[..., Any]] | None = None,
    report: bool = False, optimize: bool = True, verify: bool = False, profile: bool = False,
    dump_exported_program: bool = False, artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True, keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None, training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True, custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False, autograd_inlining: bool = True,
) -> ONNXProgram | None:  # fmt: skip
    """Record a module, in evaluation mode by default, and write it as an ONNX model.

    Args:
        model: the module.
        args: example inputs: a tuple, or a tensor; `kwargs` has those that have names.
        f: the file to write; None to write none.
        input_names: names of the inputs that are tensors, in order; so `output_names`.
        opset_version: of ONNX's operators; before 18, if onnx can convert the model.
        dynamo: if False, nothing is returned.
        dynamic_shapes: which sizes are dynamic, as for `wengert.export.export`.
        custom_translation_table: conversions by function, as of `wengert.onnx.builder`.
        dynamic_axes: dynamic dimensions by the names of inputs: ``{"x": {0: "batch"}}``.
        verify: compare the model with the module by ONNX Runtime.

    >>> import wengert
    >>> net = wengert.nn.Linear(2, 1)
    >>> wengert.onnx.export(net, (wengert.ones(3, 2),), opset_version=6)
    Traceback (most recent call last):
    ValueError: opset_version: expected 7 or newer, got 6

    Raises:
        ImportError: if the package onnx is not installed.
        UnsupportedOperatorError: if an operation has no conversion; it names the line.
        SizeError: (a RuntimeError) if it is not clear how a number follows a dynamic size.
    """
    opset = _WRITTEN if opset_version is None else opset_version
    _check_options(model, opset, export_params, custom_opsets, export_modules_as_functions)
    onnx = onnx_package()
    arguments, named = _arguments(args, kwargs)
    with _recording(model, training):
        by_name = dynamic_shapes is None and bool(dynamic_axes)
        if by_name:
            dynamic_shapes = _shapes_of_axes(model, arguments, named, input_names, dynamic_axes)
        traced = trace_module(model, arguments, named, dynamic_shapes, merge=by_name)
    writer = _Writer(onnx, model, traced, custom_translation_table or {}, max(opset, _WRITTEN))
    written = writer.model(input_names, output_names, keep_initializers_as_inputs)
    proto = written if opset >= _WRITTEN else _converted(onnx, written, opset)
    program = ONNXProgram(proto, program_of(model, traced, (arguments, named)))
    if verify:
        program.verify(model, arguments, named)
    if verbose:
        print(onnx.printer.to_text(proto))
    if f is not None:
        program.save(f, external_data=None)
    return program if dynamo else None


def _converted(onnx: Any, proto: Any, opset: int) -> Any:
    """A model in an older opset; OnnxExporterError if that has no such operators."""
    try:
        older = onnx.version_converter.convert_version(proto, opset)
        onnx.checker.check_model(older, full_check=True)
    except Exception as error:  # each has its own classes, in C++
        raise OnnxExporterError(
            f"export(): opset_version {opset} is too old for this model, which is written in opset"
            f" {_WRITTEN}; the package onnx cannot convert it: {str(error).strip()}"
        ) from error
    return older


def _check_options(
    model: Any, opset: int, export_params: bool, custom_opsets: Any, functions: Any
) -> None:
    if not isinstance(model, Module):
        raise TypeError(f"export(): argument 'model' must be a Module, not {type(model).__name__}")
    if opset < _OLDEST:
        raise ValueError(f"opset_version: expected {_OLDEST} or newer, got {opset}")
    for name, value in (
        ("custom_opsets", custom_opsets),
        ("export_modules_as_functions", functions),
    ):
        if value:
            raise NotImplementedError(f"export(): {name} is not supported")
    if not export_params:
        raise NotImplementedError("export(): export_params=False is not supported")


def _arguments(args: Any, kwargs: dict[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and named arguments; as in PyTorch a dict that ends `args` has named ones."""
    if not isinstance(args, tuple):
        args = tuple(args) if isinstance(args, list) else (args,)
    if args and isinstance(args[-1], dict) and kwargs is None:
        return args[:-1], args[-1]
    return args, dict(kwargs or {})


@contextmanager
def _recording(model: Module, training: TrainingMode) -> Any:
    """In the mode that is asked for; afterwards each module is in its own again."""
    before = [(m, m.training) for m in model.modules()]
    if training is not TrainingMode.PRESERVE:
        model.train(training is TrainingMode.TRAINING)
    state.exporting += 1
    try:
        yield
    finally:
        state.exporting -= 1
        for module, was_training in before:
            module.training = was_training


def _shapes_of_axes(
    model: Module, args: tuple[Any, ...], kwargs: dict[str, Any],
    input_names: Sequence[str] | None, dynamic_axes: Any,
) -> list[Any]:  # fmt: skip
    """`dynamic_shapes` from `dynamic_axes`, which go by the names of the tensors."""
    own = input_names_of(model, args, kwargs)
    leaves, _ = flatten_tree((args, kwargs))
    tensors = [k for k, x in enumerate(leaves) if isinstance(x, Tensor)]
    names = list(own)
    for k, name in zip(tensors, input_names or (), strict=False):
        names[k] = name
    entries: list[Any] = [None] * len(leaves)
    for k in tensors:
        axes = dynamic_axes.get(names[k], dynamic_axes.get(own[k]))
        if axes is not None and not isinstance(axes, Mapping):
            axes = {d: f"{names[k]}_dynamic_axes_{j + 1}" for j, d in enumerate(axes)}
        entries[k] = None if axes is None else dict(axes)
    return _nested(entries, args, kwargs)


def _nested(entries: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    remaining = iter(entries)

    def build(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: build(v) for k, v in value.items()}
        if isinstance(value, tuple | list):
            return [build(v) for v in value]
        return next(remaining)

    return [build(x) for x in (*args, *kwargs.values())]


class _Writer:
    """Writes a recorded module as a model."""

    def __init__(
        self, onnx: Any, model: Module, traced: TracedModule, custom: dict[Any, Any], opset: int
    ) -> None:
        self.onnx, self.traced = onnx, traced
        self.builder = Builder(onnx, opset)
        self.conversion = GraphConversion(self.builder, custom)
        self.state = dict(model.named_parameters()) | dict(model.named_buffers())
        self.state |= traced.recording.attributes

    def model(self, input_names: Any, output_names: Any, initializers_as_inputs: bool) -> Any:
        """The model."""
        graph = self.traced.recording.graph
        inputs = self._inputs(list(input_names or ()))
        results = self._output_names(list(output_names or ()))
        for node in graph.nodes:
            if node.op == "get_attr":
                path = str(node.target)
                array = memory_of(self.state[path])
                name = self.builder.initializer(self.builder.name(path), array)
                self.conversion.results[node] = name
        self.conversion.run(graph)
        outputs = self._outputs(results)
        used = {x for n in self.builder.nodes for x in n.input}
        constants = {k: v for k, v in self.builder.initializers.items() if k in used}
        helper = self.onnx.helper
        if initializers_as_inputs:
            inputs += [
                helper.make_tensor_value_info(k, v.data_type, list(v.dims))
                for k, v in constants.items()
            ]
        body = helper.make_graph(
            self.builder.nodes, "main_graph", inputs, outputs, list(constants.values())
        )
        opsets = [helper.make_opsetid("", self.builder.opset)]
        return helper.make_model(
            body, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="wengert"
        )

    def _info(self, name: str, node: Node) -> Any:
        value = self.conversion.value(node, name)
        dims = node.meta.get("dims", list(value.shape))
        shown = [d if d is not None else f"{name}_dim_{k}" for k, d in enumerate(dims)]
        return self.onnx.helper.make_tensor_value_info(
            name, self.builder.type_of(value.dtype), shown
        )

    def _inputs(self, names: list[str]) -> list[Any]:
        infos = []
        nodes = [n for n in self.traced.recording.graph.nodes if n.op == "placeholder"]
        tensors = [
            n for n, x in zip(nodes, self.traced.leaves, strict=True) if isinstance(x, Tensor)
        ]
        if len(names) > len(tensors):
            raise OnnxExporterError(
                f"input_names: {len(names)} names for {len(tensors)} inputs that are tensors"
            )
        for k, node in enumerate(tensors):
            own = self.traced.names[nodes.index(node)]
            name = self.builder.name(names[k] if k < len(names) else own)
            self.conversion.results[node] = name
            infos.append(self._info(name, node))
        return infos

    def _output_names(self, names: list[str]) -> list[str]:
        """The names of the outputs, which nothing else in the graph takes."""
        leaves = self._output_leaves()
        if len(names) > len(leaves):
            raise OnnxExporterError(f"output_names: {len(names)} names for {len(leaves)} outputs")
        own = [x.name if isinstance(x, Node) else "output" for x in leaves]
        return [self.builder.name(n) for n in names + own[len(names) :]]

    def _output_leaves(self) -> list[Any]:
        result = self.traced.recording.graph.output_node().args[0]
        return [x for x in flatten_tree(result)[0] if x is not None]

    def _outputs(self, names: list[str]) -> list[Any]:
        infos = []
        for k, leaf in enumerate(self._output_leaves()):
            if not isinstance(leaf, Node):
                raise OnnxExporterError(
                    f"output {k} is no tensor, but the constant {leaf!r}: ONNX has only tensors"
                )
            name = names[k]
            source = self.conversion.name_of(leaf)
            node = self.onnx.helper.make_node("Identity", [source], [name])
            self.builder.nodes.append(node)
            infos.append(self._info(name, leaf))
        return infos
