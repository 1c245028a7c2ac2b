"""Every function that scripts use, by PyTorch's own records: a few samples of each dtype.

`make parity` runs them all.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity import ops
from tests.parity.known import explanation

pytestmark = pytest.mark.torch

# Samples of a record and dtype: the first, and others spread over the rest.
SAMPLES = 2
# PyTorch has no record of these; they have rows of their own.
WITHOUT_RECORD = {"nn.functional.fold"}


@pytest.mark.parametrize("name", ops.listed())
def test_function(name: str, torch: Any) -> None:
    if name in WITHOUT_RECORD:
        assert ops.attribute(name) is not None
        return
    records = ops.records_of(name)
    assert records
    results = [ops.run(info, SAMPLES) for info in records]
    assert sum(r.tried for r in results) > 0
    unexplained = [f"{r.name} {f}" for r in results for f in r.failures
                   if explanation(r.name, f) is None]  # fmt: skip
    assert unexplained == []
