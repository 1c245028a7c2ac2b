"""Programs give what Theano gives: values, shapes and dtypes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert.compat
from tests.symbolic.programs import PROGRAMS

ANSWERS = json.loads((Path(__file__).parent / "theano_answers.json").read_text())


@pytest.fixture
def theano() -> Iterator[Any]:
    wengert.compat.install("theano")
    import theano

    yield theano
    wengert.compat.uninstall("theano")


@pytest.mark.parametrize("name", ANSWERS)
def test_program_gives_what_theano_gives(name: str, theano: Any) -> None:
    values = [np.asarray(v) for v in PROGRAMS[name](theano, theano.tensor)]
    assert len(values) == len(ANSWERS[name])
    for k, (value, (dtype, shape, numbers)) in enumerate(zip(values, ANSWERS[name], strict=True)):
        what = f"{name}, result {k}"
        assert (str(value.dtype), list(value.shape)) == (dtype, shape), what
        limit = 3e-6 if dtype == "float32" else 1e-9
        expected = np.array(numbers, dtype).reshape(shape)
        np.testing.assert_allclose(value, expected, limit, limit, err_msg=what)


def test_every_program_is_recorded() -> None:
    assert ANSWERS.keys() == PROGRAMS.keys()
