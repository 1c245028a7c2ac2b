"""``theano.scan_module``: loops by the names of that package."""

from wengert.symbolic.cloning import clone as clone
from wengert.symbolic.scan_module import scan_op as scan_op
from wengert.symbolic.scan_module import scan_utils as scan_utils
from wengert.symbolic.scan_module.scan_checkpoints import scan_checkpoints as scan_checkpoints
from wengert.symbolic.scanning import foldl as foldl
from wengert.symbolic.scanning import foldr as foldr
from wengert.symbolic.scanning import map as map
from wengert.symbolic.scanning import reduce as reduce
from wengert.symbolic.scanning import scan as scan
from wengert.symbolic.scanning import until as until
from wengert.symbolic.updates import OrderedUpdates as OrderedUpdates

__all__ = [
    "OrderedUpdates",
    "clone",
    "foldl",
    "foldr",
    "map",
    "reduce",
    "scan",
    "scan_checkpoints",
    "scan_op",
    "scan_utils",
    "until",
]
