"""Functions of any float, where those of `precise` and `special` are for some: the C library's."""

from __future__ import annotations

from wengert.kernels.jit.builtins import f32, f64, inline
from wengert.kernels.jit.libm import cos as c_cos
from wengert.kernels.jit.libm import fmod as c_fmod
from wengert.kernels.jit.libm import sin as c_sin


@inline
def far_sin(x: f32) -> f32:
    """The sine."""
    return f32(c_sin(f64(x)))


@inline
def far_cos(x: f32) -> f32:
    """The cosine."""
    return f32(c_cos(f64(x)))


@inline
def far_tan(x: f32) -> f32:
    """The tangent."""
    return f32(c_sin(f64(x)) / c_cos(f64(x)))


@inline
def far_fmod(x: f32, y: f32) -> f32:
    """The remainder of x by y, with the sign of x; it is exact."""
    return f32(c_fmod(f64(x), f64(y)))
