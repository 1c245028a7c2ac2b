"""``theano.tensor.signal``: pooling."""

from wengert.symbolic.tensor.signal import pool as pool
