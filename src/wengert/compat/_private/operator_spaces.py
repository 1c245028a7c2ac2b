"""``torch.ops``: the namespace of operators of functions, in front of those of operations."""

from wengert.compat._private.higher_order import higher_order

__all__ = ["higher_order"]
