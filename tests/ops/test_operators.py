"""Operators between tensors and what is none: Python asks the other operand."""

from __future__ import annotations

import operator
from typing import Any

import pytest

import wengert
from wengert.overrides import TorchFunctionMode

NAMES = (
    "add", "sub", "mul", "matmul", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift",
    "rshift", "lt", "le", "gt", "ge", "eq", "ne", "iadd", "isub", "imul", "ifloordiv", "ipow",
)  # fmt: skip


class Answers:
    """A class with operators of its own, reflected ones only."""

    def _told(self, other: Any) -> str:
        return f"told of {type(other).__name__}"

    __radd__ = __rsub__ = __rmul__ = __rmatmul__ = __rtruediv__ = __rfloordiv__ = _told
    __rmod__ = __rpow__ = __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = _told
    __lt__ = __le__ = __gt__ = __ge__ = _told


def outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except TypeError as error:
        return str(error).split(", and this one")[0]


@pytest.mark.torch
@pytest.mark.parametrize("name", NAMES)
def test_the_other_operand_is_asked_as_in_pytorch(torch: Any, name: str) -> None:
    def outcomes(t: Any) -> list[Any]:
        act, x = getattr(operator, name), t.ones(2, dtype=t.int64)
        pairs = [(x, Answers()), (x, [1]), (x, "a"), (x, (1, 2)), ([1], x), (Answers(), x)]
        found = [outcome(act, t.ones(2, dtype=t.int64) if a is x else a, b) for a, b in pairs]
        return [o if isinstance(o, str | bool) else type(o).__name__ for o in found]

    assert outcomes(wengert) == outcomes(torch)


def test_sequences_repeat_by_a_tensor_of_one_element() -> None:
    assert [1, 2] * wengert.tensor(2) == wengert.tensor(2) * [1, 2] == [1, 2, 1, 2]


def test_functions_still_refuse() -> None:
    with pytest.raises(TypeError, match=r"mul\(\): argument 'other' \(position 2\)"):
        wengert.mul(wengert.ones(1), Answers())
    with pytest.raises(TypeError, match="must be Tensor, not Answers"):
        wengert.ones(1).pow(Answers())


def test_the_other_operand_is_asked_behind_a_mode_and_within_transforms() -> None:
    class Passes(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    told = []
    with Passes():
        told.append(wengert.ones(1) + Answers())
    told.append(wengert.ones(1) + Answers())
    wengert.vmap(lambda x: told.append(x + Answers()) or x)(wengert.ones(2, 1))
    assert [text[:7] for text in told] == ["told of"] * 3


def test_an_operator_records_the_line_that_used_it() -> None:
    x = wengert.ones(2, requires_grad=True)
    y = x * x
    assert y.grad_fn is not None
    assert y.grad_fn.name() == wengert.mul(x, x).grad_fn.name()
    (y % 3).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
