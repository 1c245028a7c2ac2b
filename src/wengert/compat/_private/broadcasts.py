"""``torch.nn.parallel._functions``: copies of tensors on several GPUs, of which there are none."""

from __future__ import annotations

from typing import Any

from wengert.autograd import Function


class Broadcast(Function):
    """Raises AssertionError, as it does for tensors that are not on a GPU."""

    @staticmethod
    def forward(ctx: Any, target_gpus: Any, *inputs: Any) -> Any:
        """Refuse tensors of the CPU."""
        raise AssertionError("Broadcast function not implemented for CPU tensors")


__all__ = ["Broadcast"]
