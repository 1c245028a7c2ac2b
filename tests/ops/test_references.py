"""Operations with a fused kernel are equal to their references, which transforms compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.kernels.geometry import Geometry
from wengert.kernels.norm.plan import NormPlan
from wengert.kernels.recurrent.steps import Steps
from wengert.ops.op import REGISTRY, Op
from wengert.ops.pool import Windows

Rng = np.random.Generator
ROWS = NormPlan((6, 8), (1,), (6, 8), (8,))
CHANNELS = (4, 6, 3)
BATCH = NormPlan(CHANNELS, (0, 2), CHANNELS, (6, 1))
INSTANCE = NormPlan(CHANNELS, (2,), CHANNELS, (6, 1))
GROUPS = NormPlan((4, 2, 9), (2,), CHANNELS, (6, 1))


def normal(*shapes: tuple[int, ...]) -> Callable[[Rng], list[Any]]:
    return lambda rng: [rng.standard_normal(s) for s in shapes]


def with_statistics(*rest: Any) -> Callable[[Rng], list[Any]]:
    """Input, weight, bias, running mean and running variance."""

    def make(rng: Rng) -> list[Any]:
        return [*normal(CHANNELS, (6,), (6,))(rng), rng.standard_normal(6), rng.uniform(1, 2, 6)]

    return make


def classes(*lead: int, axis: int) -> Callable[[Rng], list[Any]]:
    """Scores, class indices, and a share for each."""

    def make(rng: Rng) -> list[Any]:
        index = rng.integers(0, 5, lead)
        shape = (*lead[:axis], 5, *lead[axis:])
        return [rng.standard_normal(shape), index, rng.uniform(0, 1, lead)]

    return make


def recurrent(gates: int, *more: tuple[int, int]) -> Callable[[Rng], list[Any]]:
    """Rows, states, and the weights of a layer of width 4 for inputs of width 3."""
    rows = 4 * gates
    return normal((9, 3), (3, 4), *more, (rows, 3), (rows, 4), (rows,), (rows,))


def attention(queries: int, keys: int, *mask: tuple[int, ...]) -> Callable[[Rng], list[Any]]:
    """Queries, keys and values of 2 samples with 2 heads, and a mask or None."""
    shapes = (2, 2, queries, 4), (2, 2, keys, 4), (2, 2, keys, 3)
    return lambda rng: [*normal(*shapes, *mask)(rng), *([] if mask else [None])]


PADDED, PACKED = Steps([3, 3, 3], True), Steps([3, 3, 2, 1], False)

# Operation, the arrays of its inputs, parameters.
CASES: list[tuple[str, Callable[[Rng], list[Any]], dict[str, Any]]] = [
    ("_layer_norm", normal((6, 8), (8,), (8,)), {"plan": ROWS, "eps": 1e-5}),
    ("_layer_norm", lambda rng: [*normal((6, 8))(rng), None, None], {"plan": ROWS, "eps": 1e-5}),
    ("_rms_norm", lambda rng: [*normal((6, 8), (8,))(rng), None],
     {"plan": ROWS._replace(centred=False), "eps": 1e-6}),
    ("_group_norm", normal(CHANNELS, (6,), (6,)), {"plan": GROUPS, "eps": 1e-5}),
    ("_batch_norm", with_statistics(), {"plan": BATCH, "eps": 1e-5, "momentum": 0.1}),
    ("_batch_norm", lambda rng: [*normal(CHANNELS)(rng), None, None, None, None],
     {"plan": BATCH, "eps": 1e-5, "momentum": 0.1}),
    ("_instance_norm", with_statistics(), {"plan": INSTANCE, "eps": 1e-5, "momentum": 0.3}),
    ("_batch_norm_by_running", with_statistics(), {"eps": 1e-5}),
    ("_batch_norm_by_running",
     lambda rng: [*normal(CHANNELS)(rng), None, None, rng.standard_normal(6), rng.uniform(1, 2, 6)],
     {"eps": 1e-5}),
    ("_cross_entropy", classes(axis=0), {"axis": 0, "reduced": True}),
    ("_cross_entropy", classes(4, axis=1), {"axis": 1, "reduced": False}),
    ("_cross_entropy", classes(4, axis=1), {"axis": 1, "reduced": True}),
    ("_cross_entropy", classes(4, 2, 3, axis=1), {"axis": 1, "reduced": True}),
    ("_cross_entropy", classes(4, axis=1), {"axis": 1, "reduced": False, "smoothing": 0.2}),
    ("_cross_entropy", classes(4, 2, 3, axis=1), {"axis": 1, "reduced": True, "smoothing": 0.2}),
    ("rnn_layer", recurrent(1), {"steps": PADDED, "relu": False}),
    ("rnn_layer", recurrent(1), {"steps": PACKED, "relu": True}),
    ("gru_layer", recurrent(3), {"steps": PADDED}),
    ("gru_layer", recurrent(3), {"steps": PACKED}),
    ("gru_layer", lambda rng: [*normal((9, 3))(rng), None, *normal((12, 3), (12, 4))(rng),
                               None, None], {"steps": PACKED}),
    ("lstm_layer", lambda rng: [*recurrent(4, (3, 4))(rng), None], {"steps": PADDED}),
    ("lstm_layer", lambda rng: [*recurrent(4, (3, 4))(rng), None], {"steps": PACKED}),
    ("lstm_layer", lambda rng: [*normal((9, 3), (3, 2), (3, 4), (16, 3), (16, 2))(rng), None,
                                None, *normal((2, 4))(rng)], {"steps": Steps([3, 3, 2, 1], True)}),
    ("lstm_step", normal((3, 16), (3, 16), (3, 4)), {}),
    ("gru_step", normal((3, 12), (3, 12), (3, 4)), {}),
    ("_attention", attention(5, 6), {"factor": 0.5, "is_causal": False}),
    ("_attention", attention(5, 5), {"factor": 0.5, "is_causal": True}),
    ("_attention", attention(5, 6, (5, 6)), {"factor": 0.5, "is_causal": False}),
    ("_svdvals_with_vectors", normal((2, 4, 3)), {}),
    ("_eigvalsh_with_vectors", normal((2, 4, 4)), {"uplo": "L"}),
    ("maxima", normal((2, 3, 6, 7)),
     {"windows": Windows((3, 2), (3, 3), Geometry((2, 2), ((1, 1), (0, 0)), (1, 1)))}),
]  # fmt: skip
NOT_FOR_HALVES = {"_svdvals_with_vectors", "_eigvalsh_with_vectors"}
IDS = [f"{name}-{k}" for k, (name, _, _) in enumerate(CASES)]


def run(
    op: Op, compute: Callable[..., Any], arrays: list[Any], params: dict[str, Any]
) -> tuple[list[np.ndarray], list[Any]]:
    """The value, the gradients of the differentiable inputs, and the tensors that came in."""
    tensors = [None if a is None else wengert.from_numpy(a.copy()) for a in arrays]
    given = zip(op.inputs, tensors, strict=True)
    leaves = [t.requires_grad_() for i, t in given if t is not None and i in op.differentiable]
    out = compute(*tensors, **params)
    weights = np.cos(np.arange(out.numel())).reshape(tuple(out.shape))
    grads = wengert.autograd.grad((out * wengert.from_numpy(weights)).sum(), leaves)
    return [x.detach().double().numpy() for x in (out, *grads)], tensors


@pytest.mark.parametrize(("name", "make", "params"), CASES, ids=IDS)
def test_kernel_equals_reference(name: str, make: Any, params: dict[str, Any]) -> None:
    op, arrays = REGISTRY[name], make(np.random.default_rng(1))
    by_kernel, kept = run(op, op.function, arrays, params)
    by_reference, moved = run(op, op.reference, arrays, params)  # type: ignore[arg-type]
    assert len(by_kernel) == len(by_reference)
    for a, b in zip(by_kernel, by_reference, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    for a, b in zip(kept, moved, strict=True):  # running statistics
        if a is not None:
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("name", "make", "params"), CASES, ids=IDS)
def test_reference_keeps_the_dtype(
    name: str, make: Any, params: dict[str, Any], dtype: str
) -> None:
    op = REGISTRY[name]
    if dtype == "float16" and name in NOT_FOR_HALVES:
        pytest.skip("LAPACK has no half types")
    tensors = [
        None if a is None else wengert.from_numpy(a.astype(dtype) if a.dtype.kind == "f" else a)
        for a in make(np.random.default_rng(1))
    ]
    expected = op.function(*tensors, **params)
    found = op.reference(*tensors, **params)  # type: ignore[misc]
    assert found.dtype == expected.dtype
    digits = 1e-5 if dtype == "float32" else 4e-3
    np.testing.assert_allclose(
        found.double().numpy(), expected.double().numpy(), rtol=digits, atol=digits
    )


def test_what_keeps_values_beside_its_output_has_a_reference_that_is_tested() -> None:
    with_aux = {name for name, op in REGISTRY.items() if op.aux}
    assert with_aux <= {name for name, op in REGISTRY.items() if op.reference is not None}
    assert with_aux <= {name for name, _, _ in CASES}
