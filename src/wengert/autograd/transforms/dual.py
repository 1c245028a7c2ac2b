"""Forward mode: values with a tangent.

The tangent of an elementwise operation is its vjp rule applied to the tangent, because its
derivative is diagonal; that of a (multi)linear operation is the operation on the tangent.
Other operations declare their own (`jvp=`), or their rules are transposed: the vjp is linear
in its cotangent, and the vjp of that is the jvp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.autograd.custom.transforms import apply_in_forward_mode
from wengert.autograd.transforms.levels import Level, beside, root_and_views
from wengert.autograd.transforms.recording import apply_transpose
from wengert.core.dtypes import inexact, of_numpy
from wengert.core.tensor import Tensor, Tracer, memory_of, shape_of, wrap
from wengert.ops.broadcasting import expand
from wengert.ops.casting import convert
from wengert.ops.complexes import complex as complex_of
from wengert.ops.complexes import conj, real
from wengert.ops.shape import clone
from wengert.ops.strided import copy_in, layout_of, placed_window, shown_window, window_in
from wengert.ops.zeros import zeros_matching


class Dual(Tracer):
    """A value and its tangent, of the same shape."""

    __slots__ = ()

    tangent: Tensor

    @property
    def _array(self) -> Any:
        return self.value._array

    @_array.setter
    def _array(self, value: Any) -> None:
        self._replace_memory(value)

    @property
    def _edge(self) -> Any:
        return self.value._edge

    @_edge.setter
    def _edge(self, node: Any) -> None:
        self.value._edge = node

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        text = repr(self.value)
        return f"{text[:-1]}, tangent={self.tangent!r})" if self.level.depth else text


class DualLevel(Level):
    """The level of a forward mode."""

    what = "forward mode"
    kind = Dual

    def dual(self, value: Any, tangent: Any) -> Any:
        """A value with a tangent; the value alone if there is none."""
        if tangent is None:
            return value
        result = self.tracer(value)
        result.tangent = tangent
        return result

    def checked_dual(self, value: Any, tangent: Any) -> Any:
        """As `dual`, for a user's tangent."""
        if tangent.shape != value.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the"
                " original Tensor, this is not supported. Tensor is of size"
                f" {list(value.shape)} while the given forward gradient is of size"
                f" {list(tangent.shape)}."
            )
        return self.dual(value, tangent)

    def tangent(self, value: Any) -> Any:
        """The tangent of a value, or None."""
        return value.tangent if self.owns(value) else None

    def apply(self, op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """The operation on the values, and its derivative along the tangents."""
        self.check_running()
        if op.reference is not None:
            return op.reference(*inputs, **params)
        if op.view:
            self._lay_out(inputs[0])
        values, tangents = [], {}
        for i, x in zip(op.inputs, inputs, strict=True):
            if isinstance(x, Dual) and x.level is self:
                values.append(x.value)
                if op.rules[i] is not None:
                    tangents[i] = x.tangent
            else:
                values.append(x)
        out = op(values, params)
        if not tangents or memory_of(out).dtype not in inexact:
            return out
        tangent = _tangent_of(op, values, params, out, tangents)
        if not op.view and (any(tangent is t for t in tangents.values()) or _shown(tangent)):
            tangent = clone(tangent)  # an in-place write must not reach another tangent
        return self.dual(out, tangent)

    def apply_list(self, op: Any, inputs: Sequence[Any], params: tuple[Any, ...]) -> Any:
        """Apply the operation to the tangents: it is linear in its list."""
        self.check_running()
        out = op.function([self.lower(x) for x in inputs], *params)
        tangents = [zeros_matching(x) if (t := self.tangent(x)) is None else t for x in inputs]
        return self.dual(out, op.function(tangents, *params))

    def apply_several(self, op: Any, input: Any, params: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operation is linear."""
        self.check_running()
        self._lay_out(input)
        outs = op.function(input.value, *params)
        tangents = op.function(input.tangent, *params)
        return tuple([self.dual(o, t) for o, t in zip(outs, tangents, strict=True)])

    def apply_function(self, function: Any, args: tuple[Any, ...]) -> Any:
        """The user's `forward` on the values, and `jvp` on the tangents."""
        if self.eager and not self.depth:  # it has ended
            return function.apply(*[self.lower(x) for x in args])
        self.check_running()
        return apply_in_forward_mode(self, function, args)

    def cut(self, target: Any) -> None:
        """As in any level; the tangent is zero from now on."""
        if root_and_views(target)[1]:
            raise RuntimeError(
                "detach_() of a tensor with a tangent and with views, which share the tangent's"
                " memory: use detach()"
            )
        super().cut(target)
        target.tangent = zeros_matching(target)

    def write(self, target: Any, result: Any, put: Callable[[Any, Any], None]) -> None:
        """Write both the value and the tangent, so that views of both see it."""
        self.check_running()
        tangent = self.tangent(result)
        if self.owns(target):
            self._lay_out(target)
            put(target.value, self.lower(result))
            put(target.tangent, zeros_matching(target) if tangent is None else tangent)
            return
        root, views = root_and_views(target)
        reach = layout_of(root)
        if not all(window_in(root, view).within(reach) for view in views):
            raise RuntimeError(
                "forward mode: an in-place write of a value with a tangent to a tensor that has a"
                " view of memory beyond its own (as_strided); clone() it first"
            )
        put(target, self.lower(result))
        self.take(target, tangent)

    def take(self, target: Any, tangent: Any = None) -> tuple[Any, list[Any]]:
        """As in any level; every view of the memory gets its part of the target's tangent."""
        root, views = super().take(target)
        root.tangent = placed_window(tangent, root, target)
        for view in views:
            view.tangent = shown_window(root.tangent, root, view)
        return root, views

    def _lay_out(self, dual: Any) -> None:
        """Lay the tangent out like the value, so that a view of one is a view of the other."""
        layout = layout_of(dual.value)
        if _batches(dual.value) - _batches(dual.tangent):
            zero = beside(dual.value, lambda lead: wrap(np.zeros(lead, layout.dtype)))
            dual.tangent = dual.tangent + zero
        if layout_of(dual.tangent) != layout and not layout.overlaps():
            dual.tangent = copy_in(layout, dual.tangent)


def _batches(value: Any) -> set[Any]:
    """The vmaps across whose samples a value differs."""
    levels = set()
    while isinstance(value, Tracer):
        if value.lead:
            levels.add(value.level)
        value = value.value
    return levels


def _shown(tangent: Any) -> bool:
    """Whether a tangent is a view of another's memory."""
    return memory_of(tangent).base is not None


def _tangent_of(op: Any, values: Any, params: Any, out: Any, tangents: dict[str, Any]) -> Any:
    if op.jvp is not None:
        read = [op.read(name, values, params, out) for name in op.jvp_reads]
        return _fit_to_output(op.jvp(*[tangents.get(i) for i in op.differentiable], *read), out)
    total = None
    for i, t in tangents.items():
        if op.kind == "multilinear":
            contribution = op(
                [t if n == i else v for n, v in zip(op.inputs, values, strict=True)], params
            )
        else:
            operands = [op.read(name, values, params, out) for name in op.wants[i]]
            rule = partial(_apply_rule, op.rules[i], operands)
            if op.kind == "elementwise":
                contribution = _diagonal(rule, _expand_to_output(t, out), out)
            else:
                contribution = apply_transpose(rule, out, t)
        total = contribution if total is None else total + contribution
    return _fit_to_output(total, out)


def _apply_rule(rule: Any, operands: list[Any], g: Any) -> Any:
    return rule(g, *operands)


def _fit_to_output(tangent: Any, out: Any) -> Any:
    """A tangent in the shape and dtype of the output."""
    dtype = memory_of(out).dtype
    if memory_of(tangent).dtype != dtype:
        tangent = convert(tangent, of_numpy[dtype])
    return _expand_to_output(tangent, out)


def _expand_to_output(tangent: Any, out: Any) -> Any:
    shape = shape_of(out)
    return tangent if shape_of(tangent) == shape else expand(tangent, shape)


def _diagonal(rule: Any, t: Any, out: Any) -> Any:
    """The jvp of an elementwise operation from its vjp.

    A real-linear map of complex numbers, z -> az + b conj(z), has the transpose
    z -> conj(a)z + b conj(z); between real and complex numbers it is a product with c.
    """
    dtype = memory_of(out).dtype
    inner, outer = memory_of(t).dtype.kind == "c", dtype.kind == "c"
    if not inner and not outer:
        return rule(t)
    one = wrap(np.ones((), dtype))
    if not inner:  # the vjp takes complex to real
        return complex_of(real(rule(one)), real(rule(one * 1j))) * t
    at_one = rule(one)
    if not outer:  # the vjp takes real to complex
        return real(conj(at_one) * t)
    at_i = rule(one * 1j) * -1j
    return conj((at_one + at_i) * 0.5) * t + (at_one - at_i) * 0.5 * conj(t)
