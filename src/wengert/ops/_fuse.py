"""Kernels for large arrays, generated from an operation's declaration.

The forward of an operation is traced by calling it with expressions instead of arrays
(`kernels/jit/tracing.py`), and so are its rules. The trace becomes a kernel: one loop
for a forward of many steps, and one for all the gradients needed. A function that cannot
be traced (it reads its elements, or calls something expressions do not support) has no kernel;
NumPy computes it, like small arrays, integers and complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.kernels import jit
from wengert.kernels.chunks import FEW, SOME
from wengert.kernels.jit import LARGE
from wengert.kernels.layout import empty, write
from wengert.ops.op import Op
from wengert.ops.operands import apply

if TYPE_CHECKING:
    from wengert.kernels.jit.operands import ElementwisePlan

# Where a single NumPy loop is as fast until there is enough work for several threads.
_CHEAP = frozenset({
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.absolute, np.sqrt,
    np.equal, np.not_equal, np.isnan, np.isinf, np.isfinite, np.logical_not, np.logical_and,
    np.logical_or, np.logical_xor,
})  # fmt: skip
# Where SciPy takes tens of nanoseconds per element, or NumPy several passes for what networks
# apply to small arrays, too.
_DEAR = frozenset({
    "_elu", "_hardswish", "_logsigmoid", "_mish", "_polygamma", "_silu", "atan2", "bessel",
    "digamma", "erf", "erfc", "erfinv", "gelu", "lgamma", "log_ndtr", "ndtr", "sigmoid", "softplus",
})  # fmt: skip
# Where NumPy takes several passes.
_PASSES = frozenset({
    "_angle_of_real", "_clamp_numbers", "_div_floor", "_hardsigmoid", "_hardtanh", "_heaviside",
    "_leaky_relu", "_lerp", "_softsign", "_threshold", "hardshrink", "hypot", "logaddexp",
    "logaddexp2", "logit", "nan_to_num", "remainder", "rsqrt", "sinc", "softshrink", "xlogy",
})  # fmt: skip
# Where NumPy calls the C library for each element, on processors without AVX-512.
_ONE_BY_ONE = frozenset({
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "expm1", "log10", "log1p", "sinh",
})  # fmt: skip
_MASKS = frozenset({"b", "bb", "bbb"})  # kinds of masks alone, which kernels would make floats of
# In which NumPy takes as long to begin as a kernel does.
_FEW_LOOPS = 1 << 8
_PLAIN = frozenset({bool, int, float, str, type(None)})
_MOST_PLANS = 256
_UNKNOWN: Any = object()


def is_small(op: Op, array: str) -> str | None:
    """The text that says whether the array called that is too small for a kernel.

    None if there is no kernel for the op.
    """
    if op.scalar is None or op.view or op.aux:
        return None
    if op.forward in _CHEAP:  # but not of halves, whose elements NumPy converts one by one
        few_loops = f"in_few_loops({', '.join(f'v_{i}' for i in op.inputs)})"
        few = f"{array}.size < {1 << 16} and {array}.itemsize != 2 and {few_loops}"
        return f"({array}.size < {LARGE} or {few})"
    some = op.name in _PASSES or op.name in _ONE_BY_ONE
    return f"{array}.size < {FEW if op.name in _DEAR else SOME if some else LARGE}"


def in_few_loops(first: Any, other: Any = None) -> bool:
    """Whether NumPy goes over arrays in loops so few and long that no kernel is faster."""
    if other is None or not other.ndim:
        return bool(first.flags.c_contiguous)
    if first.size < other.size:
        first, other = other, first
    shape, own = first.shape, other.shape
    if not first.flags.c_contiguous or not other.flags.c_contiguous:
        run = shape[-1] if first.strides[-1] == first.itemsize else 1
    elif own == shape[len(shape) - len(own) :]:
        run = other.size  # it is repeated
    elif own[-1] != 1:
        run = shape[-1]
    else:
        run = 1  # each of its elements is
        for k in range(-1, -len(own) - 1, -1):
            if own[k] != 1:
                break
            run *= shape[k]
    return bool(first.size <= _FEW_LOOPS * run)


def least_of_rules(op: Op) -> int:
    """The size of a cotangent from which a kernel is tried."""
    return SOME if op.name in _DEAR or op.name in _ONE_BY_ONE else LARGE


def fuses_rules(op: Op) -> bool:
    """Whether a kernel may compute the gradients of an op."""
    wants = {name for names in op.wants.values() for name in names}
    # Rules that read nothing pass the gradient on, or negate it.
    return (
        op.kind == "elementwise"
        and bool(wants)
        and wants.isdisjoint(f"{i}_shape" for i in op.inputs)
    )


def forward_of(op: Op) -> Callable[..., Any]:
    """`compute(inputs, params)`: the forward of an op on large arrays."""
    return _Forward(op).compute


class _Forward:
    """The kernels of an op, by what is special about operands and parameters."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.plans: dict[Any, ElementwisePlan | None] = {}
        # By outlines: calls of kernels for arrays that are not contiguous.
        self.strided: dict[Any, Callable[..., Any] | None] = {}

    def compute(self, inputs: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
        """What a kernel gives, or else NumPy."""
        op, outputs = self.op, None
        kinds = jit.operands.kinds_of(inputs)
        if kinds is None and inputs[0].dtype.kind in "iu":
            pass  # for which there are no such kernels
        elif kinds is None:
            outlines = jit.operands.outlines_of(inputs)
            key = (outlines, _key(params)) if params else outlines
            call = self.strided.get(key, _UNKNOWN)
            if call is _UNKNOWN:
                if len(self.strided) >= _MOST_PLANS:
                    self.strided.clear()
                call = self.strided[key] = self._call(inputs, outlines, params)
            if call is not None:
                outputs = call(inputs)
        elif kinds not in _MASKS:
            plan = self._plan(kinds, params)
            if plan is not None:
                outputs = plan.flat(inputs)
        if outputs is not None:
            return outputs[0]
        if op.in_order and not op.keyword_only:
            return op.forward(*inputs, *params)
        return apply(op.forward, op, inputs, params)

    def _plan(self, kinds: str, params: tuple[Any, ...]) -> ElementwisePlan | None:
        key = (kinds, _key(params)) if params else kinds
        plan = self.plans.get(key, _UNKNOWN)
        if plan is _UNKNOWN:
            scalar = [lambda *operands: apply(self.op.scalar, self.op, operands, params)]
            plan = _noted(self.plans, key, scalar, kinds, params)
        return plan

    def _call(
        self, inputs: tuple[Any, ...], outlines: tuple[Any, ...] | None, params: tuple[Any, ...]
    ) -> Callable[..., Any] | None:
        """What computes the results for arrays with these outlines; None for NumPy."""
        if outlines is None or _whole(inputs):
            return None
        layout = jit.operands.layout_of_outlines(outlines)
        if layout is not None:
            plan = self._plan(layout.kinds, params)
            return None if plan is None else plan.of_layout(layout)
        misfits = jit.operands.misfits(outlines)
        if not misfits or (len(misfits) > 1 and self.op.forward in _CHEAP):
            return None  # NumPy reads such operands as fast as it copies them
        fitting = _fitting(inputs, misfits)
        call = self._call(fitting, jit.operands.outlines_of(fitting), params)
        return None if call is None else lambda inputs: call(_fitting(inputs, misfits))


def _fitting(inputs: tuple[Any, ...], misfits: Sequence[Any]) -> tuple[Any, ...]:
    """The operands, and copies in an order in place of some."""
    found = list(inputs)
    for i, order in misfits:
        copied = found[i] = empty(inputs[i].shape, inputs[i].dtype, order)
        write(copied, inputs[i])
    return tuple(found)


def _whole(inputs: tuple[Any, ...]) -> bool:
    """Whether integers are among them, or all are masks, for which there are no kernels."""
    masks = True
    for x in inputs:
        if x is not None:
            kind = x.dtype.kind
            if kind in "iu":
                return True
            masks = masks and kind == "b"
    return masks


def pullback_of(op: Op, names: Sequence[str]) -> Callable[..., Any]:
    """`pull(g, edges, values, params)`: the gradients of an op, for the edges that are not None.

    The values are the arrays called `names`, those of them the node has saved.
    """
    plans: dict[Any, ElementwisePlan | None] = {}
    readers: dict[tuple[bool, ...], list[int]] = {}

    def pull(g: Any, edges: Any, values: Any, params: Any) -> Sequence[Any] | None:
        needs_gradient = tuple([e is not None for e in edges])
        reads = readers.get(needs_gradient)
        if reads is None:
            inputs = [i for i, some in zip(op.differentiable, needs_gradient, strict=True) if some]
            used = {n for i in inputs for n in op.wants[i]}
            reads = readers[needs_gradient] = [k for k, n in enumerate(names) if n in used]
        arrays = (g, *[values[k] for k in reads])
        kinds, layout = jit.operands.kinds_of(arrays), None
        if kinds is None:
            layout = jit.operands.layout_of(arrays)
            if layout is None or layout.shape != g.shape:
                return None
            kinds = layout.kinds
        key = kinds, needs_gradient, _key(params)
        plan = plans.get(key, _UNKNOWN)
        if plan is _UNKNOWN:
            inputs = [i for i, some in zip(op.differentiable, needs_gradient, strict=True) if some]
            params_by_name = dict(zip(_param_names(op, names), params, strict=True))
            rules = [
                partial(_rule, op, i, [names[k] for k in reads], params_by_name) for i in inputs
            ]
            plan = _noted(plans, key, rules, kinds, params)
        if plan is None:
            return None
        gradients = plan.flat(arrays) if layout is None else plan.laid_out(arrays, layout)
        if gradients is None:
            return None
        some = iter(gradients)
        return [next(some) if w else None for w in needs_gradient]

    return pull


def _key(params: tuple[Any, ...]) -> Any:
    """Parameters as a cache key: 0.0 and -0.0 differ; None if one is unhashable."""
    try:
        hash(params)
        return repr(params) if 0 in params else params
    except (TypeError, ValueError):
        return _UNKNOWN


def _param_names(op: Op, arrays: Sequence[str]) -> list[str]:
    """The non-array values the rules read."""
    return [n for n in op.keeps if n not in arrays]


def _rule(
    op: Op, name: str, names: Sequence[str], params: dict[str, Any], g: Any, *values: Any
) -> Any:
    scope = dict(zip(names, values, strict=True)) | params
    rule = op.rules[name]
    assert rule is not None
    return rule(g, *(scope[n] for n in op.takes[name]))


def _noted(
    plans: dict[Any, ElementwisePlan | None],
    key: Any,
    functions: Sequence[Callable[..., Any]],
    kinds: str,
    params: Sequence[Any],
) -> ElementwisePlan | None:
    plain = all(type(p) in _PLAIN for p in params)
    if len(plans) >= _MOST_PLANS:
        plans.clear()
    # Numeric parameters are arguments of the kernel, so that one kernel serves all values.
    plan = plans[key] = jit.operands.plan_of(functions, kinds, bool(params)) if plain else None
    return plan
