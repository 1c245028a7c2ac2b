"""Define-then-run: expressions, their gradients, and functions compiled of them.

Names, semantics and habits are those of Theano 1.0. ``wengert.compat.install("theano")`` gives this
package to programs that say ``import theano``.

Variables of a type are combined to expressions (`tensor`), `grad` differentiates them, and
`function` compiles them. `graph.py` has variables and operations, `differentiation.py` the walk
back, `programs/` what is done to a graph before it runs, `looping.py` loops.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from wengert.symbolic import compat as compat
from wengert.symbolic import compile as compile
from wengert.symbolic import configparser as configparser
from wengert.symbolic import gof as gof
from wengert.symbolic import gradient as gradient
from wengert.symbolic import ifelse as ifelse
from wengert.symbolic import printing as printing
from wengert.symbolic import raise_op as raise_op
from wengert.symbolic import sandbox as sandbox
from wengert.symbolic import scalar as scalar
from wengert.symbolic import scan_module as scan_module
from wengert.symbolic import settings as configdefaults
from wengert.symbolic import tensor as tensor
from wengert.symbolic import tests as tests
from wengert.symbolic import version as version
from wengert.symbolic.cloning import clone as clone
from wengert.symbolic.cloning import map_variables as map_variables
from wengert.symbolic.differentiation import Lop as Lop
from wengert.symbolic.differentiation import Rop as Rop
from wengert.symbolic.differentiation import grad as grad
from wengert.symbolic.dtypes import asarray as _asarray
from wengert.symbolic.expressions.products import dot as dot
from wengert.symbolic.expressions.shapes import (
    get_scalar_constant_value as get_scalar_constant_value,
)
from wengert.symbolic.expressions.type import TensorConstant as TensorConstant
from wengert.symbolic.expressions.type import TensorType as TensorType
from wengert.symbolic.expressions.type import TensorVariable as TensorVariable
from wengert.symbolic.expressions.wrapped import Wrapped as Wrapped
from wengert.symbolic.functions import Function as Function
from wengert.symbolic.functions import In as In
from wengert.symbolic.functions import Maker as FunctionMaker
from wengert.symbolic.functions import Out as Out
from wengert.symbolic.functions import Param as Param
from wengert.symbolic.functions import function as function
from wengert.symbolic.functions import function_dump as function_dump
from wengert.symbolic.gof.fg import FunctionGraph as FunctionGraph
from wengert.symbolic.gof.fg import InconsistencyError as InconsistencyError
from wengert.symbolic.gof.link import CLinker as CLinker
from wengert.symbolic.gof.link import Container as Container
from wengert.symbolic.gof.link import DualLinker as DualLinker
from wengert.symbolic.gof.link import Linker as Linker
from wengert.symbolic.gof.link import LocalLinker as LocalLinker
from wengert.symbolic.gof.link import OpWiseCLinker as OpWiseCLinker
from wengert.symbolic.gof.link import PerformLinker as PerformLinker
from wengert.symbolic.gradient import sparse_grad as sparse_grad
from wengert.symbolic.gradient import subgraph_grad as subgraph_grad
from wengert.symbolic.graph import Apply as Apply
from wengert.symbolic.graph import Constant as Constant
from wengert.symbolic.graph import Generic as Generic
from wengert.symbolic.graph import Op as Op
from wengert.symbolic.graph import Type as Type
from wengert.symbolic.graph import Variable as Variable
from wengert.symbolic.modes import Mode as Mode
from wengert.symbolic.modes import predefined_modes as predefined_modes
from wengert.symbolic.printing import pp as pp
from wengert.symbolic.printing import pprint as pprint
from wengert.symbolic.profiles import ProfileStats as ProfileStats
from wengert.symbolic.program_ops import OpFromGraph as OpFromGraph
from wengert.symbolic.program_ops import as_op as as_op
from wengert.symbolic.scan_module.scan_checkpoints import scan_checkpoints as scan_checkpoints
from wengert.symbolic.scanning import foldl as foldl
from wengert.symbolic.scanning import foldr as foldr
from wengert.symbolic.scanning import map as map
from wengert.symbolic.scanning import reduce as reduce
from wengert.symbolic.scanning import scan as scan
from wengert.symbolic.settings import config as config
from wengert.symbolic.sharing import SharedVariable as SharedVariable
from wengert.symbolic.sharing import shared as shared
from wengert.symbolic.updates import OrderedUpdates as OrderedUpdates

__version__ = version.version
generic = Generic()
change_flags = config.change_flags


def __getattr__(name: str) -> _Any:
    # SciPy takes longer to import than everything else here; few programs have lists.
    if name in ("sparse", "typed_list", "misc"):
        return _import_module(f"wengert.symbolic.{name}")
    # `from theano import theano`: a package that imports itself has itself.
    if name == "theano":
        return _import_module(__name__)
    raise AttributeError(f"module 'wengert.symbolic' has no attribute {name!r}")
