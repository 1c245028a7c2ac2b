"""``theano.sparse.sandbox``."""
