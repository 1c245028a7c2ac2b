"""Writes to tensors that repeat elements: what PyTorch permits is written, the others refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import wengert

Program = Callable[[Any, Any], Any]  # what it does with a library and a tensor of shape (2, 3)


def mask(lib: Any) -> Any:
    return lib.tensor([[True, False, True], [False, False, False]])


PROGRAMS: dict[str, Program] = {
    "fill_": lambda lib, e: e.fill_(7),
    "zero_": lambda lib, e: e.zero_(),
    "fill_ of a row": lambda lib, e: e[1].fill_(9),
    "zero_ of a column": lambda lib, e: e.select(1, 0).zero_(),
    "fill_ of a transpose": lambda lib, e: e.t().fill_(3),
    "fill_ of windows": lambda lib, e: e[0].unfold(0, 2, 2).fill_(4),
    "row": lambda lib, e: e.__setitem__(0, 5.0),
    "element": lambda lib, e: e.__setitem__((0, 1), 5.0),
    "column": lambda lib, e: e.__setitem__((slice(None), 0), 5.0),
    "everything": lambda lib, e: e.__setitem__(..., 5.0),
    "mask": lambda lib, e: e.__setitem__(mask(lib), -0.0),
    "mask of itself": lambda lib, e: e.__setitem__(e > 1, 0.0),
    "index": lambda lib, e: e.__setitem__(lib.tensor([0]), 0.0),
    "masked_fill_": lambda lib, e: e.masked_fill_(mask(lib), 0.0),
    "index_fill_": lambda lib, e: e.index_fill_(0, lib.tensor([0]), 0.0),
    "fill_diagonal_": lambda lib, e: e.fill_diagonal_(3.0),
    "tril_": lambda lib, e: e.tril_(),
    "zeros_": lambda lib, e: lib.nn.init.zeros_(e),
    "constant_": lambda lib, e: lib.nn.init.constant_(e, 3.0),
    "detached": lambda lib, e: e.detach().fill_(3),
    "data": lambda lib, e: e.data.zero_(),
    "fill_ of a tensor": lambda lib, e: e.fill_(lib.tensor(7.0)),
    "assigned rows": lambda lib, e: e.__setitem__(..., lib.tensor([1.0, 2.0, 3.0])),
    "assigned row": lambda lib, e: e.__setitem__(0, lib.tensor([1.0, 2.0, 3.0])),
    "copy_": lambda lib, e: e.copy_(lib.ones(2, 3)),
    "copy_ of a number": lambda lib, e: e.copy_(3.0),
    "add_": lambda lib, e: e.add_(1),
    "add_ to a row": lambda lib, e: e[0].add_(1),
    "add_ to a column": lambda lib, e: e[:, 0].add_(1),
    "add_ to an element": lambda lib, e: e[0, 0].add_(1),
    "+=": lambda lib, e: e.__iadd__(1),
    "clamp_": lambda lib, e: e.clamp_(0, 1),
    "relu_": lambda lib, e: e.relu_(),
    "addcmul_": lambda lib, e: e.addcmul_(lib.ones(2, 3), lib.ones(2, 3)),
    "index_add_": lambda lib, e: e.index_add_(0, lib.tensor([0]), lib.ones(1, 3)),
    "index_copy_": lambda lib, e: e.index_copy_(0, lib.tensor([0]), lib.ones(1, 3)),
    "scatter_": lambda lib, e: e.scatter_(0, lib.tensor([[0, 0, 0]]), 2.0),
    "masked_scatter_": lambda lib, e: e.masked_scatter_(mask(lib), lib.ones(2)),
    "cumsum_": lambda lib, e: e.cumsum_(0),
    "uniform_": lambda lib, e: e.uniform_(),
}
EXPANDED: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "rows": lambda lib: (b := lib.arange(1.0, 4.0), b.expand(2, 3)),
    "columns": lambda lib: (b := lib.arange(1.0, 3.0).view(2, 1), b.expand(2, 3)),
    "number": lambda lib: (b := lib.tensor(2.0), lib.broadcast_to(b, (2, 3))),
    "strides": lambda lib: (b := lib.arange(1.0, 4.0), b.as_strided((2, 3), (0, 1))),
}


def outcome(lib: Any, expanded: Any, program: Program) -> tuple[Any, Any, str]:
    base, tensor = expanded(lib)
    message = ""
    try:
        program(lib, tensor)
    except RuntimeError as error:
        message = str(error)
    return base.tolist(), tensor.tolist(), message


@pytest.mark.torch
@pytest.mark.parametrize("expanded", EXPANDED.values(), ids=EXPANDED)
@pytest.mark.parametrize("name", PROGRAMS)
def test_write(name: str, expanded: Any, torch: Any) -> None:
    program = PROGRAMS[name]
    base, tensor, message = outcome(wengert, expanded, program)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        theirs = outcome(torch, expanded, program)
    assert (str(base), str(tensor)) == (str(theirs[0]), str(theirs[1]))  # -0. is not 0.
    assert bool(message) == bool(theirs[2])
    assert not message or "more than one element of the written-to tensor" in message


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_write_to_the_gradient_of_a_sum(name: str, torch: Any) -> None:
    program = PROGRAMS[name]

    def gradient(lib: Any, hooked: bool) -> Any:
        class Written(lib.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.clone()

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                program(lib, g)
                return g

        x = lib.arange(6.0).reshape(2, 3).requires_grad_()
        y = x * 2 if hooked else Written.apply(x * 2)
        if hooked:
            y.register_hook(lambda g: [program(lib, g), g][1])
        z = y.sum()
        try:
            z.backward()
        except RuntimeError as error:
            return "more than one element" in str(error)
        return x.grad.tolist()

    for hooked in (False, True):
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            theirs = gradient(torch, hooked)
        assert gradient(wengert, hooked) == theirs


@pytest.mark.torch
def test_recorded_writes(torch: Any) -> None:
    def gradient(lib: Any, program: Program) -> Any:
        x = lib.arange(3.0).requires_grad_()
        y = x * 2
        e = y.expand(2, 3)
        try:
            program(lib, e)
            (y.sum() + e.sum()).backward()
        except RuntimeError as error:
            return "more than one element" in str(error)
        return e.tolist(), x.grad.tolist()

    results = {name: gradient(wengert, program) for name, program in PROGRAMS.items()}
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        for name, program in PROGRAMS.items():
            assert results[name] == gradient(torch, program), name
    assert {name for name, result in results.items() if result is True} >= {"add_", "masked_fill_"}
    assert results["row"] == ([[5.0] * 3] * 2, [0.0] * 3)


def test_gradients_add_up_into_an_expanded_grad() -> None:
    x = wengert.ones(3, requires_grad=True)
    x.grad = wengert.tensor(1.0).expand(3)
    (x * wengert.arange(3.0)).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]
