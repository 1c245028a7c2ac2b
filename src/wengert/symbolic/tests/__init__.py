"""``theano.tests``: what tests of programs import."""

from wengert.symbolic.tests import unittest_tools as unittest_tools

__all__ = ["unittest_tools"]
