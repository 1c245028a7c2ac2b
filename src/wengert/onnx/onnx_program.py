"""ONNXProgram: an exported model."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from wengert.autograd.transforms.tree import flatten_tree
from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.export import ExportedProgram
from wengert.onnx.errors import OnnxExporterError
from wengert.onnx.packages import onnx_package

_MOST_IN_ONE_FILE = 2**31 - 2**20  # protocol buffers end at 2 GiB


class ONNXProgram:
    """An exported model; calling it runs it by ONNX Runtime.

    Attributes:
        model_proto: the model as a protocol buffer.
        exported_program: the program that it was written from.

    >>> import wengert
    >>> program = wengert.export.export(wengert.nn.ReLU(), (wengert.ones(2),))
    >>> wengert.onnx.ONNXProgram(None, program).exported_program is program
    True
    """

    def __init__(self, model: Any, exported_program: ExportedProgram) -> None:
        self.model_proto, self.exported_program = model, exported_program
        self._session: Any = None

    @property
    def model(self) -> Any:
        """The model as a protocol buffer."""
        return self.model_proto

    def save(
        self, destination: str | os.PathLike[str], *, include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False, external_data: bool | None = None,
    ) -> None:  # fmt: skip
        """Write the model to a file; parameters beside it if asked to, or if they are too large."""
        onnx = onnx_package()
        if not include_initializers or keep_initializers_as_inputs:
            raise NotImplementedError("save(): a model without its parameters is not supported")
        path = os.fspath(destination)
        beside = external_data or self.model_proto.ByteSize() > _MOST_IN_ONE_FILE
        options: dict[str, Any] = {}
        if beside:
            name = f"{os.path.basename(path)}.data"
            options = {"save_as_external_data": True, "location": name}
        onnx.save_model(self.model_proto, path, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> list[Tensor]:
        """The outputs for these inputs, by ONNX Runtime."""
        leaves, _ = flatten_tree((args, kwargs))
        arrays = [memory_of(x) for x in leaves if isinstance(x, Tensor)]
        return [
            wrap(y)
            for y in self._runtime().run(None, dict(zip(self._names(), arrays, strict=True)))
        ]

    def _names(self) -> list[str]:
        constants = {x.name for x in self.model_proto.graph.initializer}
        return [x.name for x in self.model_proto.graph.input if x.name not in constants]

    def _runtime(self) -> Any:
        if self._session is None:
            try:
                import onnxruntime
            except ImportError as error:
                raise ImportError(
                    "an ONNX model runs by the package onnxruntime, which is not installed:"
                    " pip install onnxruntime"
                ) from error
            self._session = onnxruntime.InferenceSession(
                self.model_proto.SerializeToString(), providers=["CPUExecutionProvider"]
            )
        return self._session

    def verify(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise OnnxExporterError where the outputs differ from the module's."""
        results = self(*args, **kwargs)
        was_training = model.training
        model.eval()
        try:
            expected, _ = flatten_tree(model(*args, **kwargs))
        finally:
            model.train(was_training)
        for k, (a, b) in enumerate(zip(results, expected, strict=True)):
            if not np.allclose(memory_of(a), memory_of(b), rtol=1e-3, atol=1e-5, equal_nan=True):
                raise OnnxExporterError(f"output {k} of the ONNX model differs from the module's")

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        names = [[x.name for x in values] for values in (graph.input, graph.output)]
        return f"ONNXProgram(inputs={names[0]}, outputs={names[1]}, nodes={len(graph.node)})"
