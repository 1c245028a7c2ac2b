"""Classifiers of images: convolutions and batch norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads._workload import (
    Compile,
    Shapes,
    Step,
    Workload,
    conv,
    data,
    fill,
    labels,
    linear,
    norm,
    training,
    weights,
)


def head(nn: Any, classes: int) -> Any:
    """Three linear layers after the trunk."""
    return nn.Sequential(
        nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, classes)
    )


def two_heads(batch: int) -> Callable[[Any, Compile], Step]:
    """The network of examples/two_heads.py: one trunk, a backward for each of two losses."""

    def make(library: Any, compiled: Compile) -> Step:
        nn = library.nn

        def block(inputs: int, outputs: int) -> tuple[Any, ...]:
            return nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()

        model = nn.Module()
        model.trunk = nn.Sequential(
            *block(1, 16), *block(16, 32), nn.MaxPool2d(2), *block(32, 64), nn.MaxPool2d(2),
            nn.Flatten(),
        )  # fmt: skip
        model.digit, model.odd = head(nn, 10), head(nn, 2)
        fill(library, model)
        optimizer = library.optim.Adam(model.parameters(), lr=1e-3)
        x, digit, odd = map(library.from_numpy, two_heads_data(batch))

        @compiled
        def losses_of(x: Any, digit: Any, odd: Any) -> Any:
            features = model.trunk(x)
            return tuple(
                nn.functional.cross_entropy(head(features), target)
                for head, target in ((model.digit, digit), (model.odd, odd))
            )

        update = compiled(optimizer.step)

        def step() -> Any:
            digit_loss, odd_loss = losses_of(x, digit, odd)
            optimizer.zero_grad()
            digit_loss.backward(retain_graph=True)
            odd_loss.backward()
            update()
            return digit_loss + odd_loss

        return step

    return make


def two_heads_data(batch: int) -> tuple[Any, ...]:
    """Images, digits, odd or not."""
    digits = labels(batch, 10)
    return data("x", batch, 1, 8, 8), digits, digits % 2


def two_heads_jax(batch: int) -> Callable[[], Step]:
    """Its losses are added before the one backward, as everybody would do there."""

    def make() -> Step:
        import jax

        from workloads import _jax

        shapes: Shapes = {}
        for i, inputs, outputs in ((0, 1, 16), (3, 16, 32), (7, 32, 64)):
            shapes |= conv(f"trunk.{i}", inputs, outputs, 3) | norm(f"trunk.{i + 1}", outputs)
        for name, classes in (("digit", 10), ("odd", 2)):
            for i, inputs, outputs in ((0, 256, 64), (2, 64, 32), (4, 32, classes)):
                shapes |= linear(f"{name}.{i}", inputs, outputs)

        def loss_of(params: Any, x: Any, digit: Any, odd: Any) -> Any:
            for i, pooled in ((0, False), (3, True), (7, True)):
                x = _jax.conv(params, f"trunk.{i}", x, padding=1)
                x = jax.nn.relu(_jax.batch_norm(params, f"trunk.{i + 1}", x))
                x = _jax.max_pool(x) if pooled else x
            features = x.reshape(len(x), -1)
            loss = 0.0
            for name, target in (("digit", digit), ("odd", odd)):
                y = jax.nn.relu(_jax.linear(params, f"{name}.0", features))
                y = jax.nn.relu(_jax.linear(params, f"{name}.2", y))
                loss += _jax.cross_entropy(_jax.linear(params, f"{name}.4", y), target)
            return loss

        return _jax.training(weights(shapes), _jax.adam(1e-3), loss_of, *two_heads_data(batch))

    return make


# Of the residual blocks: channels in and out, stride.
BLOCKS = ((32, 32, 1), (32, 64, 2), (64, 128, 2))
RESNET_BATCH = 32


def resnet(library: Any, compiled: Compile) -> Step:
    """A convolution, three residual blocks, the mean over all pixels, a linear layer."""
    nn, relu = library.nn, library.nn.functional.relu

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
            self.norm1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
            self.norm2 = nn.BatchNorm2d(outputs)
            self.shortcut = nn.Identity()
            if stride > 1:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x: Any) -> Any:
            y = self.norm2(self.conv2(relu(self.norm1(self.conv1(x)))))
            return relu(y + self.shortcut(x))

    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
        *(Block(*block) for block in BLOCKS), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(128, 10),
    )  # fmt: skip
    fill(library, model)

    @compiled
    def loss_of(x: Any, target: Any) -> Any:
        return nn.functional.cross_entropy(model(x), target)

    update = library.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return training(compiled, update, loss_of, *map(library.from_numpy, resnet_data()))


def resnet_data() -> tuple[Any, Any]:
    """Images and classes."""
    return data("x", RESNET_BATCH, 3, 32, 32), labels(RESNET_BATCH, 10)


def resnet_jax() -> Step:
    """The same in jax."""
    import jax

    from workloads import _jax

    shapes = conv("0", 3, 32, 3, bias=False) | norm("1", 32) | linear("8", 128, 10)
    for i, (inputs, outputs, stride) in enumerate(BLOCKS, start=3):
        shapes |= conv(f"{i}.conv1", inputs, outputs, 3, bias=False) | norm(f"{i}.norm1", outputs)
        shapes |= conv(f"{i}.conv2", outputs, outputs, 3, bias=False) | norm(f"{i}.norm2", outputs)
        if stride > 1:
            shapes |= conv(f"{i}.shortcut.0", inputs, outputs, 1, bias=False)
            shapes |= norm(f"{i}.shortcut.1", outputs)

    def loss_of(params: Any, x: Any, target: Any) -> Any:
        def normed_conv(names: tuple[str, str], x: Any, stride: int, padding: int) -> Any:
            return _jax.batch_norm(
                params, names[1], _jax.conv(params, names[0], x, stride, padding)
            )

        x = jax.nn.relu(normed_conv(("0", "1"), x, 1, 1))
        for i, (_, _, stride) in enumerate(BLOCKS, start=3):
            y = jax.nn.relu(normed_conv((f"{i}.conv1", f"{i}.norm1"), x, stride, 1))
            y = normed_conv((f"{i}.conv2", f"{i}.norm2"), y, 1, 1)
            if stride > 1:
                x = normed_conv((f"{i}.shortcut.0", f"{i}.shortcut.1"), x, stride, 0)
            x = jax.nn.relu(y + x)
        return _jax.cross_entropy(_jax.linear(params, "8", x.mean((2, 3))), target)

    return _jax.training(weights(shapes), _jax.sgd(0.05, 0.9), loss_of, *resnet_data())


FAMILY = [
    *(
        Workload(f"two heads, Adam, batch {n}", two_heads(n), two_heads_jax(n))
        for n in (32, 256)
    ),
    Workload("ResNet-8, 32x32, SGD with momentum, batch 32", resnet, resnet_jax),
]  # fmt: skip
