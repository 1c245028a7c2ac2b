"""``theano.sandbox.linalg``: linear algebra by its earlier name."""

from wengert.symbolic.sandbox.linalg import ops as ops
from wengert.symbolic.sandbox.linalg.ops import *
