"""Sorting and choosing by integer keys, as compiled kernels. Rows are ranked on their own."""

from __future__ import annotations

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import (
    apart,
    at,
    f32s,
    f64s,
    i32,
    i32s,
    i64,
    i64s,
    inline,
    local,
    real,
    reals,
)
from wengert.kernels.ordering import double_key, float_key

_LEAST, _LARGEST = -2147483648, 2147483647


@kernel
def float_keys(x: f32s, keys: i32s, flip: i64, start: i64, stop: i64) -> None:
    """Integers in the order of floats, NaN the largest; with `flip` -1 in the opposite order."""
    for i in range(start, stop):
        keys[i] = float_key(x[i]) ^ i32(flip)


@kernel
def integer_ends(x: i64s, ends: i64s, chunk: i64, start: i64, stop: i64) -> None:
    """The smallest and the largest integer of each chunk."""
    low = x[start]
    high = x[start]
    for i in range(start, stop):
        low = min(low, x[i])
        high = max(high, x[i])
    k = start // chunk
    ends[2 * k] = low
    ends[2 * k + 1] = high


@kernel
def integer_keys(x: i64s, keys: i32s, low: i64, flip: i64, start: i64, stop: i64) -> None:
    """As `float_keys`: the integer `low` becomes the least of 32 bits, whose digits are zeros."""
    for i in range(start, stop):
        keys[i] = i32(x[i] - low - 2147483648) ^ i32(flip)


@inline
def _digit(key: i32, shift: i64) -> i64:
    """Eight bits of a key, as those of a number without a sign."""
    return i64(((key ^ _LEAST) >> i32(shift)) & 255)


@apart
def _move(
    keys: i32s, index: i32s, to_keys: i32s, to_index: i32s, places: i32s, n: i64, shift: i64
) -> None:
    """Put elements in the order of a digit; `places` are those of the next with each digit."""
    for i in range(n):
        key = keys[i]
        digit = _digit(key, shift)
        place = i64(places[digit])
        places[digit] = i32(place + 1)
        to_keys[place] = key
        to_index[place] = index[i]


@inline
def _count(keys: i32s, index: i32s, counts: i32s, n: i64) -> None:
    """How often each of four digits comes; and the numbers of elements."""
    for d in range(1024):
        counts[d] = 0
    for i in range(n):
        key = keys[i]
        index[i] = i32(i)
        for d in range(4):
            place = 256 * d + _digit(key, 8 * d)
            counts[place] = counts[place] + 1


@kernel
def orders(
    keys: i32s, out: i64s, index: i32s, to_keys: i32s, to_index: i32s, n: i64, start: i64, stop: i64
) -> None:
    """The indices that sort the keys of each row, equal ones in their order: a radix sort."""
    counts = local(i32, 1024)
    for row in range(start, stop):
        a = at(keys, row * n)
        b = at(to_keys, row * n)
        i = at(index, row * n)
        j = at(to_index, row * n)
        _count(a, i, counts, n)
        moved = 0
        for d in range(4):
            places = at(counts, 256 * d)
            # A digit that all have in common needs no pass.
            if i64(places[_digit(a[0], 8 * d)]) < n:
                before = 0
                for k in range(256):
                    here = i64(places[k])
                    places[k] = i32(before)
                    before = before + here
                if moved == 0:
                    _move(a, i, b, j, places, n, 8 * d)
                else:
                    _move(b, j, a, i, places, n, 8 * d)
                moved = 1 - moved
        o = at(out, row * n)
        if moved == 0:
            for k in range(n):
                o[k] = i64(i[k])
        else:
            for k in range(n):
                o[k] = i64(j[k])


@kernel
def tops(keys: i32s, out: i64s, best: i32s, n: i64, count: i64, start: i64, stop: i64) -> None:
    """The indices of the largest keys of each row, largest first; of equal ones the first."""
    for row in range(start, stop):
        own = at(keys, row * n)
        b = at(best, row * count)
        o = at(out, row * count)
        some = 0
        for i in range(n):
            key = own[i]
            if some < count or key > b[count - 1]:
                j = min(some, count - 1)
                while j > 0 and b[max(j - 1, 0)] < key:
                    b[j] = b[j - 1]
                    o[j] = o[j - 1]
                    j = j - 1
                b[j] = key
                o[j] = i
                some = min(some + 1, count)


@inline
def _sink(heap: i64s, first: i64, count: i64) -> None:
    """Move an element of a heap, whose least element comes first, down to its place."""
    value = heap[first]
    i = first
    below = 2 * i + 1
    while below < count:
        other = min(below + 1, count - 1)
        below = other if heap[other] < heap[below] else below
        if heap[below] < value:
            heap[i] = heap[below]
            i = below
            below = 2 * i + 1
        else:
            below = count
    heap[i] = value


@kernel
def many_tops(keys: i32s, out: i64s, n: i64, count: i64, start: i64, stop: i64) -> None:
    """As `tops`, by a heap: a key, and its index as the digits behind it, the first the largest."""
    for row in range(start, stop):
        own = at(keys, row * n)
        heap = at(out, row * count)
        for i in range(count):
            heap[i] = (i64(own[i]) << 32) | (n - 1 - i)
        for k in range(count // 2):
            _sink(heap, count // 2 - 1 - k, count)
        for i in range(count, n):
            entry = (i64(own[i]) << 32) | (n - 1 - i)
            if entry > heap[0]:
                heap[0] = entry
                _sink(heap, 0, count)
        for k in range(count - 1):
            last = count - 1 - k
            least = heap[0]
            heap[0] = heap[last]
            heap[last] = least
            _sink(heap, 0, last)
        for i in range(count):
            heap[i] = n - 1 - (heap[i] & 4294967295)


@kernel
def tops_of_doubles(
    x: f64s, out: i64s, best: i64s, flip: i64, n: i64, count: i64, start: i64, stop: i64
) -> None:
    """As `tops`, with the keys made on the way."""
    for row in range(start, stop):
        own = at(x, row * n)
        b = at(best, row * count)
        o = at(out, row * count)
        some = 0
        for i in range(n):
            key = double_key(own[i]) ^ flip
            if some < count or key > b[count - 1]:
                j = min(some, count - 1)
                while j > 0 and b[max(j - 1, 0)] < key:
                    b[j] = b[j - 1]
                    o[j] = o[j - 1]
                    j = j - 1
                b[j] = key
                o[j] = i
                some = min(some + 1, count)


@kernel
def most_frequent(
    keys: i32s, ranked: i32s, out: i64s, n: i64, unequal: i64, start: i64, stop: i64
) -> None:
    """The last index of the key that comes most often in each row, of several the smallest.

    Keys that are the largest number, as those of nan are, are `unequal` to each other, if it is 1.
    """
    for row in range(start, stop):
        r = at(ranked, row * n)
        own = at(keys, row * n)
        most = 0
        best = r[0]
        length = 0
        for i in range(n):
            same = i > 0 and r[max(i - 1, 0)] == r[i]
            same = same and (unequal == 0 or r[i] < _LARGEST)
            length = length + 1 if same else 1
            best = r[i] if length > most else best
            most = max(most, length)
        place = 0
        if unequal == 0 or best < _LARGEST:
            for i in range(n):
                place = i if own[i] == best else place
        out[row] = place


@kernel
def ranked_places(
    x: reals, values: reals, ranks: i64s, out: i64s, n: i64, start: i64, stop: i64
) -> None:
    """In each row the place of its value, which is there, that comes at a rank in order.

    Of the same ones, and NaN is the same as NaN, the one before comes first.
    """
    for row in range(start, stop):
        own = at(x, row * n)
        value = values[row]
        left = ranks[row]
        place = 0
        if value == value:
            for k in range(n):
                left -= 1 if own[k] < value else 0
            for k in range(n):
                same = own[k] == value
                place = k if (same and left == 0) else place
                left -= 1 if same else 0
        else:
            for k in range(n):
                left -= 1 if own[k] == own[k] else 0
            for k in range(n):
                same = own[k] != own[k]
                place = k if (same and left == 0) else place
                left -= 1 if same else 0
        out[row] = place


# Values whose places are looked for together: no search waits for another one's loads.
TOGETHER = 64


@inline
def _comes_before(edge: real, value: real, right: i64) -> bool:
    """Whether an edge comes before a value in a sorted row; with `right` also if it is the same."""
    less = (edge < value) or (value != value and edge == edge)
    same = (edge == value) or (value != value and edge != edge)
    return less or (same and right != 0)


@kernel
def insertions(
    edges: reals, values: reals, out: i64s, n: i64, width: i64, blocks: i64, right: i64, half: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """How many of the `n` edges of its row come before each value.

    `half` is the largest power of two that is not above `n`. A task is a block of a row's values.
    """
    for task in range(start, stop):
        row = task // blocks
        first = task % blocks * TOGETHER
        count = min(TOGETHER, width - first)
        keys = at(edges, row * n)
        x = at(values, row * width + first)
        place = at(out, row * width + first)
        for j in range(count):
            place[j] = 0
        step = half
        while step > 0:
            for j in range(count):
                beyond = place[j] + step
                before = _comes_before(keys[min(beyond, n) - 1], x[j], right)
                place[j] = beyond if (before and beyond <= n) else place[j]
            step = step // 2
