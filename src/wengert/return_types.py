"""``torch.return_types``: the named tuples that operations with several results return."""

from wengert.ops._results import _KINDS

globals().update(_KINDS)
