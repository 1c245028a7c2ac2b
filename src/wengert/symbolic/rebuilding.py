"""``theano.compile.pfunc``: graphs copied, with the shared variables and updates that they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.symbolic.arguments import In, Out, checked_givens, checked_updates, pairs_of
from wengert.symbolic.functions import Function, default_updates, function
from wengert.symbolic.graph import Constant, Variable, toposort
from wengert.symbolic.sharing import SharedVariable


class _Copies:
    """Copies of variables, and of what computes them."""

    def __init__(self, replacements: dict[Any, Any], strict: bool, share: bool) -> None:
        self.known: dict[Any, Any] = {}
        self.replacements, self.strict, self.share = replacements, strict, share

    def of(self, variable: Any) -> Any:
        """The copy of a variable."""
        root = self.replacements.get(variable, variable)
        for node in toposort([root], [*self.known, *self.replacements]):
            inputs = [self._leaf(x) for x in node.inputs]
            if self.strict:
                inputs = [
                    x.type.filter_variable(new) for x, new in zip(node.inputs, inputs, strict=True)
                ]
            fresh = node.clone_with_new_inputs(inputs)
            for old, new in zip(node.outputs, fresh.outputs, strict=True):
                new.name = old.name
                self.known.setdefault(old, new)
        self.known[variable] = self._leaf(root)
        return self.known[variable]

    def _leaf(self, x: Any) -> Any:
        if x in self.known:
            return self.known[x]
        if x in self.replacements:
            return self.of(x)
        kept = self.share or isinstance(x, Constant) or x.owner is not None
        return self.known.setdefault(x, x if kept else x.clone())


def rebuild_collect_shared(
    outputs: Any, inputs: Sequence[Any] | None = None, replace: Any = None, updates: Any = None,
    rebuild_strict: bool = True, copy_inputs_over: bool = True, no_default_updates: Any = False,
) -> tuple[list[Any], Any, list[Any]]:  # fmt: skip
    """Copies of expressions, and the shared variables that they and their updates need.

    Args:
        outputs: a variable or an `Out`, or a list of them; copies come in the same form.
        inputs: variables and `In` of which copies are given as well.
        replace: what is to stand for some variables, as a dictionary or pairs.
        updates: new values of shared variables.
        rebuild_strict: whether types have to stay the same.
        copy_inputs_over: whether variables that nothing computes stay what they are.
        no_default_updates: True, or a list of shared variables whose own updates are left out.

    Gives the inputs, the outputs, and a list: copies by variable, new values by shared variable,
    the pairs of them, and the shared variables.

    >>> from wengert.symbolic import compile, shared
    >>> from wengert.symbolic import tensor as T
    >>> x, w = T.dscalar("x"), shared(2.0, "w")
    >>> _, y, (copies, _, _, found) = compile.rebuild_collect_shared(x * w, [x])
    >>> y is copies[x], y.owner.inputs == [x, w], found
    (False, True, [w])
    """
    copies = _Copies(checked_givens(replace, rebuild_strict), rebuild_strict, copy_inputs_over)
    own = [i.variable if isinstance(i, In) else i for i in inputs or ()]
    listed = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    for v in listed:
        if not isinstance(v, Variable | Out | None):
            raise TypeError(f"outputs must be Variable or Out instances (or None), got {v!r}")
    stated = checked_updates(updates)
    targets = [v.variable if isinstance(v, Out) else v for v in listed if v is not None]
    free = [copies.of(v) for v in own]
    built = iter([copies.of(v) for v in targets])
    changed = [(s, copies.of(value)) for s, value in stated]
    changed += [
        (s, copies.of(value))
        for s, value in default_updates(
            [*targets, *(v for _, v in stated)], stated, own, no_default_updates
        )
    ]
    results = [_in_form(v, None if v is None else next(built)) for v in listed]
    shareds = [v for v in copies.known if isinstance(v, SharedVariable) and v not in set(own)]
    given = results if isinstance(outputs, list | tuple) else results[0]
    return free, given, [copies.known, dict(changed), changed, shareds]


def _in_form(given: Any, variable: Any) -> Any:
    return Out(variable, given.borrow) if isinstance(given, Out) else variable


def pfunc(params: Sequence[Any], outputs: Any = None, *args: Any, **options: Any) -> Function:
    """`function`, which calls its first argument `inputs`.

    >>> from wengert.symbolic import compile
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dscalar("x")
    >>> compile.pfunc(params=[x], outputs=x * 2)(3.0)
    array(6.)
    """
    return function(params, outputs, *args, **options)


iter_over_pairs = pairs_of

__all__ = ["In", "Out", "iter_over_pairs", "pfunc", "rebuild_collect_shared"]
