"""Distributions against PyTorch's: shapes, samples, densities, moments, and their gradients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert
from tests.distributions.families import CASES, Case

by_case = pytest.mark.parametrize("case", CASES, ids=str)
pytestmark = pytest.mark.torch

SHAPES = [(), (4,), (2, 3)]
STATISTICS = [
    "mean", "mode", "variance", "stddev", "entropy", "perplexity", "probs", "logits",
    "covariance_matrix", "precision_matrix", "scale_tril", "param_shape",
]  # fmt: skip


def array(value: Any) -> Any:
    """A tensor of either library as an array; other values as they are."""
    return value.detach().numpy() if hasattr(value, "detach") else value


def close(ours: Any, theirs: Any, rtol: float) -> None:
    """Equal but for rounding, dtypes and shapes included."""
    a, b = array(ours), array(theirs)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)
    else:
        assert tuple(a) == tuple(b)


def outcome(function: Any) -> Any:
    """What a call returns; the class of the exception where it raises."""
    try:
        return function()
    except (NotImplementedError, ValueError, RuntimeError, AttributeError) as error:
        return type(error)


def slopes(lib: Any, value: Any, given: dict[str, Any]) -> list[Any]:
    """The gradients of the sum of squares."""
    leaves = [v for v in given.values() if getattr(v, "requires_grad", False)]
    if not leaves or not getattr(value, "requires_grad", False):
        return [getattr(value, "requires_grad", False)] * len(leaves)
    finite = value[lib.isfinite(value)]
    found = outcome(lambda: lib.autograd.grad((finite**2).sum(), leaves, allow_unused=True))
    if isinstance(found, type):
        return [found] * len(leaves)
    return [lib.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, found, strict=True)]


def compare(torch: Any, case: Case, function: Any, slope_rtol: float = 1e-8) -> None:
    """Both libraries' results of one function of the distribution, and their gradients."""
    results = []
    for lib in (wengert, torch):
        given = case.tensors(lib)
        lib.manual_seed(1)
        d = case.make(lib, given)
        value = outcome(lambda lib=lib, d=d: function(lib, d))
        results.append((value, [] if isinstance(value, type) else slopes(lib, value, given)))
    (ours, our_slopes), (theirs, their_slopes) = results
    if isinstance(ours, type) or isinstance(theirs, type):
        assert ours is theirs
        return
    close(ours, theirs, case.rtol)
    for a, b in zip(our_slopes, their_slopes, strict=True):
        if isinstance(a, bool | type) or isinstance(b, bool | type):
            assert a is b
        else:
            np.testing.assert_allclose(
                array(a), array(b), rtol=max(slope_rtol, case.rtol), atol=1e-9
            )


def detached(lib: Any, case: Case) -> dict[str, Any]:
    """The arguments without a gradient."""
    return {k: v.detach() if hasattr(v, "detach") else v for k, v in case.tensors(lib).items()}


@by_case
def test_shapes_and_description(torch: Any, case: Case) -> None:
    ours, theirs = case.make(wengert), case.make(torch)
    for name in ("batch_shape", "event_shape"):
        assert tuple(getattr(ours, name)) == tuple(getattr(theirs, name))
    for name in ("has_rsample", "has_enumerate_support"):
        assert getattr(ours, name) == getattr(theirs, name)
    # Without the tensors that some bounds are.
    assert repr(ours.support).split("tensor")[0] == repr(theirs.support).split("tensor")[0]
    a, b = ours.arg_constraints, theirs.arg_constraints
    assert set(a) == set(b)
    for name in a:
        assert repr(a[name]).split("tensor")[0] == repr(b[name]).split("tensor")[0]
    assert repr(case.make(wengert, detached(wengert, case))) == repr(
        case.make(torch, detached(torch, case))
    )


@by_case
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_samples(torch: Any, case: Case, shape: tuple[int, ...]) -> None:
    if "sample" in case.unlike:
        return
    compare(torch, case, lambda lib, d: d.sample(shape))
    compare(torch, case, lambda lib, d: d.rsample(shape), case.slopes)


@by_case
@pytest.mark.parametrize("name", STATISTICS)
def test_statistics(torch: Any, case: Case, name: str) -> None:
    if name in case.unlike:
        return

    def statistic(lib: Any, d: Any) -> Any:
        value = getattr(d, name)
        return value() if callable(value) else value

    compare(torch, case, statistic)


@by_case
def test_log_prob(torch: Any, case: Case) -> None:
    if "log_prob" in case.unlike:
        return
    wengert.manual_seed(3)
    values = case.make(wengert).sample((5,)).numpy()
    compare(torch, case, lambda lib, d: d.log_prob(lib.from_numpy(values)))


@by_case
def test_cdf_and_its_inverse(torch: Any, case: Case) -> None:
    if "cdf" in case.unlike:
        return
    wengert.manual_seed(3)
    values = case.make(wengert).sample((5,)).numpy()
    compare(torch, case, lambda lib, d: d.cdf(lib.from_numpy(values)))
    p = np.random.default_rng(0).uniform(0.05, 0.95, (5, *case.make(torch).batch_shape))
    compare(torch, case, lambda lib, d: d.icdf(lib.from_numpy(p)))


@by_case
def test_expand(torch: Any, case: Case) -> None:
    if "log_prob" in case.unlike:
        return
    batch = tuple(case.make(torch).batch_shape)
    grown = (2, *batch)
    wengert.manual_seed(2)
    values = case.make(wengert).expand(grown).sample((3,)).numpy()

    def expanded(lib: Any, d: Any) -> Any:
        e = d.expand(lib.Size(grown))
        assert type(e) is type(d)
        assert tuple(e.batch_shape) == grown
        assert tuple(e.event_shape) == tuple(d.event_shape)
        assert tuple(e.sample((3,)).shape) == values.shape
        sample = lib.from_numpy(values)
        return e.log_prob(sample) + e.expand((3, *grown)).log_prob(sample)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's of Wishart's samples
        compare(torch, case, expanded, case.slopes)


@by_case
@pytest.mark.parametrize("expand", [True, False])
def test_support_enumerated(torch: Any, case: Case, expand: bool) -> None:
    compare(torch, case, lambda lib, d: d.enumerate_support(expand))


@by_case
def test_values_outside_of_the_support_are_refused(torch: Any, case: Case) -> None:
    if "log_prob" in case.unlike:
        return
    event = tuple(case.make(torch).event_shape)
    for value in (np.nan, -1.5, 0.5, 7.25):

        def log_prob(lib: Any, d: Any, value: float = value) -> Any:
            return d.log_prob(lib.from_numpy(np.full((*d.batch_shape, *event), value)))

        compare(torch, case, log_prob)


@by_case
def test_parameters_are_checked(torch: Any, case: Case) -> None:
    """Each tensor negated: refused where PyTorch refuses it, in the same words."""
    for name, value in case.given.items():
        if not isinstance(value, list | float) or "checks" in case.unlike:
            continue
        texts = []
        for lib in (wengert, torch):
            given = detached(lib, case)
            given[name] = -2.0 * given[name] - 0.1
            try:
                case.make(lib, given)
                texts.append("")
            except (ValueError, RuntimeError) as error:
                texts.append(str(error).split("(Parameter")[0][:40])
        assert texts[0] == texts[1], name


def test_parameters_that_have_the_shape_are_kept_themselves(torch: Any) -> None:
    for lib in (wengert, torch):
        loc, wide = lib.zeros(2, requires_grad=True), lib.ones(3, 2)
        for scale in (1.0, lib.ones(2), lib.ones(())):
            assert lib.distributions.Normal(loc, scale).loc is loc
        assert lib.distributions.Normal(loc, wide).loc is not loc
        assert lib.distributions.Normal(loc, wide).scale is wide
