"""``theano.sparse.sandbox``."""

from wengert.symbolic.sparse.sandbox import sp2 as sp2
