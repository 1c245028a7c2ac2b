"""``theano.compat``: names for both major versions of Python, which are those of Python 3."""

from collections import OrderedDict as OrderedDict
from io import BytesIO as BytesIO
from itertools import zip_longest as izip_longest
from operator import truediv as operator_div
from typing import Any

from wengert.symbolic.compat import python2x as python2x

PY3 = True
izip, imap, ifilter, xrange = zip, map, filter, range
integer_types: tuple[type, ...] = (int,)
string_types = str


def exc_message(e: BaseException) -> Any:
    """What an exception says: its first argument, or all of them where there are several."""
    return e.args[0] if len(e.args) == 1 else e.args


def cmp(a: Any, b: Any) -> int:
    """-1, 0 or 1: how two values compare."""
    return int(a > b) - int(a < b)


def decode(x: Any) -> Any:
    """Text, from bytes or text."""
    return x.decode() if isinstance(x, bytes) else x


__all__ = [
    "PY3",
    "BytesIO",
    "OrderedDict",
    "cmp",
    "decode",
    "exc_message",
    "ifilter",
    "imap",
    "integer_types",
    "izip",
    "izip_longest",
    "operator_div",
    "python2x",
    "string_types",
    "xrange",
]
