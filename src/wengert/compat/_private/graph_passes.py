"""``torch.fx.passes.infra``: passes over graph modules, and what runs them in order."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wengert.fx.graph_module import GraphModule

Pass = Callable[[GraphModule], Any]
Constraint = Callable[[Pass, Pass], bool]


class PassResult(NamedTuple):
    """What a pass gives: the module, and whether it is another program now."""

    graph_module: GraphModule
    modified: bool


class PassBase(ABC):
    """A pass: `call` rewrites, between two checks that do nothing by default."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Rewrite a module."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 (nothing, by default)
        """Raise where the pass cannot begin."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027 (nothing, by default)
        """Raise where the pass has gone wrong."""


class PassManager:
    """Runs passes in the order in which they were added, or one that constraints allow.

    Args:
        passes: give a `PassResult`, or None, each.
        constraints: of two passes, whether the first may run before the second.
        steps: how often all of them run; less often if nothing changes.
        run_checks_after_each_pass: whether `check` is called after each.
        suppress_check_failures: whether constraints that no order keeps are ignored.
    """

    def __init__(
        self, passes: Sequence[Pass] | None = None, constraints: Sequence[Constraint] | None = None,
        steps: int | None = None, run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:  # fmt: skip
        self.passes, self.constraints = [*(passes or ())], [*(constraints or ())]
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = not self.constraints
        self._check: Callable[[GraphModule], Any] | None = None

    def add_pass(self, _pass: Pass) -> None:
        """Add a pass behind the others."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def add_checks(self, check: Callable[[GraphModule], Any]) -> None:
        """Let a function be called after each pass."""
        self._check = check

    def check(self, module: GraphModule) -> None:
        """What `add_checks` was given, if it was."""
        if self._check is not None:
            self._check(module)

    def solve_constraints(self) -> None:
        """Put the passes in an order that keeps the constraints; RuntimeError if there is none."""
        left, ordered = [*self.passes], list[Pass]()
        while left:
            free = [p for p in left if all(self._may_precede(p, q) for q in left if q is not p)]
            if not free:
                if self.suppress_check_failures:
                    return
                names = [getattr(p, "__name__", type(p).__name__) for p in left]
                raise RuntimeError(f"Circular dependency detected within the passes: {names}")
            ordered.append(free[0])
            left.remove(free[0])
        self.passes, self._validated = ordered, True

    def _may_precede(self, first: Pass, second: Pass) -> bool:
        return all(constraint(first, second) for constraint in self.constraints)

    def __call__(self, module: GraphModule) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        overall = False
        for _ in range(self.steps):
            modified = False
            for one in self.passes:
                result = one(module)
                if not isinstance(result, PassResult | None):
                    raise TypeError(f"the pass {one} gave {result!r}, expected a PassResult")
                if result is not None:
                    module, modified = result.graph_module, modified or result.modified
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            overall = overall or modified
            if not modified:
                break
        return PassResult(module, overall)


def pass_result_wrapper(fn: Callable[..., Any] | None) -> Any:
    """A pass that gives a `PassResult`: of one that gives None, that it has changed the module."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm: GraphModule) -> PassResult:
        result = fn(gm)
        if isinstance(result, PassResult):
            return result
        if result is not None and not isinstance(result, GraphModule):
            raise TypeError(f"the pass {fn} gave {result!r}, expected a graph module")
        return PassResult(gm if result is None else result, True)

    return wrapped


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """The constraint that one pass does not run behind another."""
    return lambda a, b: not (a is that and b is this)


__all__ = [
    "PassBase", "PassManager", "PassResult", "pass_result_wrapper",
    "this_before_that_pass_constraint",
]  # fmt: skip
