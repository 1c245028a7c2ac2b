"""What objects that ranks send each other may be."""

from __future__ import annotations

from pickle import UnpicklingError

import pytest

import wengert
from wengert.distributed.objects import packed, unpacked


class Settings:
    """A class of the program."""

    rate = 0.1


def test_plain_objects_and_tensors() -> None:
    value = {"rate": 0.1, "names": ("a", None), "x": wengert.ones(2)}
    found = unpacked(packed(value))
    assert wengert.equal(found.pop("x"), value.pop("x"))
    assert found == value


def test_other_classes_are_allowed_one_by_one_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed(Settings())
    with pytest.raises(UnpicklingError, match=r"add_safe_globals, or set WENGERT_TRUST_RANKS=1"):
        unpacked(data)
    with wengert.serialization.safe_globals([Settings]):
        assert unpacked(data).rate == 0.1
    monkeypatch.setenv("WENGERT_TRUST_RANKS", "1")
    assert unpacked(packed(Settings())).rate == 0.1
