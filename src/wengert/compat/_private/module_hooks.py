"""``torch.utils.hooks``: what stands behind the hooks of modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.nn.module.backward import HookedCall


class BackwardHook:
    """One call of a module whose hooks see the gradients that enter and leave it."""

    def __init__(
        self,
        module: Any,
        user_hooks: Sequence[Callable[..., Any]],
        user_pre_hooks: Sequence[Callable[..., Any]],
    ) -> None:
        self._call = HookedCall(module, [*user_hooks], [*user_pre_hooks])

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments with which the module is to be called."""
        return self._call.watch_inputs(args)

    def setup_output_hook(self, args: Any) -> Any:
        """The result that takes the place of the module's."""
        return self._call.watch_outputs(args)


__all__ = ["BackwardHook"]
