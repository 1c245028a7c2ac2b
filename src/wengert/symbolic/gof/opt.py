"""``theano.gof.opt``: rewrites of graphs, as programs describe and register them."""

from __future__ import annotations

from wengert.symbolic.gof.equilibrium import EquilibriumOptimizer as EquilibriumOptimizer
from wengert.symbolic.gof.equilibrium import NavigatorOptimizer as NavigatorOptimizer
from wengert.symbolic.gof.equilibrium import OpKeyOptimizer as OpKeyOptimizer
from wengert.symbolic.gof.fg import InconsistencyError as InconsistencyError
from wengert.symbolic.gof.rewrites import FromFunctionLocalOptimizer as FromFunctionLocalOptimizer
from wengert.symbolic.gof.rewrites import FromFunctionOptimizer as FromFunctionOptimizer
from wengert.symbolic.gof.rewrites import LocalOptGroup as LocalOptGroup
from wengert.symbolic.gof.rewrites import LocalOptimizer as LocalOptimizer
from wengert.symbolic.gof.rewrites import MergeOptimizer as MergeOptimizer
from wengert.symbolic.gof.rewrites import OpRemove as OpRemove
from wengert.symbolic.gof.rewrites import OpSub as OpSub
from wengert.symbolic.gof.rewrites import Optimizer as Optimizer
from wengert.symbolic.gof.rewrites import PatternSub as PatternSub
from wengert.symbolic.gof.rewrites import SeqOptimizer as SeqOptimizer
from wengert.symbolic.gof.rewrites import TopoOptimizer as TopoOptimizer
from wengert.symbolic.gof.rewrites import copy_stack_trace as copy_stack_trace
from wengert.symbolic.gof.rewrites import enter as enter
from wengert.symbolic.gof.rewrites import in2out as in2out
from wengert.symbolic.gof.rewrites import local_optimizer as local_optimizer
from wengert.symbolic.gof.rewrites import merge_optimizer as merge_optimizer
from wengert.symbolic.gof.rewrites import optimizer as inplace_optimizer
from wengert.symbolic.gof.rewrites import optimizer as optimizer
from wengert.symbolic.gof.rewrites import out2in as out2in
from wengert.symbolic.gof.rewrites import register as register
from wengert.symbolic.gof.toolbox import ReplaceValidate as ReplaceValidate

__all__ = [
    "EquilibriumOptimizer",
    "FromFunctionLocalOptimizer",
    "FromFunctionOptimizer",
    "InconsistencyError",
    "LocalOptGroup",
    "LocalOptimizer",
    "MergeOptimizer",
    "NavigatorOptimizer",
    "OpKeyOptimizer",
    "OpRemove",
    "OpSub",
    "Optimizer",
    "PatternSub",
    "ReplaceValidate",
    "SeqOptimizer",
    "TopoOptimizer",
    "copy_stack_trace",
    "enter",
    "in2out",
    "inplace_optimizer",
    "local_optimizer",
    "merge_optimizer",
    "optimizer",
    "out2in",
    "register",
]
