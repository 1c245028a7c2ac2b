"""Transforms of functions, composable in any order: `grad`, `vmap`, `jacrev`, ...

Each takes a function of tensors, or of tuples, lists and dicts of them, and returns another.
Read `_derivatives` first; what it is built on is in `wengert.autograd.transforms`.
"""

from wengert.autograd.transforms.vmap import vmap as vmap
from wengert.func._derivatives import grad as grad
from wengert.func._derivatives import grad_and_value as grad_and_value
from wengert.func._derivatives import jvp as jvp
from wengert.func._derivatives import linearize as linearize
from wengert.func._derivatives import vjp as vjp
from wengert.func._jacobians import hessian as hessian
from wengert.func._jacobians import jacfwd as jacfwd
from wengert.func._jacobians import jacrev as jacrev
from wengert.func._modules import debug_unwrap as debug_unwrap
from wengert.func._modules import functional_call as functional_call
from wengert.func._modules import functionalize as functionalize
from wengert.func._modules import (
    replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
)
from wengert.func._modules import stack_module_state as stack_module_state
