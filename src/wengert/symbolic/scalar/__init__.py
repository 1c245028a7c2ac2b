"""``theano.scalar``: operations on single elements, and the dtypes of their results."""

from wengert.symbolic.expressions.arithmetic import *
from wengert.symbolic.scalar import basic as basic
from wengert.symbolic.scalar import classes as basic_scipy
from wengert.symbolic.scalar import classes as classes
from wengert.symbolic.scalar.basic import *
from wengert.symbolic.scalar.classes import *
