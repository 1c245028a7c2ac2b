"""Steps that gradients pass through: the formulas of the kernels, over tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import Any

from wengert.core.tensor import Tensor
from wengert.kernels.jit.formulas import Formula
from wengert.kernels.jit.machine_types import tree_of
from wengert.kernels.optim import descent
from wengert.ops.masking import clamp, maximum, minimum, where
from wengert.ops.powers import sqrt


@cache
def recorded(formula: Formula) -> Callable[..., list[Any]]:
    """A formula as a function that returns the new values of its arrays, and writes to none."""
    tree = _NewValues(formula.arrays).visit(tree_of(formula.python))
    tree.decorator_list = []
    namespace: dict[str, Any] = {}
    module = ast.fix_missing_locations(ast.Module([tree], []))
    exec(compile(module, f"<{formula.__name__}, recorded>", "exec"), dict(_FUNCTIONS), namespace)
    found: Callable[..., list[Any]] = namespace[tree.name]
    return found


class _NewValues(ast.NodeTransformer):
    """Writes to arrays become names of new values, which are returned at the end."""

    def __init__(self, arrays: list[str]) -> None:
        self.arrays = arrays

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        for argument in (*node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        node.returns = None
        node.body.append(ast.parse(f"return [{', '.join(self.arrays)}]").body[0])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        assert isinstance(node.target, ast.Name)
        before = ast.Name(node.target.id, ast.Load())
        return ast.Assign([node.target], ast.BinOp(before, node.op, node.value))

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        (target,) = node.targets
        if isinstance(target, ast.Subscript):  # x[...] = y
            assert isinstance(target.value, ast.Name)
            target = ast.Name(target.value.id, ast.Store())
        return ast.Assign([target], node.value)


def _larger(x: Tensor, y: Any) -> Tensor:
    return maximum(x, y) if isinstance(y, Tensor) else clamp(x, min=y)


def _smaller(x: Tensor, y: Any) -> Tensor:
    return minimum(x, y) if isinstance(y, Tensor) else clamp(x, max=y)


def _choice(condition: Any, x: Any, y: Any) -> Any:
    if isinstance(condition, Tensor):
        return where(condition, x, y)
    return x if condition else y


# What the names of the formulas' module mean here.
_FUNCTIONS: dict[str, Any] = {
    "descent": descent,
    "fabs": abs,
    "maximum": _larger,
    "minimum": _smaller,
    "sqrt": sqrt,
    "where": _choice,
}
