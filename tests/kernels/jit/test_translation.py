"""What each construct of the kernel language becomes in LLVM's text, and which are refused.

Nothing is compiled: these run without llvmlite. What the text means, `test_language.py` says.
"""

from __future__ import annotations

import ast
import math
import re
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from wengert.kernels.jit import far, precise, special
from wengert.kernels.jit.builtins import apart, i64, i64s, inline, real
from wengert.kernels.jit.language import Unit
from wengert.kernels.jit.machine_types import KernelSyntaxError
from wengert.kernels.jit.records import Record


class Sizes(Record):
    """A record of two numbers."""

    rows: i64
    columns: i64


class MoreSizes(Sizes):
    """One with a third."""

    depth: i64


class Open(Record):
    """One that ends with an array."""

    count: i64
    lengths: i64s


SCOPE: dict[str, Any] = {
    "Sizes": Sizes, "MoreSizes": MoreSizes, "Open": Open, "HALF": 0.5, "FOUR": 4, "math": math,
}  # fmt: skip


def translated(source: str, real: str = "f32", exact: str = "", **scope: Any) -> Unit:
    """The module that the source of one function makes."""
    tree = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    unit = Unit(real, exact)
    unit.add_tree(tree, {**SCOPE, **scope}, inline=False)
    return unit


def body_of(statements: str, arguments: str = "", **options: Any) -> str:
    """The text of a function's body that has these statements."""
    lines = textwrap.indent(textwrap.dedent(statements).strip(), "    ")
    unit = translated(f"def f({arguments}) -> None:\n{lines}", **options)
    definition = unit.definitions[-1]  # behind those of what it calls
    return definition.partition("entry:\n")[2].removesuffix("\n}")


def instructions(statements: str, arguments: str = "", **options: Any) -> list[str]:
    """What is computed: without the registers' names, stores to slots and loads from them."""
    text = re.sub(r"%\.\d+", "%", body_of(statements, arguments, **options))
    lines = [line.strip().removeprefix("% = ") for line in text.splitlines()]
    plain = [x for x in lines if not re.fullmatch(r"(store|load) .*ptr %v\.\w+", x)]
    return [x for x in plain if "alloca" not in x and x != "ret void"]


# -- functions ---------------------------------------------------------------------------------


def test_the_head_of_a_kernel() -> None:
    unit = translated("def f(x: reals, n: i64, s: f64, on: bool) -> None: pass")
    head = unit.definitions[0].splitlines()[0]
    assert head == ("define void @f(ptr noalias %x, i64 %n, double %s, i1 %on) noinline nounwind {")


def test_scalars_get_a_slot_and_arrays_none() -> None:
    lines = body_of("pass", "x: f32s, n: i64").splitlines()
    assert lines == ["  %v.n = alloca i64", "  store i64 %n, ptr %v.n", "  ret void"]


def test_the_same_source_for_both_reals() -> None:
    source = "def f(x: reals, a: real) -> real:\n    return x[0] + a"
    single, double = (translated(source, real).definitions[0] for real in ("f32", "f64"))
    assert "define float @f(ptr noalias %x, float %a)" in single
    assert "load float, ptr %.1, align 4" in single
    assert "define double @f(ptr noalias %x, double %a)" in double
    assert "load double, ptr %.1, align 8" in double


def test_a_result_ends_the_block() -> None:
    unit = translated("def f(n: i64) -> i64:\n    return n")
    lines = unit.definitions[0].splitlines()
    assert lines[-4:] == ["  ret i64 %.1", "unreached.2:", "  unreachable", "}"]


def test_a_return_of_nothing() -> None:
    assert body_of("return").splitlines()[0] == "  ret void"


def test_docstrings_and_pass_are_nothing() -> None:
    assert instructions('"""Words."""\npass') == []


@inline
def _plus_one(a: real) -> real:
    return a + 1.0


@inline
@apart
def _twice(a: real) -> real:
    return a + a


def test_called_functions_are_added_once() -> None:
    unit = translated(
        "def f(a: f32) -> f32:\n    return plus(plus(a)) + twice(a)", plus=_plus_one, twice=_twice
    )
    heads = [definition.splitlines()[0] for definition in unit.definitions]
    assert len(heads) == 3
    attributes = {re.findall(r"@(\w+)", h)[0]: h for h in heads}
    assert attributes["_plus_one"].startswith("define internal float")
    assert "alwaysinline" in attributes["_plus_one"]
    assert "define internal" in attributes["_twice"]
    assert "noinline" in attributes["_twice"]
    text = unit.definitions[-1]
    assert text.count("call float @_plus_one(float") == 2


def test_two_functions_of_one_name() -> None:
    def made() -> Callable[..., Any]:
        def again(a: real) -> real:
            return a

        return inline(again)

    first = made()

    def other() -> Callable[..., Any]:
        def again(a: real) -> real:
            return -a

        return inline(again)

    unit = Unit("f32")
    unit.add(first.inline["any"], inline=True)  # type: ignore[attr-defined]
    unit.add(first.inline["any"], inline=True)  # type: ignore[attr-defined]
    assert len(unit.definitions) == 1
    with pytest.raises(KernelSyntaxError, match="two functions of one kernel are called again"):
        unit.add(other().inline["any"], inline=True)  # type: ignore[attr-defined]


def test_declarations_come_first_and_once() -> None:
    unit = translated("def f(a: f32) -> None:\n    b = sqrt(a) + sqrt(b0)\n", b0=2.0)
    lines = unit.text().splitlines()
    assert lines[0] == "declare float @llvm.sqrt.f32(float)"
    assert sum(line.startswith("declare") for line in lines) == 1


# -- arithmetic --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("a + b", "fadd contract float %, %"),
        ("a - b", "fsub contract float %, %"),
        ("a * b", "fmul contract float %, %"),
        ("a / b", "fdiv contract float %, %"),
        ("-a", "fneg float %"),
        ("n + m", "add i64 %, %"),
        ("n - m", "sub i64 %, %"),
        ("n * m", "mul i64 %, %"),
        ("n // m", "sdiv i64 %, %"),
        ("n % m", "srem i64 %, %"),
        ("n << m", "shl i64 %, %"),
        ("n >> m", "ashr i64 %, %"),
        ("n & m", "and i64 %, %"),
        ("n | m", "or i64 %, %"),
        ("n ^ m", "xor i64 %, %"),
        ("-n", "sub i64 0, %"),
        ("a < b", "fcmp olt float %, %"),
        ("a <= b", "fcmp ole float %, %"),
        ("a > b", "fcmp ogt float %, %"),
        ("a >= b", "fcmp oge float %, %"),
        ("a == b", "fcmp oeq float %, %"),
        ("a != b", "fcmp une float %, %"),  # true of nan
        ("n < m", "icmp slt i64 %, %"),
        ("n >= m", "icmp sge i64 %, %"),
        ("n == m", "icmp eq i64 %, %"),
        ("n != m", "icmp ne i64 %, %"),
        ("not on", "xor i1 %, true"),
        ("on and off", "and i1 %, %"),
        ("on or off", "or i1 %, %"),
    ],
)
def test_operators(expression: str, text: str) -> None:
    arguments = "a: f32, b: f32, n: i64, m: i64, on: bool, off: bool"
    assert instructions(f"r = {expression}", arguments) == [text]


def test_division_of_integers_is_real() -> None:
    assert instructions("r = n / m", "n: i64, m: i64", real="f64") == [
        "sitofp i64 % to double",
        "sitofp i64 % to double",
        "fdiv contract double %, %",
    ]


@pytest.mark.parametrize(
    ("exact", "called", "flags"),
    [
        ("", False, "contract "),
        ("kernel", False, ""),
        ("kernel", True, "contract "),
        ("all", False, ""),
        ("all", True, ""),
    ],
)
def test_what_is_rounded_step_by_step(exact: str, called: bool, flags: str) -> None:
    tree = ast.parse("def f(a: f32) -> f32: return a * a").body[0]
    assert isinstance(tree, ast.FunctionDef)
    unit = Unit("f32", exact)
    unit.add_tree(tree, {}, inline=called)
    assert re.search(rf"fmul {flags}\s?float", unit.definitions[0])
    assert ("contract" in unit.definitions[0]) is bool(flags)


def test_sums_into_names_may_be_computed_in_any_order() -> None:
    assert instructions("t = 0.0\nt += a", "a: f32") == ["fadd reassoc nsz contract float %, %"]
    lines = instructions("x[0] += a", "x: f32s, a: f32")
    assert "fadd contract float %, %" in lines  # an element: in the order of the loop


def test_numbers_of_the_source_are_folded() -> None:
    lines = body_of("r = 2 * 3 + HALF").splitlines()
    assert len([line for line in lines if "=" in line]) == 1  # the slot
    assert "store float 0x401A000000000000" in lines[1]  # 6.5


@pytest.mark.parametrize(
    ("expression", "type", "text"),
    [
        ("7 // 2", "i64", "3"),
        ("7 % 4", "i64", "3"),
        ("1 << 5", "i64", "32"),
        ("-3", "i64", "-3"),
        ("7 / 2", "f32", "0x400C000000000000"),
        ("2.0 * FOUR", "f32", "0x4020000000000000"),
        ("math.inf", "f32", "0x7FF0000000000000"),
        ("-math.inf", "f32", "0xFFF0000000000000"),
        ("0.1", "f32", "0x3FB99999A0000000"),  # of the float, not of the double
        ("0.1", "f64", "0x3FB999999999999A"),
        ("1e300", "f32", "0x7E37E43C8800759C"),
    ],
)
def test_constants(expression: str, type: str, text: str) -> None:
    lines = body_of(f"r = {expression}", real="f64" if type == "f64" else "f32").splitlines()
    kind = {"i64": "i64", "f32": "float", "f64": "double"}[type]
    assert f"  store {kind} {text}, ptr %v.r" in lines


# -- types -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "conversion"),
    [
        ("f64(a)", "fpext float % to double"),
        ("f32(d)", "fptrunc double % to float"),
        ("f16(a)", "fptrunc float % to half"),
        ("i64(a)", "fptosi float % to i64"),
        ("i32(n)", "trunc i64 % to i32"),
        ("u8(n)", "trunc i64 % to i8"),
        ("i64(byte)", "zext i8 % to i64"),
        ("i32(byte)", "zext i8 % to i32"),
        ("i64(small)", "sext i32 % to i64"),
        ("f32(n)", "sitofp i64 % to float"),
        ("f32(on)", "uitofp i1 % to float"),
        ("i64(on)", "zext i1 % to i64"),
        ("real(n)", "sitofp i64 % to float"),
        ("n + small", "sext i32 % to i64"),
        ("a * n", "sitofp i64 % to float"),
    ],
)
def test_conversions(expression: str, conversion: str) -> None:
    arguments = "a: f32, d: f64, n: i64, small: i32, byte: u8, on: bool"
    assert conversion in instructions(f"r = {expression}", arguments)


def test_the_same_type_costs_nothing() -> None:
    assert instructions("r = f32(a)", "a: f32") == []


def test_numbers_take_the_type_of_what_they_meet() -> None:
    assert instructions("r = d + 1", "d: f64", real="f32")[0].startswith(
        "fadd contract double %, 0x3FF"
    )
    assert instructions("r = n + 1", "n: i64") == ["add i64 %, 1"]
    assert instructions("r = n + 0.5", "n: i64")[0] == "sitofp i64 % to float"


def test_a_name_has_the_type_of_its_first_value() -> None:
    assert body_of("t = 0.0\nt = n", "n: i64").count("alloca float") == 1
    assert "sitofp i64" in body_of("t = 0.0\nt = n", "n: i64")


# -- memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "kind", "align"),
    [("f32s", "float", 4), ("f64s", "double", 8), ("f16s", "half", 2), ("i64s", "i64", 8),
     ("i32s", "i32", 4), ("u16s", "i16", 2), ("u8s", "i8", 1)],
)  # fmt: skip
def test_loads_and_stores(type: str, kind: str, align: int) -> None:
    assert instructions("x[1] = x[n]", f"x: {type}, n: i64") == [
        f"getelementptr inbounds {kind}, ptr %x, i64 %",
        f"load {kind}, ptr %, align {align}",
        f"getelementptr inbounds {kind}, ptr %x, i64 1",
        f"store {kind} %, ptr %, align {align}",
    ]


def test_bytes_take_what_is_computed_in_integers() -> None:
    assert "trunc i64 % to i8" in instructions("x[0] = n", "x: u8s, n: i64")


def test_fields_of_records() -> None:
    assert instructions("r = s.columns", "s: Sizes") == [
        "getelementptr inbounds i64, ptr %s, i64 1",
        "load i64, ptr %, align 8",
    ]
    assert instructions("s.rows = 3", "s: Sizes") == [
        "getelementptr inbounds i64, ptr %s, i64 0",
        "store i64 3, ptr %, align 8",
    ]
    assert instructions("r = s.depth + s.rows", "s: MoreSizes")[::2] == [
        "getelementptr inbounds i64, ptr %s, i64 2",
        "getelementptr inbounds i64, ptr %s, i64 0",
        "add i64 %, %",
    ]


def test_arrays_in_records() -> None:
    assert instructions("r = s.lengths[n]", "s: Open, n: i64") == [
        "add i64 1, %",
        "getelementptr inbounds i64, ptr %s, i64 %",
        "load i64, ptr %, align 8",
    ]
    assert instructions("r = s.lengths[2]", "s: Open")[0].endswith("ptr %s, i64 3")


def test_the_offset_of_a_field_is_a_number() -> None:
    assert "  store i64 1, ptr %v.r" in body_of("r = Sizes.columns").splitlines()


def test_the_array_from_an_element_on() -> None:
    assert instructions("y = at(x, n)\nr = y[2]", "x: f32s, n: i64")[:2] == [
        "getelementptr inbounds float, ptr %x, i64 %",
        "getelementptr inbounds float, ptr %, i64 2",
    ]


def test_the_records_from_one_on() -> None:
    assert instructions("t = at(s, n)\nr = t.columns", "s: Sizes, n: i64")[:3] == [
        "mul i64 %, 2",
        "getelementptr inbounds i64, ptr %s, i64 %",
        "getelementptr inbounds i64, ptr %, i64 1",
    ]


def test_arrays_on_the_stack() -> None:
    text = body_of("few = local(real, 2 * FOUR)\nfew[0] = 1.0", real="f64")
    assert "alloca [8 x double], align 64" in text
    assert "store double 0x3FF0000000000000" in text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("bits(a)", "bitcast float % to i32"),
        ("from_bits(i)", "bitcast i32 % to float"),
        ("bits64(d)", "bitcast double % to i64"),
        ("from_bits64(n)", "bitcast i64 % to double"),
        ("given(x)", "icmp ne ptr %x, null"),
        ("min(n, 3)", "call i64 @llvm.smin.i64(i64 %, i64 3)"),
        ("max(n, 3)", "call i64 @llvm.smax.i64(i64 %, i64 3)"),
        ("sqrt(a)", "call float @llvm.sqrt.f32(float %)"),
        ("rint(d)", "call double @llvm.roundeven.f64(double %)"),
        ("fabs(n)", "call float @llvm.fabs.f32(float %)"),
        ("maximum(a, 0.0)", "call float @llvm.maximum.f32(float %, float 0x0000000000000000)"),
        ("minimum(a, a)", "call float @llvm.minimum.f32(float %, float %)"),
        ("copysign(2.0, a)", "call float @llvm.copysign.f32(float 0x4000000000000000, float %)"),
    ],
)
def test_builtins(expression: str, text: str) -> None:
    arguments = "a: f32, d: f64, n: i64, i: i32, x: f32s"
    assert instructions(f"r = {expression}", arguments)[-1] == text


# -- control flow ------------------------------------------------------------------------------


def blocks(statements: str, arguments: str = "") -> list[str]:
    """The labels of the blocks and the jumps between them, without their numbers."""
    text = body_of(statements, arguments)
    lines = [re.sub(r"\.\d+", "", line.strip()) for line in text.splitlines()]
    return [line for line in lines if line.endswith(":") or line.startswith("br ")]


LOOP = [
    "br label %for",
    "for:",
    "br i1 %, label %body, label %done",
    "body:",
    "br label %for",
    "done:",
]


@pytest.mark.parametrize(
    ("bounds", "start", "stop", "step"),
    [
        ("n", "0", "%", "1"),
        ("2, n", "2", "%", "1"),
        ("2, 10, 3", "2", "10", "3"),
        ("n, 9, FOUR", "%", "9", "4"),
    ],
)
def test_loops_over_a_range(bounds: str, start: str, stop: str, step: str) -> None:
    assert blocks(f"for i in range({bounds}): pass", "n: i64") == LOOP
    text = re.sub(r"%\.\d+", "%", body_of(f"for i in range({bounds}): pass", "n: i64"))
    assert f"store i64 {start}, ptr %v.i" in text
    assert f"icmp slt i64 %, {stop}" in text
    assert f"add nuw nsw i64 %, {step}" in text


def test_the_bounds_of_a_loop_are_computed_once() -> None:
    lines = body_of("for i in range(n * n): n = 0", "n: i64").splitlines()
    assert [k for k, line in enumerate(lines) if "mul i64" in line] < [
        k for k, line in enumerate(lines) if line.startswith("for.")
    ]


def test_a_name_changed_in_a_loop_does_not_change_its_turns() -> None:
    text = body_of("for i in range(4): i = 7")
    following = next(line for line in text.splitlines() if "add nuw" in line)
    now = next(line for line in text.splitlines() if "load i64, ptr %v.i" in line)
    assert now.split()[0] in following


def test_while() -> None:
    assert blocks("while n > 0: n = n - 1", "n: i64") == [
        "br label %while",
        "while:",
        "br i1 %, label %body, label %done",
        "body:",
        "br label %while",
        "done:",
    ]


def test_branches() -> None:
    assert blocks("if on: n = 1\nelse: n = 2", "on: bool, n: i64") == [
        "br i1 %, label %then, label %else",
        "then:",
        "br label %end",
        "else:",
        "br label %end",
        "end:",
    ]


def test_each_branch_has_its_statements() -> None:
    text = body_of("if on: n = 1\nelse: n = 2", "on: bool, n: i64")
    assert re.findall(r"store i64 (\d), |^(then|else|end)", text, re.MULTILINE) == [
        ("", "then"), ("1", ""), ("", "else"), ("2", ""), ("", "end"),
    ]  # fmt: skip


def test_labels_are_unique() -> None:
    text = body_of("for i in range(2):\n    for j in range(3):\n        if i > j: pass")
    labels = re.findall(r"^([\w.]+):$", text, re.MULTILINE)
    assert len(labels) == len({*labels}) == 9


def test_a_choice_computes_both() -> None:
    assert instructions("r = a if on else 1.0", "a: f32, on: bool") == [
        "select i1 %, float %, float 0x3FF0000000000000"
    ]


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "arguments", "why"),
    [
        ("raise ValueError", "", "not in the subset: raise ValueError"),
        ("a = [1, 2]", "", r"not in the subset: \[1, 2\]"),
        ("a, b = 1, 2", "", "not in the subset"),
        ("a = b = missing", "", "no such name: missing"),
        ("a = math.sin(n)", "n: i64", r"not in the subset: math\.sin\(n\)"),
        ("a = unknown(n)", "n: i64", r"no such function: unknown\(n\)"),
        ("for i in x: pass", "x: i64s", "loops go over a range"),
        ("a = x + d", "x: f32, d: f64", r"\['f32', 'f64'\] together; convert one: x \+ d"),
        ("a = x % d", "x: f32, d: f32", "needs integers: x % d"),
        ("a = x & 1", "x: f32", "needs integers"),
        ("a = 0 < n < 3", "n: i64", "one comparison at a time: 0 < n < 3"),
        ("a = min(x, 1.0)", "x: f32", "of integers; `maximum` and `minimum` are for floats"),
        ("a = local(f32, n)", "n: i64", "the size of a local array is a number"),
        ("a = s.width", "s: Sizes", "Sizes has no such field: s.width"),
        ("a = s[0]", "s: Sizes", r"a record has fields, and no elements: s\[0\]"),
        ("a = s.rows[0]", "s: Sizes", r"a number, not an array: s\.rows\[0\]"),
        ("s.lengths = 1", "s: Open", r"an array, not a number: s\.lengths"),
        ("a = at(s, 1)", "s: Open", r"records of unknown length: at\(s, 1\)"),
        ("a = x.rows", "x: i64s", r"not in the subset: x\.rows"),
    ],
)
def test_what_is_refused_names_function_and_line(statement: str, arguments: str, why: str) -> None:
    with pytest.raises(KernelSyntaxError, match=rf"^f, line 3: .*{why}"):
        body_of(f"pass\n{statement}", arguments)


def test_types_that_do_not_convert() -> None:
    with pytest.raises(KernelSyntaxError, match="f: f32 where i64 is needed"):
        body_of("n = 1\nn = a", "a: f32")
    with pytest.raises(KernelSyntaxError, match="f: f64 where f32 is needed"):
        body_of("x[0] = d", "x: f32s, d: f64")
    with pytest.raises(KernelSyntaxError, match="f: i64 where i32 is needed"):
        body_of("x[0] = n", "x: i32s, n: i64")


@inline
def _area(sizes: Sizes) -> i64:
    return sizes.rows * sizes.columns


def test_records_for_records() -> None:
    for record in ("Sizes", "MoreSizes"):
        assert "call i64 @_area(ptr %s)" in body_of("r = area(s)", f"s: {record}", area=_area)
    for other in ("Open", "i64s"):
        with pytest.raises(KernelSyntaxError, match="line 2: 'sizes' is a Sizes"):
            body_of("r = area(s)", f"s: {other}", area=_area)


def test_a_function_for_one_precision_alone() -> None:
    with pytest.raises(KernelSyntaxError, match="line 2: not there for f64: plus"):
        body_of("r = plus(a)", "a: f64", real="f64", plus=_SingleOnly)


def test_the_function_for_a_precision_is_preferred() -> None:
    class Both:
        inline = {"f32": _SingleOnly.inline["f32"], "any": _twice.inline["any"]}  # noqa: RUF012

    assert "@_plus_one(" in body_of("r = g(a)", "a: f32", g=Both)
    assert "@_twice(" in body_of("r = g(a)", "a: f64", real="f64", g=Both)


class _SingleOnly:
    """What `@inline` makes of a function that is there for f32 alone."""

    inline = {"f32": _plus_one.inline["any"]}  # type: ignore[attr-defined]  # noqa: RUF012


def test_functions_of_floats_may_meet_in_one_kernel() -> None:
    unit = Unit("f32")
    for module in (precise, special, far):
        for function in vars(module).values():
            own = getattr(function, "__module__", "") == module.__name__
            variants = getattr(function, "inline", None)
            if own and isinstance(variants, dict) and "any" in variants:
                unit.add(variants["any"], inline=True)  # or else two have one name
    assert {"sin", "far_sin", "lgamma", "logaddexp"} <= unit.signatures.keys()
