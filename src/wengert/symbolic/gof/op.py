"""``theano.gof.op``: operations, and the test values of variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.graph import Op as Op
from wengert.symbolic.graph import PureOp as PureOp
from wengert.symbolic.graph import TestValueError, Variable, value_for_test
from wengert.symbolic.settings import config


def get_test_value(v: Any) -> Any:
    """The test value of a variable, or of what can be made one.

    Raises AttributeError if there is none.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.gof.op import get_test_value
    >>> x = T.dscalar("x")
    >>> x.tag.test_value = 2.0
    >>> get_test_value(x)
    array(2.)
    """
    return value_for_test(v if isinstance(v, Variable) else as_tensor_variable(v))


def get_debug_values(*args: Any) -> Iterator[list[Any]]:
    """Once the test values of some variables; nothing if they are off or one has none."""
    if config.compute_test_value == "off":
        return
    try:
        yield [get_test_value(v) for v in args]
    except TestValueError:
        if config.compute_test_value == "raise":
            raise


def missing_test_message(msg: str) -> None:
    """Say that a test value is missing, as `config.compute_test_value` asks."""
    action = config.compute_test_value
    if action == "raise":
        raise TestValueError(msg)
    if action == "warn":
        import warnings

        warnings.warn(msg, stacklevel=2)
