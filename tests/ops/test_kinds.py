"""What ops are declared to be, they are: "multilinear" against samples from every row.

Forward-mode derivatives follow from the kind, so that a wrong one is a wrong derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert
import wengert.sparse  # whose operations are registered with it
from tests.ops import calls
from tests.ops.rows import Row, all_rows
from wengert.ops import arithmetic, indexed
from wengert.ops.op import REGISTRY, Op

Sample = dict[str, Any]

MULTILINEAR = sorted(op.name for op in REGISTRY.values() if op.kind == "multilinear")
PRIMITIVE = sorted(
    op.name for op in REGISTRY.values() if op.kind == "primitive" and op.differentiable
)
# Linear in their inputs together, or plus a constant: fixing all inputs but one leaves a term
# that does not scale.
JOINTLY_LINEAR = [
    "_convolution", "_fill_rows", "_masked_fill",
    "_scatter", "_scatter_number", "_shifted", "_transposed_convolution", "_where", "addmm",
    "baddbmm", "basic_written", "index_add", "index_copy", "index_written", "indexed_written",
    "linear", "mask_written", "scatter_add",
]  # fmt: skip
# Primitives that add up where the samples lie.
LINEAR_ALMOST_EVERYWHERE = {
    "_nansum": "not where an element is NaN",
    "_finite": "not where an element is infinite",
    "_overwritten": "constant in its first input, and linear in the second",
}
TOLERANCE = {"float64": 1e-11, "complex128": 1e-11, "float32": 1e-4, "complex64": 1e-4}


def copied(value: Any) -> Any:
    """Arguments whose arrays nobody else will write to."""
    return value.copy() if isinstance(value, np.ndarray) else value


def form_of(value: Any) -> Any:
    """An argument as far as linearity depends on it: not on the values of floats."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    values = None if value.dtype.name in TOLERANCE else value.tobytes()
    return value.shape, value.dtype, values


def watching(op: Op, forward: Callable[..., Any], found: list[Sample]) -> Callable[..., Any]:
    """The forward, which also notes its arguments: of a multilinear op, once of each form."""
    met = set()

    def noted(*args: Any, **kwargs: Any) -> Any:
        given = op.signature.bind(*args, **kwargs)
        given.apply_defaults()
        form = tuple(map(form_of, given.arguments.values()))
        if op.kind != "multilinear" or form not in met:
            met.add(form)
            found.append({name: copied(value) for name, value in given.arguments.items()})
        return forward(*args, **kwargs)

    return noted


def run(row: Row) -> None:
    """The row's forward and, where it has them, its first and second derivative."""
    args = row.make(calls.rng_of(row))
    if not row.grad:
        calls.call(wengert, row, args, grad=False)
        return
    loss, leaves = calls.row_loss(row, args)
    loss = loss * loss  # so that the cotangents depend on the inputs
    first = calls.gradients(wengert, loss, leaves, create_graph=row.second)
    if row.second and (norm := sum((g * g.conj()).real.sum() for g in first)).requires_grad:
        calls.gradients(wengert, norm, leaves)


def overwritten() -> None:
    """`copy_` and a write to a view, differentiated twice."""
    x = wengert.arange(6.0, dtype=wengert.float64).requires_grad_()
    before = x * x
    before.copy_(x.exp())
    after = before * x
    after[::2] = x[:3] ** 3
    (first,) = wengert.autograd.grad((after**2).sum(), x, create_graph=True)
    first.sum().backward()


def normalised() -> None:
    """Batch norm by running statistics."""
    x, mean, variance, weight, bias = (
        wengert.arange(n, dtype=wengert.float64).reshape(shape) + 1
        for n, shape in ((12, (2, 3, 2)), (3, (3,)), (3, (3,)), (3, (3,)), (3, (3,)))
    )
    wengert.nn.functional.batch_norm(x, mean, variance, weight, bias)


def sampled() -> None:
    """Random choices that depend on tensors."""
    p = wengert.full((8,), 0.9, dtype=wengert.float64)
    wengert.bernoulli(p)
    wengert.normal(p, p)
    wengert.poisson(p * 50)
    wengert.binomial(p * 50, p)
    wengert.distributions.Gamma(p, p).rsample()
    wengert.distributions.Dirichlet(p).rsample()


def halved() -> None:
    """Numbers beside halves, where float32 stands for these."""
    x = wengert.arange(6.0) + 1
    for function in (arithmetic._mul_halves, arithmetic._div_halves):
        function(x, 0.3)
    arithmetic._quotient_of_halves(x, 0.3)


def stored() -> None:
    """Matrices that store some of their elements: made, merged, masked, multiplied."""
    indices = wengert.tensor([[0, 1, 1, 0], [2, 0, 0, 1]])
    values = wengert.arange(1.0, 5.0, dtype=wengert.float64).requires_grad_()
    dense = wengert.arange(12.0, dtype=wengert.float64).reshape(3, 4).requires_grad_()
    matrix = wengert.sparse_coo_tensor(indices, values, (2, 3)).coalesce()
    total = wengert.sparse.mm(matrix, dense).sum() + (matrix @ matrix.t()).to_dense().sum()
    total = total + (dense[:2, :3].sparse_mask(matrix).to_dense() ** 2).sum()
    total.backward()


def indexed_in_programs() -> None:
    """Indexing as compiled functions have it: indices are operands."""
    x = wengert.arange(12.0, dtype=wengert.float64).reshape(4, 3)
    operands = wengert.tensor([3, 0, -1]), None, None, None
    indexed.indexed(x, *operands, (0,))
    indexed.indexed_adjoint(x[:3], *operands, (4, 3), (0,))
    indexed.indexed_erased(x, *operands, (0,))
    indexed.indexed_written(x, x[1:] * 2, *operands, (0,))
    indexed.basic_written(x, x[1:] * 2, (slice(3),))
    indexed.basic_erased(x, (slice(3),))
    indexed.mask_written(x, x[0] * 2, x > 0)


# What no row reaches.
PROGRAMS = [overwritten, normalised, sampled, halved, stored, indexed_in_programs]


def replace_forward(op: Op, forward: Callable[..., Any]) -> None:
    op.forward = forward
    scope = op.function.__globals__
    if "forward" in scope:  # its functions have been written
        scope["forward"] = forward


@pytest.fixture(scope="module")
def samples() -> dict[str, list[Sample]]:
    """The arguments that the forward of each op met in all rows."""
    ops = [REGISTRY[name] for name in MULTILINEAR + PRIMITIVE]
    forwards = {op: op.forward for op in ops}
    found: dict[str, list[Sample]] = {op.name: [] for op in ops}
    try:
        for op in ops:
            replace_forward(op, watching(op, op.forward, found[op.name]))
        for row in all_rows():
            run(row)
        for program in PROGRAMS:
            program()
    finally:
        for op in ops:
            replace_forward(op, forwards[op])
    return found


def usable(op: Op, sample: Sample) -> list[str]:
    """Differentiable inputs that have finite elements of a floating-point or complex dtype."""
    return [
        name
        for name in op.differentiable
        if isinstance(sample[name], np.ndarray)
        and sample[name].dtype.name in TOLERANCE
        and sample[name].size
        and np.isfinite(sample[name]).all()
    ]


def output(op: Op, sample: Sample, **changed: Any) -> np.ndarray:
    """What the forward returns for the sample, without what it returns beside its output."""
    values = {name: copied(value) for name, value in (sample | changed).items()}
    given = op.signature.bind_partial()
    given.arguments |= values
    out = op.forward(*given.args, **given.kwargs)
    return np.array(out[0] if op.aux else out)


def is_linear(op: Op, sample: Sample, name: str) -> bool:
    """Whether the op is additive and homogeneous in one input, the others held fixed.

    One that has no result at some point of the line is not.
    """
    try:
        return is_linear_at(op, sample, name)
    except wengert.linalg.LinAlgError:
        return False


def is_linear_at(op: Op, sample: Sample, name: str) -> bool:
    """The same, for an op that has a result everywhere."""
    x = sample[name]
    rng = np.random.default_rng(3)
    y = np.asarray(rng.standard_normal(x.shape)).astype(x.dtype)
    if x.dtype.kind == "c":
        y = np.asarray(y + 1j * rng.standard_normal(x.shape)).astype(x.dtype)
    here, there = output(op, sample), output(op, sample, **{name: y})
    together = output(op, sample, **{name: np.asarray(x + y)})
    scaled = output(op, sample, **{name: np.asarray(x * x.dtype.type(-1.75))})
    limit = max(TOLERANCE[a.dtype.name] for a in (x, here))
    return np.allclose(together, here + there, rtol=limit, atol=limit) and np.allclose(
        scaled, -1.75 * here, rtol=limit, atol=limit
    )


def linearity(op: Op, met: list[Sample]) -> Iterator[tuple[str, bool]]:
    """Whether the op is linear in each differentiable input, sample by sample."""
    for sample in met:
        if output(op, sample).dtype.name not in TOLERANCE:
            continue  # a conversion to integers, which has no derivative
        for name in usable(op, sample):
            yield name, is_linear(op, sample, name)


@pytest.mark.parametrize("name", MULTILINEAR)
def test_multilinear_ops_are_linear_in_each_input(
    name: str, samples: dict[str, list[Sample]]
) -> None:
    found = list(linearity(REGISTRY[name], samples[name]))
    missed = set(REGISTRY[name].differentiable).difference(argument for argument, _ in found)
    assert not missed, f"no row reaches {name} with these as floating-point numbers"
    assert [argument for argument, linear in found if not linear] == []


@pytest.mark.parametrize("name", JOINTLY_LINEAR)
def test_jointly_linear_ops_are_not_multilinear(
    name: str, samples: dict[str, list[Sample]]
) -> None:
    assert REGISTRY[name].kind == "primitive"
    assert not all(linear for _, linear in linearity(REGISTRY[name], samples[name]))


@pytest.mark.parametrize("name", sorted(set(PRIMITIVE) - set(JOINTLY_LINEAR)))
def test_other_primitives_are_not_linear(name: str, samples: dict[str, list[Sample]]) -> None:
    if name in LINEAR_ALMOST_EVERYWHERE:
        return
    linear = all(linear for _, linear in linearity(REGISTRY[name], samples[name]))
    assert not linear, f"{name} is linear at every sample: declare it multilinear"
