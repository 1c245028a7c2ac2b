"""NumPy's names for `dim` and `keepdim`: PyTorch takes `axis` and `keepdims` as well.

Python has one name for one argument, and whatever passes the second one on (`**kwargs`, a
wrapper) costs every call. So the aliases are arguments of their own, behind the others, and a
test of two constants in front of the body. For operations that is generated with the rest of
their text. A function written by hand is compiled again from its source when it is first
called, with the same lines in front; what `inspect` and type checkers see is what is written.
"""

from __future__ import annotations
import __future__

from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.forks import compile_lock
from wengert.core.fronts import FirstCall

if TYPE_CHECKING:
    import ast

ALIASES = {"dim": "axis", "keepdim": "keepdims"}

# Written in Python in PyTorch: it does not rename their arguments.
PLAIN = frozenset({"norm", "split", "unique", "unique_consecutive"})

Defaults = dict[str, Any]  # of arguments, by name; `...` for those that have none


def rename(families: Iterable[ModuleType]) -> None:
    """Have the public functions of these modules take NumPy's names, where PyTorch's do."""
    for family in families:
        elsewhere = {*getattr(family, "METHODS", ()), *getattr(family, "IN_NAMESPACES", ())}
        in_ops = family.__name__.startswith("wengert.ops.")
        for name in {*family.__all__, *elsewhere} - (PLAIN if in_ops else set()):
            function = getattr(family, name)
            if type(function) is not FunctionType or function.__module__ != family.__name__:
                continue
            op = getattr(function, "op", None)
            if op is not None:
                op.numpy_names = True
            elif _may_be_renamed(function.__code__):
                _defer(function)


def _may_be_renamed(code: CodeType) -> bool:
    names = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
    return not names.isdisjoint(ALIASES) and names.isdisjoint(ALIASES.values())


def renamed(arguments: Iterable[str]) -> list[str]:
    """The arguments that have an alias."""
    return [name for name in arguments if name in ALIASES]


def needed(defaults: Defaults) -> list[str]:
    """Required arguments that get a default, because one before them may come as its alias."""
    names = list(defaults)
    first = min([names.index(name) for name in renamed(names)], default=len(names))
    return [name for name in names[first:] if defaults[name] is ...]


def alias_guard(name: str, defaults: Defaults) -> str:
    """The lines in front of a body; they do nothing where neither alias came.

    They see to it as well that `keepdim` is a bool: a call ``x.sum(0, 1)`` means two dimensions.

    Args:
        name: of the function, for its errors.
        defaults: its arguments, in order.
    """
    aliased, required = renamed(defaults), needed(defaults)
    if not aliased:
        return ""
    tests = [f"{ALIASES[a]} is not None" for a in aliased] + [f"{r} is ..." for r in required]
    if "keepdim" in aliased:
        tests.append("(keepdim is not False and keepdim is not True)")
    lines = [
        f"if {' or '.join(tests)}:",
        "    import wengert.ops.numpy_names as _names",
        *[f"    {a} = _names.either({name!r}, {a!r}, {a}, {ALIASES[a]}, {_text(defaults[a])})"
          for a in aliased],
        *[f"    _names.require_argument({name!r}, {r!r}, {r})" for r in required],
        *[f"    _names.require_bool({name!r}, keepdim)" for a in aliased if a == "keepdim"],
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _text(default: Any) -> str:
    return "..." if default is ... else repr(default)


def either(name: str, argument: str, value: Any, other: Any, default: Any) -> Any:
    """An argument that came under its own name or under NumPy's. TypeError for both."""
    if other is None:
        return value
    if value is not default and value != default:
        raise TypeError(
            f"{name}() got an unexpected keyword argument '{ALIASES[argument]}': it is another"
            f" name of '{argument}', which is {value!r}"
        )
    return other


def require_argument(name: str, argument: str, value: Any) -> None:
    """TypeError for a required argument that did not come."""
    if value is ...:
        raise TypeError(f"{name}() missing 1 required positional argument: '{argument}'")


def require_bool(name: str, keepdim: Any) -> None:
    """TypeError for a `keepdim` that is a number."""
    if not isinstance(keepdim, bool | np.bool_):
        raise TypeError(
            f"{name}(): argument 'keepdim' must be bool, not {type(keepdim).__name__}: it is"
            f" {keepdim!r}. Several dimensions come in a tuple: dim=(0, 1)"
        )


def _stub(*args: Any, **kwargs: Any) -> Any:
    first: Any = "first call"  # a constant of each stub's own
    return first(args, kwargs)


def _defer(function: FunctionType) -> None:
    """Leave a stub in a function's place until it is called: an import has 60 of them."""
    written = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    written.__kwdefaults__ = function.__kwdefaults__
    written.__annotations__ = function.__annotations__
    written.__doc__, written.__module__ = function.__doc__, function.__module__
    first = _AliasedOnCall(function, written)
    constants = tuple([first if c == "first call" else c for c in _stub.__code__.co_consts])
    function.__wrapped__ = written  # type: ignore[attr-defined]
    function.__code__ = _stub.__code__.replace(co_consts=constants, co_name=function.__name__)


class _AliasedOnCall(FirstCall):
    """What a stub calls, once; `written` is the function as its module has it."""

    __slots__ = ("written",)

    def __init__(self, function: FunctionType, written: FunctionType) -> None:
        super().__init__(function)
        self.written = written

    def __call__(self, args: Any, kwargs: Any) -> Any:
        function = self.function
        with compile_lock:
            if function.__code__.co_filename == _stub.__code__.co_filename:
                _compile(function, self.written)
        return function(*args, **kwargs)


def _compile(function: FunctionType, written: FunctionType) -> None:
    """Give the stub its body, with the aliases if the source is there and is what is running."""
    import ast  # these three take longer to load than most of the package
    import inspect
    import textwrap

    code = written.__code__
    try:
        lines, start = inspect.getsourcelines(written)
        module = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):
        function.__code__ = code
        return
    ast.increment_lineno(module, start - 1)
    definition = module.body[0]
    if isinstance(definition, ast.FunctionDef) and _alike(_code_of(module, code), code):
        function.__defaults__, function.__kwdefaults__ = _insert(definition, written)
        code = _code_of(ast.fix_missing_locations(module), code)
    function.__code__ = code


def _code_of(module: ast.Module, like: CodeType) -> CodeType:
    flags = __future__.annotations.compiler_flag
    compiled = compile(module, like.co_filename, "exec", flags=flags, dont_inherit=True)
    return next(c for c in compiled.co_consts if isinstance(c, CodeType))


def _alike(a: Any, b: Any) -> bool:
    """Whether two codes say the same. Instructions may differ: modules' imports count in them."""
    if not isinstance(a, CodeType) or not isinstance(b, CodeType):
        return type(a) is type(b) and bool(a == b)
    if (a.co_varnames, a.co_names) != (b.co_varnames, b.co_names):
        return False
    return len(a.co_consts) == len(b.co_consts) and all(map(_alike, a.co_consts, b.co_consts))


def _insert(definition: ast.FunctionDef, written: FunctionType) -> tuple[Any, Any]:
    """Put aliases and guard into a definition; its new defaults."""
    import ast

    arguments, name = definition.args, written.__name__
    own = written.__defaults__ or ()
    defaults = dict.fromkeys([a.arg for a in arguments.args], ...)
    defaults |= dict(zip([*defaults][len(defaults) - len(own) :], own, strict=True))
    keyword_only = dict(written.__kwdefaults__ or {})
    lines = ast.parse(alias_guard(name, defaults | keyword_only)).body
    for line in lines:
        for node in ast.walk(line):
            ast.copy_location(node, definition)
    documented = ast.get_docstring(definition, clean=False) is not None
    definition.body[documented:documented] = lines
    late = needed(defaults)
    values: list[Any] = [value for k, value in defaults.items() if value is not ... or k in late]
    for alias in [ALIASES[a] for a in renamed(defaults)]:
        arguments.args.append(ast.arg(alias))
        values.append(None)
    for alias in [ALIASES[a] for a in renamed(keyword_only)]:
        arguments.kwonlyargs.append(ast.arg(alias))
        arguments.kw_defaults.append(ast.Constant(None))
        keyword_only[alias] = None
    arguments.defaults = [ast.Constant(None) for _ in values]  # what they are is not in the code
    return tuple(values), keyword_only or None
