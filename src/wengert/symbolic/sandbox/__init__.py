"""``theano.sandbox``: the other random streams."""

from wengert.symbolic.sandbox import rng_mrg as rng_mrg
