"""Helpers of modes that watch values."""

from __future__ import annotations

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T


def test_monitors_and_guards_have_helpers(capsys: pytest.CaptureFixture[str]) -> None:
    from wengert.symbolic import modes, monitoring

    assert modes.flatten([1, (2, {3}), [[4]]]) == [1, 2, 3, 4]
    numbers = [np.array([1.0, np.nan]), np.array([-np.inf]), np.array([1]), "text"]
    assert [modes.contains_nan(v) for v in numbers] == [True, False, False, False]
    assert [modes.contains_inf(v) for v in numbers] == [False, True, False, False]
    x = T.dvector("x")
    mode = theano.compile.MonitorMode(post_func=monitoring.detect_nan)
    f = theano.function([x], T.log(x), mode=mode)
    f([1.0])
    assert capsys.readouterr().out == ""
    f([-1.0, 1.0])
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0], *lines[-2:]] == [
        "*** NaN detected ***", "Inputs : [array([-1.,  1.])]", "Outputs: [array([nan,  0.])]"
    ]  # fmt: skip
