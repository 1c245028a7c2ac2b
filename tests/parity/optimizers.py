"""PyTorch's own records of its optimizers, run through both libraries.

`optim_db` lists, for every optimizer, configurations and calls that have to fail. Each
configuration trains the same small model for some steps, in several dtypes and with each of the
implementations that PyTorch has; parameters and states have to stay the same. Each call that has
to fail has to raise the same class of exception.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import wengert
from tests.parity.convert import NoCounterpartError, tensors_in, to_wengert

STEPS = 6

# Relative to the largest element. One step rounds a few times; quasi-Newton directions and
# quotients of small averages enlarge that.
TOLERANCE = {"float32": 1e-4, "float64": 1e-11, "complex64": 1e-4, "complex128": 1e-11}
LOOSE = {
    # Products are rounded to bfloat16: sums in another order round the other way now and then.
    "Muon": {"float32": 1e-3, "float64": 1e-3},
    "LBFGS": {"float32": 1e-3, "complex64": 1e-3, "float64": 1e-10, "complex128": 1e-10},
    # The two implementations that PyTorch has round the rate in different ways.
    "ASGD, foreach": {"float64": 1e-5, "complex128": 1e-5},
}


@dataclass
class Result:
    """What became of the configurations and failing calls of one optimizer."""

    name: str
    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def tried(self) -> int:
        return len(self.passed) + len(self.failed)

    def __str__(self) -> str:
        text = f"{self.name}: {len(self.passed)}/{self.tried}"
        for why, cases in (("failed", self.failed), ("left out", self.left_out)):
            text += "".join(f"\n  {why}: {case}: {reason}" for case, reason in cases.items())
        return text

    @contextlib.contextmanager
    def case(self, label: str) -> Iterator[None]:
        """Note what becomes of one case; an assertion or an exception fails it."""
        try:
            yield
        except NoCounterpartError as gap:
            self.left_out[label] = str(gap)
        except Exception as error:
            self.failed[label] = f"{type(error).__name__}: {error}"
        else:
            self.passed.append(label)


def check(info: Any) -> Result:
    """Run everything that is recorded of one optimizer."""
    result = Result(info.optim_cls.__name__)
    if info.only_supports_sparse_grads:
        result.left_out["all configurations"] = "gradients are sparse"
    else:
        for label, dtype, options in _configurations(info):
            with result.case(label):
                _compare_training(info, dtype, options)
    for error in info.optim_error_inputs_func(device="cpu", dtype=_torch().float32):
        with result.case(f"error: {error.optimizer_error_input.desc}"):
            _compare_error(info, error)
    return result


def _torch() -> Any:
    import torch

    return torch


def _configurations(info: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    dtypes = ["float32", "float64"] + ["complex64", "complex128"] * info.supports_complex
    flags: list[dict[str, Any]] = [{}]
    flags += [{name: True} for name in info.supported_impls if name != "differentiable"]
    for config in info.optim_inputs_func(device="cpu"):
        for flag in flags:
            options = {**config.kwargs, **flag}
            tensor_options = any(isinstance(v, _torch().Tensor) for v in options.values())
            if flag.get("foreach") and tensor_options:
                continue  # an error of its own
            if info.step_requires_closure:
                options["max_iter"] = 2  # each step has several: short of convergence
            for dtype in dtypes:
                if flag.get("fused") and dtype.startswith("complex"):
                    continue
                label = ", ".join([config.desc, *flag, dtype])
                yield label, dtype, options


def _compare_training(info: Any, dtype: str, options: dict[str, Any]) -> None:
    torch, name = _torch(), info.optim_cls.__name__
    ours, theirs = (_Training(lib, name, dtype) for lib in (wengert, torch))
    ours.prepare(to_wengert(options), info.supports_param_groups)
    theirs.prepare(_copied(options), info.supports_param_groups)
    kind = f"{name}, foreach" if options.get("foreach") else name
    tolerance = {**TOLERANCE, **LOOSE.get(kind, {})}[dtype]
    for _ in range(STEPS):
        a, b = ours.step(), theirs.step()
        np.testing.assert_allclose(a.item(), b.item(), rtol=tolerance, err_msg="loss")
        for p, q in zip(ours.parameters, theirs.parameters, strict=True):
            _assert_close(p, q, tolerance, "parameter")
    mine, yours = ours.optimizer.state_dict(), theirs.optimizer.state_dict()
    assert mine["state"].keys() == yours["state"].keys()
    for key, state in yours["state"].items():
        assert mine["state"][key].keys() == state.keys()
        for part, value in state.items():
            if part == "al":  # L-BFGS's scratch: what is left there is rounding
                continue
            for p, q in zip(_leaves(mine["state"][key][part]), _leaves(value), strict=True):
                _assert_close(p, q, 10 * tolerance, part)


def _copied(options: dict[str, Any]) -> dict[str, Any]:
    """Options whose tensors a training may change."""
    return {k: v.clone() if isinstance(v, _torch().Tensor) else v for k, v in options.items()}


def _leaves(value: Any) -> list[Any]:
    """The tensors and numbers of a value of a state."""
    return [leaf for v in value for leaf in _leaves(v)] if isinstance(value, list) else [value]


def _assert_close(p: Any, q: Any, tolerance: float, what: str) -> None:
    if isinstance(p, wengert.Tensor) and hasattr(q, "detach"):
        assert str(p.dtype).split(".")[1] == str(q.dtype).split(".")[1], what
    if q is None:
        assert p is None, what
        return
    x, y = (v.detach().numpy() if hasattr(v, "detach") else np.asarray(v) for v in (p, q))
    np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * np.abs(y).max(), err_msg=what)


class _Training:
    """A small model in one of the libraries: the sum of squares of a network of two layers."""

    def __init__(self, library: Any, name: str, dtype: str) -> None:
        self.library, self.name = library, name
        self.rng = np.random.default_rng(0)
        self.dtype = dtype
        shapes = [(4, 3), (2, 4)] if name == "Muon" else [(4, 3), (2, 4), (4, 1), ()]
        self.parameters = [self._random(*shape).requires_grad_() for shape in shapes]
        self.x, self.y = self._random(3, 8), self._random(2, 8)

    def _random(self, *shape: int) -> Any:
        value = self.rng.normal(size=shape)
        if self.dtype.startswith("complex"):
            value = value + 1j * self.rng.normal(size=shape)
        return self.library.from_numpy(np.asarray(value, self.dtype))

    def prepare(self, options: dict[str, Any], several: bool) -> None:
        """Make the optimizer; with groups where it takes them."""
        given: Any = self.parameters
        if several:
            given = [{"params": given[:1]}, {"params": given[1:]}]
        self.optimizer = getattr(self.library.optim, self.name)(given, **options)

    def step(self) -> Any:
        return self.optimizer.step(self._closure)

    def _closure(self) -> Any:
        self.optimizer.zero_grad()
        w, v, *more = self.parameters
        hidden = w @ self.x
        if more:
            hidden = hidden + more[0]
        if not self.dtype.startswith("complex"):  # where tanh has poles
            hidden = self.library.tanh(hidden)
        out = v @ hidden - self.y
        if more:
            out = out * more[1]
        loss = (out * out.conj()).real if self.dtype.startswith("complex") else out * out
        loss = loss.mean()
        loss.backward()
        return loss


def _compare_error(info: Any, error: Any) -> None:
    torch = _torch()
    given = error.optimizer_error_input
    params = [torch.nn.Parameter(torch.randn(1, 1))] if given.params is None else given.params
    name = info.optim_cls.__name__
    theirs = _raised(lambda: _failing(torch, name, params, given.kwargs))
    params_of_ours, kwargs = to_wengert([params, given.kwargs])
    for p, q in zip(tensors_in(params_of_ours), tensors_in(params), strict=True):
        if q.grad is not None:
            p.grad = to_wengert(q.grad)
    ours = _raised(lambda: _failing(wengert, name, params_of_ours, kwargs))
    assert theirs is error.error_type, f"the record says {error.error_type}, PyTorch {theirs}"
    assert ours is theirs, f"raised {ours}, PyTorch {theirs}"


def _failing(library: Any, name: str, params: Any, options: dict[str, Any]) -> None:
    # Groups are filled in by the optimizer: it gets its own.
    groups = isinstance(params, list) and isinstance(params[0], dict)
    own = [dict(group) for group in params] if groups else params
    optimizer = getattr(library.optim, name)(own, **options)
    optimizer.step()


def _raised(function: Callable[[], Any]) -> type[BaseException] | None:
    """The class of what a call raises; warnings count."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            function()
        except Exception as error:
            return type(error)
    return None
