"""Forward mode for eager code: dual tensors carry a tangent through operations.

    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(x, t))
        derivative = forward_ad.unpack_dual(y).tangent

Tangents are computed with recorded operations, so reverse mode works through them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from wengert.autograd.transforms.dual import DualLevel
from wengert.autograd.transforms.levels import transform_stack
from wengert.core.dtypes import inexact, of_numpy
from wengert.core.signals import without_entry_signals
from wengert.core.tensor import Tensor


class UnpackedDualTensor(NamedTuple):
    """A value, and its tangent or None.

    >>> import wengert
    >>> from wengert.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     primal, tangent = forward_ad.unpack_dual(wengert.ones(1))
    >>> primal, tangent
    (tensor([1.]), None)
    """

    primal: Tensor
    tangent: Tensor | None


class _EagerLevel(DualLevel):
    """The level of a `dual_level`. Once it ends, its duals are plain values, as in PyTorch."""

    what = "dual level"
    eager = True

    def apply(self, op: Any, inputs: Any, params: Any) -> Any:
        """As in any forward mode; on plain values once this one has ended."""
        if not self.depth:
            return op([self.lower(x) for x in inputs], params)
        return super().apply(op, inputs, params)

    def apply_list(self, op: Any, inputs: Any, params: Any) -> Any:
        """As `apply`."""
        if not self.depth:
            return op.function([self.lower(x) for x in inputs], *params)
        return super().apply_list(op, inputs, params)

    def apply_several(self, op: Any, input: Any, params: Any) -> tuple[Any, ...]:
        """As `apply`."""
        if not self.depth:
            return tuple(op.function(self.lower(input), *params))
        return super().apply_several(op, input, params)


def _current() -> _EagerLevel | None:
    return next((x for x in reversed(transform_stack.levels) if isinstance(x, _EagerLevel)), None)


def current_depth() -> int:
    """The number of the running level, 0; -1 without one.

    >>> from wengert.autograd.forward_ad import current_depth, dual_level
    >>> with dual_level():
    ...     current_depth()
    0
    >>> current_depth()
    -1
    """
    return -1 if _current() is None else 0


def enter_dual_level() -> int:
    """Enter a forward-mode level and return its number, 0. Levels do not nest.

    >>> import wengert
    >>> from wengert.autograd import forward_ad
    >>> forward_ad.enter_dual_level()
    0
    >>> forward_ad.exit_dual_level()
    """
    _fresh_level().__enter__()
    return 0


def _fresh_level() -> _EagerLevel:
    if _current() is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: enter_dual_level() inside of a"
            " dual level. torch.func.jvp may be nested"
        )
    return _EagerLevel()


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the forward-mode level; duals are plain values from then on.

    >>> import wengert
    >>> from wengert.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> x = forward_ad.make_dual(wengert.ones(1), wengert.ones(1))
    >>> forward_ad.exit_dual_level(level=level)
    >>> x * 2
    tensor([2.])
    """
    current = _current()
    if current is None or level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is"
            " not supported."
        )
    current.__exit__()


class dual_level:  # noqa: N801 (PyTorch's name)
    """A context in which tensors may have tangents.

    >>> import wengert
    >>> from wengert.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(wengert.tensor(3.0), wengert.tensor(1.0))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    """

    def __enter__(self) -> int:
        self._level = _fresh_level()
        self._level.__enter__()
        return 0

    @without_entry_signals
    def __exit__(self, *exception: object) -> None:
        if self._level.depth:
            self._level.__exit__()
        else:
            exit_dual_level()  # raised if the block has already left its level


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return `tensor` with a tangent of the same shape and dtype.

    RuntimeError outside a dual level and for another shape, ValueError for integers.

    >>> import wengert
    >>> from wengert.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     forward_ad.make_dual(wengert.zeros(1), wengert.ones(1))
    tensor([0.], tangent=tensor([1.]))
    """
    current = _current()
    if current is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to"
            " enter_dual_level() first."
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(f"make_dual(): argument '{name}' must be Tensor, not"
                            f" {type(value).__name__}")  # fmt: skip
        if value._array.dtype not in inexact:
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got:"
                f" {of_numpy[value._array.dtype]}"
            )
    if current.owns(tensor):
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same"
            " level 0 is not supported."
        )
    return current.checked_dual(tensor, tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value and the tangent of a tensor; None if it does not depend on a dual.

    >>> import wengert
    >>> from wengert.autograd import forward_ad
    >>> forward_ad.unpack_dual(wengert.ones(1))
    UnpackedDualTensor(primal=tensor([1.]), tangent=None)
    """
    current = _current()
    if current is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(current.lower(tensor), current.tangent(tensor))
