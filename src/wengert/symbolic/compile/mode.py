"""``theano.compile.mode``: modes, and the names of what they are made of."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.gof.link import (
    CLinker,
    Linker,
    OpWiseCLinker,
    PerformLinker,
)
from wengert.symbolic.gof.optdb import Query
from wengert.symbolic.gof.optdb import optdb as optdb
from wengert.symbolic.gof.vm import VM_Linker
from wengert.symbolic.modes import FAST_COMPILE as FAST_COMPILE
from wengert.symbolic.modes import FAST_RUN as FAST_RUN
from wengert.symbolic.modes import DebugMode as DebugMode
from wengert.symbolic.modes import Mode as Mode
from wengert.symbolic.modes import MonitorMode as MonitorMode
from wengert.symbolic.modes import NanGuardMode as NanGuardMode
from wengert.symbolic.modes import get_default_mode as get_default_mode
from wengert.symbolic.modes import get_mode as get_mode
from wengert.symbolic.modes import named_linkers, named_optimizers
from wengert.symbolic.modes import predefined_modes as predefined_modes
from wengert.symbolic.modes import register_mode as register_mode

OPT_NONE, OPT_MERGE = Query([]), Query(["merge"])
OPT_FAST_RUN, OPT_FAST_COMPILE = Query(["fast_run"]), Query(["fast_compile"])
OPT_FAST_RUN_STABLE = OPT_FAST_RUN.requiring("stable")
OPT_STABILIZE = Query(["fast_run"], position_cutoff=1.5000001)
OPT_O2, OPT_O3 = OPT_FAST_COMPILE.including("fusion"), OPT_FAST_RUN.excluding("inplace")
OPT_UNSAFE = OPT_O3.including("unsafe")

predefined_optimizers: dict[Any, Any] = {
    None: OPT_NONE,
    "None": OPT_NONE,
    "merge": OPT_MERGE,
    "o4": OPT_FAST_RUN,
    "o3": OPT_O3,
    "o2": OPT_O2,
    "o1": OPT_FAST_COMPILE,
    "unsafe": OPT_UNSAFE,
    "fast_compile": OPT_FAST_COMPILE,
    "fast_run": OPT_FAST_RUN,
    "fast_run_stable": OPT_FAST_RUN_STABLE,
    "stabilize": OPT_STABILIZE,
}
predefined_linkers: dict[str, Linker] = {
    "py": PerformLinker(),
    "c": CLinker(),
    "c|py": OpWiseCLinker(),
    "vm": VM_Linker(),
    "cvm": VM_Linker(),
    "vm_nogc": VM_Linker(allow_gc=False),
    "cvm_nogc": VM_Linker(allow_gc=False),
    "c|py_nogc": OpWiseCLinker(allow_gc=False),
}


def register_linker(name: str, linker: Any) -> None:
    """Give a linker a name for modes; ValueError if it is taken.

    >>> from wengert.symbolic import Mode, gof
    >>> from wengert.symbolic.compile.mode import register_linker
    >>> register_linker("plain", gof.PerformLinker())
    >>> Mode(linker="plain").linker
    'plain'
    """
    if name in predefined_linkers:
        raise ValueError(f"Linker name already taken: {name}")
    predefined_linkers[name] = named_linkers[name] = linker


def register_optimizer(name: str, opt: Any) -> None:
    """Give a query, or a rewrite of graphs, a name for modes; ValueError if it is taken.

    >>> from wengert.symbolic import Mode, gof
    >>> from wengert.symbolic.compile.mode import register_optimizer
    >>> register_optimizer("merging", gof.MergeOptimizer())
    >>> Mode(optimizer="merging").optimizer
    MergeOptimizer
    """
    if name in predefined_optimizers:
        raise ValueError(f"Optimizer name already taken: {name}")
    predefined_optimizers[name] = named_optimizers[name] = opt
