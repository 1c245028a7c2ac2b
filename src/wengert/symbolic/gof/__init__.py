"""``theano.gof``: graphs, operations and types by the names of that package."""

from wengert.symbolic import graph as type
from wengert.symbolic.gof import compilelock as compilelock
from wengert.symbolic.gof import fg as fg
from wengert.symbolic.gof import graph as graph
from wengert.symbolic.gof import link as link
from wengert.symbolic.gof import op as op
from wengert.symbolic.gof import opt as opt
from wengert.symbolic.gof import optdb as optdb
from wengert.symbolic.gof import params_type as params_type
from wengert.symbolic.gof import sched as sched
from wengert.symbolic.gof import toolbox as toolbox
from wengert.symbolic.gof import utils as utils
from wengert.symbolic.gof import vm as vm
from wengert.symbolic.gof.fg import FunctionGraph as FunctionGraph
from wengert.symbolic.gof.fg import InconsistencyError as InconsistencyError
from wengert.symbolic.gof.fg import MissingInputError as MissingInputError
from wengert.symbolic.gof.link import CLinker as CLinker
from wengert.symbolic.gof.link import Container as Container
from wengert.symbolic.gof.link import DualLinker as DualLinker
from wengert.symbolic.gof.link import Linker as Linker
from wengert.symbolic.gof.link import LocalLinker as LocalLinker
from wengert.symbolic.gof.link import OpWiseCLinker as OpWiseCLinker
from wengert.symbolic.gof.link import PerformLinker as PerformLinker
from wengert.symbolic.gof.link import WrapLinker as WrapLinker
from wengert.symbolic.gof.opt import EquilibriumOptimizer as EquilibriumOptimizer
from wengert.symbolic.gof.opt import LocalOptGroup as LocalOptGroup
from wengert.symbolic.gof.opt import LocalOptimizer as LocalOptimizer
from wengert.symbolic.gof.opt import MergeOptimizer as MergeOptimizer
from wengert.symbolic.gof.opt import NavigatorOptimizer as NavigatorOptimizer
from wengert.symbolic.gof.opt import OpKeyOptimizer as OpKeyOptimizer
from wengert.symbolic.gof.opt import OpRemove as OpRemove
from wengert.symbolic.gof.opt import OpSub as OpSub
from wengert.symbolic.gof.opt import Optimizer as Optimizer
from wengert.symbolic.gof.opt import PatternSub as PatternSub
from wengert.symbolic.gof.opt import SeqOptimizer as SeqOptimizer
from wengert.symbolic.gof.opt import TopoOptimizer as TopoOptimizer
from wengert.symbolic.gof.opt import inplace_optimizer as inplace_optimizer
from wengert.symbolic.gof.opt import local_optimizer as local_optimizer
from wengert.symbolic.gof.opt import optimizer as optimizer
from wengert.symbolic.gof.optdb import DB as DB
from wengert.symbolic.gof.optdb import EquilibriumDB as EquilibriumDB
from wengert.symbolic.gof.optdb import LocalGroupDB as LocalGroupDB
from wengert.symbolic.gof.optdb import Query as Query
from wengert.symbolic.gof.optdb import SequenceDB as SequenceDB
from wengert.symbolic.gof.params_type import EnumList as EnumList
from wengert.symbolic.gof.params_type import EnumType as EnumType
from wengert.symbolic.gof.params_type import Params as Params
from wengert.symbolic.gof.params_type import ParamsType as ParamsType
from wengert.symbolic.gof.toolbox import Feature as Feature
from wengert.symbolic.gof.toolbox import NodeFinder as NodeFinder
from wengert.symbolic.gof.toolbox import ReplaceValidate as ReplaceValidate
from wengert.symbolic.gof.utils import hashtype as hashtype
from wengert.symbolic.graph import Apply as Apply
from wengert.symbolic.graph import Constant as Constant
from wengert.symbolic.graph import Generic as Generic
from wengert.symbolic.graph import MethodNotDefinedError as MethodNotDefined
from wengert.symbolic.graph import Op as Op
from wengert.symbolic.graph import PureOp as PureOp
from wengert.symbolic.graph import Type as Type
from wengert.symbolic.graph import Variable as Variable

generic = Generic()

__all__ = [
    "DB",
    "Apply",
    "CLinker",
    "Constant",
    "Container",
    "DualLinker",
    "EnumList",
    "EnumType",
    "EquilibriumDB",
    "EquilibriumOptimizer",
    "Feature",
    "FunctionGraph",
    "Generic",
    "InconsistencyError",
    "Linker",
    "LocalGroupDB",
    "LocalLinker",
    "LocalOptGroup",
    "LocalOptimizer",
    "MergeOptimizer",
    "MethodNotDefined",
    "MissingInputError",
    "NavigatorOptimizer",
    "NodeFinder",
    "Op",
    "OpKeyOptimizer",
    "OpRemove",
    "OpSub",
    "OpWiseCLinker",
    "Optimizer",
    "Params",
    "ParamsType",
    "PatternSub",
    "PerformLinker",
    "PureOp",
    "Query",
    "ReplaceValidate",
    "SeqOptimizer",
    "SequenceDB",
    "TopoOptimizer",
    "Type",
    "Variable",
    "WrapLinker",
    "compilelock",
    "fg",
    "generic",
    "graph",
    "hashtype",
    "inplace_optimizer",
    "link",
    "local_optimizer",
    "op",
    "opt",
    "optdb",
    "optimizer",
    "params_type",
    "sched",
    "toolbox",
    "type",
    "utils",
    "vm",
]
