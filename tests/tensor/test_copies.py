"""``*_copy`` functions against PyTorch's: values, gradients, memory, `out=`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops.calls import gradients, outputs, scalar, to_numpy
from wengert.tensor import copies

X = np.random.default_rng(1).standard_normal((4, 3, 2))
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("alias", ()),
    ("as_strided", ((2, 2), (6, 1), 1)),
    ("detach", ()),
    ("diagonal", (1, 0, 2)),
    ("expand", ((5, 4, 3, 2),)),
    ("narrow", (1, 1, 2)),
    ("permute", ((2, 0, 1),)),
    ("select", (1, -1)),
    ("slice", (1, 0, 3, 2)),
    ("slice", (-1, 1)),
    ("split", (3, 0)),
    ("split_with_sizes", ([1, 3],)),
    ("squeeze", ()),
    ("transpose", (0, 2)),
    ("unbind", (1,)),
    ("unfold", (0, 2, 1)),
    ("unsqueeze", (1,)),
    ("view", ((3, 8),)),
]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "args"), CALLS)
def test_copies(torch: Any, name: str, args: tuple[Any, ...]) -> None:
    found = []
    for library in (wengert, torch):
        x = library.from_numpy(X.copy()).requires_grad_(name != "detach")
        result = getattr(library, f"{name}_copy")(x, *args)
        values = [to_numpy(t) for t in outputs(result)]
        assert all(t.is_contiguous() for t in outputs(result))
        found.append((values, [t.requires_grad for t in outputs(result)]))
        if name != "detach":
            grads = gradients(library, scalar(library, result), [x])
            found[-1][0].extend(to_numpy(g) for g in grads)
    for a, b in zip(found[0][0], found[1][0], strict=True):
        np.testing.assert_allclose(a, b, 1e-14)
    assert found[0][1] == found[1][1]


@pytest.mark.torch
def test_copies_of_two_dimensions_and_of_complex_numbers(torch: Any) -> None:
    for library in (wengert, torch):
        x = library.from_numpy(X[0].copy())
        z = library.view_as_complex_copy(x)
        assert z.tolist() == [complex(*row) for row in X[0]]
        assert library.view_as_real_copy(z).tolist() == X[0].tolist()
        assert library.t_copy(x).tolist() == X[0].T.tolist()
        assert library.view_copy(x, library.int64).dtype == library.int64


def test_each_is_tried_and_shares_no_memory() -> None:
    tried = {f"{name}_copy" for name, _ in CALLS}
    assert tried | {"t_copy", "view_as_complex_copy", "view_as_real_copy"} == {*copies.__all__}
    x = wengert.from_numpy(X.copy())
    for name, args in CALLS:
        for t in outputs(getattr(wengert, f"{name}_copy")(x, *args)):
            assert not np.may_share_memory(t.numpy(), x.numpy()), name


def test_out() -> None:
    x, out = wengert.from_numpy(X.copy()), wengert.empty(0, dtype=wengert.float64)
    assert wengert.permute_copy(x, (2, 0, 1), out=out) is out
    assert out.tolist() == X.transpose(2, 0, 1).tolist()
    outs = [wengert.empty(0, dtype=wengert.float64) for _ in range(2)]
    wengert.unbind_copy(x, 2, out=outs)
    assert outs[1].tolist() == X[..., 1].tolist()


@pytest.mark.torch
def test_as_strided_in_place_and_empty_permuted(torch: Any) -> None:
    for library in (wengert, torch):
        x = library.arange(6.0)
        assert x.as_strided_((2, 2), (3, 1), 1) is x
        assert x.tolist() == [[1, 2], [4, 5]]
        t = library.empty_permuted((2, 3, 4), (1, 2, 0), dtype=library.int32)
        assert (tuple(t.shape), t.stride(), t.dtype) == ((2, 3, 4), (1, 8, 2), library.int32)
        with pytest.raises(RuntimeError):
            library.empty_permuted((2, 3), (0, 0))
