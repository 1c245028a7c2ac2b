"""Matrix products, and convolutions in each of their three directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from workloads._workload import Compile, Step, Workload, data, weight


class Shape(NamedTuple):
    """A convolution of a square image."""

    batch: int
    channels: int
    size: int
    filters: int
    kernel: int = 3
    stride: int = 1
    padding: int = 1
    transposed: bool = False

    def __str__(self) -> str:
        stride = f", stride {self.stride}" if self.stride > 1 else ""
        name = "transposed conv" if self.transposed else "conv"
        image = f"{self.batch}x{self.channels}x{self.size}x{self.size}"
        return f"{name} {self.kernel}x{self.kernel}{stride}, {image} to {self.filters}"

    def arrays(self) -> tuple[Any, Any]:
        """Images and weights."""
        channels = (self.channels, self.filters)
        kernel = channels if self.transposed else channels[::-1]
        shape = (*kernel, self.kernel, self.kernel)
        return data("x", self.batch, self.channels, self.size, self.size), weight("w", shape)


SHAPES = (
    Shape(1, 64, 112, 128),
    Shape(1, 128, 112, 128),
    Shape(1, 256, 56, 256),
    Shape(1, 512, 28, 512),
    Shape(16, 64, 32, 64),
    Shape(32, 3, 32, 32),
    Shape(64, 64, 16, 128, kernel=4, stride=2),
    Shape(8, 64, 56, 256, kernel=1, padding=0),
    Shape(32, 1, 28, 32),
    Shape(64, 128, 4, 64, kernel=4, stride=2, transposed=True),
)
DIRECTIONS = ("forward", "gradient of the images", "gradient of the weights")


def conv(shape: Shape, direction: int) -> Callable[[Any, Compile], Step]:
    """One direction in PyTorch's API; the forward that a gradient needs ran before."""

    def build(library: Any, compiled: Compile) -> Step:
        functional = library.nn.functional
        function = functional.conv_transpose2d if shape.transposed else functional.conv2d
        x, w = map(library.from_numpy, shape.arrays())
        if direction == 0:
            return lambda: function(x, w, stride=shape.stride, padding=shape.padding)
        wanted = (x, w)[direction - 1].requires_grad_(True)
        y = function(x, w, stride=shape.stride, padding=shape.padding)
        cotangent = library.from_numpy(data("g", *y.shape))
        return lambda: library.autograd.grad(y, wanted, cotangent, retain_graph=True)[0]

    return build


def conv_jax(shape: Shape, direction: int) -> Callable[[], Step]:
    """One direction in jax, which drops the forward of a gradient."""

    def build() -> Step:
        import jax
        import jax.numpy as jnp

        from workloads import _jax

        layer = _jax.conv_transposed if shape.transposed else _jax.conv

        def function(x: Any, w: Any) -> Any:
            return layer({"w.weight": w}, "w", x, shape.stride, shape.padding)

        x, w = _jax.arrays(shape.arrays())
        if direction == 0:
            forward = jax.jit(function)
            return lambda: forward(x, w)

        @jax.jit
        def gradient(x: Any, w: Any, cotangent: Any) -> Any:
            return jax.vjp(function, x, w)[1](cotangent)[direction - 1]

        cotangent = jnp.array(data("g", *jax.eval_shape(function, x, w).shape))
        return lambda: gradient(x, w, cotangent)

    return build


def product(size: int) -> Workload:
    """A product of two square matrices."""

    def arrays() -> tuple[Any, Any]:
        return data("a", size, size), data("b", size, size)

    def make(library: Any, compiled: Compile) -> Step:
        a, b = map(library.from_numpy, arrays())
        return lambda: a @ b

    def make_jax() -> Step:
        import jax

        from workloads import _jax

        a, b = _jax.arrays(arrays())
        multiply = jax.jit(lambda a, b: a @ b)
        return lambda: multiply(a, b)

    return Workload(f"matrix product, n = {size}", make, make_jax, ONE_KERNEL, seconds=0.05)


ONE_KERNEL = "one kernel, the same as without torch.compile"
FAMILY = [
    *(product(size) for size in (512, 1024, 2048)),
    *(
        Workload(f"{shape}, {name}", conv(shape, i), conv_jax(shape, i), ONE_KERNEL, seconds=0.05)
        for shape in SHAPES
        for i, name in enumerate(DIRECTIONS)
    ),
]
