"""Transforms, constraints and the registry of both."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.distributions import constraints, transforms


def tensors(lib: Any, *values: Any) -> list[Any]:
    return [lib.tensor(v, dtype=lib.float64) for v in values]


Maker = Callable[[Any, Any], Any]  # of a library and its `distributions.transforms`

TRANSFORMS: dict[str, tuple[Maker, tuple[int, ...]]] = {
    "abs": (lambda lib, t: t.AbsTransform(), (3,)),
    "affine": (lambda lib, t: t.AffineTransform(1.0, -2.0), (3,)),
    "affine-tensors": (lambda lib, t: t.AffineTransform(*tensors(lib, [1.0, 2.0], [0.5, -3.0]), 1),
                       (3, 2)),
    "cat": (lambda lib, t: t.CatTransform([t.ExpTransform(), t.TanhTransform()], 0, [1, 2]), (3,)),
    "cat-last": (lambda lib, t: t.CatTransform(
        [t.ExpTransform(), t.identity_transform], -1, [1, 2]), (2, 3)),
    "compose": (lambda lib, t: t.ComposeTransform(
        [t.TanhTransform(), t.AffineTransform(0.5, 2.0), t.ExpTransform()]), (3,)),
    "compose-event": (lambda lib, t: t.ComposeTransform(
        [t.AffineTransform(0.5, 2.0), t.StickBreakingTransform()]), (2, 3)),
    "correlations": (lambda lib, t: t.CorrCholeskyTransform(), (2, 6)),
    "cdf": (lambda lib, t: t.CumulativeDistributionTransform(
        lib.distributions.Normal(*tensors(lib, 0.5, 2.0))), (3,)),
    "exp": (lambda lib, t: t.ExpTransform(), (3,)),
    "identity": (lambda lib, t: t.identity_transform, (3,)),
    "independent": (lambda lib, t: t.IndependentTransform(t.ExpTransform(), 1), (2, 3)),
    "inverse": (lambda lib, t: t.ComposeTransform(
        [t.ExpTransform(), t.AffineTransform(0.0, 3.0)]).inv.inv, (3,)),
    "lower": (lambda lib, t: t.LowerCholeskyTransform(), (2, 3, 3)),
    "definite": (lambda lib, t: t.PositiveDefiniteTransform(), (2, 3, 3)),
    "power": (lambda lib, t: t.ComposeTransform(
        [t.ExpTransform(), t.PowerTransform(*tensors(lib, 1.7))]), (3,)),
    "reshape": (lambda lib, t: t.ReshapeTransform((2, 3), (6,)), (4, 2, 3)),
    "sigmoid": (lambda lib, t: t.SigmoidTransform(), (3,)),
    "softmax": (lambda lib, t: t.SoftmaxTransform(), (2, 3)),
    "softplus": (lambda lib, t: t.SoftplusTransform(), (3,)),
    "stack": (lambda lib, t: t.StackTransform([t.ExpTransform(), t.TanhTransform()], 1), (3, 2)),
    "stick": (lambda lib, t: t.StickBreakingTransform(), (2, 3)),
    "tanh": (lambda lib, t: t.TanhTransform(), (3,)),
}  # fmt: skip


def applied(lib: Any, make: Maker, x: np.ndarray) -> dict[str, Any]:
    """What a transform makes of x, backwards too, with gradients and what it says of itself."""
    t = make(lib, lib.distributions.transforms)
    leaf = lib.from_numpy(x).requires_grad_()
    y = t(leaf)
    found: dict[str, Any] = {"y": y, "back": t.inv(y), "bijective": t.bijective}
    found["slope"] = lib.autograd.grad((y**2).sum(), leaf, retain_graph=True)[0]
    for name, call in {
        "change": lambda: t.log_abs_det_jacobian(leaf, y),
        "domain": lambda: (t.domain.event_dim, repr(t.domain).split("tensor")[0]),
        "codomain": lambda: (t.codomain.event_dim, repr(t.codomain).split("tensor")[0]),
        "sign": lambda: t.sign,
        "shape": lambda: tuple(t.forward_shape(tuple(x.shape))),
        "inverse shape": lambda: tuple(t.inverse_shape(tuple(y.shape))),
    }.items():
        try:
            found[name] = call()
        except (NotImplementedError, ValueError) as error:
            found[name] = type(error)
    found["repr"] = repr(t), repr(t.inv)
    found["equal"] = t == t, t == make(lib, lib.distributions.transforms), t == t.inv
    return found


@pytest.mark.torch
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(torch: Any, name: str) -> None:
    make, shape = TRANSFORMS[name]
    x = np.random.default_rng(0).standard_normal(shape)
    ours, theirs = (applied(lib, make, x) for lib in (wengert, torch))
    for what, value in theirs.items():
        if hasattr(value, "detach"):
            a, b = ours[what].detach().numpy(), value.detach().numpy()
            assert a.shape == b.shape, what
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=what)
        else:
            assert ours[what] == value, what


REGISTERED = [
    "boolean", "corr_cholesky", "lower_cholesky", "nonnegative", "positive", "positive_definite",
    "positive_semidefinite", "real", "real_vector", "simplex", "unit_interval", "symmetric",
]  # fmt: skip
MADE: dict[str, Callable[[Any], Any]] = {
    "greater_than": lambda c: c.greater_than(2.0),
    "greater_than_eq": lambda c: c.greater_than_eq(-1.0),
    "half_open_interval": lambda c: c.half_open_interval(-1.0, 3.0),
    "interval": lambda c: c.interval(-1.0, 3.0),
    "less_than": lambda c: c.less_than(2.0),
    "cat": lambda c: c.cat([c.positive, c.real], -1, [1, 2]),
    "stack": lambda c: c.stack([c.positive, c.real, c.unit_interval], -1),
    "independent": lambda c: c.independent(c.positive, 1),
    **{name: (lambda c, name=name: getattr(c, name)) for name in REGISTERED},
}


@pytest.mark.torch
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", MADE)
def test_transforms_onto_constraints(torch: Any, registry: str, name: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 3))
    found = []
    for lib in (wengert, torch):
        constraint = MADE[name](lib.distributions.constraints)
        try:
            t = getattr(lib.distributions, registry)(constraint)
        except NotImplementedError:
            found.append(NotImplementedError)
            continue
        y = t(lib.from_numpy(x))
        assert constraint.check(y).all()
        found.append((y.numpy(), repr(t)))
    if NotImplementedError in found:
        assert found[0] is found[1]
        return
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9, atol=1e-12)
    assert found[0][1] == found[1][1]


CHECKED: dict[str, Callable[[Any], Any]] = {
    **MADE,
    "integer_interval": lambda c: c.integer_interval(0, 2),
    "multinomial": lambda c: c.multinomial(2),
    "mixture": lambda c: c.MixtureSameFamilyConstraint(c.positive),
    **{
        name: (lambda c, name=name: getattr(c, name))
        for name in ("boolean", "lower_triangular", "nonnegative_integer", "one_hot",
                     "positive_integer", "square", "symmetric")
    },
}  # fmt: skip
VALUES = {
    "eye": np.eye(3),
    "lower": np.array([[1.0, 0, 0], [0.6, 0.8, 0], [0.0, 0.6, 0.8]]),
    "symmetric": np.array([[2.0, -3, 0], [-3, 1, 0], [0, 0, 1]]),
    "simplex": np.array([[0.2, 0.3, 0.5], [0.2, 0.3, 0.6], [-0.5, 1, 0.5]]),
    "numbers": np.array([[0.0, 1, 2], [0.5, np.nan, np.inf], [-1, 1, 0]]),
}


@pytest.mark.torch
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", CHECKED)
def test_constraints(torch: Any, name: str, value: str) -> None:
    found = []
    for lib in (wengert, torch):
        c = CHECKED[name](lib.distributions.constraints)
        try:
            checked = c.check(lib.from_numpy(VALUES[value])).tolist()
        except RuntimeError:
            checked = RuntimeError
        found.append((checked, c.event_dim, c.is_discrete, repr(c)))
    assert found[0] == found[1]


def test_dependent_constraints() -> None:
    assert constraints.is_dependent(constraints.dependent)
    with pytest.raises(ValueError, match="Cannot determine validity"):
        constraints.dependent.check(wengert.zeros(1))
    with pytest.raises(NotImplementedError, match="is_discrete"):
        _ = constraints.dependent.is_discrete
    narrowed = constraints.dependent(is_discrete=True, event_dim=1)
    assert (narrowed.is_discrete, narrowed.event_dim) == (True, 1)


def test_the_cache_keeps_the_last_pair() -> None:
    t = transforms.ExpTransform(cache_size=1)
    x = wengert.randn(3)
    y = t(x)
    assert t(x) is y
    assert t.inv(y) is x
    assert t.with_cache(0).inv(y) is not x
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        transforms.ExpTransform(cache_size=2)


def test_a_transform_and_its_inverse_are_no_cycle() -> None:
    gc.disable()
    try:
        t = transforms.TanhTransform()
        assert t.inv.inv is t
        gone = weakref.ref(t)
        del t
        assert gone() is None
    finally:
        gc.enable()


def test_bad_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="different numbers of elements"):
        transforms.ReshapeTransform((2, 3), (5,))
    with pytest.raises(ValueError, match="Too few dimensions"):
        transforms.IndependentTransform(transforms.ExpTransform(), 2)(wengert.zeros(3))
    with pytest.raises(TypeError, match="Constraint subclass or instance"):
        wengert.distributions.biject_to.register(3, transforms.AffineTransform)
