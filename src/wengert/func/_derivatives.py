"""Derivatives of functions: reverse mode (`grad`, `vjp`) and forward mode (`jvp`, `linearize`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from wengert.autograd.errors import integer_requires_grad
from wengert.autograd.transforms.dual import DualLevel
from wengert.autograd.transforms.recording import FunctionGraph
from wengert.autograd.transforms.tree import Spec, flatten_tree, unflatten_tree
from wengert.core.dtypes import inexact, of_numpy
from wengert.core.tensor import Tensor
from wengert.ops.shape import clone
from wengert.ops.zeros import ones_matching, zeros_matching

Argnums = int | tuple[int, ...]


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that computes the gradient of `func`, which returns a tensor of one element.

    `argnums` says with respect to which arguments (tensors, or tuples, lists and dicts of
    them); with `has_aux` the function returns `(output, aux)` and the result is
    `(gradient, aux)`. May be nested, and inside `vmap`.

    >>> import wengert
    >>> cube = lambda x: x**3
    >>> wengert.func.grad(wengert.func.grad(cube))(wengert.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """As `grad`; the function returns the gradient and the value of `func`.

    >>> import wengert
    >>> wengert.func.grad_and_value(wengert.sum)(wengert.ones(2))
    (tensor([1., 1.]), tensor(2.))
    """

    @wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(args, argnums)
        graph = FunctionGraph()
        result = graph.run(lambda *xs: func(*chosen.replaced(xs), **kwargs), chosen.leaves)
        output, aux = _with_aux(result, has_aux, "grad_and_value(f)(*args)")
        _check_scalar(output)
        value = graph.value(output)
        gradients = chosen.tree(graph.pull([output], [ones_matching(output)], retain=False))
        return gradients, ((value, _outside(graph, aux)) if has_aux else value)

    return both


class Chosen:
    """The arguments that a derivative is with respect to, as a flat list of tensors."""

    def __init__(self, args: tuple[Any, ...], argnums: Argnums) -> None:
        self.args, self.argnums = args, argnums
        if isinstance(argnums, tuple) and not argnums:
            raise RuntimeError("argnums must be non-empty")
        numbers = (argnums,) if isinstance(argnums, int) else argnums
        for n in numbers:
            if not isinstance(n, int):
                raise RuntimeError(f"argnums must be int or Tuple[int, ...], got {argnums!r}")
            if not -len(args) <= n < len(args):
                raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
        self.positions = [n % len(args) for n in numbers]
        if len(set(self.positions)) < len(self.positions):
            raise RuntimeError(f"argnums elements must be unique, got {argnums!r}")
        picked = [args[n] for n in self.positions]
        self.leaves, self.spec = flatten_tree(
            picked[0] if isinstance(argnums, int) else tuple(picked)
        )
        for x in self.leaves:
            check_differentiable(x)

    def replaced(self, leaves: Any) -> list[Any]:
        """All arguments, with others in the places of the chosen."""
        tree = unflatten_tree(leaves, self.spec)
        values = (tree,) if isinstance(self.argnums, int) else tree
        args = list(self.args)
        for position, value in zip(self.positions, values, strict=True):
            args[position] = value
        return args

    def tree(self, leaves: Any) -> Any:
        """Results for each leaf, nested as the chosen arguments are."""
        return unflatten_tree(leaves, self.spec)


def check_differentiable(x: Any) -> None:
    """Raise for what no derivative is with respect to."""
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    if x._array.dtype not in inexact:
        raise RuntimeError(integer_requires_grad(
            "only Tensors of floating point dtype can require gradients, and this one is",
            of_numpy[x._array.dtype], "a transformed function",
        ))  # fmt: skip


def _with_aux(result: Any, has_aux: bool, where: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for x in flatten_tree(result[1])[0]:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{where}: Expected tensors, got unsupported type {type(x)} in aux")
    return result


def _outside(graph: FunctionGraph, tree: Any) -> Any:
    leaves, spec = flatten_tree(tree)
    return unflatten_tree([graph.value(x) if isinstance(x, Tensor) else x for x in leaves], spec)


def _check_scalar(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
        )
    if output.dim():
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor"
            f" with {output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    if output.is_complex():
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {output.dtype}"
        )


def _outputs(result: Any, where: str) -> tuple[list[Any], Spec]:
    leaves, spec = flatten_tree(result)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(
                f"{where}: expected f(*primals) to return only tensors, got unsupported type"
                f" {type(x)}"
            )
    return leaves, spec


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `func`, and a function from cotangents of it to those of the primals.

    The function may be called again and again; it returns a tuple with an item for each
    primal. With `has_aux`, `func` returns `(output, aux)`, and aux comes third.

    >>> import wengert
    >>> y, pull = wengert.func.vjp(wengert.sin, wengert.zeros(2))
    >>> pull(wengert.tensor([1.0, 2.0]))
    (tensor([1., 2.]),)
    """
    leaves, inputs = flatten_tree(primals)
    for x in leaves:
        check_differentiable(x)
    graph = FunctionGraph()
    result = graph.run(lambda *xs: func(*unflatten_tree(xs, inputs)), leaves)
    output, aux = _with_aux(result, has_aux, "vjp(f, *primals)")
    results, spec = _outputs(output, "vjp(f, *primals)")

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        cotangent_leaves, structure = flatten_tree(cotangents)
        if structure != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of"
                f" outputs to the function. cotangents: {structure}, primal output: {spec}"
            )
        for k, (g, y) in enumerate(zip(cotangent_leaves, results, strict=True)):
            if g.shape != y.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{k}] has a shape of {g.shape} and output[{k}]"
                    f" has a shape of {y.shape}."
                )
        return unflatten_tree(graph.pull(results, cotangent_leaves, retain_graph), inputs)

    value = unflatten_tree([graph.value(y) for y in results], spec)
    return (value, vjp_fn, _outside(graph, aux)) if has_aux else (value, vjp_fn)


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """The value of `func` and its derivative along tangents, in one forward pass.

    With `strict`, an output that does not depend on the primals is an error; otherwise its
    tangent is zeros.

    >>> import wengert
    >>> wengert.func.jvp(wengert.sin, (wengert.zeros(2),), (wengert.ones(2),))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    leaves, spec = _checked_primals(primals, "jvp(f, primals, tangents)", "primals")
    tangent_leaves, structure = _checked_primals(tangents, "jvp(f, primals, tangents)", "tangents")
    if structure != spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python"
            " structure. For example, if primals is a tuple of 3 tensors, tangents also must be."
            f" Got primals with structure {spec} and tangents with structure {structure}"
        )
    with DualLevel() as level:
        duals = [
            level.checked_dual(x, t) for x, t in zip(leaves, _apart(tangent_leaves), strict=True)
        ]
        result = func(*unflatten_tree(duals, spec))
        output, aux = _with_aux(result, has_aux, "jvp(f, primals, tangents)")
        results, tree = _outputs(output, "jvp(f, primals, tangents)")
        values = [level.lower(y) for y in results]
        tangents_out = [level.tangent(y) for y in results]
        aux = unflatten_tree([level.lower(x) for x in flatten_tree(aux)[0]], flatten_tree(aux)[1])
    if strict and None in tangents_out:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs."
            " This is not allowed with strict=True."
        )
    along = [
        zeros_matching(y) if t is None else t for y, t in zip(values, tangents_out, strict=True)
    ]
    both = unflatten_tree(values, tree), unflatten_tree(along, tree)
    return (*both, aux) if has_aux else both


def _apart(tangents: list[Any]) -> list[Any]:
    """Different tensors: a write to a dual writes to its tangent."""
    first = {id(t): k for k, t in reversed(list(enumerate(tangents)))}
    return [t if first[id(t)] == k else clone(t) for k, t in enumerate(tangents)]


def _checked_primals(values: Any, where: str, name: str) -> tuple[list[Any], Spec]:
    if not isinstance(values, tuple):
        raise RuntimeError(
            f"{where}: Expected {name} to be a tuple. E.g. it should be valid to call f(*{name})."
        )
    if not values:
        raise RuntimeError(f"{where}: Expected {name} to contain at least one Tensor")
    leaves, spec = flatten_tree(values)
    for x in leaves:
        check_differentiable(x)
    return leaves, spec


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of `func` at the primals, and its derivative there as a function of tangents.

    `func` runs once: the graph of its vjp, which is linear in the cotangent, is recorded and
    walked for each tangent.

    >>> import wengert
    >>> y, push = wengert.func.linearize(wengert.sin, wengert.zeros(2))
    >>> push(wengert.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    leaves, inputs = flatten_tree(primals)
    value, pull = vjp(func, *primals)
    results, spec = flatten_tree(value)
    _, push = vjp(
        lambda *gs: flatten_tree(pull(unflatten_tree(gs, spec)))[0],
        *[zeros_matching(y) for y in results],
    )

    def jvp_fn(*tangents: Any) -> Any:
        tangent_leaves, structure = flatten_tree(tangents)
        if structure != inputs:
            raise RuntimeError(
                "Expected the tangents to have the same pytree structure as the primals, got"
                f" tangents: {structure}, primals: {inputs}"
            )
        for t, x in zip(tangent_leaves, leaves, strict=True):
            if t.shape != x.shape:
                raise RuntimeError(
                    f"linearize: tangent has shape {list(t.shape)}, and the primal {list(x.shape)}"
                )
        return unflatten_tree(push(tangent_leaves), spec)

    return value, jvp_fn
