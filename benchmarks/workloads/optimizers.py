"""Updates of many tensors, without the gradients that they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads._workload import Compile, Step, Workload, data, weight

TENSORS = 100
# Square root of the number of elements of each of the tensors.
SIDES = {"1e6": 100, "1e7": 316}
NAMES = [f"p{i}" for i in range(TENSORS)]


def arrays(side: int) -> tuple[list[Any], list[Any]]:
    """Parameters and their gradients."""
    shape = side, side
    return [weight(n, shape) for n in NAMES], [data(f"g{n}", *shape) for n in NAMES]


def make(name: str, side: int, options: dict[str, Any]) -> Callable[[Any, Compile], Step]:
    """The optimizer in PyTorch's API."""

    def build(library: Any, compiled: Compile) -> Step:
        values, grads = arrays(side)
        params = [library.from_numpy(value).requires_grad_(True) for value in values]
        for p, grad in zip(params, grads, strict=True):
            p.grad = library.from_numpy(grad)
        update = compiled(getattr(library.optim, name)(params, **options).step)

        def step() -> Any:
            update()
            return params[0]

        return step

    return build


def make_jax(name: str, side: int, lr: float) -> Callable[[], Step]:
    """The optimizer in jax."""

    def build() -> Step:
        import jax

        from workloads import _jax

        start, update = {
            "SGD": _jax.sgd(lr), "Adam": _jax.adam(lr), "AdamW": _jax.adam(lr, weight_decay=0.01)
        }[name]  # fmt: skip
        params, grads = (
            _jax.arrays(dict(zip(NAMES, values, strict=True))) for values in arrays(side)
        )
        state = start(params)
        updated = jax.jit(update, donate_argnums=(0, 2))

        def step() -> Any:
            nonlocal params, state
            params, state = updated(params, grads, state)
            return params["p0"]

        return step

    return build


def workload(name: str, count: str, **options: Any) -> Workload:
    """A row."""
    extra = ", fused=True" if options.get("fused") else ""
    return Workload(
        f"{name}{extra}, {count} parameters in {TENSORS} tensors",
        make(name, SIDES[count], options), make_jax(name, SIDES[count], options["lr"]),
        compiled="one kernel, the same as without torch.compile" if extra else "",
        seconds=0.05,
    )  # fmt: skip


FAMILY = [
    workload(name, count, **options)
    for count in SIDES
    for name, options in (
        ("SGD", {"lr": 0.01}),
        ("Adam", {"lr": 1e-3}),
        ("AdamW", {"lr": 1e-3}),
        ("AdamW", {"lr": 1e-3, "fused": True}),
    )
]
