"""A subset of Python, compiled to LLVM's intermediate representation (as text).

A kernel is a function whose arguments are annotated with the names of machine types: `f32`,
`f64`, `i64`, `i32`, `u8`, `real` (f32 or f64, chosen when it is compiled), and arrays of them, or
of f16, u16, brain, half or `stored` (what reals are in memory: themselves or a half type): `f32s`;
or with a class of records (`records.py`), an array of i64 with names. Its module imports
`annotations` from `__future__`. The rest of the subset:

- numbers, names, arithmetic, comparisons; `//` and `%` of integers that are not negative;
- `a if c else b`, `and`, `or`, which compute both sides: neither may load invalid memory;
- loads and stores `x[i]` and `record.field`, assignments to names, `t += y`;
- `for i in range(start, stop, step)` with a positive step, `while`, `if`, `return`; `short_range`
  is a range of few numbers, which processors with masks go through by vectors to its end;
- the functions of `builtins.py`, functions marked `@inline` or `@apart`, numbers of the module,
  and what is LLVM's text already (a `Microkernel`).

A sum into a name (`t += y`) may be computed in any order, which lets LLVM use vectors; all other
arithmetic is IEEE, except that `a * b + c` may be rounded once unless it must be exact. Nothing
is checked: indices out of bounds read and write other memory. Types are never mixed silently,
except that integers convert to the float they are combined with.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import CodeType
from typing import Any

from wengert.kernels.jit import targets
from wengert.kernels.jit.expressions import Expressions
from wengert.kernels.jit.machine_types import (
    LLVM,
    SIZES,
    STORED,
    KernelSyntaxError,
    Signature,
    Term,
    llvm_type,
    signature_of,
    tree_of,
)
from wengert.kernels.jit.pace import pace

# The order is the one LLVM may choose: sums of vectors.
_ANY_ORDER = "reassoc nsz contract"


# What a line begins with that names a module of its own (see `native.own_modules`).
NEEDS = "; needs "


class Unit:
    """One module of LLVM: a kernel and the functions that it calls, for one `real` type.

    What is `exact`, the "kernel" itself or "all", is rounded step by step, as NumPy does it. Where
    a function is called that `instead` has, its value there is.
    """

    def __init__(
        self, real: str, exact: str = "", instead: Mapping[Any, Any] | None = None,
        stored: str = "",
    ) -> None:  # fmt: skip
        self.real, self.exact, self.instead, self.stored = real, exact, instead or {}, stored
        self.signatures: dict[str, Signature] = {}
        self.sources: dict[str, CodeType] = {}
        self.definitions: list[str] = []
        self.declarations: set[str] = set()
        self.needs: list[str] = []  # modules of their own
        self.masked = 0  # how many loops end with a vector of some elements

    def add(self, function: Any, inline: bool) -> Signature:
        """Compile a function, once. One that is LLVM's text already says so: it has `llvm`."""
        name = function.__name__
        if name not in self.signatures and hasattr(function, "llvm"):
            self.signatures[name] = function.signature
            if getattr(function, "in_own_module", False):
                self.needs.append(function.symbol)
                declared, text = function.entrance()
            else:
                declared, text = function.declarations(), function.llvm()
            self.definitions.append(text)
            for head in declared:
                self.declare(head)
        elif name not in self.signatures:
            self.sources[name] = function.__code__
            self.add_tree(tree_of(function), function.__globals__, inline)
        elif name in self.sources and self.sources[name] is not function.__code__:
            raise KernelSyntaxError(f"two functions of one kernel are called {name}")
        return self.signatures[name]

    def add_tree(self, tree: ast.FunctionDef, scope: dict[str, Any], inline: bool) -> Signature:
        """Compile the syntax tree of a function whose other names `scope` has."""
        signature = signature_of(tree, self.real, scope, self.stored)
        self.signatures[tree.name] = signature
        self.definitions.append(_Function(self, tree, signature, scope, inline).text())
        return signature

    def declare(self, text: str) -> None:
        """Declare a function of LLVM or of the process."""
        self.declarations.add(f"declare {text}")

    def text(self) -> str:
        """The module; first, as comments, the modules that it needs."""
        needs = [f"{NEEDS}{symbol}" for symbol in self.needs]
        hints = [f"!{n} = distinct !{{!{n}, !0}}" for n in range(1, self.masked + 1)]
        if hints:
            hints.append('!0 = !{!"llvm.loop.vectorize.predicate.enable", i1 true}')
        return "\n".join([*needs, *sorted(self.declarations), *self.definitions, *hints])


class _Function(Expressions):
    """The translation of one function: its statements, and the text of it all."""

    def text(self) -> str:
        """The definition of the function."""
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

    def label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}.{self.count}"

    def jump(self, label: str, start: bool = True) -> None:
        """Go to a label, which starts here unless `start` says otherwise."""
        self.lines.append(f"  br label %{label}")
        if start:
            self.lines.append(f"{label}:")

    def branch(self, condition: Term, yes: str, no: str) -> None:
        self.lines.append(f"  br i1 {self.to(condition, 'bool')}, label %{yes}, label %{no}")

    def assign(self, name: str, value: Term) -> None:
        """Store a value in the slot of a name. The name of an array is another for it."""
        if value.type != "const":
            type = value.type
        elif isinstance(value.text, float):
            type = self.names[name].type if name in self.names else self.unit.real
        else:
            type = "i64"
        if type.endswith("*"):
            self.names[name] = value
            return
        if name not in self.names:
            self.slots.append(f"  %v.{name} = alloca {LLVM[type]}")
            self.names[name] = Term(f"%v.{name}", type)
        slot = self.names[name]
        self.lines.append(f"  store {LLVM[slot.type]} {self.to(value, slot.type)}, ptr {slot.text}")

    # The statements of Python

    def statement(self, node: ast.stmt) -> None:
        pace.breathe()
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise self.fail(node, "not in the subset")
        method(node)

    def _Expr(self, node: ast.Expr) -> None:  # noqa: N802
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def _Pass(self, node: ast.Pass) -> None:  # noqa: N802
        pass

    def store(self, target: ast.Subscript | ast.Attribute, value: Term) -> None:
        to = self.pointer(target)
        kind = to.type[:-1]
        if kind == "u8" and value.type != "const":
            value = self.cast(value, "u8")
        if kind in STORED:
            value = self.rounded(value, kind)
        text = f"store {LLVM[kind]} {self.to(value, kind)}, ptr {to.text}, align {SIZES[kind]}"
        self.lines.append(f"  {text}")

    def _Assign(self, node: ast.Assign) -> None:  # noqa: N802
        target, value = node.targets[0], self.value(node.value)
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            self.store(target, value)
        else:
            raise self.fail(node, "not in the subset")

    def _AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        target = node.target
        if isinstance(target, ast.Name):
            now, flags = self._Name(target), _ANY_ORDER
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            now, flags = self.value(target), self.flags
        else:
            raise self.fail(node, "not in the subset")
        value = self.binary(node, node.op, now, self.value(node.value), flags)
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        else:
            self.store(target, value)

    def _For(self, node: ast.For) -> None:  # noqa: N802
        call = node.iter
        over = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or over not in ("range", "short_range"):
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
        hint = self.masked() if over == "short_range" else ""
        self.lines.append(f"  br label %{head}{hint}")
        self.lines.append(f"{done}:")

    def masked(self) -> str:
        """Asks for a vector of the last few elements, instead of one after the other."""
        if not targets.processor().has("avx512f"):
            return ""
        self.unit.masked += 1
        return f", !llvm.loop !{self.unit.masked}"

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
