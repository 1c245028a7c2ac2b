"""PyTorch's records of operations, compiled: every call is what it is in eager mode.

One function is compiled for some samples of a record, with which it is called in turn, so that what
one sample leaves on record is there when another comes. Operands are values of the function, the
results go on into others and into gradients.

    python -m tests.parity.compiled            # every record
    python -m tests.parity.compiled NAME ...   # these alone

`make parity` is the first.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from typing import Any

import wengert
from tests.parity import ops
from tests.replay.harness import check_same, skipping
from wengert.compiler import compile as compiled
from wengert.compiler import reset
from wengert.replay.background import background

# How many samples take turns, and how often each comes.
SAMPLES, ROUNDS = 6, 3
UNWRITTEN = {*ops.UNWRITTEN, "new_empty_strided"}
MODES = {"default": compiled, "reduce-overhead": skipping}
# Arguments of a call, and the tensors among them that want gradients.
Call = tuple[list[Any], dict[str, Any], list[wengert.Tensor]]


def program(op: Callable[..., Any]) -> Callable[..., Any]:
    """A function in which an operation has operands, and results that others go on with."""

    def call(args: list[Any], kwargs: dict[str, Any], leaves: list[Any]) -> Any:
        wengert.manual_seed(42)
        results = op(*_scaled(args), **{name: _scaled(x) for name, x in kwargs.items()})
        further = [x * 2 + 1 for x in _floats(results)]
        sums = [(x.abs() if x.is_complex() else x).double().sum() for x in further]
        recorded = [x for x in sums if x.requires_grad]
        gradients = recorded and wengert.autograd.grad(sum(recorded), leaves, allow_unused=True)
        return [*_tensors(results), *further, *gradients]

    return call


def failures(name: str, most: int | None = None) -> tuple[int, list[str]]:
    """How many calls of a function there were, and what was wrong with some; float32 alone."""
    import torch

    tried, wrong = 0, list[str]()
    for info in ops.records_of(name):
        forms = ops.forms(info)
        if torch.float32 not in info.dtypes or info.name in UNWRITTEN:
            continue
        for form in forms.keys() & {"function", "method"}:
            call = program(forms[form][1])
            calls = list(_samples(torch, info, call, most))
            for start, (mode, wrap) in product(range(0, len(calls), SAMPLES), MODES.items()):
                group = calls[start : start + SAMPLES]
                tried += ROUNDS * len(group)
                found = _wrong(wrap(call), call, group)
                wrong += [f"{info.name} {form} {mode} from {start}: {line}" for line in found]
    return tried, wrong


def _samples(torch: Any, info: Any, call: Callable[..., Any], most: int | None) -> Iterator[Call]:
    """The arguments of the samples of a record that can be called."""
    recorded = info.supports_autograd
    for sample in list(info.sample_inputs("cpu", torch.float32, requires_grad=recorded))[:most]:
        try:
            args, kwargs = ops.arguments(sample, ours=True)
            one = args, kwargs, ops.leaves_of([args, kwargs])
            call(*one)
        except Exception:  # `make parity` compares errors with PyTorch's
            continue
        yield one


def _wrong(ours: Callable[..., Any], eager: Callable[..., Any], group: Any) -> list[str]:
    """What compiled calls give that is not what they are to give."""
    reset()
    for number, (k, one) in product(range(ROUNDS), enumerate(group)):
        try:
            check_same(ours(*one), eager(*one))
        except Exception as error:
            return [f"sample {k} of {len(group)}, call {number + 1}: {error!r:.200}"]
    return []


def _scaled(value: Any) -> Any:
    """Arguments, with a value of the function in the place of each tensor of floats."""
    if type(value) in (list, tuple):
        return type(value)(map(_scaled, value))
    return value * 1 if _is_float(value) else value


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [x for v in value for x in _tensors(v)]
    return [value] if isinstance(value, wengert.Tensor) and value.layout == wengert.strided else []


def _floats(value: Any) -> list[Any]:
    return [x for x in _tensors(value) if _is_float(x)]


def _is_float(x: Any) -> bool:
    return isinstance(x, wengert.Tensor) and (x.is_floating_point() or x.is_complex())


def _of(name: str) -> tuple[int, list[str]]:
    background.at_once = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return failures(name)


def main(names: list[str]) -> int:
    """Print what is wrong, and how much was tried; 1 if something was wrong."""
    total, wrong = 0, 0
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for tried, found in pool.map(_of, names or sorted(ops.records())):
            total, wrong = total + tried, wrong + len(found)
            print(*found, sep="\n", end="\n" if found else "", flush=True)
    print(f"{total:,} compiled calls of operations, {wrong:,} not as in eager mode")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
