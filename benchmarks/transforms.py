"""What autograd offers beyond backward, in wengert and in torch, with one thread each.

    python benchmarks/transforms.py

Both columns have the feature on: hooks, anomaly mode, a custom function. Rows named "over
plain" say what the feature costs on top of the same work without it, in each library.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any

import numpy as np
import torch
from _measure import Row, in_clean_process, interleaved, shown

import wengert

LIBRARIES: dict[str, Any] = {"wengert": wengert, "torch": torch}
LINKS = 200
Work = Callable[[], Any]


def array(*shape: int) -> np.ndarray[Any, Any]:
    """The same float32 numbers for both libraries."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def chain(library: Any, context: AbstractContextManager[Any], hook: Any = None) -> Work:
    """Forward and backward of 600 operations on 10 elements."""
    x = library.from_numpy(array(10)).requires_grad_()

    def work() -> None:
        with context:
            y = x
            for _ in range(LINKS):
                y = y * x
                if hook is not None:
                    y.register_hook(hook)
                y = y + x
                if hook is not None:
                    y.register_hook(hook)
                y = y.tanh()
                if hook is not None:
                    y.register_hook(hook)
            y.sum().backward()

    return work


def identity_hooks(library: Any) -> Work:
    """The chain with saved tensors packed and unpacked by the identity."""
    hooks = library.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    return chain(library, hooks)


def hook_on_every_tensor(library: Any) -> Work:
    """The chain with a hook on each result."""
    return chain(library, nullcontext(), lambda g: None)


def custom_function(library: Any) -> Work:
    """200 calls of a Function that saves its input, forward and backward."""

    class Square(library.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 2 * x

    x = library.from_numpy(array(10) * 0.1).requires_grad_()

    def work() -> None:
        y = x
        for _ in range(LINKS):
            y = Square.apply(y)
        y.sum().backward()

    return work


def mlp(library: Any, width: int = 64, depth: int = 6) -> Any:
    """`depth` times Linear and ReLU."""
    nn = library.nn
    layers = [part for _ in range(depth) for part in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers)


def training(library: Any, context: AbstractContextManager[Any]) -> Work:
    """Forward and backward of 6 x (Linear 64, ReLU), batch 32."""
    model, x = mlp(library), library.from_numpy(array(32, 64))

    def work() -> None:
        with context:
            model(x).square().mean().backward()

    return work


class Anomaly:
    """`detect_anomaly` as a context that may be entered again and again, without its warning."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def __enter__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.context = self.library.autograd.detect_anomaly()
            self.context.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self.context.__exit__(*exception)


def functional(library: Any, model: Any) -> tuple[Any, Any]:
    """A scalar loss of parameters, and the parameters."""
    params = {name: p.detach() for name, p in model.named_parameters()}

    def loss(params: Any, x: Any) -> Any:
        return library.func.functional_call(model, params, (x,)).square().mean()

    return loss, params


def hvp_forward_over_reverse(library: Any) -> Work:
    """jvp(grad(loss)) of the MLP's parameters, batch 32."""
    loss, params = functional(library, mlp(library))
    x = library.from_numpy(array(32, 64))
    gradient = library.func.grad(loss)
    return lambda: library.func.jvp(lambda p: gradient(p, x), (params,), (params,))


def hvp_reverse_over_reverse(library: Any) -> Work:
    """Double backward of the MLP, batch 32."""
    model, x = mlp(library), library.from_numpy(array(32, 64))
    params = list(model.parameters())
    vectors = [p.detach() for p in params]

    def work() -> Any:
        loss = model(x).square().mean()
        grads = library.autograd.grad(loss, params, create_graph=True)
        return library.autograd.grad(grads, params, vectors)

    return work


def per_sample(library: Any, batch: int) -> Work:
    """vmap(grad(loss)) over the samples of a batch, MLP 64 x 6."""
    loss, params = functional(library, mlp(library))
    x = library.from_numpy(array(batch, 64))
    transformed = library.func.vmap(library.func.grad(loss), in_dims=(None, 0))
    return lambda: transformed(params, x)


def per_sample_images(library: Any) -> Work:
    """vmap(grad(loss)) over 32 images of 1x8x8, two convolutions and a linear layer."""
    nn = library.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip
    params = {name: p.detach() for name, p in model.named_parameters()}

    def loss(params: Any, x: Any) -> Any:
        return library.func.functional_call(model, params, (x.unsqueeze(0),)).square().mean()

    transformed = library.func.vmap(library.func.grad(loss), in_dims=(None, 0))
    x = library.from_numpy(array(32, 1, 8, 8))
    return lambda: transformed(params, x)


def jacobian(library: Any) -> Work:
    """jacrev of the MLP's output with respect to its input, 64 x 64."""
    model, x = mlp(library), library.from_numpy(array(64))
    for p in model.parameters():
        p.requires_grad_(False)
    return lambda: library.func.jacrev(model)(x)


def hessian(library: Any) -> Work:
    """hessian of a scalar of 32 numbers."""
    weights = library.from_numpy(array(32, 32))
    x = library.from_numpy(array(32))

    def f(x: Any) -> Any:
        return ((weights @ x).tanh() * x).sum()

    return lambda: library.func.hessian(f)(x)


def eight_losses(library: Any) -> Work:
    """The gradient of each of 8 losses over a trunk of 6 layers, batch 64, apart."""
    trunk, x = mlp(library, 128), library.from_numpy(array(64, 128))
    heads = [library.nn.Linear(128, 4) for _ in range(8)]
    params = list(trunk.parameters())

    def work() -> Any:
        features = trunk(x)
        losses = [head(features).square().mean() for head in heads]
        if library is wengert:
            return library.autograd.jac(losses, params)
        stacked = library.stack(losses)
        return library.autograd.grad(stacked, params, library.eye(8), is_grads_batched=True)

    return work


PLAIN: dict[str, tuple[str, Callable[[Any], Work]]] = {
    "600 operations, identity saved-tensor hooks": ("ms", identity_hooks),
    "600 operations, a hook on every tensor": ("ms", hook_on_every_tensor),
    "200 calls of a custom Function": ("ms", custom_function),
    "MLP 64 x 6, batch 32, anomaly mode": ("ms", lambda m: training(m, Anomaly(m))),
    "hvp of MLP 64 x 6, jvp of grad": ("ms", hvp_forward_over_reverse),
    "hvp of MLP 64 x 6, double backward": ("ms", hvp_reverse_over_reverse),
    "per-sample gradients, MLP 64 x 6, batch 32": ("ms", lambda m: per_sample(m, 32)),
    "per-sample gradients, MLP 64 x 6, batch 256": ("ms", lambda m: per_sample(m, 256)),
    "per-sample gradients, CNN on 8x8 images, batch 32": ("ms", per_sample_images),
    "jacrev of MLP 64 x 6": ("ms", jacobian),
    "hessian of 32 numbers": ("ms", hessian),
    "8 losses apart over MLP 128 x 6": ("ms", eight_losses),
}

OVERHEADS: dict[str, tuple[Callable[[Any], Work], Callable[[Any], Work]]] = {
    "identity saved-tensor hooks over plain": (
        identity_hooks, lambda m: chain(m, nullcontext()),
    ),
    "a hook on every tensor over plain": (
        hook_on_every_tensor, lambda m: chain(m, nullcontext()),
    ),
    "anomaly mode over plain, MLP 64 x 6": (
        lambda m: training(m, Anomaly(m)), lambda m: training(m, nullcontext()),
    ),
}  # fmt: skip


def timed(work: Work, repeats: int) -> tuple[float]:
    """Milliseconds a call."""
    start = perf_counter()
    for _ in range(repeats):
        work()
    return ((perf_counter() - start) * 1e3 / repeats,)


def repeats_of(work: Work) -> int:
    """So many calls that a turn takes about 50 milliseconds."""
    work()
    return max(1, int(50 / max(timed(work, 1)[0], 0.01)))


def turn_of(work: Work) -> Callable[[], tuple[float]]:
    """A turn of a contender."""
    repeats = repeats_of(work)
    return lambda: timed(work, repeats)


def rows() -> Iterator[Row]:
    """All workloads, and what features cost over plain work."""
    for label, (unit, make) in PLAIN.items():
        works = {name: make(library) for name, library in LIBRARIES.items()}
        turns = {name: turn_of(work) for name, work in works.items()}
        found = interleaved(turns, 15)
        yield Row(label, unit, found["wengert"][0], found["torch"][0])
    for label, pair in OVERHEADS.items():
        works = {
            f"{name}/{k}": make(library)
            for name, library in LIBRARIES.items() for k, make in enumerate(pair)
        }  # fmt: skip
        turns = {name: turn_of(work) for name, work in works.items()}
        found = interleaved(turns, 15)
        ratios = [found[f"{name}/0"][0] / found[f"{name}/1"][0] for name in LIBRARIES]
        yield Row(label, "x", *ratios)


def measure() -> list[Row]:
    """All rows, printed as they are found."""
    torch.set_num_threads(1)
    wengert.set_num_threads(1)
    return [shown(row) for row in rows()]


if __name__ == "__main__":
    in_clean_process(__file__, measure)
