"""The Tensor's methods, creation, indexing, in-place forms, random numbers, printing."""

from wengert.tensor import _attributes, _autograd, _indexing, _methods
from wengert.tensor._creation import *

for _part in (_methods, _attributes, _autograd, _indexing):
    _part.bind()
