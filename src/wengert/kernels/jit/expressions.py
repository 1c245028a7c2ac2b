"""Expressions of the kernel language, and the calls of its functions, as LLVM's text."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from wengert.kernels.jit.machine_types import (
    FLOATS,
    INTS,
    LLVM,
    SIZES,
    STORED,
    KernelSyntaxError,
    RecordType,
    Signature,
    Term,
    float_text,
    llvm_type,
)
from wengert.kernels.jit.records import Record

if TYPE_CHECKING:
    from wengert.kernels.jit.records import Field

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
_CONTRACT = "contract"


class Module(Protocol):
    """What expressions ask of the module of LLVM that they are part of (`language.Unit`)."""

    real: str
    exact: str
    instead: Mapping[Any, Any]
    masked: int

    def add(self, function: Any, inline: bool) -> Signature:
        """The signature of a function, which the module has from then on."""

    def declare(self, text: str) -> None:
        """Declare a function of LLVM or of the process."""


class Expressions:
    """The translation of one function, as far as expressions go.

    Names are stack slots, which LLVM turns into registers; those of arrays are the pointers.
    """

    def __init__(
        self, unit: Module, tree: ast.FunctionDef, signature: Signature, scope: dict[str, Any],
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

    def fail(self, node: ast.AST, why: str) -> KernelSyntaxError:
        line = getattr(node, "lineno", 0)
        return KernelSyntaxError(f"{self.tree.name}, line {line}: {why}: {ast.unparse(node)}")

    def emit(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %.{self.count} = {text}")
        return f"%.{self.count}"

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
            conversion = "fptrunc" if SIZES[type] < SIZES[source] else "fpext"
        elif source in FLOATS and type in INTS:
            conversion = "fptosi"
        elif source in INTS and type in INTS and SIZES.get(source, 0) > SIZES.get(type, 9):
            conversion = "trunc"
        elif source in ("u8", "u16") and type in ("i32", "i64"):
            conversion = "zext"
        else:
            return Term(self.to(value, type), type)
        return Term(self.emit(f"{conversion} {LLVM[source]} {value.text} to {LLVM[type]}"), type)

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
        if isinstance(node.value, ast.Name) and node.value.id not in self.names:
            # `math.inf`, or the offset of a record's field.
            value = getattr(self.scope.get(node.value.id), node.attr, None)
            if isinstance(value, (int, float)):
                return Term(value, "const")
        record, field = self.field(node)
        pointer = self.address(record, Term(field.offset, "const"))
        return Term(pointer.text, "i64*") if field.array else self.load(pointer)

    def field(self, node: ast.Attribute) -> tuple[Term, Field]:
        """A record and one of its fields."""
        record = self.value(node.value)
        if not isinstance(record.type, RecordType):
            raise self.fail(node, "not in the subset")
        fields = record.type.record.FIELDS
        if node.attr not in fields:
            raise self.fail(node, f"{record.type.record.__name__} has no such field")
        return record, fields[node.attr]

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
        """The array from an element on."""
        kind = LLVM[pointer.type[:-1]]
        text = f"getelementptr inbounds {kind}, ptr {pointer.text}, i64 {self.to(index, 'i64')}"
        return Term(self.emit(text), pointer.type)

    def _Subscript(self, node: ast.Subscript) -> Term:  # noqa: N802
        return self.load(self.pointer(node))

    def pointer(self, node: ast.Subscript | ast.Attribute) -> Term:
        """Where an element, or a number of a record, lies."""
        if isinstance(node, ast.Attribute):
            record, field = self.field(node)
            if field.array:
                raise self.fail(node, "an array, not a number")
            return self.address(record, Term(field.offset, "const"))
        if isinstance(node.value, ast.Attribute):
            record, field = self.field(node.value)
            if not field.array:
                raise self.fail(node, "a number, not an array")
            first = Term(field.offset, "const")
            index = self.binary(node, ast.Add(), first, self.value(node.slice), self.flags)
            return self.address(record, index)
        array = self.value(node.value)
        if isinstance(array.type, RecordType):
            raise self.fail(node, "a record has fields, and no elements")
        return self.address(array, self.value(node.slice))

    def load(self, pointer: Term) -> Term:
        """The first element of an array."""
        kind = pointer.type[:-1]
        value = self.emit(f"load {LLVM[kind]}, ptr {pointer.text}, align {SIZES[kind]}")
        return self.widened(value, kind) if kind in STORED else Term(value, kind)

    def widened(self, value: str, kind: str) -> Term:
        """An element of a type of halves as a float."""
        if kind == "half":
            return Term(self.emit(f"fpext half {value} to float"), "f32")
        high = self.emit(f"shl i32 {self.emit(f'zext i16 {value} to i32')}, 16")
        return Term(self.emit(f"bitcast i32 {high} to float"), "f32")

    def rounded(self, value: Term, kind: str) -> Term:
        """A float as an element of a type of halves."""
        number = self.to(value, "f32")
        if kind == "half":
            return Term(self.emit(f"fptrunc float {number} to half"), kind)
        word = self.emit(f"bitcast float {number} to i32")
        high = self.emit(f"lshr i32 {word}, 16")
        # To the nearest, of two the even one; NaN stays NaN, whichever bits it has.
        half = self.emit(f"add i32 {self.emit(f'and i32 {high}, 1')}, 32767")
        nearest = self.emit(f"lshr i32 {self.emit(f'add i32 {word}, {half}')}, 16")
        quiet = self.emit(f"or i32 {high}, 64")
        is_nan = self.emit(f"fcmp uno float {number}, 0.0")
        chosen = self.emit(f"select i1 {is_nan}, i32 {quiet}, i32 {nearest}")
        return Term(self.emit(f"trunc i32 {chosen} to i16"), kind)

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
        if name in STORED:
            return self.widened(str(self.rounded(values[0], name).text), name)
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
        variants = getattr(self.unit.instead.get(function, function), "inline", None)
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
        for value, (name, type) in zip(values, signature.params, strict=True):
            if isinstance(type, RecordType) and not type.holds(value.type):
                raise self.fail(node, f"{name!r} is a {type.record.__name__}")
        text = f"call {llvm_type(signature.result)} @{chosen.__name__}({arguments})"
        if signature.result == "none":
            self.lines.append(f"  {text}")
            return Term("", "none")
        return Term(self.emit(text), signature.result)


class _Builtins:
    """What is neither arithmetic nor an intrinsic of floats, by name."""

    @staticmethod
    def bits(f: Expressions, node: ast.Call) -> Term:
        value = f.to(f.value(node.args[0]), "f32")
        return Term(f.emit(f"bitcast float {value} to i32"), "i32")

    @staticmethod
    def from_bits(f: Expressions, node: ast.Call) -> Term:
        value = f.to(f.value(node.args[0]), "i32")
        return Term(f.emit(f"bitcast i32 {value} to float"), "f32")

    @staticmethod
    def bits64(f: Expressions, node: ast.Call) -> Term:
        value = f.to(f.value(node.args[0]), "f64")
        return Term(f.emit(f"bitcast double {value} to i64"), "i64")

    @staticmethod
    def from_bits64(f: Expressions, node: ast.Call) -> Term:
        value = f.to(f.value(node.args[0]), "i64")
        return Term(f.emit(f"bitcast i64 {value} to double"), "f64")

    @staticmethod
    def given(f: Expressions, node: ast.Call) -> Term:
        return Term(f.emit(f"icmp ne ptr {f.value(node.args[0]).text}, null"), "bool")

    @staticmethod
    def at(f: Expressions, node: ast.Call) -> Term:
        array, index = f.value(node.args[0]), f.value(node.args[1])
        if isinstance(array.type, RecordType):
            if array.type.record.OPEN:
                raise f.fail(node, "records of unknown length")
            length = Term(len(array.type.record.FIELDS), "const")
            index = f.binary(node, ast.Mult(), index, length, f.flags)
        return f.address(array, index)

    @staticmethod
    def _extreme(f: Expressions, node: ast.Call, word: str) -> Term:
        a, b = (f.value(x) for x in node.args)
        type = f.common(node, a, b)
        if type not in ("i64", "i32"):
            raise f.fail(node, "of integers; `maximum` and `minimum` are for floats")
        f.unit.declare(f"{type} @llvm.{word}.{type}({type}, {type})")
        text = f"call {type} @llvm.{word}.{type}({type} {f.to(a, type)}, {type} {f.to(b, type)})"
        return Term(f.emit(text), type)

    @staticmethod
    def min(f: Expressions, node: ast.Call) -> Term:
        return _Builtins._extreme(f, node, "smin")

    @staticmethod
    def max(f: Expressions, node: ast.Call) -> Term:
        return _Builtins._extreme(f, node, "smax")

    @staticmethod
    def array_at(f: Expressions, node: ast.Call) -> Term:
        kind = ast.unparse(node.args[0])
        address = f.to(f.value(node.args[1]), "i64")
        pointer = f.emit(f"inttoptr i64 {address} to ptr")
        record = f.scope.get(kind)
        if isinstance(record, type) and issubclass(record, Record):
            return Term(pointer, RecordType(record))
        return Term(pointer, f"{kind.replace('real', f.unit.real)}*")

    @staticmethod
    def item(f: Expressions, node: ast.Call) -> Term:
        address, index = (f.to(f.value(a), "i64") for a in node.args)
        f.unit.declare("ptr @PyList_GetItem(ptr, i64)")
        objects = f.emit(f"inttoptr i64 {address} to ptr")
        element = f.emit(f"call ptr @PyList_GetItem(ptr {objects}, i64 {index})")
        return Term(f.emit(f"ptrtoint ptr {element} to i64"), "i64")

    @staticmethod
    def local(f: Expressions, node: ast.Call) -> Term:
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
