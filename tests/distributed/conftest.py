"""Two groups of processes, which all tests of a worker share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.distributed.ranks import Ranks


@pytest.fixture(scope="session")
def two_ranks() -> Iterator[Ranks]:
    ranks = Ranks(2)
    yield ranks
    ranks.close()


@pytest.fixture(scope="session")
def three_ranks() -> Iterator[Ranks]:
    ranks = Ranks(3)
    yield ranks
    ranks.close()


@pytest.fixture(scope="session")
def two_machines() -> Iterator[Ranks]:
    """Two ranks that have no machine in common."""
    ranks = Ranks(2, apart=True)
    yield ranks
    ranks.close()


@pytest.fixture(params=[2, 3])
def ranks(request: pytest.FixtureRequest) -> Ranks:
    """Two ranks, then three."""
    name = {2: "two_ranks", 3: "three_ranks"}[request.param]
    chosen: Ranks = request.getfixturevalue(name)
    return chosen
