"""``theano.gof``: graphs, operations and types by the names of that package."""

from wengert.symbolic import graph as type
from wengert.symbolic.gof import graph as graph
from wengert.symbolic.gof import op as op
from wengert.symbolic.gof import utils as utils
from wengert.symbolic.graph import Apply as Apply
from wengert.symbolic.graph import Constant as Constant
from wengert.symbolic.graph import Generic as Generic
from wengert.symbolic.graph import MethodNotDefinedError as MethodNotDefined
from wengert.symbolic.graph import Op as Op
from wengert.symbolic.graph import Type as Type
from wengert.symbolic.graph import Variable as Variable

generic = Generic()
PureOp = Op
"""An operation without C code, as all are here."""

__all__ = [
    "Apply",
    "Constant",
    "Generic",
    "MethodNotDefined",
    "Op",
    "PureOp",
    "Type",
    "Variable",
    "generic",
    "graph",
    "op",
    "type",
    "utils",
]
