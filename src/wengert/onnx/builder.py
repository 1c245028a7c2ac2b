"""Building an ONNX graph: its nodes, constants and values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray


class Value(NamedTuple):
    """A value of an ONNX graph, and what is known of it.

    Attributes:
        name: in the graph.
        dtype: NumPy's.
        shapes: its shape in each recording of the program; the first is the example's.
    """

    name: str
    dtype: np.dtype[Any]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in the example."""
        return self.shapes[0]

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shapes[0])

    def size(self, dim: int) -> int | None:
        """The size of a dimension if it is the same in all recordings."""
        sizes = {shape[dim] for shape in self.shapes}
        return sizes.pop() if len(sizes) == 1 else None

    def axis(self, dim: int) -> int:
        """A dimension counted from the front."""
        return dim % max(self.rank, 1)


class Builder:
    """Writes nodes; conversions of operations are written with it.

    Attributes:
        nodes: protocol buffers of the nodes.
        initializers: the constants by name.
        out: what the operation that is being converted gives: its dtype and shape.
    """

    def __init__(self, onnx: Any, opset: int) -> None:
        self.opset = opset
        self.helper, self.numpy_helper = onnx.helper, onnx.numpy_helper
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.where: str = ""
        self.out: Value = Value("", np.dtype(np.float32), ((),))
        self._names: set[str] = set()
        self._constants: dict[Any, str] = {}

    def name(self, like: str) -> str:
        """A name that nothing in the graph has."""
        name, k = like, 0
        while name in self._names:
            k += 1
            name = f"{like}_{k}"
        self._names.add(name)
        return name

    def __call__(self, op: str, *inputs: Any, **attributes: Any) -> str:
        """The name of the output of a node. None stands for an input that is left out."""
        return self.several(op, 1, *inputs, **attributes)[0]

    def several(self, op: str, count: int, *inputs: Any, **attributes: Any) -> list[str]:
        """The names of the first outputs of a node."""
        names = ["" if x is None else x.name if isinstance(x, Value) else x for x in inputs]
        while names and not names[-1]:
            names.pop()
        outputs = [self.name(op.lower()) for _ in range(count)]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        node = self.helper.make_node(op, names, outputs, name=f"node_{outputs[0]}", **attributes)
        node.doc_string = self.where
        self.nodes.append(node)
        return outputs

    def constant(self, value: Any, dtype: Any = None) -> str:
        """A constant of the graph."""
        array = np.asarray(value, dtype)
        key = (array.tobytes(), array.dtype, array.shape) if array.size < 64 else None
        if key is not None and key in self._constants:
            return self._constants[key]
        name = self.initializer(self.name("constant"), array)
        if key is not None:
            self._constants[key] = name
        return name

    def initializer(self, name: str, array: Array) -> str:
        """A constant with a name."""
        if array.dtype.kind == "c":
            from wengert.onnx.errors import UnsupportedOperatorError

            raise UnsupportedOperatorError(f"{self.where}: ONNX has no complex constants")
        self._names.add(name)
        self.initializers[name] = self.numpy_helper.from_array(
            np.ascontiguousarray(array).reshape(array.shape), name
        )
        return name

    def type_of(self, dtype: Any) -> int:
        """ONNX's number of a dtype."""
        return int(self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def cast(self, value: Any, dtype: Any) -> str:
        """A tensor, a number or a size in a dtype."""
        if not isinstance(value, Value):
            return self.constant(value, dtype)
        if value.dtype == dtype:
            return value.name
        return self("Cast", value, to=self.type_of(dtype))

    def ints(self, items: int | Value | Iterable[Any]) -> str:
        """A vector of integers, some of which the graph computes."""
        items = [items] if isinstance(items, int | Value) else list(items)
        if all(not isinstance(x, Value) for x in items):
            return self.constant([int(x) for x in items], np.int64)
        zero = self.constant([0], np.int64)
        parts = [
            self("Unsqueeze", x, zero)
            if isinstance(x, Value)
            else self.constant([int(x)], np.int64)
            for x in items
        ]
        return parts[0] if len(parts) == 1 else self("Concat", *parts, axis=0)

    def reshape(self, value: Any, shape: Sequence[Any]) -> str:
        """A tensor in another shape, whose entries may be sizes that the graph computes."""
        return self(
            "Reshape",
            value,
            self.ints(shape),
            allowzero=1 if 0 in [s for s in shape if isinstance(s, int)] else None,
        )

    def scalar(self, number: float, dtype: Any) -> str:
        """A number as a 0-dimensional constant."""
        return self.constant(number, dtype)

    def refuse(self, why: str) -> Exception:
        """The error for a use of an operation that has no conversion."""
        from wengert.onnx.errors import UnsupportedOperatorError

        return UnsupportedOperatorError(f"{self.where}: {why}")


Conversion = Callable[..., Any]
CONVERSIONS: dict[str, Conversion] = {}


def converts(*names: str) -> Callable[[Conversion], Conversion]:
    """Register the conversion of operations.

    It is called as the operation was, with the builder in front and a `Value` for each tensor and
    for each size that the program computes, and returns the name of its result.
    """

    def register(conversion: Conversion) -> Conversion:
        for name in names:
            CONVERSIONS[name] = conversion
        return conversion

    return register
