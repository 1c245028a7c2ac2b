"""``theano.tensor.opt``: conditions that are checked when a function runs; rewrites by name."""

from __future__ import annotations

from wengert.symbolic.expressions.asserting import Assert as Assert
from wengert.symbolic.expressions.shapes import Length
from wengert.symbolic.expressions.shapes import MakeVector as MakeVector
from wengert.symbolic.expressions.shapes import NotScalarConstantError as NotScalarConstantError
from wengert.symbolic.expressions.shapes import ShapeError as ShapeError
from wengert.symbolic.expressions.shapes import (
    get_scalar_constant_value as get_scalar_constant_value,
)
from wengert.symbolic.gof.opt import copy_stack_trace as copy_stack_trace
from wengert.symbolic.gof.opt import in2out as in2out
from wengert.symbolic.gof.opt import local_optimizer as local_optimizer
from wengert.symbolic.gof.opt import out2in as out2in
from wengert.symbolic.gof.opt import register

assert_op = assert_ = Assert()
make_vector, Shape_i = MakeVector(), Length
register_canonicalize = register_specialize = register_stabilize = register
register_uncanonicalize = register_useless = register
