"""The sums over all paths of connectionist temporal classification, as compiled kernels.

Scores are (time, batch, place), of a path's places. Rows of alpha and beta are in float64 and have
two places more, before the first or behind the last, that no path reaches.
"""

from __future__ import annotations

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, f64, f64s, i64, i64s, inline, maximum, real, reals
from wengert.kernels.jit.mathlib64 import exp_double, log_double

# Stands for log(0).
NEVER = -1e30


@inline
def _added(a: f64, b: f64, c: f64) -> f64:
    """log(exp(a) + exp(b) + exp(c))."""
    top = maximum(a, maximum(b, c))
    return top + log_double(exp_double(a - top) + exp_double(b - top) + exp_double(c - top))


@kernel
def forward(
    scores: reals, skips: reals, times: i64s, lengths: i64s, alpha: f64s, out: f64s, batch: i64,
    places: i64, rows: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The log-probabilities of the targets. Of alpha the last `rows` rows are kept."""
    width = places + 2
    for n in range(start, stop):
        own = at(alpha, n * rows * width)
        for r in range(rows):
            own[r * width] = NEVER
            own[r * width + 1] = NEVER
        skip = at(skips, n * places)
        first = at(scores, n * places)
        for s in range(places):
            own[s + 2] = f64(first[s]) + (f64(0.0) if s < 2 else f64(NEVER))
        for t in range(1, times[n]):
            before = at(own, (t - 1) % rows * width)
            here = at(own, t % rows * width + 2)
            score = at(scores, (t * batch + n) * places)
            for s in range(places):
                skipped = before[s] + f64(skip[s])
                here[s] = _added(before[s + 2], before[s + 1], skipped) + f64(score[s])
        if times[n] > 0:
            last = at(own, (times[n] - 1) % rows * width + 2 * lengths[n])
            out[n] = _added(last[2], last[1], f64(NEVER))
        else:
            out[n] = f64(0.0) if lengths[n] == 0 else f64(NEVER)


@kernel
def backward(
    scores: reals, skips: reals, times: i64s, lengths: i64s, alpha: f64s, total: f64s, g: reals,
    beta: f64s, out: reals, steps: i64, batch: i64, places: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The cotangents of the scores, of those of minus the log-probabilities; out has been zero."""
    width = places + 2
    for n in range(start, stop):
        skip = at(skips, n * places)
        here = at(beta, n * 3 * width)
        plain = at(here, width)
        skipped = at(plain, width)
        end = 2 * lengths[n]
        for s in range(width):
            here[s] = f64(0.0) if (s == end or s == end - 1) else f64(NEVER)
            plain[s] = NEVER
            skipped[s] = NEVER
        some = times[n] if total[n] > 0.5 * NEVER else 0
        for k in range(some):
            t = times[n] - 1 - k
            before = at(alpha, (n * steps + t) * width + 2)
            row = (t * batch + n) * places
            score = at(scores, row)
            slope = at(out, row)
            whole = total[n]
            weight = -f64(g[n])
            for s in range(places):
                slope[s] = real(weight * exp_double(before[s] + here[s] - whole))
            for s in range(places):
                plain[s] = here[s] + f64(score[s])
                skipped[s] = plain[s] + f64(skip[s])
            for s in range(places):
                here[s] = _added(plain[s], plain[s + 1], skipped[s + 2])
