"""What an operation's function does with inputs of several dtypes, and with Python numbers."""

from __future__ import annotations

from inspect import Parameter

from wengert.ops.op import Op

# Two inputs: a Python number takes its neighbour's dtype from a cache of 0-d arrays, where
# 1, True and 1+0j are one key. What is no number says whether there is enough for a kernel.
MIXED_PAIR = """\
    operand = v_{a}
    settled_ndim = 1
    if v_{b} is {b}:
{b_number}\
    elif v_{a} is {a}:
{a_number}\
    elif v_{a}.dtype is not v_{b}.dtype:
        return call_foreign(op, ({a}, {b}), {{{params}}})
"""

NUMBER = """\
        if type({i}) {unusual}:
            return call_foreign(op, ({inputs}), {{{params}}})
        try:
            v_{i} = constants[{i}, v_{other}.dtype]
        except (KeyError, TypeError):
{miss}        settled_ndim = 2
{operand}"""

MISS = """\
            return call_foreign(op, ({inputs}), {{{params}}})
"""

# Integers are not in the table: 2 and 2.0 would be one key.
WHOLE_MISS = """\
            if type({i}) is not int or v_{other}.dtype.kind not in "iu":
                return call_foreign(op, ({inputs}), {{{params}}})
            v_{i} = number_as_array({i}, v_{other}.dtype)
"""

NO_NUMBER = """\
        return call_foreign(op, ({inputs}), {{{params}}})
"""

MIXED_MANY = """\
    if mixed(({values},)):
        return call_foreign(op, ({inputs},), {{{params}}})
"""

# Inputs of several dtypes that stay as they are: a tracer is foreign, and what may answer.
UNMIXED = """\
    if ({packed}) and foreign(({inputs},)):
        return call_foreign(op, ({inputs},), {{{params}}})
"""

TO_FLOAT = """\
    if {no_edge} and v_{i}.dtype not in inexact:
        return {name}(*to_float({inputs}){again})
"""


def required(op: Op) -> list[str]:
    """Inputs without a default: those must be arrays when no Tensor came."""
    parameters = op.signature.parameters
    return [i for i in op.inputs if parameters[i].default is Parameter.empty]


def is_pair(op: Op) -> bool:
    """Whether an op has two inputs that come to one dtype."""
    return op.mixed and len(op.inputs) == 2 and len(required(op)) == 2


def parameters_of(op: Op) -> str:
    """The parameters as the items of a dict."""
    return ", ".join(f"{p!r}: {p}" for p in op.params)


def mixed_source(op: Op) -> str:
    """The lines that hand on a call whose inputs differ in dtype."""
    if len(op.inputs) < 2:
        return ""
    inputs = ", ".join(op.inputs)
    if not op.mixed:
        # What is left out (None) is no reason to look closer.
        packed = " or ".join(f"v_{i} is {i} is not None" for i in op.inputs)
        return UNMIXED.format(packed=packed, inputs=inputs, params=parameters_of(op))
    if is_pair(op):
        a, b = op.inputs
        call_text = {"inputs": inputs, "params": parameters_of(op)}
        miss = MISS if op.floats else WHOLE_MISS
        unusual = "is complex" if op.refuses is None else "in (bool, complex)"
        numbers = {
            f"{name}_number": (NO_NUMBER if i in op.tensors else NUMBER).format(
                i=i,
                unusual=unusual,
                other=other,
                miss=miss.format(i=i, other=other, **call_text),
                operand=f"        operand = v_{b}\n" if i == a else "",
                **call_text,
            )
            for name, i, other in (("a", a, b), ("b", b, a))
        }
        return MIXED_PAIR.format(a=a, b=b, params=parameters_of(op), **numbers)
    values = ", ".join(f"v_{i}" for i in op.inputs)
    return MIXED_MANY.format(values=values, inputs=inputs, params=parameters_of(op))


def to_float_source(op: Op, no_edge: str) -> str:
    """The lines that convert integers for an op of floating-point numbers."""
    if not op.floats:
        return ""
    again, inputs = "".join(f", {p}={p}" for p in op.params), ", ".join(op.inputs)
    return TO_FLOAT.format(
        name=op.name, no_edge=no_edge, i=op.inputs[0], inputs=inputs, again=again
    )
