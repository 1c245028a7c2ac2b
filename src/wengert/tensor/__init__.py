"""The Tensor's methods, creation, indexing, in-place forms, random numbers, printing."""

from wengert._device import OutOfMemoryError as OutOfMemoryError
from wengert._device import device as device
from wengert._dtypes import can_cast as can_cast
from wengert._dtypes import get_default_dtype as get_default_dtype
from wengert._dtypes import set_default_dtype as set_default_dtype
from wengert._info import finfo as finfo
from wengert._info import iinfo as iinfo
from wengert._layout import *
from wengert.tensor import (
    _attributes,
    _autograd,
    _convert,
    _indexing,
    _legacy,
    _methods,
    _new,
    _print,
    _random_inplace,
    _removed,
    _resizing,
    _storages,
)
from wengert.tensor._attributes import *
from wengert.tensor._convert import *
from wengert.tensor._creation import *
from wengert.tensor._legacy import *
from wengert.tensor._print import *
from wengert.tensor._random import *
from wengert.tensor._random_counts import *
from wengert.tensor._ranges import *
from wengert.tensor._removed import *
from wengert.tensor._storages import *
from wengert.tensor._windows import *

for _part in (_methods, _attributes, _autograd, _convert, _indexing, _legacy, _new, _print,
              _random_inplace, _removed, _resizing, _storages):  # fmt: skip
    _part.bind()
