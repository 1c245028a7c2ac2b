"""The Kullback-Leibler divergence, by pairs of families."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from wengert.distributions.distribution import Distribution

Formula = Callable[[Any, Any], Any]

formulas: dict[tuple[type[Distribution], type[Distribution]], Formula] = {}
# By the classes of actual arguments, which may be subclasses of those that are registered.
resolved: dict[tuple[type, type], Formula | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """A decorator for the function that computes KL(p || q) for these classes.

    They need not be Distributions: bases that distributions of another library share will do.
    Among several that fit, the one for the closest classes counts.

    >>> from wengert.distributions import Normal, kl_divergence, register_kl
    >>> class Point(Normal): ...
    >>> @register_kl(Point, Normal)
    ... def kl(p, q):
    ...     return -q.log_prob(p.loc)
    >>> kl_divergence(Point(0.0, 1.0), Normal(0.0, 1.0))
    tensor(0.9189)
    """
    for name, family in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(family, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {family}")

    def register(function: Formula) -> Formula:
        formulas[type_p, type_q] = function
        resolved.clear()
        return function

    return register


def _closest(type_p: type, type_q: type) -> Formula | None:
    """The formula for two classes: the closest for p, and among those the closest for q."""
    fitting = [(a, b) for a, b in formulas if issubclass(type_p, a) and issubclass(type_q, b)]
    if not fitting:
        return None

    def distances(pair: tuple[type, type]) -> tuple[int, int]:
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    by_p = min(fitting, key=distances)
    by_q = min(fitting, key=lambda pair: distances(pair)[::-1])
    if formulas[by_p] is not formulas[by_q]:
        pairs = [f"{a.__name__}, {b.__name__}" for a, b in (by_p, by_q)]
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please"
            f" register_kl({type_p.__name__}, {type_q.__name__}): those of {pairs[0]} and of"
            f" {pairs[1]} both fit",
            RuntimeWarning,
            stacklevel=4,
        )
    return formulas[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The mean under p of ``log p(x) - log q(x)``.

    >>> from wengert.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
    tensor(0.5000)
    """
    types = type(p), type(q)
    if types not in resolved:
        resolved[types] = _closest(*types)
    formula = resolved[types]
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type"
            f" {q.__class__.__name__}"
        )
    return formula(p, q)


__all__ = ["kl_divergence", "register_kl"]
