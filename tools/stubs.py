"""Write down, for type checkers, what is put together when the package is imported.

    python tools/stubs.py            # write the stubs
    python tools/stubs.py --check    # fail if one is not up to date

Tensor's methods, operators and properties are bound from the operations that declare them,
`nn.functional` is collected from their families, and packages load names when they are asked for;
no type checker runs that. This script imports the package and looks: `core/_tensor_methods.pyi` is
the base class that Tensor has while types are checked, `nn/functional.pyi` and the stubs of
packages say where each name is defined.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from inspect import Parameter
from pathlib import Path
from types import ModuleType
from typing import Any

from wengert import Tensor, ops

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "wengert"

HEAD = '''\
"""The methods of Tensor, for type checkers. Written by tools/stubs.py: do not edit."""

from typing import Any, Self

import numpy as np

from wengert.core.tensor import Tensor
{imports}

# What an operation takes where it takes a tensor.
Operand = Tensor | np.ndarray[Any, Any] | np.generic | complex

class TensorMethods:
'''

NAMESPACE_HEAD = """\
# Where the names of the package are defined, for type checkers. Written by tools/stubs.py: do not
# edit.

"""

FUNCTIONAL_HEAD = """\
# Where the functions are defined, for type checkers. Written by tools/stubs.py: do not edit.

"""

# Imported by HEAD.
KNOWN = {"Any", "Operand", "Tensor", "np"}
# Operators of two operands: each gives a Tensor, whatever function stands behind it.
ARITHMETIC = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
    "lshift", "rshift",
)  # fmt: skip
BINARY = {f"__{form}{name}__" for form in ("", "r", "i") for name in ARITHMETIC}
BINARY |= {"__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"}
# Differ on purpose from what every object has.
OVERRIDES = {"__eq__", "__ne__"}


class Annotations:
    """Annotations as text that means the same in the stub; collects the imports for that."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken  # names of methods, which hide names of the module in the class
        self.imports: dict[str, str] = {}

    def render(self, annotation: Any, function: Callable[..., Any]) -> str:
        """The annotation of a parameter or result of `function`."""
        if annotation is Parameter.empty:
            return "Any"
        if not isinstance(annotation, str):
            annotation = inspect.formatannotation(annotation)
        tree = ast.parse(annotation, mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = self._name(node.id, function)
        return ast.unparse(tree)

    def _name(self, name: str, function: Callable[..., Any]) -> str:
        if name == "Value":
            return "Any"
        if name in KNOWN:
            return name
        alias = f"_{name}" if name in self.taken else name
        value = function.__globals__.get(name)
        if value is None and hasattr(builtins, name):
            if alias != name:
                self.imports[alias] = f"from builtins import {name} as {alias}"
        elif isinstance(value, ModuleType):
            self.imports[alias] = f"import {value.__name__} as {alias}"
        else:
            home, original = _home(name, value, function)
            self.imports[alias] = f"from {home} import {original} as {alias}"
        return alias

    def text(self) -> str:
        """The import statements."""
        return "\n".join(sorted(self.imports.values()))


def _home(name: str, value: Any, function: Callable[..., Any]) -> tuple[str, str]:
    """Where a name is defined, and what it is called there."""
    if isinstance(value, type):
        return value.__module__, value.__qualname__
    if getattr(value, "__module__", None) in ("typing", "collections.abc"):
        own = getattr(value, "__name__", name)
        # A union of types is no name of `typing`, though it says so since Python 3.14.
        if getattr(sys.modules[value.__module__], own, None) is value:
            return value.__module__, own
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[function.__module__]))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for imported in node.names:
                if (imported.asname or imported.name) == name:
                    return node.module, imported.name
    return function.__module__, name


def members() -> Iterator[tuple[str, Any]]:
    """What was bound to Tensor, by name."""
    for name, value in sorted(vars(Tensor).items()):
        function = value.fget if isinstance(value, property) else value
        # What the class itself defines, type checkers see.
        if inspect.isfunction(function) and function.__module__ != Tensor.__module__:
            yield name, value


def declared(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as its author wrote it, below what the package wrapped around it."""
    return inspect.unwrap(function)


def parameters(name: str, function: Callable[..., Any], annotations: Annotations) -> str:
    """The parameters of a method; the first becomes `self`."""
    op = getattr(function, "op", None) or getattr(
        getattr(function, "__wrapped__", None), "op", None
    )
    inputs = set(op.inputs) if op is not None else set()
    author = declared(function)
    _, *rest = inspect.signature(author).parameters.values()
    parts = ["cls" if name == "__new__" else "self"]
    starred = False
    for p in rest:
        if p.kind is Parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        starred = starred or p.kind is Parameter.VAR_POSITIONAL
        kind = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(p.kind, "")
        operand = p.name in inputs or p.annotation == "Value"
        annotation = "Operand" if operand else annotations.render(p.annotation, author)
        if p.default is None and "None" not in annotation and annotation != "Any":
            annotation += " | None"
        default = "" if p.default is Parameter.empty else f" = {_literal(p.default)}"
        parts.append(f"{kind}{p.name}: {annotation}{default}")
    return ", ".join(parts)


def _literal(default: Any) -> str:
    """A default as a stub can show it."""
    return repr(default) if default is None or type(default) in (bool, int, float, str) else "..."


def result(name: str, function: Callable[..., Any], annotations: Annotations) -> str:
    """The type of what a method returns."""
    if name == "__new__":
        return "Self"
    if hasattr(function, "op") or (name.endswith("_") and not name.endswith("__")):
        return "Tensor"
    author = declared(function)
    return annotations.render(inspect.signature(author).return_annotation, author)


def summary(value: Any) -> str:
    """The first sentence or paragraph of a docstring, on one line."""
    paragraph = (inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).replace("\\", "\\\\").replace('"""', "'''")


def method(name: str, function: Callable[..., Any], annotations: Annotations) -> str:
    """One method of the stub."""
    ignored = "  # type: ignore[override]" if name in OVERRIDES else ""
    if name in BINARY:
        return f"    def {name}(self, other: Operand) -> Tensor: ...{ignored}\n"
    arguments = parameters(name, function, annotations)
    returns = result(name, function, annotations)
    text = summary(function)
    if name.startswith("_") or not text:
        return f"    def {name}({arguments}) -> {returns}: ...\n"
    return f'    def {name}({arguments}) -> {returns}:\n        """{text}"""\n'


def attribute(name: str, value: property, annotations: Annotations) -> str:
    """One property of the stub, with its setter."""
    getter = value.fget
    assert getter is not None
    returns = annotations.render(inspect.signature(getter).return_annotation, getter)
    text = f"    @property\n    def {name}(self) -> {returns}: ...\n"
    if value.fset is not None:
        text += f"    @{name}.setter\n    def {name}(self, value: {returns}) -> None: ...\n"
    return text


def tensor_methods() -> str:
    """The text of `core/_tensor_methods.pyi`."""
    found = dict(members())
    annotations = Annotations(set(found))
    body = "".join(
        attribute(name, value, annotations)
        if isinstance(value, property)
        else method(name, value, annotations)
        for name, value in found.items()
    )
    return HEAD.format(imports=annotations.text()) + body


def functional() -> str:
    """The text of `nn/functional.pyi`."""
    functions = {n: getattr(family, n) for family in ops.FAMILIES for n in family.FUNCTIONAL}
    lines = sorted(f"from {f.__module__} import {f.__name__} as {n}" for n, f in functions.items())
    return FUNCTIONAL_HEAD + "\n".join(lines) + "\n"


# Packages whose names type checkers cannot see: sums of lists, and what loads when it is named.
NAMESPACES = (
    "wengert", "wengert.autograd", "wengert.nn", "wengert.nn.modules", "wengert.nn.utils",
    "wengert.utils",
)  # fmt: skip


def namespace(path: str) -> str:
    """The text of a package's stub: where each of its names is defined."""
    package = importlib.import_module(path)
    explicit = dict(explicit_imports(package))
    lines = {where_defined(package, name, explicit) for name in names_of(package)}
    return NAMESPACE_HEAD + "\n".join(sorted(filter(None, lines))) + "\n"


def names_of(package: ModuleType) -> set[str]:
    """The names that a package has or loads, and the modules in it."""
    inside = {info.name for info in pkgutil.iter_modules(package.__path__)}
    names = {*dir(package), *getattr(package, "__all__", ()), *inside}
    lazy = (getattr(package, table, ()) for table in ("_LAZY", "_LAZY_NAMES", "_LAZY_MODULES"))
    names |= {name for table in lazy for name in table}
    return {name for name in names if not name.startswith("_")} | {"__version__"} & names


def explicit_imports(package: ModuleType) -> Iterator[tuple[str, str]]:
    """The statements that import one name, by the name."""
    for node in ast.parse(inspect.getsource(package)).body:
        if isinstance(node, ast.ImportFrom):
            for imported in node.names:
                name = imported.asname or imported.name
                yield name, reexport(node.module or "", imported.name, name)


def reexport(module: str, original: str, name: str) -> str:
    """What makes a name public: an import under the name that it has, or else an assignment."""
    if original == name:
        return f"from {module} import {name} as {name}"
    return f"from {module} import {original} as _{original}\n{name} = _{original}"


def where_defined(package: ModuleType, name: str, explicit: dict[str, str]) -> str:
    """The line of a stub that says what a name is; empty for what a package uses itself."""
    if not hasattr(package, name):
        return f"from {package.__name__} import {name} as {name}"
    value = getattr(package, name)
    if isinstance(value, ModuleType):
        own = value.__name__ == f"{package.__name__}.{name}"
        return f"from {package.__name__} import {name} as {name}" if own else ""
    if name in explicit:
        return explicit[name]
    home = getattr(value, "__module__", None)
    if home is not None and getattr(sys.modules.get(home), name, None) is value:
        return f"from {home} import {name} as {name}"
    if callable(value) and getattr(Tensor, name, None) is value:
        return f"{name} = Tensor.{name}"
    for module in star_imports(package):
        if name in getattr(module, "__all__", ()):
            return f"from {module.__name__} import {name} as {name}"
    return f"{name}: {'None' if value is None else type(value).__name__}"


def star_imports(package: ModuleType) -> Iterator[ModuleType]:
    """The modules whose names a package takes over, and those that they take theirs from."""
    for node in ast.parse(inspect.getsource(package)).body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            module = importlib.import_module(node.module or "")
            yield from star_imports(module) if hasattr(module, "__path__") else ()
            yield module


STUBS: dict[str, Callable[[], str]] = {
    "core/_tensor_methods.pyi": tensor_methods,
    "nn/functional.pyi": functional,
    **{
        f"{path}.__init__".partition(".")[2].replace(".", "/") + ".pyi": partial(namespace, path)
        for path in NAMESPACES
    },
}


def main() -> None:
    """Write the stubs, or with ``--check`` compare them."""
    for name, text_of in STUBS.items():
        text, path = text_of(), PACKAGE / name
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif not path.exists() or text != path.read_text():
            sys.exit(f"{name} is not up to date: run python tools/stubs.py")


if __name__ == "__main__":
    main()
