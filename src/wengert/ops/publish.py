"""Generate, for one op, the functions one would write by hand, and keep their source.

`apply` is what the user calls: unwrap, compute, and record if some input needs a gradient.
`send` is what the engine calls: it adds a gradient for each edge that needs one to those in
flight. `pullback_to` is its general form, which returns them: for selected inputs only, and
with saved values lifted to Tensors when the derivative is itself recorded. Tracebacks,
profilers and `wengert show OP` get the source through `linecache`.
"""

from __future__ import annotations

import builtins
import linecache
from collections.abc import Collection
from functools import partial
from inspect import Parameter
from textwrap import indent
from types import FunctionType
from typing import Any

import numpy as np

from wengert.core import fronts, inference, tensor
from wengert.core.cotangents import add_cotangents, may_grow
from wengert.core.dtypes import inexact
from wengert.core.forks import compile_lock
from wengert.kernels.layout import arranged, by_columns
from wengert.ops import _fuse, _snippets, half_rules, numpy_names, operands
from wengert.ops._mixing import is_pair, mixed_source, parameters_of, required, to_float_source
from wengert.ops._parameters import call_unusual, guard_of, signature_of
from wengert.ops.op import NodeLayout, Op

# Names in the generated text: for an input `i`, `v_i` is its array, `e_i` its edge and `g_i` its
# gradient; for a saved value `n`, `s_n` is its slot on the node and `l_n` the value lifted.

APPLY = """\
def {name}({signature}):
{guard}{unwrap}\
    if {only_arrays}:
        if not ({all_arrays}):
            return call_foreign(op, ({inputs},), {{{params}}})
        return {compute_arrays}{first}
{ask}{mixed}{watch}\
    try:
        out{aux} = {compute}
    except Exception as error:
        raise call_error(op, error, ({inputs},))
    if type(out) is not ndarray:
        out = asarray(out)
{arrange}\
    result = new(Tensor)
    result._array = out
    result._root = None
{view}{record}"""

# If nothing is recorded, the result remembers where its inputs were cut off a graph.
ASK = """\
    if {no_edge}:
        site = None
{cuts}\
    else:
        site = mode.site
        if site is None:
            cut = mode.off
"""

WATCH = """\
    if site is not None and type(site) is not Site:
        return watched(op, site, ({inputs},), {{{params}}})
"""

RECORD = """\
    if site is None:
        result._edge = None
        result._cut = cut
        if inferences:
            mark_inference(result)
        return result
    frame = getframe(1)
    code = frame.f_code
    node = new(Recorded)
    if code.co_filename in internal:
        node.code, node.lasti = caller(frame)
    else:
        node.code = code
        node.lasti = frame.f_lasti
    node.seq = tick()
    node.site = site
    node.state = None
    node.shape = out.shape
{edges}{saves}\
    result._edge = node
    return result
"""

NO_RECORD = """\
    result._edge = None
    result._cut = cut
    if inferences:
        mark_inference(result)
    return result
"""

# Results of inference tensors alone are not recorded, and inference tensors are never saved.
INFERENCE = """\
    if inferences:
        cut = inference_cut({public_name!r}, ({inputs},), ({saved}), ({slots}))
        if cut is not None:
            result._edge, result._cut = None, cut
            return result
"""

UNWRAP = """\
    if type({i}) is Tensor or type({i}) in tensors:
        v_{i} = {i}._array
        e_{i} = {i}._edge
    else:
        v_{i} = {i}
        e_{i} = None
"""

UNWRAP_VALUE = """\
    v_{i} = {i}._array if type({i}) in tensors else {i}
"""

PULLBACKS = """\


def {name}_edges(node):
    return {edges},


def {name}_send(node, g, pending):
{own_edges}{gradients}{sent}\


def {name}_pullback_to(node, g, needed, lift):
{own_edges}{lifts}{gradients_to}\
    return {results},


def {name}_clear(node):
    {cleared}


def {name}_release(node):
    {released}
"""

# Large arrays: one kernel for all gradients; it returns None if it does not apply.
FUSED = """\
    gradients = None if {small} else pull(g, ({edges},), ({values}), ({params}))
    if gradients is not None:
        {results}, = gradients
    else:
{gradients}\
"""

GRADIENT = """\
    g_{i} = vjp_{i}({args}) if {condition} else None
"""

UNBROADCAST = """\
    if g_{i} is not None and g_{i}.shape != e_{i}.shape:
        g_{i} = sum_to(g_{i}, e_{i}.shape)
"""


SENT = """\
    if g_{i} is not None:
{fitted}\
        pending_sum = pending[e_{i}]
        pending[e_{i}] = g_{i} if pending_sum is None else add_cotangents(pending_sum, g_{i})
"""

# Added to what is there, if nothing else refers to it: the gradient itself is no array then.
GROWN = """\
    if e_{i} is not None:
        pending_sum = pending[e_{i}]
        if not may_grow(pending_sum) or not grow_{i}(pending_sum, {args}):
            g_{i} = vjp_{i}({args})
            pending[e_{i}] = g_{i} if pending_sum is None else add_cotangents(pending_sum, g_{i})
"""

FITTED = """\
        if g_{i}.shape != e_{i}.shape:
            g_{i} = sum_to(g_{i}, e_{i}.shape)
"""


def apply_source(op: Op, layout: NodeLayout) -> str:
    diff = layout.differentiable
    no_edge = " and ".join(f"e_{i} is None" for i in diff)
    return APPLY.format(
        name=op.name,
        signature=signature_of(op),
        guard=guard_of(op),
        unwrap="".join((UNWRAP if i in diff else UNWRAP_VALUE).format(i=i) for i in op.inputs),
        only_arrays=" and ".join(f"v_{i} is {i}" for i in op.inputs),
        all_arrays=" and ".join(f"isinstance({i}, array_like)" for i in required(op)),
        inputs=", ".join(op.inputs),
        params=parameters_of(op),
        compute=_compute(op, "operand" if is_pair(op) else f"v_{op.inputs[0]}"),
        compute_arrays=_compute(op, f"v_{op.inputs[0]}"),
        first="[0]" if op.aux else "",
        mixed=mixed_source(op) + to_float_source(op, no_edge or "True"),
        aux="".join(f", {name}" for name in op.aux),
        arrange=_snippets.arrangement(op),
        view=f"    mark_view(result, {op.inputs[0]})\n" if op.view else "",
        ask=ASK.format(no_edge=no_edge, cuts=_snippets.cuts(op))
        if diff
        else _snippets.cuts_here(op),
        watch=WATCH.format(inputs=", ".join(op.inputs), params=parameters_of(op)) if diff else "",
        record=RECORD.format(
            edges="".join(f"    node.e_{i} = e_{i}\n" for i in diff),
            saves="".join(f"    node.s_{n} = {_kept(layout, n)}\n" for n in layout.readers)
            + _inference_source(layout),
        )
        if diff
        else NO_RECORD,
    )


def _call(op: Op, value: str = "v_{i}") -> str:
    arguments = []
    for name, p in op.signature.parameters.items():
        text = value.format(i=name) if name in op.inputs else name
        arguments.append(f"{name}={text}" if p.kind is Parameter.KEYWORD_ONLY else text)
    return ", ".join(arguments)


def _compute(op: Op, largest: str) -> str:
    """The forward, or, if the array named `largest` is large, the kernel made from it."""
    small = _fuse.is_small(op, largest)
    if small is None:
        return f"forward({_call(op)})"
    inputs, params = ", ".join(f"v_{i}" for i in op.inputs), " ".join(f"{p}," for p in op.params)
    fused = f"fused(({inputs},), ({params}))"
    return f"forward({_call(op)}) if {small} else {fused}"


def _kept(layout: NodeLayout, name: str) -> str:
    """The value a node saves under a name: None unless a rule that reads it is needed."""
    value, readers = layout.value(name), layout.readers[name]
    needed = len(layout.differentiable) > len(readers) and name not in layout.op.params
    condition = " or ".join(f"e_{i} is not None" for i in readers)
    return value + (f" if {condition} else None" if needed else "")


def _inference_source(layout: NodeLayout) -> str:
    saved = [name for name in layout.readers if name in layout.op.inputs]
    return INFERENCE.format(
        public_name=layout.op.public_name,
        inputs=", ".join(layout.op.inputs),
        saved="".join(f"{name}, " for name in saved),
        slots="".join(f"node.s_{name}, " for name in saved),
    )


def pullback_source(op: Op, layout: NodeLayout) -> str:
    diff = layout.differentiable

    def arguments(names: list[str], load: str, own: str | None = None) -> str:
        args = ["g"]
        for w in names:
            if w == "shared":
                args.append(w)
            elif w == f"{own}_shape":
                args.append(f"e_{own}.shape")
            else:
                args.append((load if w in layout.arrays else "node.s_{w}").format(w=w))
        return ", ".join(args)

    def gradients(
        edge: str, condition: str, load: str, small: str, later: Collection[str] = ()
    ) -> str:
        text = _shared_source(op, arguments(op.shared_takes, load), condition) if op.shared else ""
        for i in [i for i in diff if i not in later]:
            args = arguments(op.takes[i], load, i)
            text += GRADIENT.format(i=i, args=args, condition=condition.format(i=i))
        if _fuse.fuses_rules(op):
            text = _fused_source(op, layout, text, edge, small, load)
        return text

    fitted = FITTED if op.kind == "elementwise" and len(op.inputs) > 1 else ""
    small = f"g.size < {_fuse.least_of_rules(op)}"
    saved = [f"node.s_{n}" for n in layout.arrays]
    edges = [f"node.e_{i}" for i in diff]
    return PULLBACKS.format(
        name=op.name,
        edges=", ".join(edges),
        own_edges="".join(f"    e_{i} = node.e_{i}\n" for i in diff),
        results=", ".join(f"g_{i}" for i in diff),
        gradients=gradients("e_{i}", "e_{i} is not None", "node.s_{w}", small, op.accumulate),
        sent="".join(
            GROWN.format(i=i, args=arguments(op.takes[i], "node.s_{w}", i))
            if i in op.accumulate
            else SENT.format(i=i, fitted=fitted.format(i=i))
            for i in diff
        ),
        gradients_to=gradients(
            "e_{i} if e_{i} in needed else None",
            "e_{i} in needed",
            "l_{w}",
            f"lift is not identity_lift or type(g) is not ndarray or {small}",
        )
        + "".join(UNBROADCAST.format(i=i) for i in diff if fitted),
        lifts="".join(
            f"    l_{n} = lift(node.s_{n}, {_edge_of(layout, n)})\n" for n in layout.arrays
        ),
        cleared=" = ".join([*saved, "None"]),
        released=" = ".join([*saved, *edges, "None"]),
    )


def _shared_source(op: Op, arguments: str, condition: str) -> str:
    """What rules share, if one of them is needed."""
    if len(op.sharers) == len(op.differentiable):
        return f"    shared = vjp_shared({arguments})\n"
    needed = " or ".join(condition.format(i=i) for i in op.sharers)
    return f"    shared = vjp_shared({arguments}) if {needed} else None\n"


def _fused_source(
    op: Op, layout: NodeLayout, gradients: str, edge: str, small: str, load: str
) -> str:
    """All gradients by one kernel if they are large, otherwise rule by rule."""
    diff = layout.differentiable
    return FUSED.format(
        small=small,
        edges=", ".join(edge.format(i=i) for i in diff),
        values=" ".join(f"{load.format(w=n)}," for n in layout.arrays),
        params=" ".join(f"node.s_{n}," for n in op.keeps if n not in layout.arrays),
        results=", ".join(f"g_{i}" for i in diff),
        gradients=indent(gradients, "    "),
    )


def _edge_of(layout: NodeLayout, name: str) -> str:
    owner = layout.owner(name)
    if owner is None:
        return "None"
    return "node" if owner == -1 else f"e_{layout.differentiable[owner]}"


def source_of(op: Op) -> str:
    """The source of the op's functions."""
    layout = NodeLayout(op)
    text = apply_source(op, layout)
    return text + pullback_source(op, layout) if layout.differentiable else text


def recorded(op: Op, site: tensor.Site, edges: Any, values: Any, shape: tuple[int, ...]) -> Any:
    """A fresh node at the caller's line, from the edges and the values its rules read.

    The op's own function does this inline; this is for code that records in its place.
    """
    node = tensor.new(op.node)
    node.code, node.lasti = tensor.caller(tensor.getframe(1))
    node.seq, node.site, node.state, node.shape = tensor.tick(), site, None, shape
    for i, edge in zip(op.differentiable, edges, strict=True):
        setattr(node, f"e_{i}", edge)
    for name, value in zip(op.keeps, values, strict=True):
        setattr(node, f"s_{name}", value)
    return node


def watched(op: Op, site: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """A call at a watched site, where the watcher may supply the result.

    Otherwise the operation records as usual, and the watcher processes the node.
    """
    result = site.instead(op, inputs, params)
    if result is None:
        tensor.mode.site = site.plain
        try:
            result = op(inputs, params)
        finally:
            tensor.mode.site = site
        result._edge = site.recorded(result._edge)
    return result


def publish(op: Op) -> Any:
    """The public function of an op. Its source is generated and compiled on first call."""
    scope: dict[str, Any] = {"__name__": op.declared.__module__, "__builtins__": builtins}
    scope["first_call"] = partial(_first_call, op, scope)
    function: Any = FunctionType(_STUB, scope, op.name)
    function.op, function.__wrapped__, function.__qualname__ = op, op.declared, op.public_name
    function.__doc__, function.__module__ = op.declared.__doc__, op.declared.__module__
    scope["published"] = op.function = function
    return function


def _stub(*args, **kwargs):  # type: ignore[no-untyped-def]
    return first_call(args, kwargs)  # type: ignore[name-defined] # noqa: F821


_STUB = _stub.__code__


def _first_call(op: Op, scope: dict[str, Any], args: Any, kwargs: Any) -> Any:
    """Generate the op's functions, replace the stub's body, and call it."""
    function = scope["published"]
    with compile_lock:  # reentrant: a finalizer may run an operation meanwhile
        if function.__code__ is _STUB:
            _write(op, scope, function)
    return function(*args, **kwargs)


def _write(op: Op, scope: dict[str, Any], function: Any) -> None:
    source, file = source_of(op), f"<op {op.name}>"
    scope |= _SCOPE | {
        "op": op,
        "forward": op.forward,
        "fused": _fuse.forward_of(op),
        "in_few_loops": _fuse.in_few_loops,
        "pull": _fuse.pullback_of(op, NodeLayout(op).arrays),
        "defaults": {n: p.default for n, p in op.signature.parameters.items()},
        "constants": operands.table_of(op),
        "Recorded": op.node,
        **{f"vjp_{i}": half_rules.rule_of(op, i) for i in op.differentiable},
        **{f"grow_{i}": function for i, function in op.accumulate.items()},
        "vjp_shared": op.shared,
    }
    exec(compile(source, file, "exec"), scope)
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    tensor.internal.add(file)
    for method in ("send", "pullback_to", "clear", "release") if op.differentiable else ():
        setattr(op.node, method, scope[f"{op.name}_{method}"])
    if op.differentiable:
        setattr(op.node, "edges", property(scope[f"{op.name}_edges"]))  # noqa: B010
    written = scope[op.name]
    scope[op.name] = function
    function.__defaults__, function.__kwdefaults__ = written.__defaults__, written.__kwdefaults__
    function.__code__ = written.__code__
    fronts.tell(op.function)


_CORE_NAMES = (
    "Site", "Tensor", "tensors", "mode", "new", "tick", "getframe", "internal", "caller",
    "cut_at", "identity_lift", "inferences",
)  # fmt: skip
_OPERAND_NAMES = (
    "call_foreign", "mixed", "foreign", "number_as_array", "to_float", "call_error", "mark_view",
    "sum_to",
)  # fmt: skip

# The globals of every op's source.
_SCOPE: dict[str, Any] = {
    "arranged": arranged,
    "by_columns": by_columns,
    "array_like": (np.ndarray, np.generic),
    "ndarray": np.ndarray,
    "asarray": np.asarray,
    "inexact": inexact,
    "call_unusual": call_unusual,
    "either": numpy_names.either,
    "either_keepdim": numpy_names.either_keepdim,
    "require_arguments": numpy_names.require_arguments,
    "inference_cut": inference.inference_cut,
    "mark_inference": inference.mark_inference,
    "watched": watched,
    "add_cotangents": add_cotangents,
    "may_grow": may_grow,
    **{n: getattr(tensor, n) for n in _CORE_NAMES},
    **{n: getattr(operands, n) for n in _OPERAND_NAMES},
}
# Names that `apply` itself uses: no argument may shadow them.
TAKEN = frozenset({
    *_SCOPE, "op", "forward", "defaults", "constants", "Recorded",
    "fused", "in_few_loops", "excess", "excess_1", "excess_2", "pull", "operand",
    "settled_ndim", "ndim", "site", "cut", "error", "out", "result", "frame", "code", "node",
    "type", "isinstance", "bool", "complex", "int", "Exception", "KeyError", "TypeError",
})  # fmt: skip


def has_kernel_of_rules(op: Op, size: int) -> bool:
    """Whether the engine tries a kernel for an operation's gradients of a cotangent of a size."""
    return _fuse.fuses_rules(op) and size >= _fuse.least_of_rules(op)
