"""``theano.tensor.signal``: pooling, and convolutions of images without channels."""

from wengert.symbolic.tensor.signal import conv as conv
from wengert.symbolic.tensor.signal import pool as downsample
from wengert.symbolic.tensor.signal import pool as pool

__all__ = ["conv", "downsample", "pool"]
