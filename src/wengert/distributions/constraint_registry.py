"""Transforms from all real numbers onto what a constraint allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.distributions import constraints, transforms
from wengert.distributions.constraints import Constraint
from wengert.distributions.transforms import Transform

Factory = Callable[[Any], Transform]


class ConstraintRegistry(Constraint):
    """For classes of constraints, what makes the transform onto one of them.

    >>> from wengert.distributions import constraints, transform_to
    >>> transform_to(constraints.unit_interval)
    SigmoidTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Let `factory` make the transforms onto constraints of this class; also a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got"
                f" {constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """The transform onto a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints: no factory is"
                " registered for them"
            )
        return factory(constraint)


# Onto a set and back, uniquely; and onto a set by the simplest way, unique or not.
biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Factory], Factory]:
    def register(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_both(constraints.real)
def _onto_real(constraint: Any) -> Transform:
    return transforms.identity_transform


@_both(constraints.positive, constraints.nonnegative)
def _onto_above(constraint: Any) -> Transform:
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@_both(constraints.less_than)
def _onto_below(constraint: Any) -> Transform:
    shift = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@_both(constraints.interval, constraints.half_open_interval)
def _onto_between(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    sigmoid = transforms.SigmoidTransform()
    if isinstance(low, int | float) and isinstance(high, int | float) and (low, high) == (0, 1):
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])


@_both(constraints.corr_cholesky)
def _onto_correlations(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda _: transforms.PositiveDefiniteTransform())


def _register_combined(registry: ConstraintRegistry) -> None:
    """Constraints made of others, whose transforms the same registry has."""

    def independent(constraint: Any) -> Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    def cat(constraint: Any) -> Transform:
        pieces = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(pieces, constraint.dim, constraint.lengths)

    def stack(constraint: Any) -> Transform:
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)

    registry.register(constraints.independent, independent)
    registry.register(constraints.cat, cat)
    registry.register(constraints.stack, stack)


_register_combined(biject_to)
_register_combined(transform_to)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
