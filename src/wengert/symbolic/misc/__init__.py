"""``theano.misc``: whether values share memory, and small containers."""

from wengert.symbolic.misc import frozendict as frozendict
from wengert.symbolic.misc import may_share_memory as may_share_memory
from wengert.symbolic.misc import ordered_set as ordered_set

__all__ = ["frozendict", "may_share_memory", "ordered_set"]
