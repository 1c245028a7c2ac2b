"""Random numbers: the streams are those of torch."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import wengert
from tests.tensor.parity import assert_same, expressions, outcome

EXACT = expressions("""
    T.rand(3,4)
    T.rand((5,),dtype=T.float64)
    T.rand(33,dtype=T.float16)
    T.rand(3000,dtype=T.bfloat16)
    T.rand(7,dtype=T.complex64)
    T.randn(0)
    T.randint(10,(5,))
    T.randint(-5,10,(5,2))
    T.randint(2**28,(5,))
    T.randint(2**40,(5,))
    T.randint(3,(4,),dtype=T.float32)
    T.randint(low=2,high=7,size=(3,))
    T.randint(high=7,size=(3,))
    T.randperm(50)
    T.randperm(5,dtype=T.int32)
    T.randperm(0)
    T.randperm(1)
    T.rand_like(T.zeros(3,dtype=T.float64))
    T.randint_like(T.zeros(3),5)
    T.randint_like(T.zeros(3),2,5)
    T.bernoulli(T.full((30,),.3))
    T.bernoulli(T.full((30,),.3,dtype=T.float64))
    T.bernoulli(T.full((30,),.3,dtype=T.float16))
    T.bernoulli(T.zeros(30),.7)
    T.multinomial(T.tensor([.1,.2,.3,.4]),3)
    T.multinomial(T.tensor([.1,.2,.3,.4]),1)
    T.multinomial(T.tensor([.1,.2,.3,.4]),20,True)
    T.multinomial(T.tensor([.1,.2,.3,.4]),1,True)
    T.multinomial(T.tensor([[.1,.2,.3,.4],[4.,3,2,1]]),3)
    T.multinomial(T.tensor([[.1,.2,.3,.4],[4.,3,2,1]]),6,replacement=True)
    T.multinomial(T.tensor([[.1,.2,.3,.4],[4.,3,2,1]],dtype=T.float64),6,replacement=True)
    T.multinomial(T.tensor([0.,1.,0.]),2)
    T.poisson(T.tensor([3.,20.,1.,200.,0.,11.]))
    T.zeros(40).uniform_()
    T.zeros(40).uniform_(-.3,1.7)
    T.zeros(40,dtype=T.float64).uniform_(-.3,1.7)
    T.zeros(4000,dtype=T.float16).uniform_(-.3,1.7)
    T.zeros(4000,dtype=T.bfloat16).uniform_(-.3,1.7)
    T.zeros(4).uniform_(to=3)
    T.zeros(4).uniform_(**{'from':-1})
    T.zeros(5,8).t().uniform_()
    T.zeros(50).bernoulli_()
    T.zeros(50).bernoulli_(.2)
    T.zeros(50,dtype=T.int64).bernoulli_(.2)
    T.zeros(50).bernoulli_(T.full((50,),.2))
    T.zeros(2,3).bernoulli_(T.tensor([.2,.3,.9],dtype=T.float64))
    T.zeros(30).exponential_()
    T.zeros(30).geometric_(.3)
    T.zeros(30,dtype=T.int64).geometric_(.3)
    T.zeros(30).random_()
    T.zeros(30,dtype=T.float64).random_()
    T.zeros(30,dtype=T.float16).random_()
    T.zeros(30,dtype=T.bfloat16).random_()
    T.zeros(30,dtype=T.int64).random_()
    T.zeros(30,dtype=T.int32).random_()
    T.zeros(30,dtype=T.int16).random_()
    T.zeros(30,dtype=T.int8).random_()
    T.zeros(30,dtype=T.uint8).random_()
    T.zeros(30,dtype=T.bool).random_()
    T.zeros(30).random_(10)
    T.zeros(30,dtype=T.int64).random_(-5,10)
    T.zeros(30,dtype=T.int64).random_(-2**63,None)
    T.zeros(30,dtype=T.int32).random_(5,None)
    T.zeros(30).random_(5,None)
    (T.ones(2,requires_grad=True)*2).uniform_()
    T.rand(3,generator=T.Generator().manual_seed(5))
    T.Generator().manual_seed(5).initial_seed()
    T.initial_seed()
""")

# Normal numbers and logarithms differ in their last digits.
NEAR = expressions("""
    T.randn(7)
    T.randn(16)
    T.randn(100)
    T.randn(101,dtype=T.float64)
    T.randn(37,dtype=T.float16)
    T.randn(37,dtype=T.bfloat16)
    T.randn(20,dtype=T.complex64)
    T.randn(3,dtype=T.complex128)
    T.randn_like(T.zeros(30))
    T.normal(0.,1.,(20,))
    T.normal(2.,.5,size=(3,))
    T.normal(T.arange(20.),2.0)
    T.normal(0.,T.arange(3.))
    T.normal(T.zeros(2,1),T.ones(3))
    T.zeros(5,8).t().normal_()
    T.zeros(50,2)[:,0].normal_(1,2)
    T.zeros(50).normal_(1,2)
    T.zeros(5).normal_(1,2)
    T.zeros(5).normal_(std=3)
    T.zeros(5).normal_(0,0)
    T.zeros(30,dtype=T.float64).exponential_(2.5)
    T.zeros(30).log_normal_()
    T.zeros(30).log_normal_(0,.5)
    T.zeros(30).cauchy_()
    T.zeros(30).cauchy_(1,2)
    T.empty(3).normal_(0,-1)
    T.empty(3,dtype=T.int64).normal_()
    T.normal(0.,-1.,(2,))
    T.normal(T.zeros(2),-1.)
    T.normal(0,1)
    T.normal(T.zeros(2),T.ones(3))
    T.normal(T.zeros(2),-T.ones(2))
    T.empty(3).log_normal_(0,0)
    T.empty(3).cauchy_(0,0)
    T.ones(2,requires_grad=True).normal_()
    T.normal(T.zeros(2,requires_grad=True),1.)
""")

REFUSED = expressions("""
    T.rand(3,generator=3)
    T.Generator('cuda')
    T.Generator('foo')
    T.empty(3).uniform_(2,1)
    T.randint(3,3,(2,))
    T.empty(3).random_(3,1)
    T.empty(3).bernoulli_(1.5)
    T.bernoulli(T.tensor([2.]))
    T.empty(3,dtype=T.int64).uniform_()
    T.randn(3,dtype=T.int64)
    T.rand(3,dtype=T.int64)
    T.randperm(-1)
    T.randperm(2.5)
    T.randperm(300,dtype=T.uint8)
    T.empty(3,dtype=T.uint8).random_(0,300)
    T.empty(3).exponential_(0)
    T.empty(3).exponential_(-1)
    T.empty(3).geometric_(0)
    T.multinomial(T.ones(3),5)
    T.multinomial(-T.ones(3),1)
    T.multinomial(T.zeros(3),1)
    T.multinomial(T.ones(3),0)
    T.multinomial(T.ones(2,2,2),1)
    T.multinomial(T.ones(2,dtype=T.int64),1)
    T.randint(300,(2,),dtype=T.uint8)
    T.randint(0,5)
    T.randint((3,))
    T.set_rng_state(T.zeros(3))
    T.set_rng_state(T.zeros(3,dtype=T.uint8))
    T.set_rng_state(T.zeros(5056,dtype=T.uint8))
    T.bernoulli(T.ones(3,dtype=T.int64))
    T.rand(-1)
    T.rand(2.5)
    T.rand('a')
    T.randint(1.5,(2,))
    T.poisson(-T.ones(2))
    T.poisson(T.ones(2,dtype=T.int64))
    T.bernoulli(T.ones(2),5)
    T.ones(2,requires_grad=True).uniform_()
    T.zeros(1).expand(3).uniform_()
    T.manual_seed(2**64)
    T.manual_seed('a')
    T.manual_seed(None)
    T.manual_seed(1.5).initial_seed()
    T.manual_seed(-1).initial_seed()
    T.rand()
    T.rand(2,requires_grad=True)
    T.randn(2,3,requires_grad=True)
    T.bernoulli(T.ones(2,requires_grad=True))
    T.zeros(3,dtype=T.complex64).uniform_()
    T.zeros(3,dtype=T.complex64).random_()
    T.randn(5,out=T.zeros(5))
""")


def seed_both(torch: Any, seed: int) -> None:
    torch.manual_seed(seed)
    wengert.manual_seed(seed)


def assert_in_step(torch: Any) -> None:
    """Both drew equally many numbers."""
    assert wengert.rand(4).tolist() == torch.rand(4).tolist()


@pytest.mark.torch
@pytest.mark.parametrize("expression", EXACT + REFUSED)
@pytest.mark.parametrize("seed", [0, 11])
def test_streams_equal_torch(expression: str, seed: int, torch: Any) -> None:
    seed_both(torch, seed)
    assert_same(torch, expression)
    if "manual_seed" not in expression:
        assert_in_step(torch)


@pytest.mark.torch
@pytest.mark.parametrize("expression", NEAR)
def test_normal_streams_equal_torch_to_some_ulp(expression: str, torch: Any) -> None:
    seed_both(torch, 11)
    ours, theirs = outcome(wengert, expression), outcome(torch, expression)
    if isinstance(theirs, Exception):
        assert type(ours) is type(theirs)
        return
    eps = torch.finfo(theirs.dtype).eps
    kind = "complex128" if theirs.dtype.is_complex else "float64"
    a, b = (t.detach().to(getattr(lib, kind)).numpy()
            for t, lib in ((ours, wengert), (theirs, torch)))  # fmt: skip
    np.testing.assert_allclose(a, b, rtol=4 * eps, atol=4 * eps)
    assert_in_step(torch)


@pytest.mark.torch
@pytest.mark.parametrize("n", [15, 16, 17, 31, 32, 33, 100_003])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_normal_blocks_and_tails(n: int, dtype: str, torch: Any) -> None:
    seed_both(torch, n)
    theirs = torch.randn(n, dtype=getattr(torch, dtype)).numpy()
    ours = wengert.randn(n, dtype=getattr(wengert, dtype)).numpy()
    assert np.abs(ours - theirs).max() <= 4 * np.finfo(dtype).eps
    assert_in_step(torch)


@pytest.mark.torch
def test_the_second_half_of_a_pair_survives_between_calls(torch: Any) -> None:
    seed_both(torch, 3)
    for _ in range(4):
        np.testing.assert_allclose(wengert.randn(3).numpy(), torch.randn(3).numpy(), rtol=3e-7)
        assert_in_step(torch)
    state = wengert.get_rng_state()
    torch.set_rng_state(torch.from_numpy(state.numpy()))
    assert torch.equal(torch.get_rng_state(), torch.from_numpy(wengert.get_rng_state().numpy()))
    np.testing.assert_allclose(wengert.randn(3).numpy(), torch.randn(3).numpy(), rtol=3e-7)


@pytest.mark.torch
def test_states_go_both_ways(torch: Any) -> None:
    torch.manual_seed(5)
    torch.rand(7)
    wengert.set_rng_state(wengert.from_numpy(torch.get_rng_state().numpy()))
    assert_in_step(torch)
    assert wengert.initial_seed() == 5


@pytest.mark.torch
@pytest.mark.parametrize("seed", [-1, -5, 2**40 + 17, 2**64 - 1])
def test_unusual_seeds(seed: int, torch: Any) -> None:
    seed_both(torch, seed)
    assert wengert.initial_seed() == torch.initial_seed()
    assert_in_step(torch)


@pytest.mark.torch
def test_dropout_draws_as_torch(torch: Any) -> None:
    seed_both(torch, 1)
    kept = torch.nn.functional.dropout(torch.ones(1000), 0.3) > 0
    assert np.array_equal(wengert.default_generator.bernoulli((1000,), 1 - 0.3), kept.numpy())


def test_generators_are_independent_and_can_be_cloned() -> None:
    a, b = wengert.Generator().manual_seed(1), wengert.Generator().manual_seed(1)
    wengert.manual_seed(9)
    first = wengert.rand(3, generator=a)
    assert wengert.equal(first, wengert.rand(3, generator=b))
    clone, stored = a.clone_state(), pickle.loads(pickle.dumps(a))
    expected = wengert.randn(5, generator=a).tolist()
    assert wengert.randn(5, generator=clone).tolist() == expected
    assert wengert.randn(5, generator=stored).tolist() == expected
    assert a.device == wengert.device("cpu")


def test_seed_cannot_be_foreseen() -> None:
    assert wengert.seed() != wengert.seed()
    assert wengert.initial_seed() == wengert.default_generator.initial_seed()


def test_a_refused_write_draws_nothing() -> None:
    x = wengert.ones(2, requires_grad=True)
    wengert.manual_seed(0)
    with pytest.raises(RuntimeError, match="leaf"):
        x.uniform_()
    assert wengert.rand(1).item() == pytest.approx(0.49625659)


def test_sampling_gives_the_old_value_a_zero_gradient() -> None:
    x = wengert.ones(2, requires_grad=True)
    y = (x * 2).normal_()
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]


def test_writing_random_numbers_is_noticed_by_backward() -> None:
    x = wengert.ones(2, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    with wengert.no_grad():
        y.uniform_()
    with pytest.raises(RuntimeError, match="uniform_"):
        z.backward()


def test_samples_have_the_moments_of_their_distribution() -> None:
    wengert.manual_seed(0)
    n = 200_000
    moments = {
        "uniform_": (0.5, 1 / 12), "normal_": (0, 1), "exponential_": (1, 1),
        "bernoulli_": (0.5, 0.25),
    }  # fmt: skip
    for name, (mean, variance) in moments.items():
        sample = getattr(wengert.zeros(n, dtype=wengert.float64), name)().numpy()
        assert abs(sample.mean() - mean) < 0.01
        assert abs(sample.var() - variance) < 0.02
    poisson = wengert.poisson(wengert.full((5000,), 30.0)).numpy()
    assert abs(poisson.mean() - 30) < 0.5
    assert abs(poisson.var() - 30) < 3


def test_a_permutation_has_every_number_once() -> None:
    order = wengert.randperm(60_000)
    assert np.array_equal(np.sort(order.numpy()), np.arange(60_000))


def test_no_python_runs_for_each_number_of_a_permutation() -> None:
    def calls(n: int) -> int:
        events: list[str] = []
        sys.setprofile(lambda frame, event, argument: events.append(event))
        wengert.randperm(n)
        sys.setprofile(None)
        return len(events)

    calls(10)  # compiles
    assert calls(60_000) < 1000


def test_multinomial_follows_the_weights() -> None:
    wengert.manual_seed(0)
    weights = wengert.tensor([0.0, 1.0, 3.0])
    counts = np.bincount(
        wengert.multinomial(weights, 40_000, replacement=True).numpy(), minlength=3
    )
    assert counts[0] == 0
    assert abs(counts[2] / 40_000 - 0.75) < 0.01
    drawn = wengert.multinomial(wengert.ones(50, 4), 4)
    assert np.array_equal(np.sort(drawn.numpy(), 1), np.tile(np.arange(4), (50, 1)))


FORK = """
import os, signal, threading, time, warnings
import wengert
from wengert.core.generators import default_generator

held = threading.Event()

def draw():
    with default_generator._lock:
        held.set()
        time.sleep(0.2)

thread = threading.Thread(target=draw)
thread.start()
held.wait()
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
child = os.fork()
if child == 0:
    signal.alarm(20)
    wengert.rand(1)
    os._exit(0)
thread.join()
wengert.rand(1)
raise SystemExit(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_process_forked_while_another_thread_draws_can_draw() -> None:
    assert subprocess.run([sys.executable, "-c", FORK], timeout=60, check=False).returncode == 0


def test_a_forked_stream_leaves_the_one_outside_where_it_was() -> None:
    wengert.manual_seed(3)
    expected = wengert.rand(4).tolist()
    for enabled in (True, False):
        wengert.manual_seed(3)
        with wengert.random.fork_rng(enabled=enabled):
            assert wengert.rand(4).tolist() == expected
        assert (wengert.rand(4).tolist() == expected) == enabled
