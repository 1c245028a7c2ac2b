"""Inputs written down: tensors as shapes and bounds, drawn when a test asks for its samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import wengert
from wengert import Tensor
from wengert.compat._private.harness.operations.records import OpInfo, function_at
from wengert.compat._private.harness.operations.sample_inputs import SampleInput
from wengert.core.dtypes import dtype as dtype_type
from wengert.testing import make_tensor

_LETTERS = {
    "b": wengert.bool, "u": wengert.uint8, "i": wengert.int8, "s": wengert.int16,
    "w": wengert.int32, "l": wengert.int64, "h": wengert.float16, "g": wengert.bfloat16,
    "f": wengert.float32, "d": wengert.float64, "c": wengert.complex64,
    "D": wengert.complex128,
}  # fmt: skip


def dtypes_of(letters: str) -> tuple[dtype_type, ...]:
    """Dtypes by one letter each: b, u i s w l, h g f d, c D."""
    return tuple(_LETTERS[letter] for letter in letters)


class Drawing(NamedTuple):
    """Where and as what tensors are drawn."""

    device: Any
    dtype: dtype_type
    requires_grad: bool


class Recipe:
    """A tensor that is drawn when it is asked for."""

    def __init__(self, make: Callable[[Drawing], Tensor], grad: bool = True) -> None:
        self._make, self._grad = make, grad

    def draw(self, drawing: Drawing) -> Tensor:
        """A tensor."""
        x = self._make(drawing).detach()
        differentiable = x.is_floating_point() or x.is_complex()
        return x.requires_grad_(drawing.requires_grad and self._grad and differentiable)


def T(
    *shape: int, low: Any = None, high: Any = None, dtype: dtype_type | None = None,
    nonzero: bool = False, grad: bool = True,
) -> Recipe:  # fmt: skip
    """Numbers of the test's dtype, or of `dtype`."""

    def make(drawing: Drawing) -> Tensor:
        kind = dtype or drawing.dtype
        bounds = {} if kind == wengert.bool else {"low": low, "high": high}
        return make_tensor(shape, dtype=kind, device=drawing.device, exclude_zero=nonzero, **bounds)

    return Recipe(make, grad)


def Index(*shape: int, high: int) -> Recipe:
    """Positions below `high`."""
    return T(*shape, low=0, high=high, dtype=wengert.int64)


def Mask(*shape: int) -> Recipe:
    """Booleans."""
    return T(*shape, dtype=wengert.bool)


def Const(value: Any, dtype: dtype_type | None = None) -> Recipe:
    """These numbers."""
    return Recipe(lambda drawing: wengert.tensor(value, device=drawing.device).to(dtype)
                  if dtype else wengert.tensor(value, device=drawing.device))  # fmt: skip


def Of(make: Callable[[Callable[..., Tensor]], Tensor]) -> Recipe:
    """What a function gives of another, which draws tensors of a shape."""

    def made(drawing: Drawing) -> Tensor:
        return make(lambda *shape, **bounds: T(*shape, **bounds).draw(drawing).detach())

    return Recipe(made)


def Regular(*shape: int) -> Recipe:
    """Matrices far from singular ones."""
    return Of(lambda draw: draw(*shape, low=-1, high=1) + 4 * wengert.eye(shape[-1]))


def Definite(*shape: int) -> Recipe:
    """Hermitian positive definite matrices."""

    def make(draw: Callable[..., Tensor]) -> Tensor:
        a = draw(*shape, low=-1, high=1)
        return a @ a.mH + wengert.eye(shape[-1], dtype=a.dtype)

    return Of(make)


def Factor(*shape: int) -> Recipe:
    """Lower triangular matrices with a positive diagonal."""

    def make(draw: Callable[..., Tensor]) -> Tensor:
        a = draw(*shape, low=-1, high=1)
        return a.tril(-1) + 2 * wengert.eye(shape[-1], dtype=a.dtype)

    return Of(make)


def Distinct(*shape: int) -> Recipe:
    """Numbers of which no two are equal, in any order."""

    def make(drawing: Drawing) -> Tensor:
        count = math.prod(shape)
        return wengert.randperm(count, device=drawing.device).to(drawing.dtype).reshape(shape)

    return Recipe(make)


class Call(NamedTuple):
    """The arguments of a call, with recipes for its tensors."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def sample(self, drawing: Drawing) -> SampleInput:
        """The arguments with tensors."""
        first, *rest = (_drawn(x, drawing) for x in self.args)
        kwargs = {name: _drawn(x, drawing) for name, x in self.kwargs.items()}
        return SampleInput(first, args=(*rest,), kwargs=kwargs)


def on(*args: Any, **kwargs: Any) -> Call:
    """A call with these arguments."""
    return Call(args, kwargs)


def _drawn(x: Any, drawing: Drawing) -> Any:
    if isinstance(x, Recipe):
        return x.draw(drawing)
    if type(x) in (list, tuple):
        return type(x)(_drawn(part, drawing) for part in x)
    return x


class Arranged:
    """A function whose arguments come in another order; what is differentiated is the first."""

    def __init__(self, path: str, *order: int) -> None:
        self.path, self.order = path, order
        self.__name__ = path.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(function_at(self.path), *args, **kwargs)

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function with the arguments in its own order."""
        front = (args[i] for i in self.order)
        return function(*front, *args[len(self.order) :], **kwargs)


def samples_of(calls: tuple[Call, ...]) -> Callable[..., Iterator[SampleInput]]:
    """What `sample_inputs_func` is for an operation that is called so."""

    def sample_inputs(
        op: Any, device: Any, dtype: Any, requires_grad: bool, **kwargs: Any
    ) -> Iterator[SampleInput]:
        for written in calls:
            yield written.sample(Drawing(device, dtype, requires_grad))

    return sample_inputs


def op(
    name: str, letters: str, *calls: Call, no: str = "", kind: Callable[..., OpInfo] = OpInfo,
    grads: str | None = None, **known: Any,
) -> OpInfo:  # fmt: skip
    """A row of a table: a name, a variant behind a bar, dtypes by letters, and calls.

    `no` names what it does not support: "grad" (with it "twice" and "forward"), "out". `grads` are
    the dtypes that have a gradient, where these are fewer.
    """
    name, _, variant = name.partition("|")
    if calls:
        known["sample_inputs_func"] = samples_of(calls)
    grad = "grad" not in no
    return kind(
        name, variant_test_name=variant, dtypes=dtypes_of(letters),
        backward_dtypes=None if grads is None else dtypes_of(grads),
        supports_autograd=grad, supports_gradgrad=grad and "twice" not in no,
        supports_forward_ad=grad and "forward" not in no,
        supports_fwgrad_bwgrad=grad and "twice" not in no and "forward" not in no,
        supports_out="out" not in no, **known,
    )  # fmt: skip


__all__ = ["Arranged", "Call", "Recipe", "dtypes_of", "on", "op"]
