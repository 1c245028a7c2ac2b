"""Single operations at sizes from 1e3 to 1e7, forward alone and with their backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads._workload import Compile, Step, Workload, data

# Exponent of the number of elements -> rows and columns.
SIZES = {3: (10, 100), 4: (100, 100), 5: (100, 1000), 6: (1000, 1000), 7: (10000, 1000)}

# What each does with torch or wengert and one or more tensors.
TORCH: dict[str, Callable[..., Any]] = {
    "add": lambda m, x, y: x + y,
    "mul": lambda m, x, y: x * y,
    "exp": lambda m, x: m.exp(x),
    "tanh": lambda m, x: m.tanh(x),
    "sigmoid": lambda m, x: m.sigmoid(x),
    "relu": lambda m, x: m.relu(x),
    "gelu": lambda m, x: m.nn.functional.gelu(x),
    "sum": lambda m, x: x.sum(),
    "mean": lambda m, x: x.mean(),
    "softmax of rows": lambda m, x: m.softmax(x, 1),
    "layer norm": lambda m, x: m.nn.functional.layer_norm(x, x.shape[1:]),
    "gelu(x * 1.5 + 0.5)": lambda m, x: m.nn.functional.gelu(x * 1.5 + 0.5),
}
# The gradients of the first are those that came; of the second, a number.
NO_BACKWARD = ("add", "mean")


def inputs_of(op: str, shape: tuple[int, ...]) -> list[Any]:
    """One array, or two."""
    return [data(name, *shape) for name in ("x", "y")[: 2 if op in ("add", "mul") else 1]]


def make(op: str, shape: tuple[int, ...], backward: bool) -> Callable[[Any, Compile], Step]:
    """The operation in PyTorch's API."""

    def build(library: Any, compiled: Compile) -> Step:
        function = TORCH[op]
        call = compiled(lambda *inputs: function(library, *inputs))
        inputs = [library.from_numpy(a).requires_grad_(backward) for a in inputs_of(op, shape)]
        if not backward:
            return lambda: call(*inputs)
        cotangent = library.from_numpy(data("g", *call(*inputs).shape))
        grad = library.autograd.grad

        def step() -> Any:
            y = call(*inputs)
            return y, *grad(y, inputs, cotangent)

        return step

    return build


def make_jax(op: str, shape: tuple[int, ...], backward: bool) -> Callable[[], Step]:
    """The operation in jax."""

    def build() -> Step:
        import jax
        import jax.numpy as jnp

        from workloads import _jax

        def normed(x: Any) -> Any:
            return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

        functions: dict[str, Callable[..., Any]] = {
            "add": jnp.add, "mul": jnp.multiply, "exp": jnp.exp, "tanh": jnp.tanh,
            "sigmoid": jax.nn.sigmoid, "relu": jax.nn.relu, "sum": jnp.sum, "mean": jnp.mean,
            "gelu": lambda x: jax.nn.gelu(x, approximate=False),
            "softmax of rows": jax.nn.softmax, "layer norm": normed,
            "gelu(x * 1.5 + 0.5)": lambda x: jax.nn.gelu(x * 1.5 + 0.5, approximate=False),
        }  # fmt: skip
        function = functions[op]
        inputs = _jax.arrays(inputs_of(op, shape))
        if not backward:
            call = jax.jit(function)
            return lambda: call(*inputs)

        @jax.jit
        def both(cotangent: Any, *inputs: Any) -> Any:
            y, back = jax.vjp(function, *inputs)
            return y, *back(cotangent)

        cotangent = jnp.array(data("g", *jax.eval_shape(function, *inputs).shape))
        return lambda: both(cotangent, *inputs)

    return build


def workload(op: str, exponent: int, backward: bool) -> Workload:
    """A row."""
    part = "forward and backward" if backward else "forward"
    arguments = op, SIZES[exponent], backward
    return Workload(
        f"{op}, {part}, 1e{exponent}", make(*arguments), make_jax(*arguments),
        unit="us", seconds=0.01,
    )  # fmt: skip


FAMILY = [
    workload(op, exponent, backward)
    for op in TORCH
    for backward in (False, True)[: 1 if op in NO_BACKWARD else 2]
    for exponent in SIZES
]
