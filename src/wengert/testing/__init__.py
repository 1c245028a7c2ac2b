"""Comparing tensors in tests, and making some to test with."""

from wengert.testing._close import assert_allclose as assert_allclose
from wengert.testing._close import assert_close as assert_close
from wengert.testing._make import make_tensor as make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
