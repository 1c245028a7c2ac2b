"""Source fragments shared by the generated functions: a result's layout, where a graph was cut."""

from __future__ import annotations

from textwrap import indent

from wengert.ops._mixing import is_pair, required
from wengert.ops.op import Op

# The memory layout of a result. NumPy's matches PyTorch's for one array of up to two dimensions,
# and for several of one: up to `settled_ndim` dimensions nothing is checked. An array that owns
# its memory repeats no elements, and a single such input determines the order. `operand` is the
# first of two arrays, or the one that is not a number.
ARRANGE = {
    "one": """\
    elif (
        out.ndim > 2
        and v_{first}.base is not None
        and not v_{first}.flags.c_contiguous
        and out.strides != v_{first}.strides
    ):
        out = arranged(out, (v_{first},))
""",
    "pair": """\
    elif (ndim := out.ndim) > settled_ndim and not (
        operand.flags.c_contiguous and (ndim < 3 or settled_ndim > 1 or v_{last}.flags.c_contiguous)
    ):
        out = arranged(out, (v_{first}, v_{last}))
""",
    "several": """\
    elif out.ndim > 1 and not ({in_order}):
        out = arranged(out, ({values},))
""",
    "contiguous": """\
    elif not out.flags.c_contiguous:
        out = out.copy()
""",
    "columns": """\
    else:
        out = by_columns(out)
""",
}

CUT = "{i}._cut"

# An operation without a derivative is itself the cut.
CUT_HERE = "({i}._cut if {i}._edge is None else cut_at({public_name!r}, {i}))"

# At least one of two inputs is a Tensor: an input that was not unwrapped is not.
PAIR_CUT = """\
if v_{a} is {a}:
    cut = {cut_b}
elif v_{b} is {b}:
    cut = {cut_a}
else:
    cut = {cut_a} or {cut_b}
"""

NEXT_CUT = """\
if cut is None and v_{i} is not {i}:
    cut = {cut}
"""


def arrangement(op: Op) -> str:
    """Bring the result into the memory layout the op declares."""
    if op.layout is None:
        return ""
    if op.layout in ("contiguous", "columns"):
        return ARRANGE[op.layout]
    deciding = op.inputs if op.layout == "operands" else tuple(op.layout)
    first, *others = deciding
    kind = "several"
    if op.layout == "operands" and op.kind == "elementwise":
        kind = "pair" if is_pair(op) else "several" if others else "one"
    there = {i: f"v_{i}.flags.c_contiguous" for i in deciding}
    maybe = {i: f"(v_{i} is None or {there[i]})" for i in deciding if i not in required(op)}
    checks = [*(there | maybe).values()]
    if op.kind != "elementwise" or op.layout != "operands":  # its forward may return another order
        checks.append("out.flags.c_contiguous")
    return ARRANGE[kind].format(
        first=first,
        last=deciding[-1],
        values=", ".join(f"v_{i}" for i in deciding),
        in_order=" and ".join(checks),
    )


def cuts(op: Op) -> str:
    """Look up where the inputs were cut off a graph; the first such input counts."""
    return _cuts(op, CUT, "        ")


def cuts_here(op: Op) -> str:
    """As `cuts`, for an operation that itself cuts its inputs off."""
    return _cuts(op, CUT_HERE, "    ")


def _cuts(op: Op, cut: str, margin: str) -> str:
    cuts = {i: cut.format(i=i, public_name=op.public_name) for i in op.inputs}
    if len(cuts) == 2:
        (a, cut_a), (b, cut_b) = cuts.items()
        return indent(PAIR_CUT.format(a=a, b=b, cut_a=cut_a, cut_b=cut_b), margin)
    first, *others = op.inputs
    text = f"cut = {f'None if v_{first} is {first} else ' if others else ''}{cuts[first]}\n"
    for i in others:
        text += NEXT_CUT.format(i=i, cut=cuts[i])
    return indent(text, margin)
