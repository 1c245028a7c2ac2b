"""PyTorch's `module_db` run over the layers of this library.

For each sample of a module that torch records, `run` makes the module in both libraries, gives
ours the state of torch's, and compares what can be seen of them: the text of the module, the keys
and shapes of its state, its output, the gradients of inputs and parameters, second gradients,
what the call left in its buffers, and a copy and a pickle of it. Recorded errors have to raise the
recorded class.
"""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import wengert
from tests.parity.convert import tensors_in, to_torch, to_wengert
from wengert import nn

# rtol and atol, by the precision that was computed in.
TOLERANCES = {
    "float64": (1e-8, 1e-10), "complex128": (1e-8, 1e-10),
    "float32": (1e-4, 1e-5), "complex64": (1e-4, 1e-5),
    "float16": (4e-3, 1e-2), "bfloat16": (3e-2, 8e-2),
}  # fmt: skip
# How much more where the algorithm loses digits in either library: sums over long paths.
COARSER = {"nn.CTCLoss": 10}
# What torch records for its tests but numpy has no numbers for.
WITHOUT_COUNTERPART = {"complex32"}


@dataclass
class Result:
    """How one module did: samples tried, samples passed, and what was wrong with the others."""

    tried: int = 0
    passed: int = 0
    reasons: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return self.passed == self.tried > 0

    def __str__(self) -> str:
        return "\n".join([f"{self.passed} of {self.tried} passed", *self.reasons])


class DifferenceError(AssertionError):
    """Ours is not as torch's."""


def infos() -> dict[str, Any]:
    """torch's records of modules by name, such as ``nn.Linear``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db

    return {info.name: info for info in module_db}


def run(torch: Any, info: Any, most: int | None = None) -> Result:
    """Every error of one record, and every sample, or that many spread over all of them."""
    result = Result()
    if not hasattr(nn, info.module_cls.__name__):
        return Result(1, 0, [f"wengert.nn has no {info.module_cls.__name__}"])
    for dtype in info.dtypes:
        if str(dtype).removeprefix("torch.") in WITHOUT_COUNTERPART:
            continue
        for training in (True, False) if info.train_and_eval_differ else (True,):
            options = {"device": "cpu", "dtype": dtype, "requires_grad": True, "training": training}
            torch.manual_seed(0)
            with _remembering_arguments(torch):
                samples = list(enumerate(info.module_inputs_func(info, **options)))
            step = 1 if most is None else -(-len(samples) // most)
            for number, sample in samples[::step]:
                case = _Case(torch, info, sample, dtype, training)
                _try(result, f"{case} #{number}", case.check)
            if info.module_error_inputs_func is not None:
                for number, error in enumerate(info.module_error_inputs_func(info, **options)):
                    check = _error_check(torch, info, error)
                    _try(result, f"{dtype} error #{number}", check)
    return result


def _try(result: Result, name: str, check: Callable[[], None]) -> None:
    result.tried += 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check()
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        result.reasons.append(f"{name}: {type(error).__name__}: {lines[0][:200]}")
    else:
        result.passed += 1


@contextmanager
def _remembering_arguments(torch: Any) -> Iterator[None]:
    """Layers that samples are made of (those of a TransformerEncoder) keep their arguments."""
    cls = torch.nn.TransformerEncoderLayer
    original = cls.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.made_with = args, kwargs

    cls.__init__ = init
    try:
        yield
    finally:
        cls.__init__ = original


def _make(torch: Any, name: str, args: Any, kwargs: Any) -> Any:
    """Our module for torch's arguments, modules among them rebuilt in the same way."""
    cls = getattr(nn, name)
    made = [_rebuilt(torch, value) for value in args]
    return cls(*made, **{k: _rebuilt(torch, value) for k, value in kwargs.items()})


def _rebuilt(torch: Any, value: Any) -> Any:
    if not isinstance(value, torch.nn.Module):
        return to_wengert(value)
    args, kwargs = value.made_with
    module = _make(torch, type(value).__name__, args, kwargs)
    module.load_state_dict(to_wengert(dict(value.state_dict())))
    return module


def _error_check(torch: Any, info: Any, error: Any) -> Callable[[], None]:
    """That what fails in torch fails here, with the same class."""
    sample, name = error.module_error_input, info.module_cls.__name__

    def check() -> None:
        made, called = sample.constructor_input, sample.forward_input
        try:
            module = _make(torch, name, made.args, made.kwargs)
            if error.error_on.name == "FORWARD_ERROR":
                module(*to_wengert(called.args), **to_wengert(called.kwargs))
        except error.error_type:
            return
        except Exception as other:
            raise DifferenceError(
                f"{type(other).__name__} instead of {error.error_type.__name__}: {other}"
            ) from other
        raise DifferenceError(f"no {error.error_type.__name__}: {error.error_regex}")

    return check


class _Case:
    """One sample of one module, in one dtype and mode."""

    def __init__(self, torch: Any, info: Any, sample: Any, dtype: Any, training: bool) -> None:
        self.torch, self.info, self.sample, self.dtype = torch, info, sample, dtype
        self.training = training
        self.precision = str(dtype).removeprefix("torch.")

    def __str__(self) -> str:
        mode = "train" if self.training else "eval"
        return f"{self.precision} {mode} {self.sample.desc}".strip()

    def check(self) -> None:
        made, called = self.sample.constructor_input, self.sample.forward_input
        with _remembering_arguments(self.torch):
            theirs = self.info.module_cls(*made.args, **made.kwargs)
        theirs = theirs.to(self.dtype).train(self.training)
        ours = _make(self.torch, self.info.module_cls.__name__, made.args, made.kwargs)
        ours = ours.to(to_wengert(self.dtype)).train(self.training)
        _equal("repr", repr(ours), repr(theirs))
        if self.info.is_lazy:
            self.materialise(theirs, ours, called)
        self.load(theirs, ours)
        inputs = called.args, called.kwargs
        pair = _Pair(self, theirs, ours, inputs, to_wengert(inputs))
        pair.compare()
        self.compare_state(theirs, ours)
        if self.precision == "float64":
            _check_copies(theirs, ours, inputs)

    def materialise(self, theirs: Any, ours: Any, called: Any) -> None:
        """A first call, after which a lazy module is an ordinary one."""
        _equal("lazy keys", list(ours.state_dict()), list(theirs.state_dict()))
        theirs(*called.args, **called.kwargs)
        ours(*to_wengert(called.args), **to_wengert(called.kwargs))
        _equal("class", type(ours).__name__, type(theirs).__name__)
        _equal("repr", repr(ours), repr(theirs))

    def load(self, theirs: Any, ours: Any) -> None:
        _equal("names", [n for n, _ in ours.named_parameters()],
               [n for n, _ in theirs.named_parameters()])  # fmt: skip
        ours.load_state_dict(to_wengert(dict(theirs.state_dict())))
        self.compare_state(theirs, ours)

    def compare_state(self, theirs: Any, ours: Any) -> None:
        a, b = dict(ours.state_dict()), dict(theirs.state_dict())
        _equal("keys", list(a), list(b))
        for key in a:
            self.compare(f"state {key!r}", a[key], b[key])

    def compare(self, what: str, ours: Any, theirs: Any) -> None:
        """Two values, tensors or not."""
        if not isinstance(theirs, self.torch.Tensor):
            _equal(what, to_torch(ours), theirs)
            return
        _equal(f"type of {what}", isinstance(ours, wengert.Tensor), True)
        _equal(f"dtype of {what}", str(ours.dtype), str(theirs.dtype))
        _equal(f"shape of {what}", tuple(ours.shape), tuple(theirs.shape))
        rtol, atol = TOLERANCES[self.precision]
        atol *= COARSER.get(self.info.name, 1)
        a, b = to_torch(ours.detach()), theirs.detach()
        if b.numel():  # small elements are sums of large ones
            atol *= max(1.0, b.abs().nan_to_num(0, 0, 0).max().item())
        if not self.torch.allclose(a, b, rtol, atol, equal_nan=True):
            gap = (a.to(b.dtype) - b).abs().max().item()
            raise DifferenceError(f"{what} is off by up to {gap:.3g}")


class _Pair:
    """Both modules with their inputs."""

    def __init__(self, case: _Case, theirs: Any, ours: Any, inputs: Any, our_inputs: Any) -> None:
        self.case, self.torch = case, case.torch
        self.theirs, self.ours = theirs, ours
        self.inputs, self.our_inputs = inputs, our_inputs

    def compare(self) -> None:
        self.torch.manual_seed(7)
        wengert.manual_seed(7)
        b = list(tensors_in(_call(self.theirs, self.inputs)))
        a = list(tensors_in(_call(self.ours, self.our_inputs)))
        _equal("number of outputs", len(a), len(b))
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            self.case.compare(f"output {i}", x, y)
            _equal(f"requires_grad of output {i}", x.requires_grad, y.requires_grad)
        names = [n for n, _ in self.theirs.named_parameters()]
        our_leaves = [*self.ours.parameters(), *_wanting(self.our_inputs)]
        leaves = [*self.theirs.parameters(), *_wanting(self.inputs)]
        names += [f"input {i}" for i in range(len(leaves) - len(names))]
        grads = self.compare_gradients("gradient", names, (a, our_leaves), (b, leaves))
        if self.case.info.supports_gradgrad and self.case.precision in ("float64", "complex128"):
            names += [f"seed {i}" for i in range(len(grads[1][1]) - len(names))]
            self.compare_gradients("second gradient", names, *grads)

    def compare_gradients(self, what: str, names: list[str], ours: Any, theirs: Any) -> Any:
        """Gradients of outputs with regard to leaves; returns these as outputs, with the leaves."""
        (a, our_leaves), (b, leaves) = ours, theirs
        kept = [(x, y) for x, y in zip(a, b, strict=True) if y is not None and y.requires_grad]
        if not kept or not leaves:
            return ([], our_leaves), ([], leaves)
        missing = [x for x, _ in kept if not x.requires_grad]
        _equal(f"{what}: outputs without a graph", len(missing), 0)
        generator = self.torch.Generator().manual_seed(3)
        seeds = [
            self.torch.randn(y.shape, dtype=y.dtype, generator=generator).requires_grad_()
            for _, y in kept
        ]
        our_seeds = to_wengert(seeds)
        options = {"create_graph": True, "allow_unused": True}
        try:
            theirs_are = self.torch.autograd.grad([y for _, y in kept], leaves, seeds, **options)
        except RuntimeError as error:
            if "not implemented" in str(error):  # no second derivative to compare with
                return ([], our_leaves), ([], leaves)
            raise
        ours_are = wengert.autograd.grad([x for x, _ in kept], our_leaves, our_seeds, **options)
        both = []
        for name, x, y in zip(names, ours_are, theirs_are, strict=True):
            if y is not None and x is not None:
                self.case.compare(f"{what} of {name}", x, y)
                both.append((x, y))
            for g in (x, y):
                if (x is None or y is None) and g is not None:  # None and zeros say the same
                    _equal(f"{what} of {name} is zero", not bool((g != 0).any()), True)
        # A gradient is differentiated with regard to what it was seeded with, too.
        return (
            ([x for x, _ in both], [*our_leaves, *our_seeds]),
            ([y for _, y in both], [*leaves, *seeds]),
        )


def _wanting(inputs: Any) -> list[Any]:
    return [t for t in tensors_in(list(inputs)) if t.requires_grad]


def _call(module: Any, inputs: Any) -> Any:
    args, kwargs = inputs
    return module(*args, **kwargs)


def _check_copies(theirs: Any, ours: Any, inputs: Any) -> None:
    """A copy and a pickle give the same text, state and output."""
    made = [copy.deepcopy(ours)]
    try:
        pickle.dumps(theirs)
    except Exception:
        pass  # torch's cannot be pickled either
    else:
        made.append(pickle.loads(pickle.dumps(ours)))
    inputs = to_wengert(inputs)
    outputs = []
    for module in (ours, *made):
        _equal("repr of a copy", repr(module), repr(ours))
        _equal("keys of a copy", list(module.state_dict()), list(ours.state_dict()))
        wengert.manual_seed(7)
        outputs.append([t.detach().numpy() for t in tensors_in(_call(module, inputs))])
    for output in outputs[1:]:
        same = [np.array_equal(a, b, True) for a, b in zip(outputs[0], output, strict=True)]
        _equal("output of a copy", all(same), True)


def _equal(what: str, ours: Any, theirs: Any) -> None:
    if ours != theirs:
        ours, theirs = (re.sub(r"\s+", " ", str(v)) for v in (ours, theirs))
        raise DifferenceError(f"{what}: {ours}, in torch {theirs}")
