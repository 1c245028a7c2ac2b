"""``theano.sandbox``: the other random streams, and operations on matrices."""

from wengert.symbolic.sandbox import linalg as linalg
from wengert.symbolic.sandbox import rng_mrg as rng_mrg
from wengert.symbolic.tensor.nnet import blocksparse as blocksparse
from wengert.symbolic.tensor.nnet import neighbours as neighbours
