"""One test for each value of its parameters."""

from __future__ import annotations

import functools
import inspect
import itertools
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from wengert.core.dtypes import dtype

_Test = Callable[..., Any]
_Decorator = Callable[[_Test], _Test]


class Case(NamedTuple):
    """What one test of many is called, which arguments it gets, and what decorates it.

    A `subject` is what it is about, and knows further decorators: `get_decorators`.
    """

    name: str
    arguments: dict[str, Any]
    decorators: tuple[_Decorator, ...] = ()
    subject: Any = None

    def beside(self, other: Case) -> Case:
        """The case of both parameters at once."""
        both = self.arguments.keys() & other.arguments.keys()
        if both:
            raise RuntimeError(f"parametrize: several decorators set the argument {min(both)!r}")
        name = "_".join(filter(None, (self.name, other.name)))
        decorators = self.decorators + other.decorators
        subject = self.subject or other.subject
        return Case(name, self.arguments | other.arguments, decorators, subject)


def cases_of(test: _Test) -> list[Case]:
    """Every combination of what the decorators of a test give its parameters."""
    makers = getattr(test, "case_makers", ())
    combinations = itertools.product(*(list(maker(test)) for maker in reversed(makers)))
    return [functools.reduce(Case.beside, cases, Case("", {})) for cases in combinations]


def is_parametrized(test: _Test) -> bool:
    """Whether a test stands for several."""
    return bool(getattr(test, "case_makers", ()))


class _TestParametrizer:
    """A decorator whose `_cases` yields the cases of a test."""

    def __call__(self, fn: _Test) -> _Test:
        makers = (*getattr(fn, "case_makers", ()), self._cases)
        fn.case_makers = makers  # type: ignore[attr-defined]
        return fn

    def _cases(self, test: _Test) -> Iterator[Case]:
        raise NotImplementedError


class subtest:
    """The values of one case, with a name or decorators of its own."""

    def __init__(
        self, arg_values: Any, name: str | None = None, decorators: Iterable[_Decorator] = ()
    ) -> None:
        self.arg_values, self.name, self.decorators = arg_values, name, tuple(decorators)


class parametrize(_TestParametrizer):
    """Run a test once for each of `arg_values`.

    `arg_str` is a name, or several separated by commas, and then each value is a tuple. A
    `name_fn` names the tests.
    """

    def __init__(
        self, arg_str: str, arg_values: Iterable[Any], name_fn: Callable[..., str] | None = None
    ) -> None:
        self.arg_names = [name.strip() for name in arg_str.split(",") if name.strip()]
        self.arg_values, self.name_fn = arg_values, name_fn

    def _cases(self, test: _Test) -> Iterator[Case]:
        values = list(self.arg_values)
        if not values:
            raise ValueError(f"{test.__name__}: argument 'arg_values' of parametrize is empty")
        for i, value in enumerate(values):
            case = value if isinstance(value, subtest) else subtest(value)
            several = len(self.arg_names) > 1
            arguments = case.arg_values if several else [case.arg_values]
            if len(arguments) != len(self.arg_names):
                raise RuntimeError(
                    f"{test.__name__}: parametrize names {len(self.arg_names)} arguments,"
                    f" {', '.join(self.arg_names)}, and case {i} has {len(arguments)} values"
                )
            yield Case(
                case.name or self._name(i, arguments),
                dict(zip(self.arg_names, arguments, strict=True)),
                case.decorators,
            )

    def _name(self, i: int, values: Sequence[Any]) -> str:
        if self.name_fn is not None:
            return self.name_fn(*values)
        return "_".join(_word(n, v, i) for n, v in zip(self.arg_names, values, strict=True))


def _word(name: str, value: Any, i: int) -> str:
    """What a value adds to the name of its test."""
    if isinstance(value, dtype):
        return value.name
    if isinstance(value, bool | int | float | str):
        return f"{name}_{str(value).replace('.', '_')}"
    return f"{name}{i}"


class reparametrize(_TestParametrizer):
    """The cases of another decorator, each replaced by those that `adapter_fn` makes of it.

    It gets the name and the arguments of a case and gives pairs of both, or None for no case.
    """

    def __init__(
        self, parametrizer: _TestParametrizer,
        adapter_fn: Callable[[str, dict[str, Any]], Iterable[Any] | None],
    ) -> None:  # fmt: skip
        self.parametrizer, self.adapter_fn = parametrizer, adapter_fn

    def _cases(self, test: _Test) -> Iterator[Case]:
        for case in self.parametrizer._cases(test):
            for pair in self.adapter_fn(case.name, case.arguments) or ():
                if pair is not None:
                    name, arguments = pair
                    yield Case(name, arguments, case.decorators, case.subject)


class decorateIf(_TestParametrizer):
    """Decorate the cases of which `predicate_fn` is true, which gets their arguments."""

    def __init__(
        self, decorator: _Decorator, predicate_fn: Callable[[dict[str, Any]], bool]
    ) -> None:
        self.decorator, self.predicate_fn = decorator, predicate_fn

    def __call__(self, fn: _Test) -> _Test:
        conditions = (*getattr(fn, "conditional_decorators", ()), self)
        fn.conditional_decorators = conditions  # type: ignore[attr-defined]
        return fn


def written_test(test: _Test, name: str, case: Case, **more: Any) -> _Test:
    """The test of one case, under its own name."""

    @functools.wraps(test)
    def run(self: unittest.TestCase, *args: Any, **kwargs: Any) -> Any:
        return test(self, *args, **more, **case.arguments, **kwargs)

    run.__name__ = name
    del run.__wrapped__  # pytest would take its parameters for fixtures
    decorated: _Test = run
    for decorator in case.decorators:
        decorated = decorator(decorated)
    for condition in getattr(test, "conditional_decorators", ()):
        if condition.predicate_fn(case.arguments | more):
            decorated = condition.decorator(decorated)
    return decorated


def add_test(cls: type, test: _Test) -> None:
    """Put a test into a class, where no other may have its name."""
    if test.__name__ in vars(cls):
        raise RuntimeError(f"{cls.__name__} has two tests called {test.__name__}")
    setattr(cls, test.__name__, test)


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Replace each parametrized test of a class by one test a case."""
    for name, test in list(vars(generic_cls).items()):
        if inspect.isfunction(test) and is_parametrized(test):
            delattr(generic_cls, name)
            for case in cases_of(test):
                if case.subject is not None:
                    raise RuntimeError(
                        f"{name} goes through operations, modules or optimizers: use"
                        " instantiate_device_type_tests() for its class"
                    )
                add_test(generic_cls, written_test(test, f"{name}_{case.name}", case))
    return generic_cls


__all__ = [
    "_TestParametrizer", "decorateIf", "instantiate_parametrized_tests", "parametrize",
    "reparametrize", "subtest",
]  # fmt: skip
