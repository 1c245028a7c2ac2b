"""Gradients taken jointly and one by one, and chains of operations that compute next to nothing."""

from __future__ import annotations

from typing import Any

from workloads._workload import Compile, Step, Workload, data, labels, weights
from workloads.mlp import SEED, jax_scores, network, shapes

BATCH = 64
LINKS = 300


def samples() -> tuple[Any, Any]:
    """Inputs of the network, and their classes."""
    return data("x", BATCH, SEED[0]), labels(BATCH, SEED[-1])


def gradients(name: str, apart: bool) -> Workload:
    """The loss of the network of sigmoid layers, and its gradients."""

    def make(library: Any, compiled: Compile) -> Step:
        model = network(library, SEED, "Sigmoid")
        parameters = list(model.parameters())
        grad = library.autograd.grad

        @compiled
        def function(x: Any, target: Any) -> Any:
            loss = library.nn.functional.cross_entropy(model(x), target)
            if apart:
                return loss, *[grad(loss, p, retain_graph=True)[0] for p in parameters]
            return loss, *grad(loss, parameters)

        batch = list(map(library.from_numpy, samples()))
        return lambda: function(*batch)

    def make_jax() -> Step:
        import jax

        from workloads import _jax

        def loss_of(params: Any, x: Any, target: Any) -> Any:
            return _jax.cross_entropy(jax_scores(params, x, jax.nn.sigmoid), target)

        def of_one(params: Any, key: str, x: Any, target: Any) -> Any:
            return jax.grad(lambda p: loss_of(params | {key: p}, x, target))(params[key])

        order = list(shapes(SEED))  # jax has the keys in another

        @jax.jit
        def function(params: Any, x: Any, target: Any) -> Any:
            if apart:
                loss = loss_of(params, x, target)
                return loss, *[of_one(params, key, x, target) for key in order]
            loss, found = jax.value_and_grad(loss_of)(params, x, target)
            return loss, *[found[key] for key in order]

        params = {key: jax.numpy.asarray(array) for key, array in weights(shapes(SEED)).items()}
        batch = list(map(jax.numpy.asarray, samples()))
        return lambda: function(params, *batch)

    return Workload(name, make, make_jax)


def chain() -> Workload:
    """Products with a number, sums and tanh, one after another."""

    def links(tanh: Any, x: Any) -> Any:
        y = x
        for _ in range(LINKS):
            y = tanh(y * 1.0001 + x)
        return y.sum()

    def make(library: Any, compiled: Compile) -> Step:
        x = library.from_numpy(data("x", 10))
        function = compiled(lambda x: links(library.tanh, x))
        return lambda: function(x)

    def make_jax() -> Step:
        import jax

        x = jax.numpy.asarray(data("x", 10))
        function = jax.jit(lambda x: links(jax.numpy.tanh, x))
        return lambda: function(x)

    return Workload(f"chain of {3 * LINKS} operations on 10 elements", make, make_jax, unit="us")


FAMILY = [
    gradients("eight gradients, jointly, MLP 16384-5000-3000-512-40, batch 64", apart=False),
    gradients("eight gradients, one by one, MLP 16384-5000-3000-512-40, batch 64", apart=True),
    chain(),
]
