"""``torch._dynamo.test_case`` and ``torch._inductor.test_case``: tests that begin uncompiled."""

from __future__ import annotations

import importlib.util
from typing import Any

from wengert.compat._private.harness import cases
from wengert.compiler import reset


class UncompiledTestCase(cases.TestCase):
    """A test before and after which nothing is compiled."""

    __test__ = False

    def setUp(self) -> None:
        """Forget what is compiled."""
        super().setUp()
        reset()

    def tearDown(self) -> None:
        """Forget it again."""
        reset()
        super().tearDown()


def run_tests_with(needs: Any = ()) -> None:
    """Run the tests of the program; none where a module that it needs is not here."""
    wanted = (needs,) if isinstance(needs, str) else needs
    if all(importlib.util.find_spec(name) for name in wanted):
        cases.run_tests()


TestCase, run_tests = UncompiledTestCase, run_tests_with

__all__ = ["TestCase", "run_tests"]
