"""Automatic differentiation: `backward`, `grad`, grad modes, hooks, custom functions.

Tensors with a recorded graph go in, gradients come out. Read `engine` first; `README.md` says
how a backward call proceeds. `custom`: `Function`. `saved`: saved values. `transforms`: `vmap` and
derivatives of functions. `_checks`: `gradcheck`. `profiling`: events of the profiler.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from wengert.autograd import _node_calls as _node_calls
from wengert.autograd._backward import backward as backward
from wengert.autograd._backward import grad as grad
from wengert.autograd.custom.function import Function as Function
from wengert.autograd.errors import GraphError as GraphError
from wengert.autograd.errors import GraphInUseError as GraphInUseError
from wengert.autograd.errors import GraphReleasedError as GraphReleasedError
from wengert.autograd.errors import NanGradientError as NanGradientError
from wengert.autograd.errors import NoGraphError as NoGraphError
from wengert.autograd.errors import NonScalarRootError as NonScalarRootError
from wengert.autograd.errors import SavedTensorOverwrittenError as SavedTensorOverwrittenError
from wengert.autograd.errors import UnusedInputError as UnusedInputError
from wengert.autograd.grad_mode import enable_grad as enable_grad
from wengert.autograd.grad_mode import inference_mode as inference_mode
from wengert.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from wengert.autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from wengert.autograd.grad_mode import no_grad as no_grad
from wengert.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from wengert.autograd.gradcheck import gradcheck as gradcheck
from wengert.autograd.gradcheck import gradgradcheck as gradgradcheck
from wengert.autograd.variable import Variable as Variable
from wengert.autograd.variable import variable as variable

# Loaded on first access.
_LAZY_MODULES = frozenset({
    "anomaly_mode", "forward_ad", "function", "functional", "graph", "profiler",
})  # fmt: skip
_LAZY_NAMES = {
    "detect_anomaly": "anomaly_mode",
    "set_detect_anomaly": "anomaly_mode",
    "OutsideContextError": "saved.mutation",
    "jac": "_losses",
}


def __getattr__(name: str) -> _Any:
    if name in _LAZY_NAMES:
        return getattr(_import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    if name in _LAZY_MODULES:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
