"""PyTorch's signatures: from the functions where they are Python, else from its type stubs."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

UNKNOWN = object()  # a default that is no literal


@cache
def _overloads(path: Path, inside: str | None = None) -> dict[str, list[Signature]]:
    """The overloads of every function of a stub file, or of one class in it."""
    body = ast.parse(path.read_text()).body
    if inside is not None:
        body = next(n.body for n in body if isinstance(n, ast.ClassDef) and n.name == inside)
    found: dict[str, list[Signature]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(_signature(node.args))
    return found


def _signature(args: ast.arguments) -> Signature:
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + [*args.defaults]
    parameters = [
        Parameter(a.arg, Parameter.POSITIONAL_OR_KEYWORD, default=_literal(d))
        for a, d in zip(positional, defaults, strict=True)
    ]
    if args.vararg is not None:
        parameters.append(Parameter(args.vararg.arg, Parameter.VAR_POSITIONAL))
    parameters += [
        Parameter(a.arg, Parameter.KEYWORD_ONLY, default=_literal(d))
        for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    # Stubs put required positional-only arguments after optional ones here and there.
    return Signature(parameters, __validate_parameters__=False)


def _literal(node: ast.expr | None) -> Any:
    if node is None:
        return Parameter.empty
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return UNKNOWN
    return UNKNOWN if value is ... else value


def _stubs(torch: Any, name: str) -> list[dict[str, list[Signature]]]:
    """Where the stubs of a dotted name below torch may be, the best first."""
    folder = Path(torch.__file__).parent
    native = _overloads(folder / "_C" / "_VariableFunctions.pyi")
    if name.startswith("Tensor."):
        return [_overloads(folder / "_C" / "__init__.pyi", "TensorBase")]
    if name.startswith("nn.functional."):
        functional = _overloads(folder / "nn" / "functional.pyi")
        return [_overloads(folder / "_C" / "_nn.pyi"), functional, native]
    return [native] if "." not in name else []


def overloads_of_functions(torch: Any) -> dict[str, list[Signature]]:
    """The overloads of the functions of `torch` that are not written in Python."""
    return _overloads(Path(torch.__file__).parent / "_C" / "_VariableFunctions.pyi")


def signatures(torch: Any, name: str) -> list[Signature]:
    """The overloads of a dotted name below torch; empty where nothing tells."""
    try:
        found = inspect.signature(resolve(torch, name))
    except ValueError:
        pass
    else:
        kinds = {p.kind for p in found.parameters.values() if p.name != "self"}
        if not kinds <= {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD} or not kinds:
            return [found]
    last = name.rpartition(".")[2]
    return next((stub[last] for stub in _stubs(torch, name) if last in stub), [])


def resolve(library: Any, name: str) -> Any:
    """What a dotted name stands for."""
    for part in name.split("."):
        library = getattr(library, part)
    return library


def has(library: Any, name: str) -> bool:
    """Whether a dotted name exists."""
    try:
        resolve(library, name)
    except (AttributeError, ModuleNotFoundError):
        return False
    return True
