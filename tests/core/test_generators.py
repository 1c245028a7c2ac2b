"""The stream of a generator: what each sampler takes of it, and how it goes on."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.core.generators import Generator, live_state
from wengert.core.tensor import wrap

MASK = 2**32 - 1


class Twister:
    """The Mersenne Twister as its authors publish it: words one after the other."""

    def __init__(self, seed: int) -> None:
        self.words = [seed & MASK]
        for k in range(1, 624):
            last = self.words[-1]
            self.words.append((1812433253 * (last ^ last >> 30) + k) & MASK)
        self.next = 624

    def __call__(self) -> int:
        if self.next == 624:
            words = self.words
            for k in range(624):
                y = words[k] & 0x80000000 | words[(k + 1) % 624] & 0x7FFFFFFF
                words[k] = words[(k + 397) % 624] ^ y >> 1 ^ (0x9908B0DF if y & 1 else 0)
            self.next = 0
        y = self.words[self.next]
        self.next += 1
        y ^= y >> 11
        y ^= y << 7 & 0x9D2C5680
        y ^= y << 15 & 0xEFC60000
        return y ^ y >> 18

    def pair(self) -> int:
        high = self()
        return high << 32 | self()


@pytest.fixture(params=["kernels", "NumPy", "slow"])
def route(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every way to draw: by kernels, by NumPy, and by NumPy where its memory is unknown."""
    if request.param != "kernels":
        monkeypatch.setattr(Generator, "drawer", None)
        monkeypatch.setattr(Generator, "divider", None)
        monkeypatch.setattr(Generator, "shuffler", None)
    if request.param == "slow":
        monkeypatch.setattr("wengert.core.generators.live_state", lambda bits: None)
    return request.param


def seeded(seed: int = 7) -> Generator:
    return Generator().manual_seed(seed)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("seed", [0, 2**32 + 7, -1])
def test_words(seed: int) -> None:
    own, twister = seeded(seed), Twister(seed)
    for n in (1, 3, 300, 5000):  # each by another way
        words = own.random32(n)
        assert words.dtype == np.uint32
        assert words.tolist() == [twister() for _ in range(n)]


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("n", [0, 1, 5, 300])
def test_what_samplers_take(n: int) -> None:
    own, twister = seeded(), Twister(7)
    assert own.random64(n).tolist() == [twister.pair() for _ in range(n)]
    singles = own.singles(n)
    assert singles.dtype == np.float32
    assert singles.tolist() == [(twister() & (2**24 - 1)) / 2**24 for _ in range(n)]
    assert own.doubles(n).tolist() == [(twister.pair() & (2**53 - 1)) / 2**53 for _ in range(n)]
    assert own.random32(1)[0] == twister()  # nothing was left or taken beyond


@pytest.mark.usefixtures("route")
def test_integers_are_remainders() -> None:
    own, twister = seeded(), Twister(7)
    narrow = own.integers((3, 100), -5, 12)
    assert narrow.ravel().tolist() == [twister() % 17 - 5 for _ in range(300)]
    wide = own.integers((4,), 0, 2**28)
    assert wide.tolist() == [twister.pair() % 2**28 for _ in range(4)]
    assert own.integers((2,), 0, 2**28 - 1).tolist() == [twister() % (2**28 - 1) for _ in range(2)]
    all_of_them = own.integers((2,), -(2**63), 2**63)
    assert [int(v) % 2**64 for v in all_of_them] == [twister.pair() for _ in range(2)]


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("n", [0, 1, 2, 10, 1000])
def test_permutations(n: int) -> None:
    own, twister = seeded(), Twister(7)
    numbers = [*range(n)]
    for i in range(n - 1):
        j = i + twister() % (n - i)
        numbers[i], numbers[j] = numbers[j], numbers[i]
    assert own.permutation(n).tolist() == numbers
    assert own.random32(1)[0] == twister()


def test_bernoulli() -> None:
    own, twister = seeded(), Twister(7)
    drawn = own.bernoulli((50,), 0.3)
    assert drawn.tolist() == [(twister.pair() & (2**53 - 1)) / 2**53 < 0.3 for _ in range(50)]
    p = np.linspace(0, 1, 5, dtype=np.float32)
    assert own.bernoulli((5,), p).tolist() == [
        (twister() & (2**24 - 1)) / 2**24 < q for q in p.tolist()
    ]
    assert not own.bernoulli((100,), 0.0).any()
    assert own.bernoulli((100,), 1.0).all()


def test_normals_in_sequence_keep_the_other_half() -> None:
    def pairs() -> Iterator[float]:
        twister = Twister(7)
        while True:
            u, v = ((twister.pair() & (2**53 - 1)) / 2**53 for _ in range(2))
            radius = math.sqrt(-2 * math.log1p(-v))
            yield radius * math.cos(2 * math.pi * u)
            yield radius * math.sin(2 * math.pi * u)

    stream = pairs()
    own = seeded()
    for n in (3, 1, 0, 1, 4, 2):
        expected = [next(stream) for _ in range(n)]
        np.testing.assert_allclose(own.normal_sequence(n), expected, rtol=1e-13)
    assert own._spare is not None  # eleven are an odd number


def test_normals_in_blocks_have_cosines_first() -> None:
    own, twister = seeded(), Twister(7)
    values = own.normal((32,), np_dtype=np.float64)
    u = np.array([(twister.pair() & (2**53 - 1)) / 2**53 for _ in range(32)]).reshape(2, 2, 8)
    radius, angle = np.sqrt(-2 * np.log(1 - u[:, 0])), 2 * math.pi * u[:, 1]
    expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).ravel()
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_a_ragged_end_redoes_the_last_block() -> None:
    whole, ragged = seeded(), seeded()
    full, part = whole.normal((32,)), ragged.normal((20,))
    np.testing.assert_array_equal(part[:4], full[:4])
    assert not np.array_equal(part[4:16], full[4:16])  # from the 16 that were drawn behind
    twister = Twister(7)
    for _ in range(20 + 16):
        twister()
    assert ragged.random32(1)[0] == twister()


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("before", [0, 100])  # with 100, what is taken back began a block earlier
def test_what_a_sampler_does_not_use_comes_next(before: int) -> None:
    own, plain = seeded(), seeded()
    for generator in (own, plain):
        generator.random32(before)
    seen: list[np.ndarray] = []
    answers = iter([(3, 400), (400, 0)])

    def take(numbers: np.ndarray, spare: np.ndarray) -> tuple[int, int]:
        seen.append(numbers.copy())
        assert spare.tolist() == [0.0, 0.0]
        return next(answers)

    own.feed(take, 300)
    expected = plain.doubles(403)
    np.testing.assert_array_equal(seen[0][:3], expected[:3])
    np.testing.assert_array_equal(seen[1], expected[3:])
    assert own.random32(1) == plain.random32(1)


def test_a_sampler_may_leave_a_normal() -> None:
    own = seeded()

    def take(numbers: np.ndarray, spare: np.ndarray) -> tuple[int, int]:
        spare[...] = 1.5, 1
        return 0, 0

    own.feed(take, 10)
    assert own.normal_sequence(1).tolist() == [1.5]
    assert own.random32(1) == seeded().random32(1)


# -- bounds ------------------------------------------------------------------------------------


class Largest(Generator):
    """Draws the largest numbers that there are."""

    def singles(self, n: int) -> np.ndarray:
        return np.full(n, 1 - 2**-24, np.float32)

    def doubles(self, n: int) -> np.ndarray:
        return np.full(n, 1 - 2**-53)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (1.0, 2.0), (-3.0, 1000.0)])
def test_uniforms_never_reach_the_upper_bound(dtype: Any, low: float, high: float) -> None:
    values = Largest().uniform((4,), low, high, dtype)
    assert values.dtype == dtype
    assert (values >= low).all()
    assert (values < high).all()


def test_complex_numbers_are_drawn_by_their_parts() -> None:
    z, parts = seeded().normal((3,), np_dtype=np.complex64), seeded().normal((6,))
    np.testing.assert_allclose(z.view(np.float32), parts / math.sqrt(2), rtol=1e-6)
    u, parts = seeded().uniform((3,), np_dtype=np.complex128), seeded().doubles(6)
    np.testing.assert_array_equal(u.view(np.float64), parts)


def test_exponentials() -> None:
    np.testing.assert_allclose(
        seeded().exponential(5, 2.0), -np.log1p(-seeded().doubles(5)) / 2, rtol=1e-14
    )


# -- seeds and states --------------------------------------------------------------------------


def test_seeds() -> None:
    assert seeded(5).initial_seed() == 5
    assert seeded(-1).initial_seed() == 2**64 - 1
    assert seeded(2**63).initial_seed() == 2**63
    for seed in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match=f"Overflow.*manual_seed.*seed={seed}, expected"):
            seeded(seed)


def test_only_the_low_bits_of_a_seed_count() -> None:
    assert seeded(3).random32(4).tolist() == seeded(3 + 2**32).random32(4).tolist()


def test_an_unseeded_generator_is_pytorchs() -> None:
    assert Generator().initial_seed() == 67280421310721
    own, twister = Generator(), Twister(67280421310721 & MASK)
    assert own.random32(3).tolist() == [twister() for _ in range(3)]


def test_seeding_forgets_the_other_half_of_a_pair() -> None:
    own = seeded()
    first = own.normal_sequence(1)
    own.manual_seed(7)
    assert own.normal_sequence(1) == first


def test_fresh_seeds_differ() -> None:
    own = Generator()
    seeds = {own.seed() for _ in range(4)}
    assert len(seeds) == 4
    assert own.initial_seed() in seeds


def advanced() -> Generator:
    own = seeded()
    own.random32(1000)
    own.normal_sequence(1)
    return own


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize(
    "copied",
    [
        lambda g: Generator().set_state(g.get_state()),
        lambda g: g.clone_state(),
        lambda g: pickle.loads(pickle.dumps(g)),
        copy.deepcopy,
    ],
)
def test_copies_go_on_alike(copied: Callable[[Generator], Generator]) -> None:
    own = advanced()
    other = copied(own)
    assert other is not own
    assert other.initial_seed() == 7
    np.testing.assert_array_equal(other.normal_sequence(3), own.normal_sequence(3))
    np.testing.assert_array_equal(other.random32(700), own.random32(700))


def test_a_state_is_a_copy() -> None:
    own = seeded()
    state = own.get_state()
    before = state._array.copy()
    own.random32(1000)
    np.testing.assert_array_equal(state._array, before)


def test_states_at_the_edges_of_a_block() -> None:
    for n in (0, 1, 623, 624, 625):
        own = seeded()
        own.random32(n)
        other = own.clone_state()
        assert other.random32(3).tolist() == own.random32(3).tolist()


@pytest.mark.torch
def test_states_are_pytorchs(torch: Any) -> None:
    theirs = torch.Generator().manual_seed(7)
    own = seeded()
    for n in (0, 1, 5, 700):
        torch.rand(n, generator=theirs)
        own.singles(n)
        state = theirs.get_state().numpy()
        expected = Generator().set_state(wrap(state.copy()))
        assert expected.clone_state().random32(5).tolist() == own.clone_state().random32(5).tolist()
        theirs.set_state(torch.from_numpy(own.get_state()._array.copy()))


@pytest.mark.parametrize(
    ("state", "kind", "message"),
    [
        (b"bytes", TypeError, "RNG state must be a torch.ByteTensor.*of type bytes"),
        (wengert.zeros(5056), TypeError, "RNG state must be a torch.ByteTensor"),
        (wengert.zeros(5055, dtype=wengert.uint8), RuntimeError, "of size 5056 but found.*5055"),
        (wengert.zeros(5056, dtype=wengert.uint8), RuntimeError, "Invalid mt19937 state"),
    ],
)
def test_states_that_are_none(state: Any, kind: type[Exception], message: str) -> None:
    own = advanced()
    before = own.get_state()
    with pytest.raises(kind, match=message):
        own.set_state(state)
    assert own.get_state().equal(before)


def test_positions_that_do_not_fit_each_other() -> None:
    own = seeded()
    own.random32(10)
    state = own.get_state()
    state._array[8] += 1  # what is left
    with pytest.raises(RuntimeError, match=r"set_state\(\) got next=10 and left=616"):
        own.set_state(state)


def test_the_memory_of_the_twister() -> None:
    bits: Any = np.random.MT19937()
    bits._legacy_seeding(3)
    memory = live_state(bits)
    assert memory is not None
    assert memory.size == 625
    bits.random_raw(5)
    assert memory[624] == 5
    memory[624] = 0
    assert bits.random_raw() == Twister(3)()


@pytest.mark.parametrize("where", ["cuda", "meta"])
def test_generators_of_other_devices(where: str) -> None:
    with pytest.raises(RuntimeError, match=r"CUDA generator|Device type META is not supported"):
        Generator(where)


def test_a_state_in_which_nothing_of_a_block_was_drawn_can_be_set() -> None:
    wengert.manual_seed(0)
    wengert.poisson(wengert.zeros(1))  # draws numbers, and puts them all back
    state = wengert.get_rng_state()
    expected = wengert.rand(3)
    wengert.set_rng_state(state)
    assert wengert.equal(wengert.rand(3), expected)
