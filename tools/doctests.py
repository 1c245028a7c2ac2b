"""Run the examples of every docstring, those of published operations included.

    python tools/doctests.py [MODULE ...]

Prints a JSON object: for every module with examples, the reports of those that fail.
Operations are functions with a namespace of their own, so that the finder of the standard
library takes them for imported ones and passes them over; here a name belongs to the module
that its `__module__` says.
"""

from __future__ import annotations

import doctest
import importlib
import io
import json
import os
import pkgutil
import sys
import warnings
import zlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import wengert

# As in tests/conftest.py: an example draws the same numbers in each run.
TEST_SEED = os.environ.get("TEST_SEED", "0")


def module_names() -> list[str]:
    """Every module of the package, private ones too; not those that run when imported."""
    found = [info.name for info in pkgutil.walk_packages(wengert.__path__, "wengert.")]
    return ["wengert", *(name for name in found if not name.endswith("__main__"))]


def documented(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module defines, and what its classes define, by dotted name."""
    yield module.__name__, module
    for name, value in list(vars(module).items()):
        if callable(value) and getattr(value, "__module__", None) == module.__name__:
            yield f"{module.__name__}.{name}", value
            if isinstance(value, type):
                yield from _members(f"{module.__name__}.{name}", value)


def _members(name: str, cls: type) -> Iterator[tuple[str, Any]]:
    """What the body of a class defines: Tensor's methods are bound from other modules."""
    for attribute, value in list(vars(cls).items()):
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        function = plain.fget if isinstance(plain, property) else plain
        if callable(function) and getattr(function, "__module__", None) == cls.__module__:
            yield f"{name}.{attribute}", plain


def failures(module: ModuleType) -> tuple[int, list[str]]:
    """How many examples a module has, and the reports of those that fail."""
    finder = doctest.DocTestFinder(recurse=False, exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    reports = []
    for name, value in documented(module):
        docstring = value.__doc__ if isinstance(value.__doc__, str) else ""
        if ">>>" not in docstring:
            continue
        for test in finder.find(value, name, module=False, globs={}):
            report = io.StringIO()
            wengert.manual_seed(zlib.crc32(f"{TEST_SEED} {name}".encode()))
            if runner.run(test, out=report.write).failed:
                reports.append(report.getvalue())
    return runner.tries, reports


def main() -> None:
    """Run the modules named on the command line, or all."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="wengert")
    results = {}
    for name in sys.argv[1:] or module_names():
        tried, reports = failures(importlib.import_module(name))
        if tried:
            results[name] = reports
    json.dump(results, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
