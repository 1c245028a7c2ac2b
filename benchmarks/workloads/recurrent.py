"""LSTMs over 50 steps: written in operations, and nn.LSTM."""

from __future__ import annotations

from typing import Any

from workloads._workload import (
    Compile,
    Step,
    Workload,
    data,
    fill,
    labels,
    linear,
    training,
    weights,
)

STEPS, BATCH, WIDTH, CLASSES = 50, 32, 128, 10


def batch() -> tuple[Any, Any]:
    """A sequence (steps, batch, width), and the classes that its last state should give."""
    return data("x", STEPS, BATCH, WIDTH), labels(BATCH, CLASSES)


def cells(library: Any, compiled: Compile) -> Step:
    """Each gate an operation, each time step a turn of a Python loop."""
    nn = library.nn
    model = nn.Module()
    model.ih = nn.Linear(WIDTH, 4 * WIDTH)
    model.hh = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
    model.readout = nn.Linear(WIDTH, CLASSES)
    fill(library, model)

    # Not the loop: torch.compile would unroll it, and compile for minutes.
    @compiled
    def cell(now: Any, h: Any, c: Any) -> Any:
        i, f, g, o = (model.ih(now) + model.hh(h)).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def loss_of(x: Any, target: Any) -> Any:
        h = c = library.zeros(BATCH, WIDTH)
        for now in x:
            h, c = cell(now, h, c)
        return nn.functional.cross_entropy(model.readout(h), target)

    update = library.optim.Adam(model.parameters(), lr=1e-3)
    return training(compiled, update, loss_of, *map(library.from_numpy, batch()))


def module(library: Any, compiled: Compile) -> Step:
    """nn.LSTM."""
    nn = library.nn
    model = nn.Module()
    model.lstm = nn.LSTM(WIDTH, WIDTH)
    model.readout = nn.Linear(WIDTH, CLASSES)
    fill(library, model)

    @compiled
    def loss_of(x: Any, target: Any) -> Any:
        states, _ = model.lstm(x)
        return nn.functional.cross_entropy(model.readout(states[-1]), target)

    update = library.optim.Adam(model.parameters(), lr=1e-3)
    return training(compiled, update, loss_of, *map(library.from_numpy, batch()))


def scan(shapes: dict[str, tuple[int, ...]], names: tuple[str, str]) -> Step:
    """The same in jax, whose loop over time steps is `lax.scan`."""
    import jax
    import jax.numpy as jnp

    from workloads import _jax

    ih, hh = names

    def loss_of(params: Any, x: Any, target: Any) -> Any:
        biases = sum(params[name] for name in params if "bias" in name and "readout" not in name)

        def cell(state: Any, now: Any) -> Any:
            h, c = state
            gates = now @ params[ih].T + h @ params[hh].T + biases
            i, f, g, o = jnp.split(gates, 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zeros = jnp.zeros((BATCH, WIDTH))
        (h, _), _ = jax.lax.scan(cell, (zeros, zeros), x)
        return _jax.cross_entropy(_jax.linear(params, "readout", h), target)

    return _jax.training(weights(shapes), _jax.adam(1e-3), loss_of, *batch())


def cells_jax() -> Step:
    """`cells` in jax."""
    shapes = linear("ih", WIDTH, 4 * WIDTH) | linear("hh", WIDTH, 4 * WIDTH, bias=False)
    return scan(shapes | linear("readout", WIDTH, CLASSES), ("ih.weight", "hh.weight"))


def module_jax() -> Step:
    """`module` in jax."""
    shapes = {
        f"lstm.{kind}_{part}_l0": (4 * WIDTH, WIDTH)[: 2 if kind == "weight" else 1]
        for kind in ("weight", "bias")
        for part in ("ih", "hh")
    }
    shapes |= linear("readout", WIDTH, CLASSES)
    return scan(shapes, ("lstm.weight_ih_l0", "lstm.weight_hh_l0"))


TITLE = f"{STEPS} time steps of {WIDTH}, Adam, batch {BATCH}"
FAMILY = [
    Workload(f"LSTM in operations, {TITLE}", cells, cells_jax),
    Workload(f"nn.LSTM, {TITLE}", module, module_jax),
]
