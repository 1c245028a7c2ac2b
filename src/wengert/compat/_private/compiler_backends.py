"""``torch._dynamo.backends``: how scripts make and register backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert import Tensor, device, float32
from wengert.compat._compilers import list_backends, lookup_backend, register_backend
from wengert.compiler import compile
from wengert.fx.joint import compiled_with_backward


def aot_autograd(
    *, fw_compiler: Callable[..., Any], bw_compiler: Callable[..., Any] | None = None,
    partition_fn: Callable[..., Any] | None = None, **options: Any,
) -> Callable[..., Any]:  # fmt: skip
    """A backend that has the forward and the backward of a graph compiled, each as a graph.

    They are of the library's own operations; `decompositions` are accepted.
    """

    def aot_backend(gm: Any, example_inputs: Any, **given: Any) -> Any:
        return compiled_with_backward(gm, example_inputs, fw_compiler, bw_compiler, partition_fn)

    return aot_backend


def device_from_inputs(example_inputs: Any) -> Any:
    """The device of the first tensor."""
    return next((x.device for x in example_inputs if isinstance(x, Tensor)), device("cpu"))


def dtype_from_inputs(example_inputs: Any) -> Any:
    """The dtype of the first tensor."""
    return next((x.dtype for x in example_inputs if isinstance(x, Tensor)), float32)


def fake_tensor_unsupported(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The backend as it is: example inputs have elements."""
    return fn


def register_experimental_backend(fn: Any = None) -> Any:
    """`register_backend`, for one that `list_backends` leaves out."""
    return register_backend(fn, tags=("experimental",))


def register_debug_backend(fn: Any = None) -> Any:
    """`register_backend`, for one that `list_backends` leaves out."""
    return register_backend(fn, tags=("debug",))


def inductor(gm: Any, example_inputs: Any, **options: Any) -> Any:
    """A backend: what `torch.compile` makes of a graph module by default."""
    return compile(gm)


compile_fx = inductor


__all__ = [
    "aot_autograd", "compile_fx", "device_from_inputs", "dtype_from_inputs",
    "fake_tensor_unsupported", "inductor", "list_backends", "lookup_backend", "register_backend",
    "register_debug_backend", "register_experimental_backend",
]  # fmt: skip
