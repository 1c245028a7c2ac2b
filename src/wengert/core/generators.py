"""Random numbers as arrays: PyTorch's CPU streams on NumPy's Mersenne Twister.

The same seed gives the same uniforms, integers and permutations as PyTorch, bit for bit,
and normals that agree up to the last digits of sine, cosine and logarithm. What each
sampler draws from the 32-bit stream, and in which order, is therefore part of its contract.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, ClassVar

import numpy as np

from wengert.core.device import cpu, device
from wengert.core.forks import register_fork_lock
from wengert.core.tensor import Tensor, wrap

Shape = Sequence[int]
Draw = Callable[[tuple[int, ...]], np.ndarray]

_WORDS = 624  # 32-bit words of the twister's state
_FIRST_SEED = 67280421310721  # of an unseeded generator
_WIDE = 1 << 28  # ranges of this size and larger draw 64 bits per integer
_DOUBLE_BITS = np.uint64(2**53 - 1)
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_BLOCK = 16  # normals are generated in blocks of 8 pairs
_RAW = 1 << 12  # up to this many words, NumPy's raw ones cost less than its array of integers

# The state in PyTorch's layout, as in the ByteTensor of `get_state`.
_STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "words", "normal", "has_normal"],
        "formats": ["u8", "i4", "i4", "u8", ("u8", _WORDS), "f8", "i4"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040],
        "itemsize": 5056,
    }
)


class Generator:
    """A source of random numbers with its own state.

    The samplers below take shapes and NumPy dtypes and return arrays.

    >>> import wengert
    >>> g = wengert.Generator().manual_seed(0)
    >>> wengert.rand(2, generator=g)
    tensor([0.4963, 0.7682])
    """

    __slots__ = ("__weakref__", "_lock", "_made", "_seed", "_spare")

    # Draws arrays, takes remainders and draws normals faster than NumPy (or returns None); makes
    # normals of pairs, takes uniforms to other bounds and shuffles (or returns False). Set by the
    # kernels, a layer above.
    drawer: ClassVar[Any] = None
    divider: ClassVar[Any] = None
    normalizer: ClassVar[Any] = None
    sequencer: ClassVar[Any] = None
    stretcher: ClassVar[Any] = None
    shuffler: ClassVar[Any] = None

    def __init__(self, device: Any = cpu) -> None:
        _check_device(device)
        self._made: tuple[Any, Any, np.ndarray | None] | None = None
        # A process is not forked while another thread draws: the child's lock would stay locked.
        self._lock = register_fork_lock(RLock())
        self.manual_seed(_FIRST_SEED)

    def _twister(self) -> tuple[Any, Any, np.ndarray | None]:
        """The bit generator, its array filler and its state; created lazily."""
        if self._made is None:
            bits = np.random.MT19937(0)
            bits._legacy_seeding(self._seed & 0xFFFFFFFF)
            # NumPy's Generator fills arrays with words; its own samplers are not used.
            self._made = bits, np.random.Generator(bits).integers, live_state(bits)
        return self._made

    @property
    def _bits(self) -> Any:
        return self._twister()[0]

    @property
    def _draw(self) -> Any:
        return self._twister()[1]

    @property
    def _state(self) -> np.ndarray | None:
        return self._twister()[2]

    @property
    def device(self) -> device:
        """Always ``cpu``."""
        return cpu

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of this seed; return the generator.

        Seeds range from -2**63 to 2**64 - 1; only the low 32 bits are used.
        """
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError(
                f"Overflow when unpacking long long: manual_seed() got seed={seed}, expected a"
                " value in [-2**63, 2**64 - 1]"
            )
        with self._lock:
            self._seed = seed % 2**64
            if self._made is not None:
                self._bits._legacy_seeding(self._seed & 0xFFFFFFFF)
            self._spare: float | None = None
        return self

    def seed(self) -> int:
        """Start an unpredictable stream; return its seed."""
        self.manual_seed(int.from_bytes(os.urandom(8)))
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed of the current stream."""
        return self._seed

    def get_state(self) -> Tensor:
        """Return the state as a uint8 tensor, in PyTorch's layout."""
        record = np.zeros((), _STATE)
        with self._lock:
            bits, _, live = self._twister()
            if live is None:
                twister = bits.state["state"]
                words, position = twister["key"], twister["pos"]
            else:
                words, position = live[:_WORDS], int(live[_WORDS])
            record["seed"], record["words"] = self._seed, words
            record["next"], record["left"] = position, _WORDS + 1 - position
            record["seeded"], record["has_normal"] = 1, self._spare is not None
            record["normal"] = self._spare or 0.0
        return wrap(np.frombuffer(bytearray(record.tobytes()), np.uint8))

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state returned by `get_state`, here or in PyTorch."""
        if not isinstance(new_state, Tensor) or new_state._array.dtype != np.uint8:
            raise TypeError(
                "RNG state must be a torch.ByteTensor: set_state() got new_state of type"
                f" {type(new_state).__name__}"
            )
        if new_state._array.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} but found the input"
                f" RNG state size to be {new_state._array.size}"
            )
        record: Any = np.frombuffer(new_state._array.tobytes(), _STATE)[0]
        position = int(record["next"]) if record["left"] != 1 else _WORDS
        left = int(record["left"])
        if record["seeded"] != 1 or not 1 <= left <= _WORDS or position + left != _WORDS + 1:
            raise RuntimeError(
                f"Invalid mt19937 state: set_state() got next={position} and left={left}"
            )
        with self._lock:
            self._seed = int(record["seed"])
            bits, _, live = self._twister()
            if live is None:
                key = record["words"].astype(np.uint32)
                state = {"key": key, "pos": position}
                bits.state = {"bit_generator": "MT19937", "state": state}
            else:
                live[:_WORDS], live[_WORDS] = record["words"], position
            self._spare = float(record["normal"]) if record["has_normal"] else None
        return self

    def snapshot(self) -> Any:
        """The state as it is here, which takes a tenth of the time of `get_state`."""
        with self._lock:
            live = self._state
            return self.get_state() if live is None else (self._seed, self._spare, live.copy())

    def go_back(self, snapshot: Any) -> None:
        """Continue from a snapshot."""
        if isinstance(snapshot, Tensor):
            self.set_state(snapshot)
            return
        with self._lock:
            self._seed, self._spare, words = snapshot
            live = self._state
            assert live is not None  # as when it was taken
            live[:] = words

    def clone_state(self) -> Generator:
        """Return another generator that will produce the same numbers."""
        return Generator().set_state(self.get_state())

    def __getstate__(self) -> bytes:
        return self.get_state()._array.tobytes()

    def __setstate__(self, state: bytes) -> None:
        self.__init__()  # type: ignore[misc]
        self.set_state(wrap(np.frombuffer(state, np.uint8)))

    def random32(self, n: int) -> np.ndarray:
        """The next `n` words of the stream, uint32."""
        return self._by_kernel(n, np.uint32, self._words)

    def random64(self, n: int) -> np.ndarray:
        """The next `n` pairs of words, the first one high, uint64."""
        return self._by_kernel(n, np.uint64, self._pairs)

    def singles(self, n: int) -> np.ndarray:
        """`n` float32 in [0, 1), multiples of 2**-24; a word each."""
        return self._by_kernel(n, np.float32, self._singles)

    def doubles(self, n: int) -> np.ndarray:
        """`n` float64 in [0, 1), multiples of 2**-53; two words each."""
        return self._by_kernel(n, np.float64, self._doubles)

    def _by_kernel(self, n: int, dtype: Any, plain: Callable[[int], np.ndarray]) -> np.ndarray:
        with self._lock:
            state = (self._made or self._twister())[2]
            if self.drawer is not None and state is not None:
                drawn: np.ndarray | None = self.drawer(state, n, dtype)
                if drawn is not None:
                    return drawn
            return plain(n)

    def _words(self, n: int) -> np.ndarray:
        if n < _RAW:
            return self._bits.random_raw(n).astype(np.uint32)
        return self._draw(0, 2**32 - 1, n, np.uint32, endpoint=True)

    def _pairs(self, n: int) -> np.ndarray:
        if 2 * n < _RAW:
            words = self._bits.random_raw(2 * n)
            return words[::2] << np.uint64(32) | words[1::2]
        return self._draw(0, 2**64 - 1, n, np.uint64, endpoint=True)

    def _singles(self, n: int) -> np.ndarray:
        values = (self._words(n) & np.uint32(0xFFFFFF)).astype(np.float32)
        values *= np.float32(2.0**-24)
        return values

    def _doubles(self, n: int) -> np.ndarray:
        return (self._pairs(n) & _DOUBLE_BITS) * 2.0**-53

    def feed(self, take: Callable[[np.ndarray, np.ndarray], tuple[int, int]], size: int) -> None:
        """Feed a sampler float64 numbers in [0, 1) from the stream, `size` at first.

        ``take(numbers, spare)`` returns how many numbers it has used, and how many it wants next,
        starting with the unused ones; 0 ends it. `spare` holds the unused half of a pair of
        normals, and whether there is one; the sampler may take it and leave another.
        """
        with self._lock:
            spare = np.array([self._spare or 0.0, self._spare is not None])
            while size:
                state = self._state
                before = self._bits.state if state is None else state.copy()
                used, following = take(self.doubles(size), spare)
                self._go_back(before, 2 * used, 2 * (size - used))
                size = following
            self._spare = float(spare[0]) if spare[1] else None

    def _go_back(self, before: Any, used: int, unused: int) -> None:
        """Put back the last words drawn since a state."""
        state = self._state
        # Not to the start of a block: nobody has that block before its first word is drawn.
        if state is not None and state[_WORDS] > unused:
            state[_WORDS] -= unused
            return
        if state is None:
            self._bits.state = before
        else:
            state[...] = before
        self.random32(used)

    def uniform(
        self, shape: Shape, low: float = 0.0, high: float = 1.0, np_dtype: Any = np.float32
    ) -> np.ndarray:
        """Uniform in [low, high), in any floating-point or complex dtype."""
        to = np.dtype(np_dtype)
        if to.kind == "c":
            components = self.uniform((*shape, 2), low, high, np.empty(0, to).real.dtype)
            return components.view(to)[..., 0]
        n = math.prod(shape)
        values = self.doubles(n) if to == np.float64 else self.singles(n)
        unit = low == 0 and high == 1
        if not unit:
            start, stop = values.dtype.type(low), values.dtype.type(high)
            wide = to.itemsize >= 4 and self.stretcher is not None
            if wide and self.stretcher(values, start, stop):
                return _shaped(values, to, shape)
            values *= stop - start
            values += start
        values = _shaped(values, to, shape)
        if not unit or to.itemsize < 4:  # rounding may have produced `high`
            values[values == to.type(high)] = low
        return values

    def normal(
        self, shape: Shape, mean: float = 0.0, std: float = 1.0, np_dtype: Any = np.float32
    ) -> np.ndarray:
        """Normal, in any floating-point or complex dtype; 16 or more are generated in blocks."""
        to = np.dtype(np_dtype)
        if to.kind == "c":
            real_dtype = np.empty(0, to).real.dtype
            # PyTorch adds the mean to both parts.
            return self.normal((*shape, 2), mean, std / math.sqrt(2), real_dtype).view(to)[..., 0]
        n = math.prod(shape)
        values = self._normal_blocks(n, to) if n >= _BLOCK else self.normal_sequence(n)
        if std != 1:
            values *= values.dtype.type(std)
        if mean != 0:
            values += values.dtype.type(mean)
        return _shaped(values, to, shape)

    def _normal_blocks(self, n: int, to: np.dtype[Any]) -> np.ndarray:
        # Half precision does not draw the end twice.
        again, double = to.itemsize >= 4, to == _DOUBLE
        with self._lock:
            state = (self._made or self._twister())[2]
            if self.normalizer is not None and state is not None:
                found: np.ndarray | None
                found = self.normalizer(state, n, _DOUBLE if double else _SINGLE, again)
                if found is not None:
                    return found
            draw = self.doubles if double else self.singles
            tail = n % _BLOCK
            if not tail:
                drawn = draw(n)
                _box_muller(drawn)
                return drawn
            # An incomplete last block is redone.
            drawn = draw((n if again else n - tail) + _BLOCK)
        if again:
            drawn[n - tail : n - tail + _BLOCK] = drawn[n:]
            drawn = drawn[: n - tail + _BLOCK]
        _box_muller(drawn)
        drawn[n - _BLOCK : n] = drawn[-_BLOCK:]
        return drawn[:n].copy()

    def normal_sequence(self, n: int) -> np.ndarray:
        """`n` float64 normals one after the other; the unused half of a pair is kept."""
        if not n:
            return np.empty(0)
        with self._lock:
            spare = self._spare
            drawn = n if spare is None else n - 1
            values = self.doubles(drawn + drawn % 2)
            if self.sequencer is None or not self.sequencer(values):
                _normal_pairs(values)
            self._spare = float(values[drawn]) if drawn % 2 else None
        if drawn % 2:
            values = values[:drawn]
        return values if spare is None else np.concatenate(([spare], values))

    def bernoulli(self, shape: Shape, p: Any) -> np.ndarray:
        """True with probability `p`: a number, or an array of this shape."""
        n = math.prod(shape)
        if not isinstance(p, np.ndarray):
            return (self.doubles(n) < float(p)).reshape(shape)
        draws = self.doubles(n) if p.dtype == np.float64 else self.singles(n)
        return draws.reshape(shape) < p.astype(draws.dtype, copy=False)

    def integers(self, shape: Shape, low: int, high: int, np_dtype: Any = np.int64) -> np.ndarray:
        """Integers in [low, high), by remainder; wide ranges draw two words each."""
        n, span = math.prod(shape), int(high) - int(low)
        if span == 2**64:
            return self.random64(n).view(np.int64).astype(np_dtype, copy=False).reshape(shape)
        words = self.random64(n) if span >= _WIDE else self.random32(n)
        values: np.ndarray | None = None
        if span < _WIDE and self.divider is not None:
            values = self.divider(words, span)
        if values is None:
            words = remainders(words, span)
            values = words.astype(np.int64) if words.itemsize == 4 else words.view(np.int64)
        if low:
            values += np.array(low, np.int64)
        return _shaped(values, np.dtype(np_dtype), shape)

    def permutation(self, n: int) -> np.ndarray:
        """The numbers below `n` in random order, int64 (Fisher-Yates shuffle)."""
        words = (self.random32 if n < (2**32 - 1) // 20 else self.random64)(max(n - 1, 0))
        order = np.arange(n)
        known = words.itemsize == 4 and self.shuffler is not None
        if known and self.shuffler(order, words):
            return order
        words %= np.arange(n, n - len(words), -1, dtype=words.dtype)
        numbers = order.tolist()
        for i, distance in enumerate(words.tolist()):
            j = i + distance
            numbers[i], numbers[j] = numbers[j], numbers[i]
        return np.array(numbers, np.int64)

    def exponential(self, n: int, rate: float = 1.0) -> np.ndarray:
        """`n` float64 from the exponential distribution."""
        return np.log1p(-self.doubles(n)) * (-1.0 / rate)


def _shaped(values: np.ndarray, to: np.dtype[Any], shape: Shape) -> np.ndarray:
    if values.dtype is not to:
        values = values.astype(to, copy=False)
    return values if values.shape == shape else values.reshape(shape)


def live_state(bits: Any) -> np.ndarray | None:
    """The memory of NumPy's twister: 624 words, and the index of the next one.

    Getting or setting the state through NumPy takes as long as drawing thousands of numbers.
    None if the memory is not laid out like that.
    """
    memory = (ctypes.c_uint32 * (_WORDS + 1)).from_address(bits.ctypes.state_address)
    words, state = np.ctypeslib.as_array(memory), bits.state["state"]
    same = np.array_equal(words[:_WORDS], state["key"]) and words[_WORDS] == state["pos"]
    return words if same else None


def remainders(words: np.ndarray, divisor: int) -> np.ndarray:
    """The words modulo a number, in place: NumPy divides by one number many times as fast."""
    kind = words.dtype.type
    if divisor & (divisor - 1) == 0:
        words &= kind(divisor - 1)
    else:
        by = kind(divisor)
        quotients = words // by
        quotients *= by
        words -= quotients
    return words


def _normal_pairs(values: np.ndarray) -> None:
    """Turn pairs of uniforms into pairs of normals in place."""
    first, second = values[::2], values[1::2]
    radius, angle = np.sqrt(-2.0 * np.log1p(-second)), 2.0 * math.pi * first
    np.multiply(radius, np.cos(angle), out=first)
    np.multiply(radius, np.sin(angle), out=second)


def _box_muller(values: np.ndarray) -> None:
    """Turn uniforms into normals in place; in each 16, cosines come before sines."""
    kind = values.dtype.type
    # Eight at a time as one item, which separates and rejoins them without an inner loop of 8.
    halves = values.view(f"V{8 * values.itemsize}").reshape(-1, 2).T
    dense = halves.copy().view(kind).reshape(2, -1)
    radius, angle = dense
    np.log(np.subtract(1, radius, out=radius), out=radius)
    radius *= kind(-2)
    np.sqrt(radius, out=radius)
    angle *= kind(2 * math.pi)
    cosine = np.cos(angle)
    np.multiply(radius, np.sin(angle, out=angle), out=angle)
    radius *= cosine
    halves[...] = dense.view(halves.dtype)


def _check_device(where: Any) -> None:
    kind = device(where).type
    if kind == "cuda":
        raise RuntimeError(
            "Cannot get CUDA generator without ATen_cuda library; this library computes on 'cpu'"
        )
    if kind != "cpu":
        raise RuntimeError(f"Device type {kind.upper()} is not supported for torch.Generator()"
                           " api.")  # fmt: skip


default_generator = Generator()
default_generator.seed()


def _once(
    draw: Draw,
    shape: tuple[int, ...],
    dependencies: Sequence[Any],
    target: Tensor | None,
    partner: Tensor | None,
) -> Tensor:
    return wrap(draw(shape))


# How `draw_numbers` draws under transforms: replaced by autograd.
by_level = _once


def draw_numbers(
    draw: Draw,
    shape: tuple[int, ...],
    given: Sequence[Any] = (),
    target: Tensor | None = None,
    partner: Tensor | None = None,
) -> Tensor:
    """Draw the numbers of a random function of tensors: ``draw(shape)``.

    Inside `vmap` they are drawn once for all samples, or in a larger shape with separate numbers
    for each, depending on its `randomness`. `given` are tensors the numbers depend on, `target`
    is the tensor they are written to, `partner` one they are combined with. If one of these has no
    memory, neither do the numbers, and none is drawn.
    """
    return by_level(draw, shape, given, target, partner)
