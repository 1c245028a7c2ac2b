"""`wengert.masked` against PyTorch's: values and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops.calls import gradients, scalar, to_numpy

X = np.random.default_rng(0).uniform(0.5, 2, (2, 3, 4))
MASK = np.random.default_rng(1).integers(0, 2, (2, 3, 4)).astype(bool)
MASK[0, 0] = False
DIMS: tuple[dict[str, Any], ...] = (
    {}, {"dim": 1}, {"dim": (0, 2), "keepdim": True}, {"dim": -1}, {"dim": ()},
)  # fmt: skip
ONE = ({"dim": 1}, {"dim": -1})
CALLS = [
    *((name, kwargs) for name in ("sum", "prod", "amax", "amin", "mean", "logsumexp", "var", "std")
      for kwargs in DIMS),
    *((name, kwargs) for name in ("argmax", "argmin", "median", "cumsum", "cumprod", "softmax",
                                  "log_softmax", "softmin") for kwargs in ONE),
    *(("norm", {"ord": ord, **kwargs}) for ord in (2.0, 1, 3, float("inf"), -float("inf"))
      for kwargs in DIMS[1:4]),
    *(("normalize", {"ord": 2.0, **kwargs}) for kwargs in ONE),
    ("var", {"dim": 1, "unbiased": False}), ("var", {"dim": 2, "correction": 2}),
    ("argmax", {}), ("sum", {"dim": 0, "dtype": "float32"}),
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("mask", [None, MASK, MASK[0], MASK[:, :, :1]])
@pytest.mark.parametrize(("name", "kwargs"), CALLS)
@pytest.mark.filterwarnings("ignore")
def test_values_and_gradients(torch: Any, name: str, kwargs: dict[str, Any], mask: Any) -> None:
    found = []
    for library in (wengert, torch):
        x = library.from_numpy(X.copy()).requires_grad_(True)
        given = {k: getattr(library, v) if k == "dtype" else v for k, v in kwargs.items()}
        chosen = None if mask is None else library.from_numpy(mask.copy())
        result = getattr(library.masked, name)(x, mask=chosen, **given)
        found.append([to_numpy(result)])
        if result.requires_grad and bool(result.isfinite().all()):
            found[-1] += map(to_numpy, gradients(library, scalar(library, result), [x]))
    for a, b in zip(*found, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, 1e-6 if a.dtype == np.float32 else 1e-12, 1e-12)


@pytest.mark.torch
def test_integers_and_two_masks(torch: Any) -> None:
    found = []
    for library in (wengert, torch):
        x, mask = library.tensor([[1, 5, 3]]), library.tensor([[True, False, True]])
        m = library.masked
        y = x.double()
        found.append([
            m.sum(x, 1, mask=mask), m.amax(x, 1, mask=mask), m.amin(x, 1, mask=~mask),
            m.median(x, 1, mask=mask), m.argmax(x, 1, mask=mask),
            m.logaddexp(y, y, input_mask=mask, other_mask=~mask),
        ])  # fmt: skip
        with pytest.raises(ValueError, match="Could not infer output dtype"):
            m.mean(x, 1, mask=mask)
        with pytest.raises(ValueError, match="no fully masked out rows"):
            m.median(x, 1, mask=library.zeros(1, 3).bool())
        with pytest.raises(RuntimeError):
            m.sum(x, 1, mask=library.ones(5).bool())
    for a, b in zip(*found, strict=True):
        assert (str(a.dtype), a.tolist()) == (str(b.dtype), b.tolist())
