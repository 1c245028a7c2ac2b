"""``theano.tensor.signal``: pooling."""

from wengert.symbolic.tensor.signal import pool as downsample
from wengert.symbolic.tensor.signal import pool as pool

__all__ = ["downsample", "pool"]
