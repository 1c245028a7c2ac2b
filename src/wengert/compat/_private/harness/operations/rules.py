"""Samples of operations that a test skips, or expects to fail."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


def _any_sample(device: Any, sample: Any) -> bool:
    return True


@dataclass
class SampleRule:
    """Which samples of which operations are meant."""

    op_match_fn: Callable[[str, Any], bool] | None = None
    sample_match_fn: Callable[[Any, Any], bool] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.op_match_fn is None:
            raise ValueError(f"{type(self).__name__}: argument 'op_match_fn' is missing")
        self.sample_match_fn = self.sample_match_fn or _any_sample


@dataclass
class XFailRule(SampleRule):
    """They are expected to fail, with this error and text."""

    error_type: Any = Exception
    error_msg: str = ".*"
    type = "xfail"

    def get_context(self, test_case: Any) -> Any:
        """A context in which the error is expected."""
        return test_case.assertRaisesRegex(self.error_type, self.error_msg)


@dataclass
class SkipRule(SampleRule):
    """They are skipped."""

    type = "skip"

    @contextlib.contextmanager
    def get_context(self, test_case: Any) -> Iterator[None]:
        """A context that skips."""
        test_case.skipTest(f"skipped by the rule {self.name!r}")
        yield


class sample_skips_and_xfails:
    """Give a test its rules."""

    def __init__(self, rules: Any) -> None:
        self.rules = rules

    def __call__(self, fn: Any) -> Any:
        if hasattr(fn, "sample_skips_and_xfails"):
            raise RuntimeError(f"{fn.__name__} has rules already")
        fn.sample_skips_and_xfails = self.rules
        return fn


__all__ = ["SampleRule", "SkipRule", "XFailRule", "sample_skips_and_xfails"]
