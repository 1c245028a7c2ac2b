"""``torch.profiler``: what it says about PyTorch's own profiler."""

from wengert.compat._private.autograd_switches import kineto_available as kineto_available

__all__ = ["kineto_available"]
