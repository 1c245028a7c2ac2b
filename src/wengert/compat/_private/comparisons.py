"""``torch.testing._comparison``: the tolerances of dtypes."""

from wengert.testing.comparison import default_tolerances as default_tolerances

__all__ = ["default_tolerances"]
