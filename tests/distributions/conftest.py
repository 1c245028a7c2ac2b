"""What tests of distributions need of PyTorch's."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def checks_of_arguments(request: pytest.FixtureRequest) -> None:
    """PyTorch's are on: its compiler turns them off for the whole process once it is imported."""
    if request.node.get_closest_marker("torch"):
        torch = request.getfixturevalue("torch")
        torch.distributions.Distribution.set_default_validate_args(True)
