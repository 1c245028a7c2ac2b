"""``theano.compile``: functions, modes and shared variables by the names of that package."""

from wengert.symbolic import functions as function_module
from wengert.symbolic import modes as debugmode
from wengert.symbolic import modes as mode
from wengert.symbolic import modes as nanguardmode
from wengert.symbolic import program_ops as ops
from wengert.symbolic import sharing as sharedvalue
from wengert.symbolic.functions import Function as Function
from wengert.symbolic.functions import In as In
from wengert.symbolic.functions import In as Param
from wengert.symbolic.functions import In as SymbolicInput
from wengert.symbolic.functions import Maker as FunctionMaker
from wengert.symbolic.functions import Out as Out
from wengert.symbolic.functions import Out as SymbolicOutput
from wengert.symbolic.functions import UnusedInputError as UnusedInputError
from wengert.symbolic.functions import function as function
from wengert.symbolic.functions import pfunc as pfunc
from wengert.symbolic.graph import Op as Op
from wengert.symbolic.modes import DebugMode as DebugMode
from wengert.symbolic.modes import Mode as Mode
from wengert.symbolic.modes import MonitorMode as MonitorMode
from wengert.symbolic.modes import NanGuardMode as NanGuardMode
from wengert.symbolic.modes import get_default_mode as get_default_mode
from wengert.symbolic.modes import get_mode as get_mode
from wengert.symbolic.modes import predefined_modes as predefined_modes
from wengert.symbolic.program_ops import FromFunctionOp as FromFunctionOp
from wengert.symbolic.program_ops import OpFromGraph as OpFromGraph
from wengert.symbolic.program_ops import ViewOp as ViewOp
from wengert.symbolic.program_ops import as_op as as_op
from wengert.symbolic.program_ops import view_op as view_op
from wengert.symbolic.sharing import SharedVariable as SharedVariable
from wengert.symbolic.sharing import shared as shared
from wengert.symbolic.sharing import shared_constructor as shared_constructor

FAST_RUN, FAST_COMPILE = "FAST_RUN", "FAST_COMPILE"
