"""Networks of linear layers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from workloads._workload import (
    Array,
    Compile,
    Shapes,
    Step,
    Workload,
    data,
    fill,
    labels,
    linear,
    training,
    weights,
)

SEED = (16384, 5000, 3000, 512, 40)
SMALL = (64, 128, 128, 10)
DEEP = (256,) * 51


def network(library: Any, widths: tuple[int, ...], activation: str) -> Any:
    """Linear layers with activations between them, as nn.Sequential."""
    nn = library.nn
    layers = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), getattr(nn, activation)()]
    return fill(library, nn.Sequential(*layers[:-1]))


def shapes(widths: tuple[int, ...]) -> Shapes:
    """The parameters of such a network."""
    found: Shapes = {}
    for i, (inputs, outputs) in enumerate(pairwise(widths)):
        found |= linear(f"{2 * i}", inputs, outputs)
    return found


def jax_scores(params: Any, x: Any, activation: Any) -> Any:
    """Such a network as a function."""
    from workloads import _jax

    depth = len(params) // 2
    for i in range(depth):
        x = _jax.linear(params, f"{2 * i}", x)
        x = activation(x) if i < depth - 1 else x
    return x


def classifier(
    name: str, widths: tuple[int, ...], batch: int, activation: str, optimizer: str, lr: float
) -> Workload:
    """A network that learns to tell random inputs apart."""

    def samples() -> tuple[Array, Array]:
        return data("x", batch, widths[0]), labels(batch, widths[-1])

    def make(library: Any, compiled: Compile) -> Step:
        model = network(library, widths, activation)
        update = getattr(library.optim, optimizer)(model.parameters(), lr=lr)

        @compiled
        def loss_of(x: Any, target: Any) -> Any:
            return library.nn.functional.cross_entropy(model(x), target)

        return training(compiled, update, loss_of, *map(library.from_numpy, samples()))

    def make_jax() -> Step:
        import jax

        from workloads import _jax

        function = getattr(jax.nn, activation.lower())

        def loss_of(params: Any, x: Any, target: Any) -> Any:
            return _jax.cross_entropy(jax_scores(params, x, function), target)

        update = {"SGD": _jax.sgd, "Adam": _jax.adam}[optimizer](lr)
        return _jax.training(weights(shapes(widths)), update, loss_of, *samples())

    return Workload(name, make, make_jax)


def text(widths: tuple[int, ...]) -> str:
    """The widths with dashes."""
    return "-".join(map(str, widths))


FAMILY = [
    classifier(f"MLP {text(SEED)}, sigmoid, SGD, batch 64", SEED, 64, "Sigmoid", "SGD", 0.1),
    *(
        classifier(f"MLP {text(SMALL)}, Adam, batch {n}", SMALL, n, "ReLU", "Adam", 1e-3)
        for n in (32, 256)
    ),
]


# Its memory is measured, not its time.
DEEP_MLP = classifier("MLP of 50 layers of 256, SGD, batch 2048", DEEP, 2048, "ReLU", "SGD", 0.1)
