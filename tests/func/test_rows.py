"""Every row of every operation: in a batch as alone, and forward mode as reverse mode.

No operation may run sample by sample, nor one that only derivatives use: the warning is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops import calls
from tests.ops.each import each
from tests.ops.rows import Row, all_rows
from wengert.autograd.transforms import batched

# With 0 < p < 1 dropout is random: see test_randomness.py.
ROWS = [
    r
    for r in all_rows()
    if "dropout" not in r.name or "eval" in r.tag or r.kwargs.get("p", 0.5) in (0.0, 1.0)
]
DIFFERENTIABLE = [r for r in ROWS if r.grad]
SIZE = 3

# Rows whose results have a shape that depends on elements: which inputs must not be batches.
DYNAMIC = {
    "argwhere": ("first",),
    "bincount": ("first",),
    "index_put-mask": ("all", "rest"),
    "masked_select": ("all", "rest"),
    "masked_select-broadcast": ("all", "rest"),
    "masked_select-repeated": ("all", "rest"),
    "narrow-tensor": ("all", "rest"),
    "nonzero": ("first",),
    "nonzero-0d": ("first",),
    "nonzero-tuple": ("first",),
    "repeat_interleave-counts": ("first",),
    "repeat_interleave-each": ("all", "rest"),
    "tensor_split-tensor": ("all", "rest"),
    **{
        f"nn.functional.grouped_mm-{tag}": ("all", "rest")
        for tag in ("rows", "some rows", "columns", "sums")
    },
    "nn.functional.one_hot": ("first",),
    "where-indices": ("first",),
}
DYNAMIC |= {str(row): ("first",) for row in ROWS if row.name.startswith("unique")}


pytestmark = pytest.mark.filterwarnings("error:There is a performance drop")


@pytest.fixture(autouse=True)
def nothing_warned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations warn once; here each test is to hear of it."""
    monkeypatch.setattr(batched, "_warned", set())


def is_refused(row: Row, which: str) -> bool:
    """Whether a row raises inside of vmap, as in PyTorch.

    A shape would depend on the sample, or a tensor that all samples share be written to.
    """
    shared = row.name.endswith("_") and not row.name.endswith("__") and which == "rest"
    return shared or which in DYNAMIC.get(str(row), ())


def stacked(arrays: list[np.ndarray]) -> np.ndarray:
    """The samples as one array, in which each has the strides that it has alone."""
    if arrays[0].flags.c_contiguous or not arrays[0].flags.f_contiguous:
        return np.stack(arrays)
    return np.stack([a.T for a in arrays]).transpose(0, *range(arrays[0].ndim, 0, -1))


def arrays_in(value: Any) -> list[np.ndarray]:
    """All arrays of a call's arguments, integers too."""
    if isinstance(value, np.ndarray):
        return [value]
    if type(value) in (list, tuple):
        return [a for v in value for a in arrays_in(v)]
    return []


def function_of(row: Row, args: tuple[Any, ...]) -> Callable[..., list[Any]]:
    """The call of a row as a function of its tensors; the outputs as a flat list."""

    def function(*tensors: Any) -> list[Any]:
        given = iter(tensors)
        converted = calls.convert(args, lambda _: next(given))
        kwargs = {k: calls.convert(v, wengert.from_numpy) for k, v in row.kwargs.items()}
        kwargs = {
            k: getattr(wengert, v[6:]) if isinstance(v, str) and v.startswith("torch.") else v
            for k, v in kwargs.items()
        }
        if row.name.endswith("_") and not row.name.endswith("__"):
            converted = (converted[0].clone(), *converted[1:])
        return calls.outputs(calls.function_of(wengert, row)(*converted, **kwargs))

    return function


def samples_of(row: Row) -> tuple[tuple[Any, ...], list[list[np.ndarray]]]:
    """The arguments, and for each sample its arrays: other floats, rolled indices."""
    args = row.make(calls.rng_of(row))
    first = arrays_in(args)
    samples = [first]
    for k in range(1, SIZE):
        other = arrays_in(row.make(np.random.default_rng(100 + k)))
        fits = [a.shape == b.shape for a, b in zip(first, other, strict=False)]
        if len(first) != len(other) or not all(fits):
            other = [np.roll(a, k) for a in first]
        samples.append(other)
    return args, samples


def tensors_of(value: Any) -> list[Any]:
    return [v for v in value if isinstance(v, wengert.Tensor)]


def choices(count: int) -> dict[str, set[int]]:
    """Which of the inputs are batches: all of them, the first, all but the first."""
    every = {"all": set(range(count)), "first": {0}, "rest": set(range(1, count))}
    return {"first": {0}} if count == 1 else every


@each(ROWS)
def test_batch_equals_samples(row: Row) -> None:
    args, samples = samples_of(row)
    function, first = function_of(row, args), samples[0]
    if not first:
        pytest.skip("no tensor goes in")

    def alone(sample: list[np.ndarray], chosen: set[int]) -> list[Any]:
        arrays = [(sample if k in chosen else first)[k] for k in range(len(first))]
        return tensors_of(function(*[wengert.from_numpy(a.copy("K")) for a in arrays]))

    if not alone(first, set()):
        pytest.skip("no tensor comes out")
    for which, chosen in choices(len(first)).items():
        expected = [alone(sample, chosen) for sample in samples]
        batch = [
            wengert.from_numpy(stacked([s[k] for s in samples]) if k in chosen else first[k])
            for k in range(len(first))
        ]
        dims = tuple(0 if k in chosen else None for k in range(len(first)))
        together = wengert.vmap(lambda *xs: tensors_of(function(*xs)), in_dims=dims)
        if is_refused(row, which):
            with pytest.raises(RuntimeError, match="vmap: "):
                together(*batch)
            continue
        for k, found in enumerate(together(*batch)):
            for i in range(SIZE):
                assert found[i].dtype == expected[i][k].dtype
                np.testing.assert_allclose(
                    calls.to_numpy(found[i]), calls.to_numpy(expected[i][k]),
                    rtol=1e-9, atol=1e-11, err_msg=f"with {which} in batches",
                )  # fmt: skip


@each(DIFFERENTIABLE)
def test_forward_mode_is_the_transpose_of_reverse_mode(row: Row) -> None:
    args = row.make(calls.rng_of(row))
    function = function_of(row, args)
    rng = np.random.default_rng(3)
    arrays = arrays_in(args)
    floats = [k for k, a in enumerate(arrays) if a.dtype.kind in "fc"]

    def of_floats(*xs: Any) -> list[Any]:
        given = iter(xs)
        every = [next(given) if k in floats else wengert.from_numpy(arrays[k])
                 for k in range(len(arrays))]  # fmt: skip
        return [y for y in tensors_of(function(*every)) if y.dtype.is_floating_point
                or y.dtype.is_complex]  # fmt: skip

    primals = [wengert.from_numpy(arrays[k].copy()) for k in floats]
    tangents = [random_like(rng, x) for x in primals]
    values, along = wengert.func.jvp(of_floats, tuple(primals), tuple(tangents))
    outputs, pull = wengert.func.vjp(of_floats, *primals)
    cotangents = [random_like(rng, y) for y in outputs]
    gradients = pull(cotangents)
    for value, output in zip(values, outputs, strict=True):
        assert value.shape == output.shape
    for value, tangent in zip(values, along, strict=True):
        assert value.shape == tangent.shape
        assert value.dtype == tangent.dtype
    forward = sum(inner(u, d) for u, d in zip(cotangents, along, strict=True))
    reverse = sum(inner(g, t) for g, t in zip(gradients, tangents, strict=True))
    assert forward == pytest.approx(reverse, rel=1e-8, abs=1e-9, nan_ok=True)


@each(DIFFERENTIABLE)
def test_gradient_of_a_batch_equals_samples(row: Row) -> None:
    args, samples = samples_of(row)
    floats = [k for k, a in enumerate(samples[0]) if a.dtype.kind in "fc"]
    function = function_of(row, args)

    def loss(*xs: Any) -> Any:
        outs = [y for y in tensors_of(function(*xs)) if y.dtype.is_floating_point
                or y.dtype.is_complex]  # fmt: skip
        parts = [wengert.view_as_real(y) if y.dtype.is_complex else y for y in outs]
        return sum((y * y.detach().cos()).sum() for y in parts)

    gradient = wengert.func.grad(loss, argnums=tuple(floats))
    batch = [wengert.from_numpy(stacked(list(column))) for column in zip(*samples, strict=True)]
    if is_refused(row, "all"):
        with pytest.raises(RuntimeError, match="vmap: "):
            wengert.vmap(gradient)(*batch)
        return
    together = wengert.vmap(gradient)(*batch)
    for i, sample in enumerate(samples):
        alone = gradient(*[wengert.from_numpy(a.copy("K")) for a in sample])
        for found, expected in zip(together, alone, strict=True):
            np.testing.assert_allclose(
                calls.to_numpy(found[i]), calls.to_numpy(expected), rtol=1e-8, atol=1e-10
            )


@each(DIFFERENTIABLE)
def test_rows_and_columns_of_the_jacobian_agree(row: Row) -> None:
    """vmap over a pullback, which is `jacrev`, and over a pushforward, which is `jacfwd`."""
    args = row.make(calls.rng_of(row))
    function, rng = function_of(row, args), np.random.default_rng(5)
    arrays = arrays_in(args)
    floats = [k for k, a in enumerate(arrays) if a.dtype.kind == "f"]
    if not floats or is_refused(row, "all") or is_refused(row, "first"):
        pytest.skip("no real inputs, or refused in a batch")

    def first_output(*xs: Any) -> Any:
        given = iter(xs)
        every = [
            next(given) if k in floats else wengert.from_numpy(a) for k, a in enumerate(arrays)
        ]
        y = next(y for y in tensors_of(function(*every)) if y.is_floating_point() or y.is_complex())
        return wengert.view_as_real(y) if y.is_complex() else y

    primals = tuple(wengert.from_numpy(arrays[k].copy()) for k in floats)
    output, pull = wengert.func.vjp(first_output, *primals)

    def directions(like: Any) -> Any:
        return wengert.stack([random_like(rng, like) for _ in range(SIZE)])

    cotangents, tangents = directions(output), tuple(directions(x) for x in primals)
    gradients = wengert.vmap(pull)(cotangents)
    along = wengert.vmap(lambda *ts: wengert.func.jvp(first_output, primals, ts)[1])(*tangents)
    by_rows = sum(flat(g) @ flat(t).T for g, t in zip(gradients, tangents, strict=True))
    single = any(arrays[k].dtype.itemsize < 8 for k in floats)  # rounded to float32 on the way
    rtol, atol = (1e-6, 1e-7) if single else (1e-8, 1e-9)
    np.testing.assert_allclose(by_rows, flat(cotangents) @ flat(along).T, rtol=rtol, atol=atol)


def flat(batch: Any) -> np.ndarray:
    """The entries of a batch as rows."""
    return batch.numpy().reshape(SIZE, -1)


def random_like(rng: np.random.Generator, x: Any) -> Any:
    """A random tensor of the shape and dtype of `x`."""
    values = rng.standard_normal(tuple(x.shape))
    if x.dtype.is_complex:
        values = values + 1j * rng.standard_normal(tuple(x.shape))
    return wengert.from_numpy(np.asarray(values)).to(x.dtype)


def inner(a: Any, b: Any) -> float:
    """The real inner product of two tensors."""
    x, y = a.numpy(), b.numpy()
    return float((x * y.conj()).sum().real)
