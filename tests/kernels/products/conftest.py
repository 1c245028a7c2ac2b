"""Each test draws its operands from the beginning of a stream, in whatever order tests run."""

import numpy as np
import pytest

from tests.kernels.products import test_gemm, test_packed


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (test_gemm, test_packed):
        monkeypatch.setattr(module, "rng", np.random.default_rng(0))
