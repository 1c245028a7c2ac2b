"""What the parameters and buffers of lazy modules have in common, for ``isinstance``."""

from wengert.nn.parameter import _Uninitialized as UninitializedTensorMixin

__all__ = ["UninitializedTensorMixin"]
