"""Comparing tensors in tests, and making some to test with.

`comparison.py` pairs up values in nested containers and reports the greatest difference; `_make.py`
draws tensors of a given shape and dtype within bounds.
"""

from wengert.testing._make import make_tensor as make_tensor
from wengert.testing.comparison import assert_allclose as assert_allclose
from wengert.testing.comparison import assert_close as assert_close

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
