"""``wengert show``: what an operation saves, and the functions that were written for it."""

from __future__ import annotations

import difflib
import inspect
import sys
from types import FunctionType

import wengert
from wengert.ops.op import REGISTRY, NodeLayout, Op
from wengert.ops.publish import source_of


def print_operation(name: str | None) -> int:
    """Print an operation, or the names of all; returns the exit code."""
    if name is None:
        print("\n".join(sorted(REGISTRY)))
        return 0
    bare = name.rpartition(".")[2]
    op = REGISTRY.get(bare)
    if op is not None:
        print(_describe(op))
        return 0
    composite = getattr(wengert, bare, None)
    if inspect.isfunction(composite):
        print(_describe_composite(composite))
        return 0
    close = difflib.get_close_matches(bare, REGISTRY, n=3)
    hint = f"; did you mean {', '.join(close)}?" if close else "; `wengert show` lists them"
    print(f"wengert show: no operation is called {name!r}{hint}", file=sys.stderr)
    return 1


def _describe(op: Op) -> str:
    code = op.declared.__code__
    location = f"{code.co_filename}:{code.co_firstlineno}"
    summary = (inspect.getdoc(op.declared) or "").partition("\n\n")[0].replace("\n", " ")
    head = [
        f"# {op.name}: {summary}",
        f"# {op.kind}, declared at {location}; its nodes are called {op.label}",
        *(f"# {text}" for text in _saves(op)),
    ]
    return "\n".join(head) + "\n\n\n" + source_of(op).rstrip("\n")


def _describe_composite(function: FunctionType) -> str:
    used = [name for name in function.__code__.co_names if name in REGISTRY]
    made_of = ", ".join(used) if used else "other functions"
    head = f"# {function.__name__} is made of {made_of}; it records nothing of its own"
    return f"{head}\n\n\n{inspect.getsource(function)}".rstrip("\n")


def _saves(op: Op) -> list[str]:
    """One sentence for each value that a node may keep."""
    layout = NodeLayout(op)
    if not layout.differentiable:
        return ["has no derivative and records nothing"]
    if not layout.readers:
        return ["saves nothing"]
    sentences = []
    for value, readers in layout.readers.items():
        kind = "" if value in layout.arrays else " (no array)"
        always = len(readers) == len(layout.differentiable)
        when = "" if always else f" if {' or '.join(readers)} wants a gradient"
        sentences.append(f"saves {value}{kind}{when}")
    return sentences
