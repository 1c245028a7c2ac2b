"""Attention without the matrix of all scores (Dao et al., 2022), and its derivative.

A block of queries iterates over blocks of keys with an online softmax: when a larger score
turns up, the running sums are scaled down. The logarithm of each query's sum of exponentials
is saved, from which the backward pass recomputes the weights of a block. All blocks are
transposed, with a row per key and a column per query, so that the softmax steps are the same
for neighbours in memory.

Arrays are (batch, heads, length, width) with any strides, except that rows are contiguous.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.kernels.calling import Caller, at_once
from wengert.kernels.jit import LARGE, available, kernel
from wengert.kernels.jit.builtins import apart, at, given, i64, i64s, inline, local, real, reals
from wengert.kernels.jit.mathlib import exp_bounded, log
from wengert.kernels.jit.records import Record
from wengert.kernels.layout import empty, order_of
from wengert.kernels.products.blas import matmul
from wengert.kernels.products.tiles import COLUMNS, move, multiply, transpose
from wengert.kernels.softmax import masked_softmax, softmax

Array = np.ndarray
Steps = tuple[int, ...]

# Queries and keys per block, and the widest head that fits on the stack.
_BLOCK, _WIDEST = 64, 128
# Multiplications that make a thread worthwhile; NumPy handles fewer queries.
_PIECE, _FEW = 1 << 21, 8


class AttentionCotangents(NamedTuple):
    """The cotangents of queries, keys and values."""

    query: Any
    key: Any
    value: Any


class _Layout(Record):
    """Sizes, and strides in elements; only a mask has a stride within rows."""

    heads: i64
    queries: i64
    keys: i64
    width: i64
    value_width: i64
    q_sample: i64
    q_head: i64
    q_row: i64
    k_sample: i64
    k_head: i64
    k_row: i64
    v_sample: i64
    v_head: i64
    v_row: i64
    mask_sample: i64
    mask_head: i64
    mask_query: i64
    mask_key: i64
    out_sample: i64
    out_head: i64
    out_row: i64


class _BackLayout(_Layout):
    """`_Layout` with the strides of the cotangents."""

    g_sample: i64
    g_head: i64
    g_row: i64
    dq_sample: i64
    dq_head: i64
    dq_row: i64
    dk_sample: i64
    dk_head: i64
    dk_row: i64
    dv_sample: i64
    dv_head: i64
    dv_row: i64


@inline
def _place(strides: i64s, which: i64, sample: i64, head: i64, row: i64) -> i64:
    """The offset of a row of the array whose strides start at index `which`."""
    return sample * strides[which] + head * strides[which + 1] + row * strides[which + 2]


@inline
def _whole(count: i64) -> i64:
    """The next multiple of COLUMNS."""
    return (count + COLUMNS - 1) // COLUMNS * COLUMNS


@apart
def _of_keys(
    a: reals, b: reals, out: reals, width: i64, keys: i64, wide: i64, diagonal: i64
) -> None:
    """out = a @ b, for rows of keys and the columns of queries that see them."""
    for p in range(0, wide, COLUMNS):
        seen = min(keys, p + COLUMNS) if diagonal != 0 else keys
        multiply(a, width, 1, at(b, p), _BLOCK, at(out, p), _BLOCK, seen, width, 0)


@apart
def _over_keys(
    a: reals, b: reals, out: reals, width: i64, keys: i64, wide: i64, diagonal: i64
) -> None:
    """out += a.T @ b, the sum over keys that queries see."""
    for p in range(0, wide, COLUMNS):
        seen = min(keys, p + COLUMNS) if diagonal != 0 else keys
        multiply(a, 1, width, at(b, p), _BLOCK, at(out, p), _BLOCK, width, seen, 1)


@apart
def _scores(
    k: reals, turned: reals, mask: reals, shade: i64, scratch: reals, s: reals, layout: _Layout,
    keys: i64, queries: i64, causal: i64,
) -> None:  # fmt: skip
    """The scores of a block, -inf where hidden. `causal` is for a block on the diagonal."""
    wide = _whole(queries)
    _of_keys(k, turned, s, layout.width, keys, wide, causal)
    if causal != 0:
        for r in range(keys):
            for i in range(_hidden(r, causal), min(r, wide)):
                s[r * _BLOCK + i] = -math.inf
    if given(mask):
        _masked(
            at(mask, shade), layout.mask_query, layout.mask_key, scratch, s, keys, queries, wide
        )


@inline
def _hidden(key: i64, diagonal: i64) -> i64:
    """How many queries of a block can be skipped: they come before the key."""
    return key // COLUMNS * COLUMNS if diagonal != 0 else 0


@apart
def _masked(
    mask: reals, of_query: i64, of_key: i64, scratch: reals, s: reals, keys: i64, queries: i64,
    wide: i64,
) -> None:  # fmt: skip
    """Add a mask to the scores of a block."""
    if of_query == 0:
        for r in range(keys):
            shift = mask[r * of_key]
            for i in range(wide):
                s[r * _BLOCK + i] = s[r * _BLOCK + i] + shift
    else:
        if of_key == 1:
            transpose(mask, of_query, scratch, _BLOCK, queries, keys)
        else:
            for r in range(keys):
                for i in range(queries):
                    move(at(mask, i * of_query + r * of_key), at(scratch, r * _BLOCK + i))
        for r in range(keys):
            for i in range(queries):
                s[r * _BLOCK + i] = s[r * _BLOCK + i] + scratch[r * _BLOCK + i]


@inline
def _filled(a: reals, value: real, count: i64) -> None:
    for i in range(count):
        a[i] = value


@inline
def _times(a: reals, factor: real, count: i64) -> None:
    for i in range(count):
        a[i] = a[i] * factor


@apart
def _loaded(a: reals, lda: i64, b: reals, queries: i64, width: i64, factor: real) -> None:
    """Load a block of rows transposed, times a number, with zeros for missing rows."""
    if queries < _BLOCK:
        _filled(b, 0.0, width * _BLOCK)
    transpose(a, lda, b, _BLOCK, queries, width)
    _times(b, factor, width * _BLOCK)


@inline
def _larger(a: real, b: real) -> real:
    """The larger of two scores; if one is nan, either: the sum of exponentials will be nan."""
    return a if a > b else b


@inline
def _softmax_step(
    s: reals, top: reals, now: reals, less: reals, total: reals, keys: i64, wide: i64,
    diagonal: i64,
) -> None:  # fmt: skip
    """Turn scores into exponentials; `less` becomes the factor for the running sums."""
    for i in range(wide):
        now[i] = top[i]
    # Several keys at once, so that running maxima and sums are loaded less often.
    keys_up = (keys + 3) // 4 * 4
    _filled(at(s, keys * _BLOCK), -math.inf, (keys_up - keys) * _BLOCK)
    for r in range(0, keys_up, 4):
        for i in range(_hidden(r, diagonal), wide):
            a = _larger(s[r * _BLOCK + i], s[(r + 1) * _BLOCK + i])
            b = _larger(s[(r + 2) * _BLOCK + i], s[(r + 3) * _BLOCK + i])
            now[i] = _larger(_larger(a, b), now[i])
    for i in range(wide):
        high = 0.0 if now[i] == -math.inf else now[i]
        less[i] = exp_bounded(top[i] - high)
        total[i] = total[i] * less[i]
        top[i] = now[i]
        now[i] = high
    for r in range(0, keys_up, 2):
        for i in range(_hidden(r, diagonal), wide):
            a = exp_bounded(s[r * _BLOCK + i] - now[i])
            b = exp_bounded(s[(r + 1) * _BLOCK + i] - now[i])
            s[r * _BLOCK + i] = a
            s[(r + 1) * _BLOCK + i] = b
            total[i] = total[i] + (a + b)


@inline
def _scaled(found: reals, factors: reals, depth: i64, wide: i64) -> None:
    for d in range(depth):
        for i in range(wide):
            found[d * _BLOCK + i] = found[d * _BLOCK + i] * factors[i]


@kernel
def _attend(
    q: reals, k: reals, v: reals, mask: reals, out: reals, sums: reals, layout: _Layout,
    factor: real, causal: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Attention of blocks of queries, and the logarithms of the sums of their exponentials."""
    # A task is (sample, head, block of queries). `turned` (width, query) and `found` (value width,
    # query) are transposed, `s` is (key, query); `top`, `total` and `less` are per query.
    turned = local(real, _WIDEST * _BLOCK)
    found = local(real, _WIDEST * _BLOCK)
    some_k = local(real, _WIDEST * _BLOCK)
    some_v = local(real, _WIDEST * _BLOCK)
    s = local(real, _BLOCK * _BLOCK)
    scratch = local(real, _BLOCK * _BLOCK)
    top = local(real, _BLOCK)
    now = local(real, _BLOCK)
    total = local(real, _BLOCK)
    less = local(real, _BLOCK)
    heads = layout.heads
    length = layout.queries
    width = layout.width
    depth = layout.value_width
    blocks = (length + _BLOCK - 1) // _BLOCK
    for t in range(start, stop):
        sample = t // blocks // heads
        head = t // blocks % heads
        first = t % blocks * _BLOCK
        queries = min(_BLOCK, length - first)
        wide = _whole(queries)
        here = _place(layout, _Layout.q_sample, sample, head, first)
        _loaded(at(q, here), layout.q_row, turned, queries, width, factor)
        _filled(top, -math.inf, _BLOCK)
        _filled(total, 0.0, _BLOCK)
        _filled(found, 0.0, depth * _BLOCK)
        visible = min(layout.keys, first + queries) if causal != 0 else layout.keys
        for j in range(0, visible, _BLOCK):
            keys = min(_BLOCK, visible - j)
            diagonal = i64(causal != 0 and j == first)
            ks = _place(layout, _Layout.k_sample, sample, head, j)
            vs = _place(layout, _Layout.v_sample, sample, head, j)
            _copied(at(k, ks), layout.k_row, keys, some_k, width, keys, width, 1.0)
            _copied(at(v, vs), layout.v_row, keys, some_v, depth, keys, depth, 1.0)
            ms = _place(layout, _Layout.mask_sample, sample, head, first) + j * layout.mask_key
            _scores(some_k, turned, mask, ms, scratch, s, layout, keys, queries, diagonal)
            _softmax_step(s, top, now, less, total, keys, wide, diagonal)
            _scaled(found, less, depth, wide)
            _over_keys(some_v, s, found, depth, keys, wide, diagonal)
        for i in range(wide):
            less[i] = 0.0 if total[i] == 0.0 else 1.0 / total[i]
            now[i] = math.inf if total[i] == 0.0 else top[i] + log(total[i])
        for i in range(queries):
            sums[(sample * heads + head) * length + first + i] = now[i]
        _scaled(found, less, depth, wide)
        place = _place(layout, _Layout.out_sample, sample, head, first)
        transpose(found, _BLOCK, at(out, place), layout.out_row, depth, queries)


@apart
def _copied(
    a: reals, lda: i64, rows: i64, b: reals, ldb: i64, room: i64, width: i64, factor: real
) -> None:
    """Copy rows times a number, zero-padded to `room` rows of `ldb` elements."""
    for r in range(rows):
        for i in range(width):
            b[r * ldb + i] = a[r * lda + i] * factor
        for i in range(width, ldb):
            b[r * ldb + i] = 0.0
    for i in range(rows * ldb, room * ldb):
        b[i] = 0.0


@apart
def _added(
    s: reals, rows: reals, ldb: i64, out: reals, ldc: i64, keys: i64, wide: i64, diagonal: i64
) -> None:
    """out += s @ rows, for the keys of a block."""
    if diagonal != 0:
        for r in range(0, keys, COLUMNS):
            some = min(COLUMNS, keys - r)
            for c in range(0, ldb, COLUMNS):
                multiply(
                    at(s, r * _BLOCK + r), _BLOCK, 1, at(rows, r * ldb + c), ldb,
                    at(out, r * ldc + c), ldc, some, wide - r, 1,
                )  # fmt: skip
    else:
        for c in range(0, ldb, COLUMNS):
            multiply(s, _BLOCK, 1, at(rows, c), ldb, at(out, c), ldc, keys, wide, 1)


@inline
def _dots(a: reals, lda: i64, b: reals, ldb: i64, out: reals, rows: i64, width: i64) -> None:
    """The products of rows."""
    for i in range(rows):
        dot = 0.0
        for d in range(width):
            dot += a[i * lda + d] * b[i * ldb + d]
        out[i] = dot


@inline
def _flows(
    s: reals, ds: reals, logs: reals, mean: reals, keys: i64, wide: i64, diagonal: i64
) -> None:
    """Turn scores into weights, and cotangents of weights into those of scores."""
    for r in range(keys):
        for i in range(_hidden(r, diagonal), wide):
            e = exp_bounded(s[r * _BLOCK + i] - logs[i])
            s[r * _BLOCK + i] = e
            ds[r * _BLOCK + i] = e * (ds[r * _BLOCK + i] - mean[i])


@kernel
def _attend_back(
    q: reals, k: reals, v: reals, mask: reals, out: reals, sums: reals, g: reals, dq: reals,
    dk: reals, dv: reals, layout: _BackLayout, factor: real, causal: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The cotangents of all blocks of whole heads, accumulated for keys and values.

    Rows of `dk` and `dv` have room for a multiple of COLUMNS elements.
    """
    turned = local(real, _WIDEST * _BLOCK)
    turned_g = local(real, _WIDEST * _BLOCK)
    turned_dq = local(real, _WIDEST * _BLOCK)
    rows = local(real, _WIDEST * _BLOCK)
    rows_g = local(real, _WIDEST * _BLOCK)
    some_k = local(real, _WIDEST * _BLOCK)
    some_v = local(real, _WIDEST * _BLOCK)
    s = local(real, _BLOCK * _BLOCK)
    ds = local(real, _BLOCK * _BLOCK)
    logs = local(real, _BLOCK)
    mean = local(real, _BLOCK)
    length = layout.queries
    width = layout.width
    depth = layout.value_width
    for t in range(start, stop):
        sample = t // layout.heads
        head = t % layout.heads
        for first in range(0, length, _BLOCK):
            queries = min(_BLOCK, length - first)
            wide = _whole(queries)
            qs = _place(layout, _Layout.q_sample, sample, head, first)
            gs = _place(layout, _BackLayout.g_sample, sample, head, first)
            os = _place(layout, _Layout.out_sample, sample, head, first)
            _loaded(at(q, qs), layout.q_row, turned, queries, width, factor)
            _loaded(at(g, gs), layout.g_row, turned_g, queries, depth, 1.0)
            _copied(at(q, qs), layout.q_row, queries, rows, _whole(width), wide, width, factor)
            _copied(at(g, gs), layout.g_row, queries, rows_g, _whole(depth), wide, depth, 1.0)
            _filled(turned_dq, 0.0, width * _BLOCK)
            _filled(logs, math.inf, _BLOCK)
            _copied(at(sums, t * length + first), 0, 1, logs, queries, 1, queries, 1.0)
            _filled(mean, 0.0, _BLOCK)
            _dots(at(g, gs), layout.g_row, at(out, os), layout.out_row, mean, queries, depth)
            visible = min(layout.keys, first + queries) if causal != 0 else layout.keys
            for j in range(0, visible, _BLOCK):
                keys = min(_BLOCK, visible - j)
                diagonal = i64(causal != 0 and j == first)
                ks = _place(layout, _Layout.k_sample, sample, head, j)
                vs = _place(layout, _Layout.v_sample, sample, head, j)
                _copied(at(k, ks), layout.k_row, keys, some_k, width, keys, width, 1.0)
                _copied(at(v, vs), layout.v_row, keys, some_v, depth, keys, depth, 1.0)
                ms = _place(layout, _Layout.mask_sample, sample, head, first) + j * layout.mask_key
                _scores(some_k, turned, mask, ms, ds, s, layout, keys, queries, diagonal)
                _of_keys(some_v, turned_g, ds, depth, keys, wide, diagonal)
                _flows(s, ds, logs, mean, keys, wide, diagonal)
                _over_keys(some_k, ds, turned_dq, width, keys, wide, diagonal)
                ks = _place(layout, _BackLayout.dk_sample, sample, head, j)
                vs = _place(layout, _BackLayout.dv_sample, sample, head, j)
                _added(ds, rows, _whole(width), at(dk, ks), layout.dk_row, keys, wide, diagonal)
                _added(s, rows_g, _whole(depth), at(dv, vs), layout.dv_row, keys, wide, diagonal)
            _times(turned_dq, factor, width * _BLOCK)
            qs = _place(layout, _BackLayout.dq_sample, sample, head, first)
            transpose(turned_dq, _BLOCK, at(dq, qs), layout.dq_row, width, queries)


def fits(q: Any, v: Any) -> bool:
    """Whether there are kernels for these sizes."""
    widths = q.shape[-1], v.shape[-1]
    return min(widths) > 0 and max(widths) <= _WIDEST and q.shape[-2] >= _FEW


def native(q: Array, k: Array, v: Array, mask: Array | None) -> bool:
    """Whether kernels compute this attention."""
    if prod(q.shape[:-1]) * k.shape[-2] < LARGE or q.dtype != np.float32 or q.ndim > 4:
        return False
    aligned = all(x.flags.aligned for x in (q, k, v)) and (mask is None or mask.flags.aligned)
    return fits(q, v) and aligned and (mask is None or mask.dtype == np.float32) and available()


def _in_four(x: Array) -> Array:
    """The array with leading dimensions of length 1 added, up to four."""
    return x if x.ndim == 4 else x[(None,) * (4 - x.ndim)]


def _rows(x: Array) -> Array:
    """The array, copied if its rows are not contiguous."""
    x = _in_four(x)
    whole = x.strides[-1] == x.itemsize or x.shape[-1] == 1
    return x if whole and x.flags.aligned else np.require(x, requirements=("C", "A"))


def _new(make: Any, shape: tuple[int, ...], like: Array) -> Array:
    """A new array with the heads of a position adjacent, in the outer order of `like`."""
    batch, heads, length, width = shape
    if like.strides[2] > like.strides[0]:
        return make((length, batch, heads, width), np.float32).transpose(1, 2, 0, 3)
    return make((batch, length, heads, width), np.float32).swapaxes(1, 2)


def _zeros(x: Array) -> Array:
    """Zeros shaped like `x`, in rows padded to a multiple of COLUMNS elements."""
    *others, width = x.shape
    return _new(np.zeros, (*others, -width % COLUMNS + width), x)


def _order_of_rows(q: Array) -> tuple[int, ...]:
    """The memory order of the queries' rows, if these are contiguous."""
    if q.strides[-1] != q.itemsize:
        return 0, 1, 2, 3
    return (*[d for d in order_of(q.shape, ((q.shape, q.strides),)) if d != 3], 3)


def _ordered_as(q: Array, out: Array) -> Array:
    ordered = empty(out.shape, out.dtype, _order_of_rows(q))
    ordered[...] = out
    return ordered


def call_attend(
    caller: Caller, arrays: Sequence[Any], steps: Sequence[Steps], factor: float, causal: bool
) -> None:
    """Compute attention: `arrays` are queries, keys, values, mask, result, logarithms of sums.

    `steps` are the strides of the first five, in elements; those of no mask are zeros.
    """
    q, k, v, *_ = arrays
    batch, heads, length, width = q.shape
    layout = _Layout(*_sizes(q, k, v), *_strides(steps))
    work = min(length, _BLOCK) * k.shape[2] * (width + v.shape[3])
    caller.call(
        _attend.f32, *arrays, layout, factor, causal,
        total=batch * heads * (-(-length // _BLOCK)), chunk=-(-_PIECE // work),
    )  # fmt: skip


def call_attend_back(
    caller: Caller, arrays: Sequence[Any], steps: Sequence[Steps], factor: float, causal: bool
) -> None:
    """Pull back the cotangent of a result: `arrays` are those of `call_attend`, it, and those of
    queries, keys and values; the last two are zeros before, in rows of whole COLUMNS.

    `steps` are the strides of all but the sums.
    """
    q, k, v, *_ = arrays
    layout = _BackLayout(*_sizes(q, k, v), *_strides(steps))
    work = q.shape[2] * k.shape[2] * (q.shape[3] + v.shape[3])
    caller.call(
        _attend_back.f32, *arrays, layout, factor, causal, total=q.shape[0] * q.shape[1],
        chunk=-(-_PIECE // work),
    )  # fmt: skip


def _sizes(q: Any, k: Any, v: Any) -> list[int]:
    return [q.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3]]


def _strides(steps: Sequence[Steps]) -> list[int]:
    """The strides of a layout: a mask has one within rows."""
    return [s for k, of in enumerate(steps) for s in (of if k == 3 else of[:3])]


def _steps(*arrays: Array | None) -> list[Steps]:
    """The strides of arrays in elements."""
    return [
        (0, 0, 0, 0) if x is None else tuple([s // x.itemsize for s in x.strides]) for x in arrays
    ]


def weights(q: Array, k: Array, mask: Array | None, factor: float, causal: bool) -> Array:
    """The weights of all values."""
    scores = matmul(q * q.dtype.type(factor), k.swapaxes(-1, -2))
    if causal:
        mask = causal_mask(q.shape[-2], k.shape[-2], q.dtype)
    found: Array = (
        softmax(scores, scores.ndim - 1) if mask is None else masked_softmax(scores, mask)
    )
    return found


def causal_mask(queries: int, keys: int, dtype: np.dtype[Any]) -> Array:
    """The mask that hides later keys from each query."""
    later = np.arange(keys) > np.arange(queries)[:, None]
    return np.where(later, dtype.type(-np.inf), dtype.type(0))


def _shade(q: Array, k: Array, mask: Array | None) -> Array | None:
    """The mask expanded to the shape of all scores."""
    if mask is None:
        return None
    return _in_four(np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2])))


def attend(
    q: Array, k: Array, v: Array, mask: Array | None, factor: float, causal: bool
) -> tuple[Array, Array]:
    """Attention, and what its derivative needs: the weights, or the logarithms of their sums."""
    if not native(q, k, v, mask):
        found = weights(q, k, mask, factor, causal)
        out = matmul(found, v)
        return out if q.ndim != 4 or q.flags.c_contiguous else _ordered_as(q, out), found
    shape, mask = (*q.shape[:-1], v.shape[-1]), _shade(q, k, mask)
    q, k, v = _rows(q), _rows(k), _rows(v)
    out = empty((*q.shape[:-1], v.shape[-1]), np.float32, _order_of_rows(q))
    sums = np.empty(q.shape[:-1], np.float32)
    call_attend(at_once, (q, k, v, mask, out, sums), _steps(q, k, v, mask, out), factor, causal)
    return out.reshape(shape), sums.reshape(shape[:-1])


def attend_back(
    g: Array, q: Array, k: Array, v: Array, mask: Array | None, out: Array, sums: Array,
    factor: float, causal: bool,
) -> AttentionCotangents:  # fmt: skip
    """Pull back a cotangent of attention computed by kernels."""
    shapes, mask = (q.shape, k.shape, v.shape), _shade(q, k, mask)
    q, k, v, out, g = _rows(q), _rows(k), _rows(v), _rows(out), _rows(g)
    dq, dk, dv = _new(np.empty, q.shape, q), _zeros(k), _zeros(v)
    steps = _steps(q, k, v, mask, out, g, dq, dk, dv)
    call_attend_back(at_once, (q, k, v, mask, out, sums, g, dq, dk, dv), steps, factor, causal)
    dk, dv = dk[..., : k.shape[-1]], dv[..., : v.shape[-1]]
    return AttentionCotangents(*(x.reshape(s) for x, s in zip((dq, dk, dv), shapes, strict=True)))
