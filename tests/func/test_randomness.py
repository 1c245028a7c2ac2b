"""Random numbers inside vmap: refused, shared by all samples, or drawn for each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert
import wengert.nn.functional as F

MODES = ("error", "same", "different")
SIZE = 3
# A function of the library and of a sample, a (4, 5) tensor of numbers between 0 and 1.
Case = Callable[[Any, Any], Any]

# What makes new tensors: the samples share them or not, whatever they are.
FRESH: dict[str, Case] = {
    "rand": lambda lib, a: lib.rand(4),
    "rand-size": lambda lib, a: lib.rand((2, 3), dtype=lib.float64),
    "rand-generator": lambda lib, a: lib.rand(4, generator=lib.Generator()),
    "randn": lambda lib, a: lib.randn(2, 30),
    "randint": lambda lib, a: lib.randint(0, 1000, (4,)),
    "randperm": lambda lib, a: lib.randperm(30),
    "normal-size": lambda lib, a: lib.normal(0.0, 2.0, (4,)),
    "rand_like": lambda lib, a: lib.rand_like(a),
    "randn_like": lambda lib, a: lib.randn_like(a),
    "randint_like": lambda lib, a: lib.randint_like(a, 1000),
    "rand_like-shared": lambda lib, a: lib.rand_like(lib.ones(7)),
    "bernoulli-shared": lambda lib, a: lib.bernoulli(lib.full((40,), 0.5)),
    "bernoulli-shared-p": lambda lib, a: lib.bernoulli(lib.zeros(40), 0.5),
    "normal-shared": lambda lib, a: lib.normal(lib.zeros(3), 1.0),
    "normal-shared-both": lambda lib, a: lib.normal(lib.zeros(3), lib.ones(2, 1)),
    "multinomial-shared": lambda lib, a: lib.multinomial(lib.ones(50), 6),
    "multinomial-shared-again": lambda lib, a: lib.multinomial(lib.ones(2, 50), 6, True),
    "poisson-shared": lambda lib, a: lib.poisson(lib.full((20,), 50.0)),
    "uniform_": lambda lib, a: a.clone().uniform_(),
    "uniform_-transposed": lambda lib, a: a.clone().t().uniform_(),
    "normal_": lambda lib, a: lib.empty_like(a).normal_(),
    "bernoulli_": lambda lib, a: lib.empty_like(a).bernoulli_(0.5),
    "bernoulli_-tensor": lambda lib, a: lib.empty_like(a).bernoulli_(lib.full((5,), 0.5)),
    "random_": lambda lib, a: lib.zeros_like(a).random_(),
    "random_-to": lambda lib, a: lib.zeros_like(a).random_(1000),
    "random_-from-to": lambda lib, a: lib.zeros_like(a).random_(5, 1000),
    "exponential_": lambda lib, a: lib.empty_like(a).exponential_(),
    "log_normal_": lambda lib, a: lib.empty_like(a).log_normal_(),
    "cauchy_": lambda lib, a: lib.empty_like(a).cauchy_(),
    "geometric_": lambda lib, a: lib.empty_like(a).geometric_(0.01),
    "dropout": lambda lib, a: lib.nn.functional.dropout(lib.ones_like(a)),
    "dropout-shared": lambda lib, a: lib.nn.functional.dropout(lib.ones(40)),
    "dropout-inplace": lambda lib, a: lib.nn.functional.dropout(lib.ones_like(a), inplace=True),
    "dropout1d": lambda lib, a: lib.nn.functional.dropout1d(images(lib, a)[0]),
    "dropout2d": lambda lib, a: lib.nn.functional.dropout2d(images(lib, a)),
    "dropout3d": lambda lib, a: lib.nn.functional.dropout3d(images(lib, a).unsqueeze(-1)),
    "alpha_dropout": lambda lib, a: lib.nn.functional.alpha_dropout(
        lib.ones_like(a), training=True
    ),
    "feature_alpha_dropout": lambda lib, a: lib.nn.functional.feature_alpha_dropout(
        images(lib, a), training=True
    ),
    "Dropout": lambda lib, a: lib.nn.Dropout(0.4)(lib.ones_like(a)),
    "AlphaDropout": lambda lib, a: lib.nn.AlphaDropout(0.4)(lib.ones_like(a)),
    "gumbel_softmax": lambda lib, a: lib.nn.functional.gumbel_softmax(lib.ones_like(a)),
}

# What depends on values that differ between samples: there is no same draw for them.
DEPENDENT: dict[str, Case] = {
    "bernoulli": lambda lib, a: lib.bernoulli(a),
    "bernoulli-p": lambda lib, a: lib.bernoulli(a, 0.5),
    "normal": lambda lib, a: lib.normal(a, 1.0),
    "normal-std": lambda lib, a: lib.normal(0.0, a),
    "normal-both": lambda lib, a: lib.normal(a[0], a),
    "normal-one": lambda lib, a: lib.normal(a[0, 0], lib.ones(4)),
    "multinomial": lambda lib, a: lib.multinomial(a, 3),
    "multinomial-again": lambda lib, a: lib.multinomial(a[0], 30, True),
    "poisson": lambda lib, a: lib.poisson(a * 90),
    "bernoulli_-batched": lambda lib, a: lib.empty_like(a).bernoulli_(a),
}


def images(lib: Any, a: Any) -> Any:
    """Forty channels of one pixel."""
    return lib.ones_like(a).reshape(1, 20, 1, 1).expand(2, 20, 1, 1)


def outcome(lib: Any, case: Case, randomness: str) -> Any:
    """The shape, the dtype and whether samples share their numbers; or the error."""
    lib.manual_seed(0)
    batch = lib.from_numpy(
        np.random.default_rng(0).uniform(0.2, 0.8, (SIZE, 4, 5)).astype("float32")
    )
    try:
        found = lib.vmap(lambda a: case(lib, a), randomness=randomness)(batch)
    except RuntimeError as error:
        return str(error)[:70]
    return tuple(found.shape), str(found.dtype), sharing(found.numpy())


def sharing(samples: np.ndarray) -> str:
    same = [np.array_equal(samples[0], s) for s in samples[1:]]
    return "same" if all(same) else "different" if not any(same) else "mixed"


@pytest.mark.torch
@pytest.mark.parametrize("randomness", MODES)
@pytest.mark.parametrize("name", [*FRESH, *DEPENDENT])
def test_outcome_equals_torchs(name: str, randomness: str, torch: Any) -> None:
    case = (FRESH | DEPENDENT)[name]
    assert outcome(wengert, case, randomness) == outcome(torch, case, randomness)


@pytest.mark.parametrize("name", FRESH)
def test_same_and_different(name: str) -> None:
    assert outcome(wengert, FRESH[name], "same")[2] == "same"
    assert outcome(wengert, FRESH[name], "different")[2] == "different"


@pytest.mark.parametrize("name", [*FRESH, *DEPENDENT])
def test_error_is_the_default(name: str) -> None:
    with pytest.raises(RuntimeError, match="vmap: called random operation while in randomness err"):
        wengert.vmap(lambda a: (FRESH | DEPENDENT)[name](wengert, a))(wengert.ones(SIZE, 4, 5) / 2)


@pytest.mark.parametrize("name", DEPENDENT)
def test_there_is_no_same_draw_from_different_distributions(name: str) -> None:
    with pytest.raises(RuntimeError, match="does not currently support same randomness"):
        wengert.vmap(lambda a: DEPENDENT[name](wengert, a), randomness="same")(
            wengert.ones(SIZE, 4, 5) / 2
        )


def test_rrelu_in_a_batch() -> None:
    x = -wengert.ones(SIZE, 8)
    slopes = [
        wengert.vmap(lambda a: F.rrelu(a, training=True), randomness=r)(x)
        for r in ("same", "different")
    ]
    assert [sharing(s.numpy()) for s in slopes] == ["same", "different"]
    assert all((-s.numpy() >= 1 / 8).all() and (-s.numpy() <= 1 / 3).all() for s in slopes)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_certain_dropout_is_not_random(p: float) -> None:
    x = wengert.ones(SIZE, 2, 4)
    before = wengert.get_rng_state()
    for function in (F.dropout, F.dropout1d, F.alpha_dropout, F.feature_alpha_dropout):
        found = wengert.vmap(lambda a, f=function: f(a, p, training=True))(x)
        assert wengert.equal(found, x if p == 0 else wengert.zeros_like(x))
    assert wengert.equal(wengert.vmap(wengert.nn.Dropout(0.5).eval())(x), x)
    assert wengert.equal(wengert.get_rng_state(), before)


NESTED: dict[str, Callable[[Any, Any], Any]] = {
    "rand": lambda lib, a: lib.rand(4),
    "rand_like": lambda lib, a: lib.rand_like(a.expand(4)),
    "dropout": lambda lib, a: lib.nn.functional.dropout(lib.ones(30)),
    "bernoulli": lambda lib, a: lib.bernoulli(lib.full((30,), 0.5)),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("inner", MODES)
@pytest.mark.parametrize("outer", MODES)
def test_each_vmap_says_it_for_itself(outer: str, inner: str, name: str, torch: Any) -> None:
    def run(lib: Any) -> Any:
        within = lib.vmap(lambda a: NESTED[name](lib, a), randomness=inner)
        try:
            found = lib.vmap(within, randomness=outer)(lib.zeros(2, 3)).numpy()
        except RuntimeError as error:
            return str(error)[:60]
        return found.shape, sharing(found), sharing(found[0])

    ours = run(wengert)
    assert ours == run(torch)
    if "error" not in (outer, inner):
        assert ours[1:] == (outer, inner)


@pytest.mark.torch
def test_what_goes_in_and_out_of_a_draw(torch: Any) -> None:
    """Numbers for samples meet values that all share, and the other way about."""

    def run(lib: Any, randomness: str) -> Any:
        x = lib.ones(SIZE, 5)
        shared = lib.vmap(lambda a: a + lib.rand(5), randomness=randomness)(x)
        unused = lib.vmap(lambda a: (lib.rand(5), a), randomness=randomness)(x)[0]
        return shared.shape, sharing(shared.numpy()), unused.shape, sharing(unused.numpy())

    for randomness in ("same", "different"):
        assert run(wengert, randomness) == run(torch, randomness)
        assert run(wengert, randomness)[1] == randomness


REFUSED: dict[str, Case] = {
    "out": lambda lib, a: lib.rand(4, out=lib.empty(4)),
    "out-randperm": lambda lib, a: lib.randperm(4, out=lib.empty(4, dtype=lib.int64)),
    "out-bernoulli": lambda lib, a: lib.bernoulli(lib.ones(4), out=lib.empty(4)),
    "fill": lambda lib, a: lib.empty(4).uniform_(),
    "fill-bernoulli": lambda lib, a: lib.empty(4).bernoulli_(0.5),
    "fill-bernoulli-shared": lambda lib, a: lib.empty(4).bernoulli_(lib.full((4,), 0.5)),
    "fill-dropout": lambda lib, a: lib.nn.functional.dropout(lib.ones(4), inplace=True),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_differ_is_refused(name: str, torch: Any) -> None:
    for library in (wengert, torch):
        refused = library.vmap(partial(REFUSED[name], library), randomness="different")
        before = library.get_rng_state()
        with pytest.raises(RuntimeError, match=r"vmap: (We do not support|Cannot ask for|inplace)"):
            refused(library.zeros(SIZE))
        if "dropout" not in name:
            assert library.equal(library.get_rng_state(), before)


def test_an_error_draws_nothing() -> None:
    before = wengert.get_rng_state()
    for call in (
        lambda: wengert.vmap(lambda a: wengert.rand(3))(wengert.zeros(2)),
        lambda: wengert.vmap(wengert.bernoulli, randomness="different")(wengert.full((2, 3), 2.0)),
        lambda: wengert.bernoulli(wengert.full((3,), 2.0)),
        lambda: wengert.normal(wengert.zeros(3), -wengert.ones(3)),
        lambda: wengert.multinomial(-wengert.ones(3), 1),
        lambda: wengert.poisson(-wengert.ones(3)),
    ):
        with pytest.raises(RuntimeError):
            call()
    assert wengert.equal(wengert.get_rng_state(), before)


def test_probabilities_of_every_sample_are_checked() -> None:
    chances = wengert.tensor([[0.5], [1.5]])
    with pytest.raises(RuntimeError, match="Expected p_in >= 0 && p_in <= 1"):
        wengert.vmap(wengert.bernoulli, randomness="different")(chances)


def test_each_sample_follows_its_own_distribution() -> None:
    run = {
        "bernoulli": lambda a: wengert.bernoulli(a.expand(2000)),
        "poisson": lambda a: wengert.poisson(a.expand(2000)),
        "normal": lambda a: wengert.normal(a.expand(2000), 0.1),
        "multinomial": lambda a: wengert.multinomial(wengert.stack([1 - a, a]), 2000, True) * 1.0,
    }
    chances = wengert.tensor([0.0, 0.2, 0.9])
    for function in run.values():
        means = wengert.vmap(function, randomness="different")(chances).mean(1)
        np.testing.assert_allclose(means.numpy(), chances.numpy(), atol=0.05)


def test_dropout_in_a_gradient_per_sample() -> None:
    """The mask of the forward is that of the backward, sample by sample."""

    def loss(x: Any) -> Any:
        return (F.dropout(x) * wengert.arange(1.0, 41.0)).sum()

    x = wengert.ones(SIZE, 40)
    for randomness in ("same", "different"):
        found = wengert.vmap(wengert.func.grad(loss), randomness=randomness)(x).numpy()
        assert sharing(found) == randomness
        np.testing.assert_array_equal(
            found, np.where(found == 0, 0, 2 * np.arange(1.0, 41.0, dtype="float32"))
        )


def test_no_slope_through_what_is_drawn() -> None:
    x, one = wengert.full((3,), 0.5), wengert.ones(3)
    for function in (wengert.bernoulli, wengert.poisson, lambda v: wengert.normal(v, v)):
        value, along = wengert.func.jvp(function, (x,), (one,))
        assert along.tolist() == [0.0, 0.0, 0.0]
        assert value.shape == (3,)
        gradient = wengert.func.grad(lambda v, f=function: f(v).sum())(x)
        assert gradient.tolist() == [0.0, 0.0, 0.0]
        leaf = x.clone().requires_grad_()
        function(leaf).sum().backward()
        assert leaf.grad.tolist() == [0.0, 0.0, 0.0]


def test_levels_of_other_threads_do_not_matter() -> None:
    started, finish, found = threading.Event(), threading.Event(), []

    def elsewhere() -> None:
        started.wait()
        found.append(wengert.rand(3).shape)
        finish.set()

    def inside(a: Any) -> Any:
        started.set()
        assert finish.wait(5)
        return a

    thread = threading.Thread(target=elsewhere)
    thread.start()
    wengert.vmap(inside)(wengert.zeros(2))
    thread.join()
    assert found == [(3,)]


def test_without_vmap_the_streams_are_as_ever() -> None:
    draws = []
    for _ in range(2):
        wengert.manual_seed(3)
        draws.append(wengert.rand(5))
        wengert.vmap(lambda a: a * 2)(wengert.zeros(2))
    assert wengert.equal(*draws)
    wengert.manual_seed(3)
    shared = wengert.vmap(lambda a: wengert.rand(5), randomness="same")(wengert.zeros(2))
    assert wengert.equal(shared[1], draws[0])
