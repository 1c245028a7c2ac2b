"""``wengert check``: what of torch a program uses that is missing here or differs.

`_usage.py` says what a file uses; here each name is looked up under the alias. The program itself
is not run.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.machinery
import inspect
import json
import os
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from wengert.cli._usage import Use, uses_of
from wengert.compat import missing_names, resolution, torch_names
from wengert.compat.differences import differing_names
from wengert.core.tensor import Tensor

# NumPy's names of arguments, which reductions take as well.
_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}
# Attributes by these names need not be tensors'.
_COMMON = (str, bytes, list, dict, set, tuple, int, float, np.ndarray, Path)


@dataclass(frozen=True)
class Finding:
    """One use that does not go as it does with PyTorch."""

    file: str
    line: int
    name: str
    kind: str  # "missing", "unknown" (to PyTorch too), "keyword" or "differs"
    text: str
    optional: bool = False  # the program tries, and goes on without it


@dataclass
class Summary:
    """What a check has seen."""

    files: int = 0
    names: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def fails(self) -> bool:
        """Whether the program uses something that is not there."""
        return any(f.kind != "differs" and not f.optional for f in self.findings)


def print_check(target: str, as_json: bool) -> int:
    """Check a script, a folder or an installed package, and print what there is to say."""
    files = list(_files(target))
    if not files:
        print(
            f"wengert check: {target!r} is no Python file, no folder with one, and no installed"
            " package",
            file=sys.stderr,
        )
        return 2
    summary = check_files(files)
    print(_json(summary) if as_json else _text(summary))
    return int(summary.fails)


def check_files(files: list[Path]) -> Summary:
    """Look at files, one by one."""
    summary = Summary()
    for path in files:
        try:
            with tokenize.open(path) as file:
                text = file.read()
            tree = ast.parse(text if "torch" in text else "", str(path))
        except (SyntaxError, ValueError, OSError) as error:
            summary.unread.append(f"{_shown(path)}: {error}")
            continue
        summary.files += 1
        seen = set()
        for use in uses_of(tree):
            if use.follows:
                summary.names.add(use.path)
            for finding in _findings(_shown(path), use):
                if (finding.line, finding.name, finding.kind) not in seen:
                    seen.add((finding.line, finding.name, finding.kind))
                    summary.findings.append(finding)
    return summary


def _files(target: str) -> Iterator[Path]:
    path = Path(target)
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from _below(path)
    else:
        yield from _package(target)


def _below(folder: Path) -> Iterator[Path]:
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(n for n in folders if n[0] != "." and n != "__pycache__")
        yield from (Path(path, name) for name in sorted(names) if name.endswith(".py"))


def _package(name: str) -> Iterator[Path]:
    """The files of an installed package or module, found without importing it."""
    places: list[str] | None = None
    for part in name.split("."):
        spec = importlib.machinery.PathFinder.find_spec(part, places)
        if spec is None:
            return
        places = list(spec.submodule_search_locations or [])
    if places:
        for place in places:
            yield from _below(Path(place))
    elif spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
        yield Path(spec.origin)


def _shown(path: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(path.resolve().relative_to(Path.cwd()))
    return str(path)


def _findings(file: str, use: Use) -> Iterator[Finding]:
    if not use.follows:
        if use.path in _missing_methods():
            name = f"torch.Tensor.{use.path}"
            yield Finding(
                file, use.line, name, "missing", missing_names.describe(name), use.optional
            )
        return
    value, path = _look_up(use.path)
    if value is None:
        kind = "missing" if torch_names.is_pytorchs(path) else "unknown"
        yield Finding(file, use.line, path, kind, missing_names.describe(path), use.optional)
        return
    for keyword in use.keywords or ():
        if not _takes(value[0], keyword):
            text = f"takes no argument {keyword!r} here"
            yield Finding(file, use.line, f"{path}({keyword})", "keyword", text, use.optional)
    for keywords, row in differing_names().get(path, ()):
        if not keywords or keywords & set(use.keywords or ()):
            text = f"{row.subject}: PyTorch: {row.pytorch or 'as here'}; here: {row.wengert}"
            yield Finding(file, use.line, path, "differs", text)


@cache
def _look_up(path: str) -> tuple[tuple[Any] | None, str]:
    """The value of a name in a tuple, None if it is not there; and how far the name leads."""
    answer = resolution.resolve(path)
    return ((answer.value,) if answer.exists else None), answer.path


@cache
def _missing_methods() -> frozenset[str]:
    """Attributes of PyTorch's tensors that wengert's lack, and that hardly are others'."""
    prefix = "torch.Tensor."
    names = {n.removeprefix(prefix) for n in missing_names.listed() if n.startswith(prefix)}
    common = {name for kind in _COMMON for name in dir(kind)}
    return frozenset(names - common - set(dir(Tensor)) - _AMBIGUOUS)


# Words that other libraries' objects have for methods, too.
_AMBIGUOUS = {"to_dense", "coalesce", "indices", "values", "xpu", "ipu"}


@cache
def _parameters(value: Any) -> frozenset[str] | None:
    """The names of a function's arguments; None where any are taken."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters)


def _takes(value: Any, keyword: str) -> bool:
    """Whether a call may name an argument."""
    if not callable(value) or getattr(value, "__hash__", None) is None:
        return True
    if keyword == "out" and hasattr(value, "op"):
        return bool(value.op.takes_out)
    names = _parameters(value)
    return names is None or keyword in names or _NUMPY_NAMES.get(keyword) in names


def _json(summary: Summary) -> str:
    data = {
        "files": summary.files,
        "names": sorted(summary.names),
        "unread": summary.unread,
        "findings": [asdict(finding) for finding in summary.findings],
    }
    return json.dumps(data, indent=2)


def _text(summary: Summary) -> str:
    lines = [f"{text} (not read)" for text in summary.unread]
    failing = [f for f in summary.findings if f.kind != "differs"]
    for finding in failing:
        trailer = " (the program goes on without it)" if finding.optional else ""
        lines.append(f"{finding.file}:{finding.line}: {finding.name}: {finding.text}{trailer}")
    notes: dict[tuple[str, str], list[Finding]] = {}
    for finding in summary.findings:
        if finding.kind == "differs":
            notes.setdefault((finding.name, finding.text), []).append(finding)
    for (name, text), same in notes.items():
        more = f" and {len(same) - 1} more" if same[1:] else ""
        lines.append(f"{same[0].file}:{same[0].line}{more}: note: {name} differs: {text}")
    missing = len({f.name for f in failing if not f.optional})
    optional = len({f.name for f in failing if f.optional})
    files = "1 file" if summary.files == 1 else f"{summary.files} files"
    lines.append(
        f"{files}, {len(summary.names)} names of torch: {missing} missing"
        + (f", {optional} more that the program can do without" if optional else "")
        + f"; {len(notes)} {'note' if len(notes) == 1 else 'notes'} on differences"
    )
    return "\n".join(lines)
