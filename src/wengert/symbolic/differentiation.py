"""Symbolic differentiation: gradients of expressions are expressions.

`grad` walks from a cost back to variables and asks each operation (`Op.L_op`) for the gradients
of its inputs. Elementwise operations run the rules that the library's own operations declare.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from wengert.symbolic.dtypes import COMPLEX, CONTINUOUS, DISCRETE
from wengert.symbolic.expressions.arithmetic import cast, fill, real, tensor_copy
from wengert.symbolic.expressions.creation import ones_like
from wengert.symbolic.expressions.elemwise import Elemwise, float_zeros, rebroadcast
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import (
    Apply,
    DisconnectedType,
    NullType,
    Variable,
    replaced,
    toposort,
)
from wengert.symbolic.graph import disconnected as disconnected_type
from wengert.symbolic.settings import config


class DisconnectedInputError(ValueError):
    """A cost does not depend on a variable with respect to which it is differentiated."""


class NullTypeGradError(TypeError):
    """A gradient is needed that is not defined."""


class GradientError(Exception):
    """A gradient differs from its finite differences."""


def grad_undefined(op: Any, x_pos: int, x: Any, comment: str = "") -> Variable:
    """What an operation gives for an input in which it has no derivative."""
    why = f"<{op}> has an undefined gradient in input {x_pos}, {x}. {comment}"
    return NullType(why.strip())()


def grad_not_implemented(op: Any, x_pos: int, x: Any, comment: str = "") -> Variable:
    """What an operation gives for an input whose derivative nobody has written."""
    why = f"<{op}> does not implement its gradient in input {x_pos}, {x}. {comment}"
    return NullType(why.strip())()


def listed(value: Any) -> list[Any]:
    """A variable, or a list or tuple of them, as a list."""
    return list(value) if isinstance(value, list | tuple) else [value]


def returned_as(form: Any, values: Sequence[Any]) -> Any:
    """Values in the form of `form`: a list, a tuple, or one value."""
    if isinstance(form, tuple):
        return tuple(values)
    return list(values) if isinstance(form, list) else values[0]


def grad(
    cost: Any, wrt: Any, consider_constant: Iterable[Any] | None = None,
    disconnected_inputs: str = "raise", add_names: bool = True,
    known_grads: dict[Any, Any] | None = None, return_disconnected: str = "zero",
    null_gradients: str = "raise",
) -> Any:  # fmt: skip
    """The gradients of a scalar cost with respect to one variable or several.

    Args:
        cost: a scalar expression; None if `known_grads` says where gradients come from.
        wrt: a variable, or a list or tuple of them; the result has the same form.
        consider_constant: expressions through which nothing is differentiated.
        disconnected_inputs: "raise", "warn" or "ignore" for a variable that the cost does not
            depend on; its gradient is then zero.
        add_names: give gradients the names ``(dcost/dx)``.
        known_grads: gradients of some expressions, from which the walk starts as well.
        return_disconnected: "zero", "None" or "Disconnected" for such a gradient.
        null_gradients: "raise" or "return" for gradients that are not defined.

    Raises `DisconnectedInputError` and, where the cost is not a scalar, TypeError.

    >>> from wengert.symbolic import function, grad
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dvector("x")
    >>> function([x], grad((x**3).sum(), x))([1.0, 2.0])
    array([ 3., 12.])
    """
    variables = listed(wrt)
    _check_arguments(cost, variables, known_grads)
    seeds: dict[Any, Any] = dict(known_grads or {})
    if cost is not None and cost not in seeds:
        seeds[cost] = _ones(cost)
    blocked = set(consider_constant or ())
    gradients = _walk(seeds, variables, blocked)
    results = []
    for x in variables:
        g = gradients.get(x)
        if g is None:
            _report_disconnected(x, disconnected_inputs)
            g = _absent(x, return_disconnected)
        elif isinstance(g.type, NullType) and null_gradients == "raise":
            raise NullTypeGradError(
                f"tensor.grad encountered a NaN. {g.type.why_null}"  # as programs know it
            )
        if add_names and g is not None and g.name is None and x.name and getattr(cost, "name", 0):
            g.name = f"(d{cost.name}/d{x.name})"
        results.append(g)
    return returned_as(wrt, results)


def _absent(x: Any, form: str) -> Any:
    """The gradient of a variable that a cost does not depend on."""
    if form == "zero":  # in its shape, so that a function of the gradient has it as an input
        zeros = float_zeros(x)
        return zeros if x.ndim else fill(x, zeros)
    return None if form == "None" else disconnected_type()


def _check_arguments(cost: Any, wrt: list[Any], known_grads: Any) -> None:
    if cost is None and known_grads is None:
        raise ValueError("cost and known_grads can't both be None.")
    if cost is not None:
        if not isinstance(cost, Variable):
            raise TypeError(f"cost must be a Variable, got {cost!r}")
        if isinstance(cost.type, NullType):
            raise ValueError(
                "Can't differentiate a NaN cost. cost is NaN because " + cost.type.why_null
            )
        if not isinstance(cost.type, TensorType) or cost.type.ndim:
            raise TypeError(f"cost must be a scalar, and {cost} is {cost.type}{_line(cost)}")
    for x in wrt:
        if not isinstance(x, Variable):
            raise TypeError(f"Expected Variable, got {x!r} of type {type(x)}")
    for x, g in (known_grads or {}).items():
        _check_known_gradient(x, g)


def _check_known_gradient(x: Any, g: Any) -> None:
    if not isinstance(g, Variable):
        raise TypeError(f"known_grads: the gradient of {x} must be a variable, got {g!r}")
    if not isinstance(g.type, TensorType):
        return
    if g.type.dtype not in CONTINUOUS:
        raise TypeError(
            f"known_grads: the gradient of {x} must have a dtype of floats, and {g} is {g.type}"
        )
    if isinstance(x.type, TensorType) and g.type.ndim > x.ndim:
        raise ValueError(
            f"known_grads: the gradient of {x}, which is {x.type}, has at most {x.ndim}"
            f" dimensions, and {g} is {g.type}"
        )


def _line(variable: Any) -> str:
    where = variable.where()
    return f", made at {where}" if where else ""


def _ones(cost: Any) -> Any:
    dtype = cost.dtype if cost.dtype in CONTINUOUS else config.floatX
    return ones_like(cost, dtype)


def _report_disconnected(x: Any, how: str) -> None:
    if how == "ignore":
        return
    message = (
        "grad method was asked to compute the gradient with respect to a variable that is not part"
        " of the computational graph of the cost, or is used only by a non-differentiable"
        f" operator: {x}{_line(x)}"
    )
    if how == "warn":
        import warnings

        warnings.warn(message, stacklevel=3)
        return
    if how == "raise":
        raise DisconnectedInputError(message)
    raise ValueError(
        f"Invalid value for keyword 'disconnected_inputs', valid values are 'ignore', 'warn' and"
        f" 'raise': {how!r}"
    )


def _reaching(nodes: Sequence[Apply], wrt: Iterable[Any], blocked: set[Any]) -> set[Apply]:
    """The nodes that lie on a differentiable way from some variables."""
    live = set(wrt)
    reaching: set[Apply] = set()
    for node in nodes:
        connections = None
        for k, x in enumerate(node.inputs):
            if x in live:
                if connections is None:
                    connections = node.op.connection_pattern(node)
                for j, out in enumerate(node.outputs):
                    if connections[k][j] and out not in blocked:
                        reaching.add(node)
                        live.add(out)
    return reaching


class Shortcut(NamedTuple):
    """Another expression for a node's result, through whose gradients the walk goes.

    The plain gradient of ``log(softmax(x))`` divides by probabilities, which may be 0.

    Attributes:
        variable: the expression.
        source: what it depends on.
        skipped: the variables between the source and the node.
    """

    variable: Any
    source: Any
    skipped: list[Any]


# What looks for shortcuts: `programs.stability` adds to it.
SHORTCUTS: list[Callable[[Apply], Shortcut | None]] = []


def _shortcut(node: Apply, fixed: set[Any]) -> Shortcut | None:
    for look in SHORTCUTS:
        shortcut = look(node)
        if shortcut is not None and fixed.isdisjoint(shortcut.skipped):
            return shortcut
    return None


def _walk(seeds: dict[Any, Any], wrt: Sequence[Any], blocked: set[Any]) -> dict[Any, Any]:
    """The gradients of variables, from those of some expressions."""
    order = toposort(list(seeds))
    targets = set(wrt)
    reaching = _reaching(order, targets, blocked)
    sums: dict[Any, Any] = {
        v: _broadcast(v, g) for v, g in seeds.items() if not isinstance(g.type, DisconnectedType)
    }
    fixed = targets | blocked | seeds.keys()
    for node in reversed(order):
        if node not in reaching:
            continue
        outgoing = [None if out in blocked else sums.get(out) for out in node.outputs]
        if all(g is None for g in outgoing):
            continue
        shortcut = _shortcut(node, fixed)
        if shortcut is not None:
            inner = _walk({shortcut.variable: outgoing[0]}, [shortcut.source], blocked)
            pairs: Any = inner.items()
        else:
            pairs = zip(node.inputs, _input_gradients(node, outgoing), strict=True)
        for x, g in pairs:
            if g is None or x in seeds:
                continue
            if x in targets or (x.owner in reaching and x not in blocked):
                sums[x] = _summed(sums.get(x), g)
    return {x: sums[x] for x in targets if x in sums}


def _broadcast(variable: Any, g: Any) -> Any:
    """A gradient with as many dimensions as its variable."""
    if isinstance(g.type, TensorType) and g.ndim < variable.ndim:
        return fill(variable, g)
    return g


def _summed(earlier: Any, g: Any) -> Any:
    if earlier is None or isinstance(g.type, NullType):
        return g
    return earlier if isinstance(earlier.type, NullType) else earlier + g


def _input_gradients(node: Apply, outgoing: list[Any]) -> list[Any]:
    """What an operation says, checked; None where an input is not connected."""
    cotangents = [
        _fitted(out, g) if g is not None else (
            float_zeros(out) if isinstance(out.type, TensorType) else disconnected_type()
        )
        for out, g in zip(node.outputs, outgoing, strict=True)
    ]  # fmt: skip
    if not any(isinstance(g.type, NullType) for g in cotangents):
        return _said(node, cotangents)
    undefined = _undefined_alone(node, outgoing, cotangents)
    if None not in undefined:
        return [None if isinstance(g.type, DisconnectedType) else g for g in undefined]
    zeros = [
        float_zeros(out) if isinstance(g.type, NullType) else g
        for out, g in zip(node.outputs, cotangents, strict=True)
    ]
    return [
        g if other is None else None if isinstance(other.type, DisconnectedType) else other
        for g, other in zip(_said(node, zeros), undefined, strict=True)
    ]


def _said(node: Apply, cotangents: list[Any]) -> list[Any]:
    """What `L_op` gives, in the dtypes of the inputs; None for what it calls disconnected."""
    results = node.op.L_op(node.inputs, node.outputs, cotangents)
    if results is None:
        raise TypeError(f"{node.op}.grad returned NoneType, expected iterable.")
    results = list(results)
    if len(results) != len(node.inputs):
        raise ValueError(f"{node.op} returned the wrong number of gradient terms.")
    return [_as_gradient(node, x, g) for x, g in zip(node.inputs, results, strict=True)]


def _as_gradient(node: Apply, x: Any, g: Any) -> Any:
    if g is None:
        raise TypeError(
            f"{node.op}.grad returned None for a gradient term, this is prohibited: return"
            " zeros, or say in connection_pattern that the input is not connected"
        )
    g = as_tensor_variable(g) if not isinstance(g, Variable) else g
    if isinstance(g.type, DisconnectedType):
        return None
    if isinstance(g.type, TensorType) and isinstance(x.type, TensorType):
        if g.type.ndim != x.type.ndim:
            raise ValueError(
                f"{node.op}.grad returned a term with {g.type.ndim} dimensions, but"
                f" {x.type.ndim} are required."
            )
        if x.type.dtype in CONTINUOUS and g.type.dtype != x.type.dtype:
            g = cast(_real_for(x, g), x.type.dtype)
    return g


def _undefined_alone(node: Apply, outgoing: list[Any], cotangents: list[Any]) -> list[Any]:
    """By inputs: an undefined gradient where all that reaches it is undefined, a disconnected one
    where nothing does, None where there is something to compute."""
    found: list[Any] = []
    for row in node.op.connection_pattern(node):
        reached = [
            c for c, g, joined in zip(cotangents, outgoing, row, strict=True)
            if joined and g is not None
        ]  # fmt: skip
        defined = [c for c in reached if not isinstance(c.type, NullType)]
        found.append(None if defined else reached[0] if reached else disconnected_type())
    return found


def _real_for(x: Any, g: Any) -> Any:
    """The real part of a gradient, where a variable is real and what it went into is not."""
    return real(g) if g.type.dtype in COMPLEX and x.type.dtype not in COMPLEX else g


def _fitted(out: Any, g: Any) -> Any:
    """A gradient in the dtype and pattern of what it belongs to."""
    if not isinstance(g.type, TensorType) or not isinstance(out.type, TensorType):
        return g
    if out.type.dtype not in DISCRETE and g.type.dtype != out.type.dtype:
        g = cast(g, out.type.dtype)
    return g if g.ndim != out.ndim else rebroadcast(g, out.broadcastable)


def Lop(f: Any, wrt: Any, eval_points: Any, consider_constant: Any = None,  # noqa: N802
        disconnected_inputs: str = "raise") -> Any:  # fmt: skip
    """The product of vectors, from the left, with the Jacobian of `f` in `wrt`.

    >>> from wengert.symbolic import Lop, function
    >>> from wengert.symbolic import tensor as T
    >>> w, x, v = T.dmatrix(), T.dvector(), T.dvector()
    >>> function([v, x], Lop(T.dot(x, w), w, v))([2, 2], [0, 1])
    array([[0., 0.],
           [2., 2.]])
    """
    outputs = listed(f)
    points = [as_tensor_variable(v) for v in listed(eval_points)]
    if len(outputs) != len(points):
        raise ValueError(f"Lop: {len(outputs)} outputs and {len(points)} eval_points")
    # An output may be read by another, where its seed is not meant to stand.
    seeds = {tensor_copy(out): v for out, v in zip(outputs, points, strict=True)}
    return grad(
        None, wrt, consider_constant=consider_constant, known_grads=seeds,
        disconnected_inputs=disconnected_inputs, add_names=False,
    )  # fmt: skip


def Rop(f: Any, wrt: Any, eval_points: Any, disconnected_outputs: str = "raise",  # noqa: N802
        return_disconnected: str = "zero") -> Any:  # fmt: skip
    """The product of the Jacobian of `f` in `wrt` with vectors.

    It is the derivative of `Lop`, which is linear, in its vectors: every operation that can be
    differentiated twice has it. Operations of programs may have a rule of their own, `R_op`.

    Where `f` does not depend on `wrt`, nor on any elementwise operation, that is an error or a
    warning unless `disconnected_outputs` is "ignore"; the result is then as `return_disconnected`
    says: "zero", "None" or "Disconnected". Raises ValueError where an operation has no gradient.

    >>> from wengert.symbolic import Rop, function
    >>> from wengert.symbolic import tensor as T
    >>> w, x, v = T.dmatrix(), T.dvector(), T.dmatrix()
    >>> function([v, x], Rop(T.dot(x, w), w, v))([[2, 2], [2, 2]], [0, 1])
    array([2., 2.])
    """
    inputs, points = listed(wrt), [as_tensor_variable(v) for v in listed(eval_points)]
    if len(inputs) != len(points):
        raise ValueError(f"Rop: {len(inputs)} variables and {len(points)} eval_points")
    for x, v in zip(inputs, points, strict=True):
        if x.ndim != v.ndim:
            raise ValueError(
                f"Element 0 of wrt/eval_point have mismatched dimensionality: {x.ndim} versus"
                f" {v.ndim}"
            )
    results = []
    for out in listed(f):
        try:
            result = _pushed(out, inputs, points)
        except NullTypeGradError as error:
            raise ValueError(f"Rop: {error}") from None
        except DisconnectedInputError:
            result = float_zeros(out) if _rests(out) else _STOPPED
        if result is _STOPPED:
            message = f"Rop: {out} does not depend on {inputs}, or by nothing that has a direction"
            if disconnected_outputs == "raise":
                raise DisconnectedInputError(message)
            if disconnected_outputs == "warn":
                warnings.warn(message, stacklevel=2)
            result = _absent(out, return_disconnected)
        results.append(result)
    return returned_as(f, results)


_STOPPED: Any = object()  # the rule of an operation gives None


def _rests(out: Any) -> bool:
    """Whether a variable's direction is zero, as Theano has it, if it depends on nothing.

    That comes of elementwise operations, and reaches all that depends on their results.
    """
    waiting, seen = [out], set()
    while waiting:
        node = waiting.pop().owner
        if node is None or node in seen:
            continue
        if isinstance(node.op, Elemwise) or getattr(node.op, "has_zero_direction", False):
            return True
        seen.add(node)
        pattern = node.op.connection_pattern(node)
        waiting += [x for x, row in zip(node.inputs, pattern, strict=True) if any(row)]
    return False


def _pushed(out: Any, inputs: list[Any], points: list[Any]) -> Any:
    """`Rop` of one variable: node by node if an operation in between has a rule of its own.

    `_STOPPED` if such rules say that there is nothing; DisconnectedInputError if it depends on
    nothing.
    """
    nodes = toposort([out], inputs)
    if not any(_has_rule(node) for node in nodes):
        return _mentioning(_twice_pulled(out, inputs, points), out)
    moved = dict(zip(inputs, points, strict=True))
    stopped = False
    for node in nodes:
        known = [moved.get(x) for x in node.inputs]
        if any(v is not None for v in known):
            found = node.op.R_op(node.inputs, known) if _has_rule(node) else _stepped(node, known)
            moved.update(zip(node.outputs, found, strict=True))
            stopped |= _has_rule(node) and None in found
    if moved.get(out) is not None:
        return _mentioning(moved[out], out)
    if not stopped:
        raise DisconnectedInputError(f"Rop: {out} depends on none of {inputs}")
    return _STOPPED


def _mentioning(result: Any, out: Any) -> Any:
    """A result that knows what it is of: programs list that among inputs, needed or not."""
    if result.owner is not None:
        result.owner.tag.mentioned = [out]
    return result


def _has_rule(node: Apply) -> bool:
    return callable(getattr(node.op, "R_op", None))


def _twice_pulled(out: Any, inputs: list[Any], points: list[Any]) -> Any:
    left = out.type.clone(dtype=out.dtype if out.dtype in CONTINUOUS else config.floatX)()
    pulled = Lop(out, inputs, left, disconnected_inputs="ignore")
    pushed = Lop(pulled, left, points)
    # Linear in `left`: what is left of it are shapes.
    return replaced([pushed], {left: float_zeros(out)})[0]


def _stepped(node: Apply, known: list[Any]) -> list[Any]:
    """What comes of the directions of a node's inputs; None where an output depends on none."""
    own = [x if v is None else x.type() for x, v in zip(node.inputs, known, strict=True)]
    moving = [k for k, v in enumerate(known) if v is not None]
    inputs, points = [own[k] for k in moving], [known[k] for k in moving]
    back = {own[k]: node.inputs[k] for k in moving}
    found: list[Any] = []
    for y in node.clone_with_new_inputs(own).outputs:
        try:
            found += replaced([_twice_pulled(y, inputs, points)], back)
        except DisconnectedInputError:
            found.append(None)
    return found
