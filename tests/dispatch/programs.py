"""The same programs on both libraries, and modes that write down what they see."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import wengert
import wengert.nn.functional
from wengert.dispatch import ops
from wengert.utils import _python_dispatch, flop_counter, module_tracker


def ours() -> Any:
    """The names that programs use, of wengert."""
    return SimpleNamespace(
        lib=wengert, nn=wengert.nn, F=wengert.nn.functional, ops=ops, library=wengert.library,
        dispatch=_python_dispatch, flops=flop_counter, tracker=module_tracker,
    )  # fmt: skip


def theirs(torch: Any) -> Any:
    """And of PyTorch."""
    utils = {
        name: importlib.import_module(f"torch.utils.{module}")
        for name, module in (
            ("dispatch", "_python_dispatch"),
            ("flops", "flop_counter"),
            ("tracker", "module_tracker"),
        )
    }
    return SimpleNamespace(
        lib=torch, nn=torch.nn, F=torch.nn.functional, ops=torch.ops, library=torch.library, **utils
    )


def described(value: Any) -> Any:
    """An argument, with shapes in the place of tensors."""
    if isinstance(value, list | tuple):
        return [described(v) for v in value]
    return tuple(value.shape) if hasattr(value, "shape") else value


def logged(names: Any, program: Any) -> list[Any]:
    """The operations of a program and their positional arguments."""
    log: list[Any] = []

    class Log(names.dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append((str(func), described(args)))
            return func(*args, **(kwargs or {}))

    with Log():
        program()
    return log
