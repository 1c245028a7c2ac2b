"""Scenarios that give the same answers in both libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert
from wengert.autograd import no_grad


def agree(torch: Any, scenario: Callable[[Any], list[Any]], tol: float = 1e-5) -> None:
    """Run a scenario with each library; tensors have to be close, everything else equal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        theirs = [_plain(value) for value in scenario(torch)]
        wengert.manual_seed(0)
        ours = [_plain(value) for value in scenario(wengert)]
    assert len(ours) == len(theirs) > 0
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(b, np.ndarray):
            np.testing.assert_allclose(a, b, tol, tol, err_msg=f"answer {number}")
        else:
            assert a == b, f"answer {number}"


def _plain(value: Any) -> Any:
    if hasattr(value, "detach"):
        return value.detach().numpy()
    return value if isinstance(value, list | tuple) else repr(value)


def state(module: Any) -> list[Any]:
    """The keys of a module's state, and its tensors."""
    return [list(module.state_dict()), *module.state_dict().values()]


def gradients(module: Any, output: Any) -> list[Any]:
    """The gradients of all parameters, by the sum of the output's squares."""
    module.zero_grad()
    (output * output).sum().backward()
    return [p.grad for p in module.parameters()]


def error(function: Callable[[], Any]) -> str:
    """The name of the class that a call raises."""
    try:
        function()
    except Exception as raised:
        return type(raised).__name__
    return "no error"


def layer(lib: Any, kind: str = "Linear", *args: Any) -> Any:
    """A layer with the same values in both libraries."""
    module = getattr(lib.nn, kind)(*(args or (3, 4)))
    with lib.no_grad() if lib is not wengert else no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_((lib.arange(p.numel()).reshape(p.shape) * 0.37 + i + 0.1).sin())
    return module


def batch(lib: Any) -> Any:
    """An input for `layer`."""
    return (lib.arange(6.0).reshape(2, 3) * 0.3).cos()
