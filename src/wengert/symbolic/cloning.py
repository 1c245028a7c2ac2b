"""``theano.clone``: an expression with others in place of some of its variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.symbolic.graph import Apply, Constant, Variable, ancestors, replaced, toposort
from wengert.symbolic.looping import Loop


def clone(
    output: Any, replace: Any = None, strict: bool = True, share_inputs: bool = True,
    copy_inputs: Any = None,
) -> Any:  # fmt: skip
    """An expression, or a list of them, built again with other variables in place of some.

    Args:
        output: what to build again.
        replace: a dictionary or pairs of variables and what stands for them.
        strict: whether types have to be the same; broadcastable flags may always be fewer.
        share_inputs: whether inputs that are not replaced stay the same variables. Copies of shared
            variables have their values in common with them.

    >>> from wengert.symbolic import clone, function
    >>> from wengert.symbolic import tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> z = clone(x**2 + 1, replace={x: y * 2})
    >>> function([y], z)(3.0)
    array(37.)
    """
    share_inputs = share_inputs if copy_inputs is None else copy_inputs
    outputs = list(output) if isinstance(output, list | tuple) else [output]
    pairs = list(replace.items()) if isinstance(replace, dict) else list(replace or [])
    table: dict[Any, Any] = {}
    for old, new in pairs:
        if not isinstance(old, Variable):
            raise TypeError(f"clone: {old!r} is no variable and cannot be replaced")
        table[old] = old.type.filter_variable(new) if strict else new
    results = replaced(outputs, table, strict=strict)
    if not share_inputs:
        free = [v for v in ancestors(results) if v.owner is None and not isinstance(v, Constant)]
        results = replaced(results, {v: v.clone() for v in free})
    return results if isinstance(output, list | tuple) else results[0]


def map_variables(
    replacer: Callable[[Any], Any], graphs: Sequence[Any], additional_inputs: Sequence[Any] = ()
) -> list[Any]:  # fmt: skip
    """Expressions, with what a function gives for each of their variables in its place.

    Args:
        replacer: gives what stands for a variable: the variable itself, or another of its type.
            What it puts in place is not shown to it again.
        graphs: the expressions.
        additional_inputs: accepted; variables that `replacer` brings in need no mention.

    The graphs of `OpFromGraph` and the steps of loops are mapped as well.

    >>> from wengert.symbolic import function, map_variables
    >>> from wengert.symbolic import tensor as T
    >>> a, b = T.dscalars("a", "b")
    >>> total = a + b
    >>> total.tag.replacement = a * b
    >>> (new,) = map_variables(lambda v: getattr(v.tag, "replacement", v), [total + 1])
    >>> function([a, b], new)(3.0, 4.0)
    array(13.)
    """
    return _mapped(replacer, graphs, set())


def _mapped(
    replacer: Callable[[Any], Any], graphs: Sequence[Any], placeholders: set[Any]
) -> list[Any]:  # fmt: skip
    """`map_variables`, to which placeholders are not shown."""
    table: dict[Any, Any] = {}

    def put(old: Any, fresh: Any) -> None:
        new = replacer(fresh)
        if new is not old:
            table[old] = old.type.filter_variable(new)

    for v in dict.fromkeys(ancestors(graphs)):
        if v.owner is None and v not in placeholders:
            put(v, v)
    for node in toposort(graphs):
        inputs = [table.get(x, x) for x in node.inputs]
        changed = any(a is not b for a, b in zip(inputs, node.inputs, strict=True))
        op, captured = _mapped_inside(node, replacer)
        if op is not node.op:
            fresh = op(*inputs, *captured, return_list=True)[0].owner
        else:
            fresh = node.clone_with_new_inputs(inputs) if changed else node
        for old, new in zip(node.outputs, fresh.outputs, strict=True):
            new.name = old.name
            put(old, new)
    return [table.get(v, v) for v in graphs]


def _mapped_inside(node: Apply, replacer: Callable[[Any], Any]) -> tuple[Any, Sequence[Any]]:
    """A node's operation, with `map_variables` done to the graph that it runs.

    Beside it are the variables from outside that the graph reads now, as further inputs.
    """
    op = node.op
    if isinstance(op, Loop):
        mapped = _mapped(replacer, op.step.outputs, set(op.step.inputs))
        same = all(a is b for a, b in zip(mapped, op.step.outputs, strict=True))
        return (op, []) if same else op.with_outputs(mapped)
    inner = getattr(op, "inner_outputs", ())
    mapped = _mapped(replacer, inner, set()) if inner else []
    if all(a is b for a, b in zip(mapped, inner, strict=True)):
        return op, []
    new = op.with_outputs(mapped)
    return new, new.shared_inputs[len(op.shared_inputs) :]
