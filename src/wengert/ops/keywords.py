"""Keywords that functions take beside the arguments that they are written with.

They are NumPy's `axis` and `keepdims` (`numpy_names`) and `out` (`outputs`). Python has one name
for one argument, and whatever passes others on (`**kwargs`, a wrapper) costs every call. So they
are arguments of their own, and a test of constants in front of the body. For operations that is
generated with the rest of their text. A function written by hand is compiled again from its
source when it is first called, with the same lines in front; what `inspect` and type checkers see
is what is written.
"""

from __future__ import annotations
import __future__

from collections.abc import Iterable
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from wengert.core.forks import compile_lock
from wengert.ops import numpy_names, outputs
from wengert.ops.numpy_names import ALIASES

if TYPE_CHECKING:
    import ast


def extend(families: Iterable[ModuleType]) -> None:
    """Have the public functions of these modules take the keywords that PyTorch's take."""
    for family in families:
        in_ops = family.__name__.startswith("wengert.ops.")
        elsewhere = {*getattr(family, "METHODS", ()), *getattr(family, "IN_NAMESPACES", ())}
        for name in {*getattr(family, "__all__", vars(family)), *elsewhere}:
            function = getattr(family, name)
            if type(function) is not FunctionType:
                continue
            own = function.__module__ == family.__name__
            renames = own and not (in_ops and name in numpy_names.PLAIN)
            takes_out = name in outputs.TAKERS
            op = getattr(function, "op", None)
            if op is not None:
                op.numpy_names, op.takes_out = op.numpy_names or renames, op.takes_out or takes_out
                continue
            renames = renames and _may_be_renamed(function.__code__)
            if (renames or takes_out) and not hasattr(function, "__wrapped__"):
                _defer(function, renames, takes_out)


def _may_be_renamed(code: CodeType) -> bool:
    names = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
    return not names.isdisjoint(ALIASES) and names.isdisjoint(ALIASES.values())


def _stub(*args: Any, **kwargs: Any) -> Any:
    first: Any = "first call"  # a constant of each stub's own
    return first(args, kwargs)


def _defer(function: FunctionType, renames: bool, takes_out: bool) -> None:
    """Leave a stub in a function's place until it is called: an import has 200 of them."""
    written = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    written.__kwdefaults__ = function.__kwdefaults__
    written.__annotations__ = function.__annotations__
    written.__doc__, written.__module__ = function.__doc__, function.__module__
    first = partial(_first_call, function, written, renames, takes_out)
    constants = tuple([first if c == "first call" else c for c in _stub.__code__.co_consts])
    function.__wrapped__ = written  # type: ignore[attr-defined]
    function.__code__ = _stub.__code__.replace(co_consts=constants, co_name=function.__name__)


def _first_call(
    function: FunctionType, written: FunctionType, renames: bool, takes_out: bool, args: Any,
    kwargs: Any,
) -> Any:  # fmt: skip
    with compile_lock:
        if function.__code__.co_filename == _stub.__code__.co_filename:
            _compile(function, written, renames, takes_out)
    return function(*args, **kwargs)


def _compile(function: FunctionType, written: FunctionType, renames: bool, takes_out: bool) -> None:
    """Give the stub its body, with the keywords if the source is there and is what is running."""
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
        parameters = _Parameters(definition, written)
        guard = parameters.rename() if renames else ""
        if takes_out:
            guard = parameters.add_out() + guard
        _put_in_front(definition, guard)
        function.__defaults__, function.__kwdefaults__ = parameters.defaults_of_code()
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


class _Parameters:
    """The parameters of a definition, to which keywords are added."""

    def __init__(self, definition: ast.FunctionDef, written: FunctionType) -> None:
        self.name, self.arguments = written.__name__, definition.args
        own = written.__defaults__ or ()
        names = [a.arg for a in definition.args.args]
        self.positional: numpy_names.Defaults = dict.fromkeys(names, ...)
        self.positional |= dict(zip(names[len(names) - len(own) :], own, strict=True))
        self.keyword_only = dict(written.__kwdefaults__ or {})
        self.late: list[str] = []

    def rename(self) -> str:
        """Add NumPy's names; the lines that see to them."""
        guard = numpy_names.alias_guard(self.name, self.positional | self.keyword_only)
        self.late = numpy_names.needed(self.positional)
        for alias in [ALIASES[a] for a in numpy_names.renamed(self.positional)]:
            self.arguments.args.append(_argument(alias))
            self.positional[alias] = None
        for alias in [ALIASES[a] for a in numpy_names.renamed(self.keyword_only)]:
            self._add_keyword(alias)
        return guard

    def add_out(self) -> str:
        """Add `out`; the lines that see to it."""
        names, last = [*self.positional], self.arguments.vararg
        keywords = [a.arg for a in self.arguments.kwonlyargs]
        self._add_keyword("out")
        return outputs.out_guard(self.name, [*names, f"*{last.arg}"] if last else names, keywords)

    def _add_keyword(self, name: str) -> None:
        import ast

        self.arguments.kwonlyargs.append(_argument(name))
        self.arguments.kw_defaults.append(ast.Constant(None))
        self.keyword_only[name] = None

    def defaults_of_code(self) -> tuple[Any, Any]:
        """What `__defaults__` and `__kwdefaults__` have to be."""
        import ast

        values = [v for k, v in self.positional.items() if v is not ... or k in self.late]
        # What they are is not in the code.
        self.arguments.defaults = [ast.Constant(None) for _ in values]
        return tuple(values), self.keyword_only or None


def _argument(name: str) -> ast.arg:
    import ast

    return ast.arg(name)


def _put_in_front(definition: ast.FunctionDef, guard: str) -> None:
    """Put lines in front of the body, which keeps its own line numbers."""
    import ast

    lines = ast.parse(guard).body
    for line in lines:
        for node in ast.walk(line):
            ast.copy_location(node, definition)
    documented = ast.get_docstring(definition, clean=False) is not None
    definition.body[documented:documented] = lines
