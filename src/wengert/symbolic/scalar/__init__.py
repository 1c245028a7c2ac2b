"""``theano.scalar``: operations on single elements, and the dtypes of their results."""

import sys as _sys

from wengert.symbolic.expressions.arithmetic import *
from wengert.symbolic.expressions.arithmetic import CONVERTERS as _converters  # noqa: N811
from wengert.symbolic.expressions.special import *
from wengert.symbolic.scalar import classes as classes
from wengert.symbolic.scalar.basic import *
from wengert.symbolic.scalar.basic import ScalarType as Scalar
from wengert.symbolic.scalar.classes import *

basic = basic_scipy = _sys.modules[__name__]
# `convert_to_float32` and its like.
globals().update(_converters)
