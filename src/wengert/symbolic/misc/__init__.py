"""``theano.misc``: whether values share memory, and small containers, files of
arrays and pickles."""

from wengert.symbolic.misc import frozendict as frozendict
from wengert.symbolic.misc import may_share_memory as may_share_memory
from wengert.symbolic.misc import ordered_set as ordered_set
from wengert.symbolic.misc import pkl_utils as pkl_utils

__all__ = ["frozendict", "may_share_memory", "ordered_set", "pkl_utils"]
