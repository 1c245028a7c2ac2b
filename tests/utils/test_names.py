"""Packages that PyTorch has in `utils`, under its names for them."""

from __future__ import annotations

from importlib import import_module

import pytest

PLACES = {
    "wengert.utils.checkpoint": "wengert.checkpointing",
    "wengert.utils.data": "wengert.data",
    **{
        f"wengert.utils.data.{name}": f"wengert.data.{name}"
        for name in ("collate", "dataloader", "dataset", "distributed", "sampler", "worker")
    },
}


@pytest.mark.parametrize("public", PLACES)
def test_a_public_name_stands_for_what_is_elsewhere(public: str) -> None:
    place, home = import_module(public), import_module(PLACES[public])
    assert place.__all__ == home.__all__
    assert [n for n in home.__all__ if getattr(place, n) is not getattr(home, n)] == []


def test_functions_by_type_that_users_extend_are_one_table() -> None:
    from wengert.data import collate
    from wengert.utils.data.collate import default_collate_fn_map

    assert default_collate_fn_map is collate.default_collate_fn_map
