"""The same programs in wengert and in PyTorch: which functions are asked about, what comes back."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import wengert

Log = list[str]

# Names under which PyTorch's functions written in C go.
_PREFIXES = ("linalg_", "fft_", "special_")


def short_name(library: Any, func: Any) -> str:
    if func.__name__ in ("__get__", "__set__"):
        return library.overrides.resolve_name(func).removeprefix("torch.Tensor.")
    name = func.__name__
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name


def logging_class(library: Any, log: Log) -> type:
    """A subclass of Tensor that notes what is called."""

    class Logging(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append(short_name(library, func))
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logging


def logging_mode(library: Any, log: Log) -> Any:
    class Mode(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(short_name(library, func))
            return func(*args, **(kwargs or {}))

    return Mode()


def library_of(torch: Any) -> list[Any]:
    import torch.overrides

    return [wengert, torch]


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "operators": lambda t, x: [x + 1, 1 + x, x - 1, x * 2, 2 * x, x / 2, -x, x @ x, x > 0, 1 - x],
    "in place": lambda t, x: [x.add_(1), x.mul_(2), x.zero_(), x.__iadd__(1)],
    "methods": lambda t, x: [x.sum(), x.mean(0), x.reshape(4), x.t(), x.clone(), x.tanh()],
    "functions": lambda t, x: [t.add(x, 1), t.cat([x, x]), t.stack((x, x)), t.sum(input=x, dim=0)],
    "views": lambda t, x: [x[0], x[:, 1], x[..., None], x.view(-1), x.unsqueeze(0), x.chunk(2)],
    "properties": lambda t, x: [x.shape, x.T, x.dtype, x.requires_grad, x.ndim, x.is_leaf],
    "numbers": lambda t, x: [x.sum().item(), x.tolist(), float(x[0, 0]), len(x), x.size(0)],
    "functional": lambda t, x: [
        t.nn.functional.linear(x, x),
        t.nn.functional.cross_entropy(x, t.tensor([0, 1])),
        t.nn.functional.mse_loss(x, t.zeros(2, 2)),
        t.nn.functional.dropout(x, 0.0),
        t.nn.functional.layer_norm(x, (2,)),
    ],
    "fields": lambda t, x: [t.linalg.norm(x), t.fft.fft(x), t.special.erf(x), t.linalg.det(x)],
    "several results": lambda t, x: [x.max(0), x.sort(), x.split(1), t.unbind(x), t.var_mean(x)],
    "nn.init": lambda t, x: [t.nn.init.normal_(x), t.nn.init.constant_(x, 1.0)],
}


def kinds(library: Any, value: Any) -> Any:
    """The classes of results: of Tensors, and inside of lists and tuples."""
    if isinstance(value, library.Tensor):
        return "Logging" if type(value).__name__ == "Logging" else "Tensor"
    if isinstance(value, list | tuple) and type(value).__name__ != "Size":
        return [kinds(library, v) for v in value]
    return type(value).__name__


def run(library: Any, program: Callable[[Any, Any], Any]) -> tuple[Any, Log]:
    log: Log = []
    x = library.tensor([[1.0, 2.0], [3.0, 5.0]]).as_subclass(logging_class(library, log))
    log.clear()
    results = program(library, x)
    return kinds(library, results), log


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_and_classes_of_a_subclass(name: str, torch: Any) -> None:
    ours, theirs = (run(library, PROGRAMS[name]) for library in library_of(torch))
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]


@pytest.mark.torch
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "nn.init"])
def test_calls_under_a_mode(name: str, torch: Any) -> None:
    logs: list[Log] = [[], []]
    for library, log in zip(library_of(torch), logs, strict=True):
        x = library.tensor([[1.0, 2.0], [3.0, 5.0]])
        with logging_mode(library, log):
            PROGRAMS[name](library, x)
        x + 1
    assert logs[0] == logs[1]


@pytest.mark.torch
def test_functions_that_make_tensors_under_a_mode(torch: Any) -> None:
    logs: list[Log] = [[], []]
    for library, log in zip(library_of(torch), logs, strict=True):
        with logging_mode(library, log):
            library.ones(2), library.zeros_like(library.rand(2)), library.arange(3)
            library.full((2,), 1.0), library.eye(2), library.empty(1), library.as_tensor(1.0)
            library.manual_seed(0), library.get_default_dtype(), library.is_tensor(3)
    assert logs[0] == logs[1]


class Weights(wengert.Tensor):
    """A subclass that pickles: it has a name."""


def test_copies_and_pickles_are_of_the_class() -> None:
    x = wengert.tensor([1.0, 2.0]).as_subclass(Weights)
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(y) is Weights
        assert y.tolist() == [1.0, 2.0]
