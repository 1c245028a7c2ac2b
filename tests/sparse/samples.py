"""Samples of sparse tensors, made alike by wengert and by PyTorch, and how they are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

INDICES = np.array([[0, 1, 1, 3, 0], [2, 0, 2, 1, 4]])
# The same places, unsorted, one of them three times.
REPEATED = np.array([[3, 0, 1, 0, 3, 3], [1, 2, 0, 2, 1, 1]])
SHAPE = (4, 5)
LAYOUTS = ("coo", "uncoalesced", "csr", "csc", "bsr", "bsc")
DTYPES = ("float32", "float64", "int64", "complex128")


def values_of(count: int, dtype: str, *dense: int) -> np.ndarray:
    """Numbers of a dtype, none of them zero."""
    random = np.random.default_rng(7)
    numbers = random.integers(1, 9, (count, *dense)) * random.choice([-1, 1], (count, *dense))
    if dtype.startswith("complex"):
        return (numbers / 4 + 1j).astype(dtype)
    return (numbers / (1 if dtype.startswith("int") else 4)).astype(dtype)


def sample(t: Any, layout: str = "coo", dtype: str = "float64", *dense: int) -> Any:
    """A 4 x 5 sparse tensor; `dense` are the dense dimensions behind those."""
    places = REPEATED if layout == "uncoalesced" else INDICES
    values = t.tensor(values_of(places.shape[1], dtype, *dense))
    coo = t.sparse_coo_tensor(t.tensor(places), values, (*SHAPE, *dense), check_invariants=True)
    if layout == "uncoalesced":
        return coo
    coo = coo.coalesce()
    if layout in ("bsr", "bsc"):
        return getattr(coo, f"to_sparse_{layout}")((2, 5))
    return coo if layout == "coo" else getattr(coo, f"to_sparse_{layout}")()


def hybrid(t: Any, dtype: str = "float64") -> Any:
    """A 4 x 5 x 2 tensor with one dense dimension."""
    return sample(t, "coo", dtype, 2)


def described(x: Any) -> Any:
    """What is compared of a result: its layout, its dtype, its components."""
    if isinstance(x, list | tuple):
        return [described(y) for y in x]
    if not hasattr(x, "layout"):
        return x
    x = x.detach()
    head = (str(x.layout), tuple(x.shape), str(x.dtype))
    if str(x.layout) == "torch.strided":
        return (*head, x.resolve_conj().numpy())
    if str(x.layout) == "torch.sparse_coo":
        summed = x.coalesce()
        parts = (summed.indices(), summed.values())
        return (*head, Coalesced(x.is_coalesced()), *(p.resolve_conj().numpy() for p in parts))
    names = ("crow_indices", "col_indices")
    if str(x.layout) in ("torch.sparse_csc", "torch.sparse_bsc"):
        names = ("ccol_indices", "row_indices")
    ours = [getattr(x, name)() for name in names]
    return (*head, *(p.resolve_conj().numpy() for p in (*ours, x.values())))


class Coalesced:
    """Whether a tensor says that it is coalesced; PyTorch does not always notice."""

    def __init__(self, value: bool) -> None:
        self.value = value

    def __eq__(self, expected: Any) -> bool:
        return self.value or not expected.value


def assert_same(actual: Any, expected: Any, rtol: float = 1e-6) -> None:
    """Compare what `described` returns."""
    if isinstance(expected, np.ndarray):
        exact = expected.dtype != np.float32
        tolerance = {"rtol": rtol, "atol": 1e-12} if exact else {"rtol": 1e-5, "atol": 1e-7}
        np.testing.assert_allclose(actual, expected, **tolerance)
        assert actual.dtype == expected.dtype
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            assert_same(a, e, rtol)
    else:
        assert actual == expected
