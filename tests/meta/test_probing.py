"""Outlines of large results: nothing large is computed, and small ones agree with the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import wengert
from wengert import Tensor
from wengert.kernels.products import factorizations
from wengert.nn import functional as F

CALLS: dict[str, Callable[[Tensor], Any]] = {
    "matmul": lambda x: x @ x.t(),
    "sort": lambda x: x.sort(1)[1],
    "cumsum": lambda x: x.cumsum(1),
    "transposed": lambda x: x.t().contiguous(),
    "flat": lambda x: x.t().reshape(-1),
    "tril": lambda x: x.tril(),
    "roll": lambda x: x.roll(1, 0),
    "flip": lambda x: x.t().flip(0),
    "repeat": lambda x: x.repeat(3, 2),
    "cat": lambda x: wengert.cat([x, x], 1),
    "stack": lambda x: wengert.stack([x, x], 2),
    "blocks": lambda x: wengert.block_diag(x, x),
    "where": lambda x: wengert.where(x > 0, x, x),
    "max": lambda x: x.max(1)[1],
    "softmax": lambda x: x.softmax(1),
    "norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "dropout": lambda x: F.dropout(x.t()),
    "halved": lambda x: wengert.fft.rfft(x),
    "padded": lambda x: F.pad(x, (1, 2)),
    "cropped": lambda x: F.pad(x, (-3, 1, -2, -90)),
    "resized spectrum": lambda x: wengert.fft.fftn(x, s=(4, 6)),
    "from half": lambda x: wengert.fft.irfft(x),
    "windows": lambda x: x.unfold(0, 3, 2),
    "strided": lambda x: F.max_pool1d(x, 3, 2),
    "std": lambda x: x.std(0),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", [(300, 401), (130, 520), (97, 1000)])
def test_large_results_are_as_on_the_cpu(name: str, shape: tuple[int, int]) -> None:
    expected = CALLS[name](wengert.zeros(shape))
    result = CALLS[name](wengert.empty(shape, device="meta"))
    assert (result.shape, result.dtype, result.stride()) == (
        expected.shape, expected.dtype, expected.stride(),
    )  # fmt: skip


DECOMPOSITIONS: dict[str, Callable[[Tensor], Any]] = {
    "svd": wengert.linalg.svd,
    "thin svd": lambda x: wengert.linalg.svd(x, full_matrices=False),
    "svdvals": wengert.linalg.svdvals,
    "qr": wengert.linalg.qr,
    "complete qr": lambda x: wengert.linalg.qr(x, mode="complete"),
    "r": lambda x: wengert.linalg.qr(x, mode="r"),
    "geqrf": wengert.geqrf,
    "lu": wengert.linalg.lu,
    "lu_factor": wengert.linalg.lu_factor_ex,
    "eigh": lambda x: wengert.linalg.eigh(x @ x.mH),
    "eigvalsh": lambda x: wengert.linalg.eigvalsh(x @ x.mH),
    "eig": lambda x: wengert.linalg.eig(x @ x.mH),
    "eigvals": lambda x: wengert.linalg.eigvals(x @ x.mH),
    "slogdet": lambda x: wengert.linalg.slogdet(x @ x.mH),
    "fft": lambda x: wengert.fft.fft2(x),
}


@pytest.mark.parametrize("name", DECOMPOSITIONS)
@pytest.mark.parametrize("dtype", [wengert.float64, wengert.complex64])
def test_factors_are_not_computed(name: str, dtype: Any, monkeypatch: Any) -> None:
    decompose = DECOMPOSITIONS[name]
    for shape in ((3, 5), (2, 5, 3)):
        expected = decompose(wengert.randn(shape, dtype=dtype))
        with monkeypatch.context() as patch:
            for function in ("svd", "svdvals", "qr", "eig", "eigh", "lu", "householder"):
                patch.setattr(factorizations, function, None)
            result = decompose(wengert.empty(shape, dtype=dtype, device="meta"))
        for a, b in zip(
            *([x] if isinstance(x, Tensor) else x for x in (result, expected)), strict=True
        ):
            assert (a.shape, a.dtype, a.stride()) == (b.shape, b.dtype, b.stride())


def test_a_model_with_a_terabyte_of_activations() -> None:
    n = 400_000
    x = wengert.empty(n, n, device="meta", requires_grad=True)
    classes = wengert.empty(n, dtype=wengert.int64, device="meta")
    y = F.layer_norm((x @ x).softmax(1), (n,))
    loss = F.cross_entropy(y, classes) + F.embedding(classes, x).sum()
    loss.backward()
    assert x.grad is not None
    assert (x.grad.shape, x.grad.is_meta) == ((n, n), True)
