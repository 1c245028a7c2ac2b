"""The parameters of the functions that are written for operations.

Keyword-only parameters cost a call twice: looking up each default, and CPython's fast path for
calls, which a function that has some does not get. So those that come by keyword are ordinary
parameters behind `excess`, which takes the argument too many of a call that has one. Such a call,
and one with `out`, goes to `call_unusual`.
"""

from __future__ import annotations

from inspect import Parameter
from textwrap import indent
from typing import Any

from wengert.ops import numpy_names
from wengert.ops._older import reordered
from wengert.ops.op import Op
from wengert.ops.outputs import write_out


def signature_of(op: Op) -> str:
    """What stands between the parentheses."""
    defaults = defaults_of(op)
    late = numpy_names.needed(defaults) if op.numpy_names else []
    texts = {n: f"{n}=defaults[{n!r}]" if d is not ... else n for n, d in defaults.items()}
    texts |= {n: f"{n}=..." for n in late}
    by_position = [text for n, text in texts.items() if n not in op.keyword_only]
    by_keyword = [texts[n] for n in op.keyword_only]
    by_keyword += [f"{alias}=None" for alias in _aliases(op)]
    by_keyword += ["out=None"] if op.takes_out else []
    excess = [f"{name}=..." for name in _excess(op)] if by_keyword else []
    return ", ".join([*by_position, *excess, *by_keyword])


def guard_of(op: Op) -> str:
    """The lines before the body."""
    excess = _excess(op)
    by_keyword = [*op.keyword_only, *_aliases(op)]
    lines = ""
    if by_keyword or op.takes_out:
        test = f"{excess[0]} is not ..." + (" or out is not None" if op.takes_out else "")
        by_position = ", ".join([n for n in op.signature.parameters if n not in op.keyword_only])
        options = ", ".join(f"{name!r}: {name}" for name in by_keyword)
        lines = (
            f"if {test}:\n    return call_unusual(op, {'out' if op.takes_out else None},"
            f" ({by_position},), ({', '.join(excess)},), {{{options}}})\n"
        )
    if op.numpy_names:
        lines += numpy_names.alias_guard(op.public_name, defaults_of(op))
    return indent(lines, "    ")


def call_unusual(
    op: Op, out: Any, args: tuple[Any, ...], excess: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """A call with `out`, in an older order of arguments, or with too many of them."""
    values = (*args, *[x for x in excess if x is not ...])
    if out is not None:
        return write_out(op.function, out, *values, **options)
    if op.older:
        return reordered(op.function, values, {name: options[name] for name in op.older})
    raise TypeError(
        f"{op.public_name}() takes {len(args)} positional argument{'s' * (len(args) > 1)} but"
        f" {len(values)} were given"
    )


def defaults_of(op: Op) -> dict[str, Any]:
    """The default of each argument, `...` if it has none."""
    parameters = op.signature.parameters.items()
    return {n: ... if p.default is Parameter.empty else p.default for n, p in parameters}


def _aliases(op: Op) -> list[str]:
    names = numpy_names.renamed(op.signature.parameters) if op.numpy_names else []
    return [numpy_names.ALIASES[name] for name in names]


def _excess(op: Op) -> list[str]:
    """As many as the older order has numbers, and one more."""
    return ["excess", "excess_1", "excess_2"][: 1 + len(op.older)]
