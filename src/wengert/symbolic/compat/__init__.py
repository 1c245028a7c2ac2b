"""``theano.compat``: names for both major versions of Python, which are those of Python 3."""

from collections import OrderedDict as OrderedDict
from itertools import zip_longest as izip_longest
from operator import truediv as operator_div

from wengert.symbolic.compat import python2x as python2x

PY3 = True
izip, imap, ifilter, xrange = zip, map, filter, range
integer_types: tuple[type, ...] = (int,)
string_types = str

__all__ = [
    "PY3",
    "OrderedDict",
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
