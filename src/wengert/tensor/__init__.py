"""Creation, methods and conversion of Tensors.

Creation (`creation.py`, `random.py`) takes Python data and returns Tensors; the private modules
bind methods to the class, each in its `bind()`: those declared by operations (`_methods.py`,
read it first), indexing, in-place forms, conversion, printing. The class itself is in
`core/tensor.py`, and the computations of its methods in `ops`.
"""

from types import ModuleType
from typing import TYPE_CHECKING

from wengert.core.device import OutOfMemoryError as OutOfMemoryError
from wengert.core.device import device as device
from wengert.core.dtypes import can_cast as can_cast
from wengert.core.dtypes import get_default_dtype as get_default_dtype
from wengert.core.dtypes import set_default_dtype as set_default_dtype
from wengert.core.info import finfo as finfo
from wengert.core.info import iinfo as iinfo
from wengert.core.layout import *
from wengert.tensor import (
    _attributes,
    _convert,
    _devices,
    _indexing,
    _legacy,
    _methods,
    _new,
    _public,
    _random_inplace,
    _removed,
    _resizing,
    gradients,
    printing,
    storages,
    swapping,
    wrappers,
)
from wengert.tensor._attributes import *
from wengert.tensor._convert import *
from wengert.tensor._legacy import *
from wengert.tensor._removed import *
from wengert.tensor.copies import *
from wengert.tensor.creation import *
from wengert.tensor.lowrank import *
from wengert.tensor.printing import *
from wengert.tensor.random import *
from wengert.tensor.random_counts import *
from wengert.tensor.ranges import *
from wengert.tensor.storages import *
from wengert.tensor.windows import *

for _part in (_methods, _attributes, gradients, _convert, _devices, _indexing, _legacy, _new,
              _random_inplace, _removed, _resizing, printing, storages, swapping,
              wrappers):  # fmt: skip
    _part.bind()

_public.publish_functions({n: v for n, v in globals().items() if n[0] != "_"})
_public.publish_methods()

if not TYPE_CHECKING:  # what `wengert` takes from here; its own `random` is another module
    _own = {"ModuleType", "TYPE_CHECKING"}
    __all__ = [
        name
        for name, value in globals().items()
        if name[0] != "_" and name not in _own and not isinstance(value, ModuleType)
    ]
