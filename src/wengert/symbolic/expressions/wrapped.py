"""Functions of the library's tensors as operations of expression graphs.

Such an operation has derivatives of any order by autograd: the gradient of a wrapped function is a
wrapped function, which runs the first one and walks back through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.autograd import enable_grad, grad, no_grad
from wengert.core.tensor import Tensor, wrap
from wengert.ops.matrices import LinAlgError
from wengert.symbolic.dtypes import CONTINUOUS
from wengert.symbolic.expressions.elemwise import float_zeros
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation, disconnected


class Pullback:
    """The gradients of a function's inputs, as a function of the inputs and output gradients."""

    def __init__(self, function: Callable[..., Any], nin: int, wrt: tuple[int, ...]) -> None:
        self.function, self.nin, self.wrt = function, nin, wrt

    def __call__(self, *values: Any) -> Any:
        recorded = any(v.requires_grad for v in values)
        with enable_grad():
            inputs = list(values[: self.nin])
            for k in self.wrt:
                if not inputs[k].requires_grad:
                    inputs[k] = inputs[k].detach().requires_grad_()
            out = self.function(*inputs)
            outs = list(out) if isinstance(out, tuple | list) else [out]
            pairs = [
                (y, g) for y, g in zip(outs, values[self.nin :], strict=True) if y.requires_grad
            ]
            gradients = grad(
                [y for y, _ in pairs], [inputs[k] for k in self.wrt], [g for _, g in pairs],
                create_graph=recorded, allow_unused=True, materialize_grads=True,
            )  # fmt: skip
        return gradients if len(gradients) > 1 else gradients[0]

    def _key(self) -> Any:
        return self.function, self.nin, self.wrt

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pullback) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class Wrapped(Operation):
    """A function of tensors, applied to the values of variables."""

    __props__ = ("name", "function", "types")

    def __init__(
        self, name: str, function: Callable[..., Any], types: Sequence[TensorType]
    ) -> None:
        self.name, self.function, self.types = name, function, tuple(types)

    def make_node(self, *inputs: Any) -> Apply:
        """Its outputs have the types it was made with."""
        return Apply(self, [as_tensor_variable(x) for x in inputs], [t() for t in self.types])

    def compute(self, *values: np.ndarray) -> Any:
        """Call the function on tensors."""
        try:
            with no_grad():
                out = self.function(*[wrap(np.asarray(v)) for v in values])
        except LinAlgError as error:  # programs expect NumPy's
            raise np.linalg.LinAlgError(str(error)) from None
        if isinstance(out, tuple | list):
            return tuple(_array(o, t) for o, t in zip(out, self.types, strict=True))
        return _array(out, self.types[0])

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """A `Pullback`, wrapped."""
        wrt = tuple(k for k, x in enumerate(inputs) if x.dtype in CONTINUOUS)
        if not wrt:
            return [float_zeros(x) for x in inputs]
        function = Pullback(self.function, len(inputs), wrt)
        op = Wrapped(f"{self.name}Grad", function, [inputs[k].type for k in wrt])
        gradients = [
            fill_like(y) if g is None or g.type == disconnected().type else g
            for y, g in zip(outputs, output_gradients, strict=True)
        ]
        results = dict(zip(wrt, op(*inputs, *gradients, return_list=True), strict=True))
        return [results.get(k) or float_zeros(x) for k, x in enumerate(inputs)]

    def __str__(self) -> str:
        return self.name


def fill_like(y: Any) -> Any:
    """Zeros for an output that nothing depends on."""
    return float_zeros(y)


def _array(out: Tensor, type: TensorType) -> np.ndarray:
    array = out.numpy()
    return array if array.dtype == type.numpy_dtype else array.astype(type.numpy_dtype)


class Bound:
    """A function with arguments by name, equal to another of the same function and arguments."""

    def __init__(self, function: Callable[..., Any], *args: Any, **options: Any) -> None:
        self.function, self.args = function, args
        self.options = tuple(sorted(options.items()))

    def __call__(self, *inputs: Any, **more: Any) -> Any:
        return self.function(*inputs, *self.args, **dict(self.options), **more)

    def _key(self) -> Any:
        return self.function, self.args, self.options

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bound) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class Composed(Bound):
    """What programs make by a class of Theano's and apply to variables: here an expression.

    A subclass has the `function` of variables that builds it; arguments of the class go to that.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(self.function, *args, **options)
