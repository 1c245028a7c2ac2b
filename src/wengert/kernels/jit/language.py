"""A subset of Python, compiled to the text of LLVM's intermediate representation.

A kernel is a function whose arguments are annotated with the names of machine types: `f32`,
`f64`, `i64`, `i32`, `u8`, `real` (f32 or f64, chosen when it is compiled), and arrays of them, or
of f16 or u16: `f32s`. Its module imports `annotations` from `__future__`. The rest of the subset:

- numbers, names, arithmetic, comparisons; `//` and `%` of integers that are not negative;
- `a if c else b`, `and`, `or`, which compute both sides: neither may load what may not be read;
- loads and stores `x[i]`, assignments to names and elements, `t += y`;
- `for i in range(start, stop, step)` with a positive step, `while`, `if`, `return`;
- the functions of `builtins.py`, functions marked `@inline` or `@apart`, numbers of the module,
  and what is LLVM's text already (a `Microkernel`).

A sum into a name (`t += y`) may be computed in any order, which lets LLVM use vectors; all other
arithmetic is IEEE's, but that `a * b + c` may be rounded once where it need not be exact. Nothing
is checked: indices out of bounds read and write other memory. Types are never mixed silently, but
that integers convert to the float that they meet.
"""

from __future__ import annotations

import ast
import inspect
import struct
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

FLOATS = {"f32": "float", "f64": "double", "f16": "half"}
INTS = {"i64": "i64", "i32": "i32", "u16": "i16", "u8": "i8", "bool": "i1"}
SIZES = {"f32": 4, "f64": 8, "f16": 2, "i64": 8, "i32": 4, "u16": 2, "u8": 1}
LLVM = {**FLOATS, **INTS, "none": "void"}

_UNARY = {
    "sqrt": "sqrt", "fabs": "fabs", "rint": "roundeven", "floor": "floor", "ceil": "ceil",
    "trunc": "trunc",
}  # fmt: skip
_BINARY = {"maximum": "maximum", "minimum": "minimum", "copysign": "copysign"}
_ARITHMETIC: dict[type, tuple[str, str | None]] = {
    ast.Add: ("add", "fadd"), ast.Sub: ("sub", "fsub"), ast.Mult: ("mul", "fmul"),
    ast.Div: ("", "fdiv"), ast.FloorDiv: ("sdiv", None), ast.Mod: ("srem", None),
    ast.LShift: ("shl", None), ast.RShift: ("ashr", None), ast.BitAnd: ("and", None),
    ast.BitOr: ("or", None), ast.BitXor: ("xor", None),
}  # fmt: skip
_COMPARISONS: dict[type, str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
# The order is the one LLVM may choose: sums of vectors.
_ANY_ORDER, _CONTRACT = "reassoc nsz contract", "contract"


class KernelSyntaxError(SyntaxError):
    """A kernel uses what the subset does not have."""


class Term(NamedTuple):
    """A value: LLVM's name for it and its type; a number of the source has the type `const`."""

    text: Any
    type: str


class Signature(NamedTuple):
    """The types of a function's arguments, and of its result."""

    params: tuple[tuple[str, str], ...]
    result: str


def llvm_type(name: str) -> str:
    """What LLVM calls a type."""
    return "ptr" if name.endswith("*") else LLVM[name]


def float_text(value: float, type: str) -> str:
    """A float as LLVM reads it exactly: the bits of a double."""
    if type == "f32":
        value = struct.unpack("<f", struct.pack("<f", value))[0] if abs(value) < 3.5e38 else value
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Unit:
    """One module of LLVM: a kernel and the functions that it calls, for one `real` type.

    What is `exact`, the "kernel" itself or "all", is rounded step by step, as NumPy does it.
    """

    def __init__(self, real: str, exact: str = "") -> None:
        self.real, self.exact = real, exact
        self.done: dict[str, Signature] = {}
        self.parts: list[str] = []
        self.declared: set[str] = set()

    def add(self, function: Any, inline: bool) -> Signature:
        """Compile a function, once. One that is LLVM's text already says so: it has `llvm`."""
        name = function.__name__
        if name not in self.done and hasattr(function, "llvm"):
            self.done[name] = function.signature
            self.parts.append(function.llvm())
            for text in function.declarations():
                self.declare(text)
        elif name not in self.done:
            self.add_tree(tree_of(function), function.__globals__, inline)
        return self.done[name]

    def add_tree(self, tree: ast.FunctionDef, scope: dict[str, Any], inline: bool) -> Signature:
        """Compile the syntax tree of a function whose other names `scope` has."""
        signature = signature_of(tree, self.real)
        self.done[tree.name] = signature
        self.parts.append(_Function(self, tree, signature, scope, inline).text())
        return signature

    def declare(self, text: str) -> None:
        """Declare a function of LLVM or of the process."""
        self.declared.add(f"declare {text}")

    def text(self) -> str:
        """The module."""
        return "\n".join([*sorted(self.declared), *self.parts])


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """The syntax tree of a function's source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def kinds_of(signature: Signature) -> str:
    """A letter for each argument of a kernel but the last two, for `compiler.load`."""
    if [t for _, t in signature.params[-2:]] != ["i64", "i64"]:
        raise KernelSyntaxError("the last arguments of a kernel are `start: i64, stop: i64`")
    letters = {"f32": "f", "f64": "d", "i64": "i"}
    return "".join("p" if t.endswith("*") else letters[t] for _, t in signature.params[:-2])


def signature_of(function: Callable[..., Any] | ast.FunctionDef, real: str) -> Signature:
    """What the annotations of a function say. Arrays are pointers, `f32*`."""
    if isinstance(function, ast.FunctionDef):
        nodes = [(a.arg, a.annotation) for a in function.args.args]
        found = {n: None if a is None else ast.unparse(a) for n, a in nodes}
        found["return"] = None if function.returns is None else ast.unparse(function.returns)
    else:
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        found = {n: function.__annotations__.get(n) for n in (*names, "return")}

    def resolved(name: str, text: Any) -> str:
        if not isinstance(text, str):
            raise KernelSyntaxError(f"{function}: {name!r} has no type that is a name")
        type = text.replace("real", real)
        return f"{type[:-1]}*" if type.endswith("s") else type

    result = found.pop("return")
    params = tuple((name, resolved(name, text)) for name, text in found.items())
    return Signature(params, "none" if result in (None, "None") else resolved("return", result))


class _Function:
    """The translation of one function. Names are stack slots, which LLVM turns into registers."""

    def __init__(
        self, unit: Unit, tree: ast.FunctionDef, signature: Signature, scope: dict[str, Any],
        inline: bool,
    ) -> None:  # fmt: skip
        self.unit, self.tree, self.signature = unit, tree, signature
        self.scope, self.inline = scope, inline
        step_by_step = unit.exact == "all" or (unit.exact == "kernel" and not inline)
        self.flags = "" if step_by_step else _CONTRACT
        self.slots: list[str] = []
        self.lines: list[str] = []
        self.names: dict[str, Term] = {}
        self.count = 0

    def text(self) -> str:
        for name, type in self.signature.params:
            if type.endswith("*"):
                self.names[name] = Term(f"%{name}", type)
            else:
                self.assign(name, Term(f"%{name}", type))
        for statement in self.tree.body:
            self.statement(statement)
        self.lines.append("  ret void" if self.signature.result == "none" else "  unreachable")
        params = ", ".join(
            f"{llvm_type(t)} {'noalias ' if t.endswith('*') else ''}%{n}"
            for n, t in self.signature.params
        )
        kind = "internal " if self.inline else ""
        apart = getattr(self.scope.get(self.tree.name), "apart", False)
        attribute = "alwaysinline" if self.inline and not apart else "noinline"
        head = f"define {kind}{llvm_type(self.signature.result)} @{self.tree.name}({params})"
        body = "\n".join(self.slots + self.lines)
        return f"{head} {attribute} nounwind {{\nentry:\n{body}\n}}"

    # Building blocks

    def fail(self, node: ast.AST, why: str) -> KernelSyntaxError:
        line = getattr(node, "lineno", 0)
        return KernelSyntaxError(f"{self.tree.name}, line {line}: {why}: {ast.unparse(node)}")

    def emit(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %.{self.count} = {text}")
        return f"%.{self.count}"

    def label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}.{self.count}"

    def jump(self, label: str, start: bool = True) -> None:
        self.lines.append(f"  br label %{label}")
        if start:
            self.lines.append(f"{label}:")

    def branch(self, condition: Term, yes: str, no: str) -> None:
        self.lines.append(f"  br i1 {self.to(condition, 'bool')}, label %{yes}, label %{no}")

    def assign(self, name: str, value: Term) -> None:
        if value.type == "const":
            value = Term(value.text, "f64" if isinstance(value.text, float) else "i64")
            if value.type == "f64":
                value = Term(value.text, "const")
                type = self.names[name].type if name in self.names else self.unit.real
            else:
                value, type = Term(value.text, "const"), "i64"
        else:
            type = value.type
        if type.endswith("*"):
            self.names[name] = value
            return
        if name not in self.names:
            self.slots.append(f"  %v.{name} = alloca {LLVM[type]}")
            self.names[name] = Term(f"%v.{name}", type)
        slot = self.names[name]
        self.lines.append(f"  store {LLVM[slot.type]} {self.to(value, slot.type)}, ptr {slot.text}")

    def to(self, value: Term, type: str) -> str:
        """LLVM's text of a value as that type; only what loses nothing converts."""
        if value.type == "const":
            if type in FLOATS:
                return float_text(float(value.text), type)
            return str(int(value.text))
        if value.type == type:
            return str(value.text)
        if value.type == "bool" and type in INTS:
            return self.emit(f"zext i1 {value.text} to {LLVM[type]}")
        if value.type == "bool":
            return self.emit(f"uitofp i1 {value.text} to {LLVM[type]}")
        if value.type in INTS and type in FLOATS:
            return self.emit(f"sitofp {LLVM[value.type]} {value.text} to {LLVM[type]}")
        if value.type == "i32" and type == "i64":
            return self.emit(f"sext i32 {value.text} to i64")
        raise KernelSyntaxError(f"{self.tree.name}: {value.type} where {type} is needed")

    def cast(self, value: Term, type: str) -> Term:
        """An explicit conversion, which may lose digits."""
        source = value.type
        if source in FLOATS and type in FLOATS and source != type:
            way = "fptrunc" if SIZES[type] < SIZES[source] else "fpext"
        elif source in FLOATS and type in INTS:
            way = "fptosi"
        elif source in INTS and type in INTS and SIZES.get(source, 0) > SIZES.get(type, 9):
            way = "trunc"
        elif source in ("u8", "u16") and type in ("i32", "i64"):
            way = "zext"
        else:
            return Term(self.to(value, type), type)
        return Term(self.emit(f"{way} {LLVM[source]} {value.text} to {LLVM[type]}"), type)

    def common(self, node: ast.AST, *values: Term) -> str:
        """The type that values have together."""
        types = {v.type for v in values} - {"const"}
        floats = types & FLOATS.keys()
        if len(floats) > 1:
            raise self.fail(node, f"{sorted(floats)} together; convert one")
        if floats:
            return floats.pop()
        if not types:
            return self.unit.real if any(isinstance(v.text, float) for v in values) else "i64"
        if any(v.type == "const" and isinstance(v.text, float) for v in values):
            return self.unit.real
        return max(types, key=lambda t: SIZES.get(t, 0))

    # Expressions

    def value(self, node: ast.expr) -> Term:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise self.fail(node, "not in the subset")
        result: Term = method(node)
        return result

    def _Constant(self, node: ast.Constant) -> Term:  # noqa: N802 (named after the syntax)
        return Term(node.value, "const")

    def _Name(self, node: ast.Name) -> Term:  # noqa: N802
        if node.id in self.names:
            name = self.names[node.id]
            if name.type.endswith("*"):
                return name
            return Term(self.emit(f"load {LLVM[name.type]}, ptr {name.text}"), name.type)
        value = self.scope.get(node.id)
        if isinstance(value, (int, float)):
            return Term(value, "const")
        raise self.fail(node, "no such name")

    def _Attribute(self, node: ast.Attribute) -> Term:  # noqa: N802
        if isinstance(node.value, ast.Name) and node.value.id == "math":
            return Term({"inf": float("inf"), "nan": float("nan")}[node.attr], "const")
        raise self.fail(node, "not in the subset")

    def _BinOp(self, node: ast.BinOp) -> Term:  # noqa: N802
        return self.binary(node, node.op, self.value(node.left), self.value(node.right), self.flags)

    def binary(self, node: ast.AST, op: ast.operator, a: Term, b: Term, flags: str) -> Term:
        if a.type == b.type == "const":
            return Term(_folded(op, a.text, b.text), "const")
        type = self.common(node, a, b)
        if isinstance(op, ast.Div) and type in INTS:
            type = self.unit.real
        whole, real = _ARITHMETIC[op.__class__]
        word = f"{real} {flags}" if type in FLOATS and real else whole
        if type in FLOATS and not real:
            raise self.fail(node, "needs integers")
        return Term(self.emit(f"{word} {LLVM[type]} {self.to(a, type)}, {self.to(b, type)}"), type)

    def _UnaryOp(self, node: ast.UnaryOp) -> Term:  # noqa: N802
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Term(self.emit(f"xor i1 {self.to(value, 'bool')}, true"), "bool")
        if value.type == "const":
            return Term(-value.text, "const")
        if value.type in FLOATS:
            return Term(self.emit(f"fneg {LLVM[value.type]} {value.text}"), value.type)
        return self.binary(node, ast.Sub(), Term(0, "const"), value, self.flags)

    def _Compare(self, node: ast.Compare) -> Term:  # noqa: N802
        a, b = self.value(node.left), self.value(node.comparators[0])
        if len(node.ops) > 1:
            raise self.fail(node, "one comparison at a time")
        type, word = self.common(node, a, b), _COMPARISONS[node.ops[0].__class__]
        if type in FLOATS:
            word = f"fcmp {'u' if word == 'ne' else 'o'}{word}"
        else:
            word = f"icmp {'' if word in ('eq', 'ne') else 's'}{word}"
        text = f"{word} {LLVM[type]} {self.to(a, type)}, {self.to(b, type)}"
        return Term(self.emit(text), "bool")

    def _BoolOp(self, node: ast.BoolOp) -> Term:  # noqa: N802
        word = "and" if isinstance(node.op, ast.And) else "or"
        result = self.to(self.value(node.values[0]), "bool")
        for other in node.values[1:]:
            result = self.emit(f"{word} i1 {result}, {self.to(self.value(other), 'bool')}")
        return Term(result, "bool")

    def _IfExp(self, node: ast.IfExp) -> Term:  # noqa: N802
        condition = self.to(self.value(node.test), "bool")
        a, b = self.value(node.body), self.value(node.orelse)
        type = self.common(node, a, b)
        kind = LLVM[type]
        text = f"select i1 {condition}, {kind} {self.to(a, type)}, {kind} {self.to(b, type)}"
        return Term(self.emit(text), type)

    def address(self, pointer: Term, index: Term) -> Term:
        kind = pointer.type[:-1]
        place = self.to(index, "i64")
        text = f"getelementptr inbounds {LLVM[kind]}, ptr {pointer.text}, i64 {place}"
        return Term(self.emit(text), pointer.type)

    def _Subscript(self, node: ast.Subscript) -> Term:  # noqa: N802
        place = self.address(self.value(node.value), self.value(node.slice))
        kind = place.type[:-1]
        loaded = self.emit(f"load {LLVM[kind]}, ptr {place.text}, align {SIZES[kind]}")
        return Term(loaded, kind)

    def _Call(self, node: ast.Call) -> Term:  # noqa: N802
        if not isinstance(node.func, ast.Name):
            raise self.fail(node, "not in the subset")
        name = node.func.id
        builtin = getattr(_Builtins, name, None)
        if builtin is not None:
            return builtin(self, node)
        values = [self.value(a) for a in node.args]
        if name == "real":
            return self.cast(values[0], self.unit.real)
        if name in SIZES:
            return self.cast(values[0], name)
        if name in _UNARY or name in _BINARY:
            return self.intrinsic(node, {**_UNARY, **_BINARY}[name], values)
        return self.call(node, self.scope.get(name), values)

    def intrinsic(self, node: ast.AST, name: str, values: list[Term]) -> Term:
        type = self.common(node, *values)
        if type not in FLOATS:
            type = self.unit.real
        kind, full = LLVM[type], f"@llvm.{name}.{type}"
        self.unit.declare(f"{kind} {full}({', '.join([kind] * len(values))})")
        arguments = ", ".join(f"{kind} {self.to(v, type)}" for v in values)
        return Term(self.emit(f"call {kind} {full}({arguments})"), type)

    def call(self, node: ast.Call, function: Any, values: list[Term]) -> Term:
        variants = getattr(function, "inline", None)
        if variants is None:
            raise self.fail(node, "no such function")
        chosen = variants.get(self.unit.real) or variants.get("any")
        if chosen is None:
            raise self.fail(node, f"not there for {self.unit.real}")
        signature = self.unit.add(chosen, inline=True)
        arguments = ", ".join(
            f"{llvm_type(t)} {v.text if t.endswith('*') else self.to(v, t)}"
            for v, (_, t) in zip(values, signature.params, strict=True)
        )
        text = f"call {llvm_type(signature.result)} @{chosen.__name__}({arguments})"
        if signature.result == "none":
            self.lines.append(f"  {text}")
            return Term("", "none")
        return Term(self.emit(text), signature.result)

    # Statements

    def statement(self, node: ast.stmt) -> None:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise self.fail(node, "not in the subset")
        method(node)

    def _Expr(self, node: ast.Expr) -> None:  # noqa: N802
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def _Pass(self, node: ast.Pass) -> None:  # noqa: N802
        pass

    def store(self, target: ast.Subscript, value: Term) -> None:
        place = self.address(self.value(target.value), self.value(target.slice))
        kind = place.type[:-1]
        if kind == "u8" and value.type != "const":
            value = self.cast(value, "u8")
        text = f"store {LLVM[kind]} {self.to(value, kind)}, ptr {place.text}, align {SIZES[kind]}"
        self.lines.append(f"  {text}")

    def _Assign(self, node: ast.Assign) -> None:  # noqa: N802
        target, value = node.targets[0], self.value(node.value)
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Subscript):
            self.store(target, value)
        else:
            raise self.fail(node, "not in the subset")

    def _AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        target = node.target
        if isinstance(target, ast.Name):
            now, flags = self._Name(target), _ANY_ORDER
        elif isinstance(target, ast.Subscript):
            now, flags = self._Subscript(target), self.flags
        else:
            raise self.fail(node, "not in the subset")
        value = self.binary(node, node.op, now, self.value(node.value), flags)
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        else:
            self.store(target, value)

    def _For(self, node: ast.For) -> None:  # noqa: N802
        call = node.iter
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "range"):
            raise self.fail(node, "loops go over a range")
        assert isinstance(node.target, ast.Name)
        bounds = [Term(self.to(self.value(a), "i64"), "i64") for a in call.args]
        start = bounds[0] if len(bounds) > 1 else Term(0, "const")
        stop = bounds[min(1, len(bounds) - 1)]
        step = bounds[2] if len(bounds) == 3 else Term(1, "const")
        head, body, done = self.label("for"), self.label("body"), self.label("done")
        self.assign(node.target.id, start)
        slot = self.names[node.target.id].text
        self.jump(head)
        now = self.emit(f"load i64, ptr {slot}")
        test = Term(self.emit(f"icmp slt i64 {now}, {self.to(stop, 'i64')}"), "bool")
        self.branch(test, body, done)
        self.lines.append(f"{body}:")
        for statement in node.body:
            self.statement(statement)
        following = self.emit(f"add nuw nsw i64 {now}, {self.to(step, 'i64')}")
        self.lines.append(f"  store i64 {following}, ptr {slot}")
        self.jump(head, start=False)
        self.lines.append(f"{done}:")

    def _While(self, node: ast.While) -> None:  # noqa: N802
        head, body, done = self.label("while"), self.label("body"), self.label("done")
        self.jump(head)
        self.branch(self.value(node.test), body, done)
        self.lines.append(f"{body}:")
        for statement in node.body:
            self.statement(statement)
        self.jump(head, start=False)
        self.lines.append(f"{done}:")

    def _If(self, node: ast.If) -> None:  # noqa: N802
        yes, no, done = self.label("then"), self.label("else"), self.label("end")
        self.branch(self.value(node.test), yes, no)
        self.lines.append(f"{yes}:")
        for statement in node.body:
            self.statement(statement)
        self.jump(done, start=False)
        self.lines.append(f"{no}:")
        for statement in node.orelse:
            self.statement(statement)
        self.jump(done)

    def _Return(self, node: ast.Return) -> None:  # noqa: N802
        if node.value is None:
            self.lines.append("  ret void")
        else:
            result = self.signature.result
            text = self.to(self.value(node.value), result)
            self.lines.append(f"  ret {llvm_type(result)} {text}")
        self.lines.append(f"{self.label('unreached')}:")


class _Builtins:
    """What is neither arithmetic nor an intrinsic of floats, by name."""

    @staticmethod
    def bits(f: _Function, node: ast.Call) -> Term:
        value = f.to(f.value(node.args[0]), "f32")
        return Term(f.emit(f"bitcast float {value} to i32"), "i32")

    @staticmethod
    def from_bits(f: _Function, node: ast.Call) -> Term:
        value = f.to(f.value(node.args[0]), "i32")
        return Term(f.emit(f"bitcast i32 {value} to float"), "f32")

    @staticmethod
    def bits64(f: _Function, node: ast.Call) -> Term:
        value = f.to(f.value(node.args[0]), "f64")
        return Term(f.emit(f"bitcast double {value} to i64"), "i64")

    @staticmethod
    def from_bits64(f: _Function, node: ast.Call) -> Term:
        value = f.to(f.value(node.args[0]), "i64")
        return Term(f.emit(f"bitcast i64 {value} to double"), "f64")

    @staticmethod
    def given(f: _Function, node: ast.Call) -> Term:
        return Term(f.emit(f"icmp ne ptr {f.value(node.args[0]).text}, null"), "bool")

    @staticmethod
    def at(f: _Function, node: ast.Call) -> Term:
        return f.address(f.value(node.args[0]), f.value(node.args[1]))

    @staticmethod
    def _extreme(f: _Function, node: ast.Call, word: str) -> Term:
        a, b = (f.value(x) for x in node.args)
        type = f.common(node, a, b)
        if type not in ("i64", "i32"):
            raise f.fail(node, "of integers; `maximum` and `minimum` are for floats")
        f.unit.declare(f"{type} @llvm.{word}.{type}({type}, {type})")
        text = f"call {type} @llvm.{word}.{type}({type} {f.to(a, type)}, {type} {f.to(b, type)})"
        return Term(f.emit(text), type)

    @staticmethod
    def min(f: _Function, node: ast.Call) -> Term:
        return _Builtins._extreme(f, node, "smin")

    @staticmethod
    def max(f: _Function, node: ast.Call) -> Term:
        return _Builtins._extreme(f, node, "smax")

    @staticmethod
    def array_at(f: _Function, node: ast.Call) -> Term:
        kind = ast.unparse(node.args[0]).replace("real", f.unit.real)
        address = f.to(f.value(node.args[1]), "i64")
        return Term(f.emit(f"inttoptr i64 {address} to ptr"), f"{kind}*")

    @staticmethod
    def item(f: _Function, node: ast.Call) -> Term:
        of, place = (f.to(f.value(a), "i64") for a in node.args)
        f.unit.declare("ptr @PyList_GetItem(ptr, i64)")
        of = f.emit(f"inttoptr i64 {of} to ptr")
        found = f.emit(f"call ptr @PyList_GetItem(ptr {of}, i64 {place})")
        return Term(f.emit(f"ptrtoint ptr {found} to i64"), "i64")

    @staticmethod
    def local(f: _Function, node: ast.Call) -> Term:
        """An array on the stack: `local(f32, 16)`."""
        kind = ast.unparse(node.args[0]).replace("real", f.unit.real)
        size = f.value(node.args[1])
        if size.type != "const":
            raise f.fail(node, "the size of a local array is a number")
        f.count += 1
        f.slots.append(f"  %l.{f.count} = alloca [{size.text} x {LLVM[kind]}], align 64")
        return Term(f"%l.{f.count}", f"{kind}*")


def _folded(op: ast.operator, a: Any, b: Any) -> Any:
    """Arithmetic of two numbers of the source."""
    expression = ast.BinOp(ast.Constant(a), op, ast.Constant(b))
    if isinstance(a, int) and isinstance(b, int) and isinstance(op, ast.Div):
        return a / b
    return eval(compile(ast.fix_missing_locations(ast.Expression(expression)), "", "eval"))
