"""``theano.misc``: whether values share memory."""

from wengert.symbolic.misc import may_share_memory as may_share_memory

__all__ = ["may_share_memory"]
