"""What the documentation says of names that are missing here, or differ from PyTorch's.

``differences.tsv`` is written from docs/differences.md by tools/differences.py.
"""

from __future__ import annotations

import functools
import os
from typing import NamedTuple


class Difference(NamedTuple):
    """How a function or class differs: a row of the page.

    >>> from wengert.compat.differences import differing_names
    >>> [(_, row)] = differing_names()["torch.det"]
    >>> row.pytorch, row.wengert
    ('0 where LU loses the cofactors', 'the cofactors')
    """

    subject: str
    pytorch: str
    wengert: str
    why: str


class Name(NamedTuple):
    """A name that a row is about, and the keywords that a call must have for it to matter.

    >>> from wengert.compat.differences import Name
    >>> Name("torch.load", frozenset({"weights_only"})).path
    'torch.load'
    """

    path: str
    keywords: frozenset[str]


@functools.cache
def _rows() -> list[list[str]]:
    path = os.path.join(os.path.dirname(__file__), "differences.tsv")
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if line[0] != "#"]


def _parsed(name: str) -> Name:
    path, _, keywords = name.rstrip(")").partition("(")
    return Name(path, frozenset(filter(None, keywords.split(","))))


def missing_names() -> dict[str, str]:
    """What to use instead of each name that the page lists as missing.

    >>> from wengert.compat.differences import missing_names
    >>> missing_names()["torch.dequantize"]
    'float32, float16 and bfloat16'
    """
    rows = [cells for kind, *cells in _rows() if kind == "missing"]
    return {name: instead for names, _, instead in rows for name in names.split()}


@functools.cache
def differing_names() -> dict[str, list[tuple[frozenset[str], Difference]]]:
    """The rows about each name, with the keywords that a call must have.

    >>> from wengert.compat.differences import differing_names
    >>> [keywords for keywords, _ in differing_names()["torch.load"]]
    [frozenset({'weights_only'})]
    """
    about: dict[str, list[tuple[frozenset[str], Difference]]] = {}
    for kind, names, *cells in _rows():
        if kind == "differs":
            for name in map(_parsed, names.split()):
                about.setdefault(name.path, []).append((name.keywords, Difference(*cells)))
    return about
