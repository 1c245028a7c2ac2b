"""``theano.scan_module.scan_op``: loops, as the operations of graphs."""

from wengert.symbolic.looping import Loop as Scan

__all__ = ["Scan"]
