"""Comparing tensors in tests, and making some to test with.

`_close.py` pairs up values in nested containers and reports the greatest difference; `_make.py`
draws tensors of a given shape and dtype within bounds.
"""

from wengert.testing._close import assert_allclose as assert_allclose
from wengert.testing._close import assert_close as assert_close
from wengert.testing._make import make_tensor as make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
