"""``theano.gradient``: Jacobians, Hessians, and expressions with gradients of another kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.differentiation import (
    DisconnectedInputError as DisconnectedInputError,
)
from wengert.symbolic.differentiation import (
    GradientError as GradientError,
)
from wengert.symbolic.differentiation import Lop as Lop
from wengert.symbolic.differentiation import NullTypeGradError as NullTypeGradError
from wengert.symbolic.differentiation import Rop as Rop
from wengert.symbolic.differentiation import grad as grad
from wengert.symbolic.differentiation import grad_not_implemented as grad_not_implemented
from wengert.symbolic.differentiation import grad_undefined as grad_undefined
from wengert.symbolic.differentiation import listed, returned_as
from wengert.symbolic.expressions.advanced import AdvancedSubtensor1
from wengert.symbolic.expressions.arithmetic import add, cast, clip, mul
from wengert.symbolic.expressions.creation import arange, zeros_like
from wengert.symbolic.expressions.reductions import sum as sum_over
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.functions import function
from wengert.symbolic.graph import Apply, Operation, Variable
from wengert.symbolic.graph import DisconnectedType as DisconnectedType
from wengert.symbolic.graph import NullType as NullType
from wengert.symbolic.graph import disconnected as disconnected_type
from wengert.symbolic.programs.rewriting import rule
from wengert.symbolic.scanning import scan


def jacobian(expression: Any, wrt: Any, consider_constant: Any = None,
             disconnected_inputs: str = "raise") -> Any:  # fmt: skip
    """The derivatives of the elements of a vector: a row for each, by a scan.

    >>> from wengert.symbolic import function, gradient
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dvector()
    >>> function([x], gradient.jacobian(x**2, x))([1.0, 2.0])
    array([[2., 0.],
           [0., 4.]])
    """
    if expression.ndim > 1:
        raise ValueError(
            "jacobian expects a 1 dimensional variable as `expression`. If not use flatten to make"
            f" it a vector: {expression.ndim}"
        )
    variables = listed(wrt)
    if not expression.ndim:
        rows = grad(expression, variables, consider_constant, disconnected_inputs)
        return returned_as(wrt, rows)

    def row(i: Any, vector: Any, *others: Any) -> Any:
        return grad(vector[i], list(others), consider_constant, disconnected_inputs)

    result, updates = scan(
        row, sequences=arange(expression.shape[0]), non_sequences=[expression, *variables]
    )
    if updates:
        raise ValueError("Scan has returned a list of updates: this should not happen")
    return returned_as(wrt, listed(result))


def hessian(cost: Any, wrt: Any, consider_constant: Any = None,
            disconnected_inputs: str = "raise") -> Any:  # fmt: skip
    """The second derivatives of a scalar in a vector, by a scan.

    >>> from wengert.symbolic import function, gradient
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dvector()
    >>> function([x], gradient.hessian((x**3).sum(), x))([1.0, 2.0])
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    if cost.ndim:
        raise ValueError("cost must be a scalar")
    rows = []
    for x in listed(wrt):
        if x.ndim != 1:
            raise ValueError(
                f"hessian expects a (list of) 1 dimensional variable as `wrt`, got {x.ndim}"
                " dimensions"
            )
        first = grad(cost, x, consider_constant, disconnected_inputs)
        # A cost that is linear in `x` has a gradient on which `x` has no influence: zeros.
        rows.append(jacobian(first, x, consider_constant, "ignore"))
    return returned_as(wrt, rows)


def subgraph_grad(wrt: Any, end: Any, start: dict[Any, Any] | None = None, cost: Any = None,
                  details: bool = False) -> Any:  # fmt: skip
    """Gradients of a part of a graph: up to `end`, from a cost and from the gradients of `start`.

    Returns those of `wrt` and those of `end`, in lists; with `details` also what came from `start`
    and from the cost (None without them).

    >>> from wengert.symbolic import function, subgraph_grad
    >>> from wengert.symbolic import tensor as T
    >>> x, w = T.dscalars("x", "w")
    >>> hidden = x * w
    >>> _, (g,) = subgraph_grad([], [hidden], cost=hidden**2)
    >>> (of_w,), _ = subgraph_grad([w], [x], start={hidden: g})
    >>> function([x, w], of_w)(3.0, 2.0)
    array(36.)
    """
    wrt, end = list(wrt), list(end)
    parts: list[Any] = [None, None]
    for k, (given, own) in enumerate(((start, None), (None, cost))):
        if given is not None or own is not None:
            parts[k] = grad(own, wrt + end, known_grads=given, consider_constant=end,
                            disconnected_inputs="ignore")  # fmt: skip
    found = [p for p in parts if p is not None]
    if not found:
        raise ValueError("subgraph_grad: `cost` or `start` has to be given")
    sums = [add(*terms) if len(terms) > 1 else terms[0] for terms in zip(*found, strict=True)]
    results = sums[: len(wrt)], sums[len(wrt) :]
    return (*results, *parts) if details else results


class _Backward(Operation):
    """The value as it is, with another gradient."""

    def make_node(self, x: Any) -> Apply:
        """The same type."""
        x = as_tensor_variable(x) if not isinstance(x, Variable) else x
        return Apply(self, [x], [x.type()])

    def compute(self, x: Any) -> Any:
        """The value."""
        return x


class ConsiderConstant(_Backward):
    """Nothing is differentiated through it."""

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Zeros."""
        return [zeros_like(g) for g in output_gradients]


class ZeroGrad(ConsiderConstant):
    """Its gradient is zero."""

    has_zero_direction = True


class DisconnectedGrad(_Backward):
    """The cost does not depend on it."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Not connected."""
        return [[False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected_type()]


class UndefinedGrad(_Backward):
    """Its gradient is an error."""

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Not defined."""
        return [grad_undefined(self, 0, inputs[0])]


class GradClip(_Backward):
    """Its gradient is clipped to an interval."""

    __props__ = ("lower", "upper")

    def __init__(self, lower: float, upper: float) -> None:
        if lower > upper:
            raise ValueError(f"grad_clip: the lower bound {lower} is above the upper bound {upper}")
        self.lower, self.upper = lower, upper

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The clipped gradient."""
        (g,) = output_gradients
        return [clip(g, *(np.asarray(b, g.dtype) for b in (self.lower, self.upper)))]


class GradScale(_Backward):
    """Its gradient is multiplied by a number."""

    __props__ = ("multiplier",)

    def __init__(self, multiplier: float) -> None:
        self.multiplier = multiplier

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The scaled gradient."""
        (g,) = output_gradients
        return [mul(g, np.asarray(self.multiplier, g.dtype))]


@rule(ConsiderConstant, ZeroGrad, DisconnectedGrad, UndefinedGrad, GradClip, GradScale)
def value_as_it_is(node: Apply) -> list[Any]:
    """A compiled function has its gradients already: the value stands for itself."""
    return list(node.inputs)


consider_constant_, zero_grad_ = ConsiderConstant(), ZeroGrad()
disconnected_grad_, undefined_grad_ = DisconnectedGrad(), UndefinedGrad()


def disconnected_grad(x: Any) -> Any:
    """`x`, on which a cost then does not depend."""
    return disconnected_grad_(x)


def consider_constant(x: Any) -> Any:
    """`x`, with zeros for gradient."""
    return consider_constant_(x)


def zero_grad(x: Any) -> Any:
    """`x`, with zeros for gradient."""
    return zero_grad_(x)


def undefined_grad(x: Any) -> Any:
    """`x`, with a gradient that is an error."""
    return undefined_grad_(x)


def sparse_grad(var: Any) -> Any:
    """A variable picked by an index vector, as it is: its gradient is added up where it points.

    Raises AssertionError for anything else.

    >>> from wengert.symbolic import grad, shared, sparse_grad
    >>> from wengert.symbolic import tensor as T
    >>> table, rows = T.dmatrix("table"), T.lvector("rows")
    >>> grad(sparse_grad(table[rows]).sum(), table).eval({table: [[1.0], [2.0]], rows: [1, 1]})
    array([[0.],
           [2.]])
    """
    if var.owner is None or not isinstance(var.owner.op, AdvancedSubtensor1):
        raise AssertionError(f"sparse_grad is for x[index_vector] alone, got {var}")
    return var


def grad_clip(x: Any, lower_bound: float, upper_bound: float) -> Any:
    """`x`, whose gradient is clipped to an interval."""
    return GradClip(lower_bound, upper_bound)(x)


def grad_scale(x: Any, multiplier: float) -> Any:
    """`x`, whose gradient is multiplied by a number."""
    return GradScale(multiplier)(x)


def format_as(use_list: bool, use_tuple: bool, outputs: Any) -> Any:
    """Outputs as a list, a tuple or one variable."""
    if use_list or use_tuple:
        return list(listed(outputs)) if use_list else tuple(listed(outputs))
    return listed(outputs)[0]


class numeric_grad:  # noqa: N801
    """Finite differences of a function of arrays that gives a number.

    Attributes:
        gf: the differences: an array, or a list of them for a list of points.

    >>> import numpy as np
    >>> from wengert.symbolic.gradient import numeric_grad
    >>> numeric_grad(lambda x: (x**2).sum(), np.array([1.0, 2.0])).gf.round(4)
    array([2., 4.])
    """

    type_eps = {"float64": 1e-7, "float32": 3e-4, "float16": 1e-1}  # noqa: RUF012

    def __init__(self, f: Any, pt: Any, eps: float | None = None, out_type: Any = None) -> None:
        single = not isinstance(pt, list | tuple)
        points = [np.array(p) for p in ([pt] if single else pt)]
        names = [str(p.dtype) for p in points] + ([str(out_type)] if out_type else [])
        step = eps or max(self.type_eps.get(name, 1e-7) for name in names)
        gf = [np.zeros_like(p) for p in points]
        for p, g in zip(points, gf, strict=True):
            for position in np.ndindex(*p.shape):
                own = p[position]
                sides = []
                for sign in (1, -1):
                    p[position] = own + sign * step
                    sides.append(f(*[q.copy() for q in points]))
                p[position] = own
                g[position] = (sides[0] - sides[1]) / (2 * step)
        self.gf: Any = gf[0] if single else gf

    @staticmethod
    def abs_rel_err(a: Any, b: Any) -> tuple[Any, Any]:
        """Absolute differences, and relative ones."""
        absolute = np.abs(a - b)
        return absolute, absolute / np.maximum(np.abs(a) + np.abs(b), 1e-8)

    def abs_rel_errors(self, g_pt: Any) -> list[tuple[Any, Any]]:
        """`abs_rel_err` of each gradient and its differences."""
        own = self.gf if isinstance(self.gf, list) else [self.gf]
        return [self.abs_rel_err(a, b) for a, b in zip(g_pt, own, strict=True)]


def verify_grad(fun: Any, pt: Any, n_tests: int = 2, rng: Any = None, eps: float | None = None,
                out_type: Any = None, abs_tol: float | None = None, rel_tol: float | None = None,
                mode: Any = None, cast_to_output_type: bool = False,
                no_debug_ref: bool = True) -> None:  # fmt: skip
    """Compare the gradient of a function of variables with finite differences.

    Raises `GradientError` where they differ.

    >>> import numpy as np
    >>> from wengert.symbolic import gradient
    >>> from wengert.symbolic import tensor as T
    >>> gradient.verify_grad(T.tanh, [np.array([0.1, 0.2])], rng=np.random)
    """
    points = [np.array(p) for p in pt]
    single = any(p.dtype in (np.float16, np.float32) for p in points)
    step = eps or (1e-3 if single else 1e-6)
    limit = abs_tol or (1e-2 if single else 1e-4)
    relative = rel_tol or limit
    if rng is None:
        raise TypeError("rng should be a valid instance of numpy.random.RandomState.")
    variables = [
        TensorType(p.dtype, [n == 1 for n in p.shape])(f"input {k}") for k, p in enumerate(points)
    ]
    out: Any = fun(*variables)
    out = out if isinstance(out, Variable) else out[0]
    plain = function(variables, out, mode=mode, on_unused_input="ignore")
    projection = rng.rand(*plain(*points).shape) + 0.5
    # A sum in double precision adds no rounding of its own to the differences.
    cost = sum_over(mul(cast(out, "float64"), np.asarray(projection, "float64")))
    value = function(variables, cost, mode=mode, on_unused_input="ignore")
    gradients = grad(cost, variables, disconnected_inputs="ignore")
    exact = function(variables, gradients, mode=mode, on_unused_input="ignore")
    for k, (p, g) in enumerate(zip(points, exact(*points), strict=True)):
        numeric = np.zeros_like(p)
        for position in np.ndindex(*p.shape):
            sides = []
            for sign in (1, -1):
                moved = [q.copy() for q in points]
                moved[k][position] += sign * step
                sides.append(float(value(*moved)))
            numeric[position] = (sides[0] - sides[1]) / (2 * step)
        off = np.abs(numeric - g)
        if not (off <= limit + relative * np.abs(numeric)).all():
            raise GradientError(
                f"the gradient of input {k} is {g}, and finite differences are {numeric}"
            )


verify_grad.E_grad = GradientError  # type: ignore[attr-defined]
