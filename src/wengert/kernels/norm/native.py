"""Normalisation as compiled kernels.

Means and variances are computed in two passes over cached data, summed in the float type within
blocks and in float64 between them: a common offset of the values costs the variance no digits.
Inputs, outputs and their cotangents may be of halves, which are read and rounded as they are used;
all else is of the real type.
Sums over a batch are returned as one partial sum per row, plane or chunk.
"""

from __future__ import annotations

from wengert.kernels.jit import exact_kernel, kernel
from wengert.kernels.jit.builtins import (
    at,
    f64,
    f64s,
    given,
    i64,
    inline,
    local,
    real,
    reals,
    sqrt,
    storeds,
)
from wengert.kernels.reduction.native import BLOCK, row_squares, row_sum

# The maximum channels per chunk.
MOST = 64


@inline
def _sums(g: storeds, row: storeds, mean: real, size: i64, sums: f64s, k: i64) -> None:
    """Add to two sums: of g, and of g times the distance from the mean."""
    for first in range(0, size, BLOCK):
        part = 0.0
        slope = 0.0
        for j in range(first, min(first + BLOCK, size)):
            part += g[j]
            slope += g[j] * (row[j] - mean)
        sums[2 * k] = sums[2 * k] + f64(part)
        sums[2 * k + 1] = sums[2 * k + 1] + f64(slope)


@inline
def _statistics(
    row: storeds, means: reals, variances: reals, rstds: reals, r: i64, size: i64, centred: i64,
    eps: f64,
) -> None:  # fmt: skip
    mean = real(0.0)
    if centred == 1:
        mean = real(row_sum(row, size) / f64(size))
    variance = row_squares(row, mean, size) / f64(size)
    means[r] = mean
    variances[r] = real(variance)
    rstds[r] = real(1.0 / sqrt(variance + eps))


# Rows: x is (row, element), weight and bias are per element (layer norm).


@kernel
def rows(
    x: storeds, weight: reals, bias: reals, out: storeds, means: reals, variances: reals,
    rstds: reals, size: i64, centred: i64, eps: f64, start: i64, stop: i64,
) -> None:  # fmt: skip
    for r in range(start, stop):
        row = at(x, r * size)
        y = at(out, r * size)
        _statistics(row, means, variances, rstds, r, size, centred, eps)
        mean = means[r]
        rstd = rstds[r]
        for j in range(size):
            y[j] = (row[j] - mean) * rstd * weight[j] + bias[j]


@kernel
def rows_gradient(
    g: storeds, x: storeds, weight: reals, means: reals, rstds: reals, grad: storeds,
    weight_parts: reals, bias_parts: reals, size: i64, centred: i64, chunk: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """The gradients for rows; those of weight and bias are summed over each chunk."""
    gain = at(weight_parts, start // chunk * size)
    shift = at(bias_parts, start // chunk * size)
    for j in range(size):
        gain[j] = 0.0
        shift[j] = 0.0
    for r in range(start, stop):
        p = at(g, r * size)
        row = at(x, r * size)
        o = at(grad, r * size)
        mean = means[r]
        rstd = rstds[r]
        total = f64(0.0)
        slope = f64(0.0)
        for first in range(0, size, BLOCK):
            some = 0.0
            part = 0.0
            for j in range(first, min(first + BLOCK, size)):
                v = p[j]
                normal = (row[j] - mean) * rstd
                gain[j] = gain[j] + v * normal
                shift[j] = shift[j] + v
                scaled = v * weight[j]
                some += scaled
                part += scaled * normal
            total += f64(some)
            slope += f64(part)
        common = real(total / f64(size)) if centred == 1 else 0.0
        tilt = real(slope / f64(size))
        for j in range(size):
            o[j] = (p[j] * weight[j] - common - (row[j] - mean) * rstd * tilt) * rstd


@kernel
def plain_rows_gradient(
    g: storeds, x: storeds, means: reals, rstds: reals, grad: storeds, size: i64, centred: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """The gradient for rows that have no weight."""
    sums = local(f64, 2)
    for r in range(start, stop):
        p = at(g, r * size)
        row = at(x, r * size)
        o = at(grad, r * size)
        mean = means[r]
        rstd = rstds[r]
        sums[0] = 0.0
        sums[1] = 0.0
        _sums(p, row, mean, size, sums, 0)
        common = real(sums[0] / f64(size)) if centred == 1 else 0.0
        tilt = real(sums[1] * f64(rstd) / f64(size))
        for j in range(size):
            o[j] = (p[j] - common - (row[j] - mean) * rstd * tilt) * rstd


# Groups: x is (group, plane, element), weight and bias are per channel (group norm). Groups are
# # numbered over all samples: plane k of group r is channel (r * planes + k) % channels.


@kernel
def groups(
    x: storeds, weight: reals, bias: reals, out: storeds, means: reals, variances: reals,
    rstds: reals, planes: i64, space: i64, channels: i64, eps: f64, start: i64, stop: i64,
) -> None:  # fmt: skip
    size = planes * space
    for r in range(start, stop):
        _statistics(at(x, r * size), means, variances, rstds, r, size, 1, eps)
        mean = means[r]
        for k in range(planes):
            c = (r * planes + k) % channels
            row = at(x, r * size + k * space)
            y = at(out, r * size + k * space)
            scale = rstds[r] * weight[c]
            shift = bias[c]
            for j in range(space):
                y[j] = (row[j] - mean) * scale + shift


@kernel
def groups_gradient(
    g: storeds, x: storeds, weight: reals, means: reals, rstds: reals, grad: storeds,
    weight_parts: reals, bias_parts: reals, planes: i64, space: i64, channels: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """The gradients for groups; those of weight and bias are summed over each plane."""
    size = planes * space
    sums = local(f64, 2)
    for r in range(start, stop):
        mean = means[r]
        rstd = rstds[r]
        total = f64(0.0)
        tilted = f64(0.0)
        for k in range(planes):
            c = (r * planes + k) % channels
            p = at(g, r * size + k * space)
            row = at(x, r * size + k * space)
            sums[0] = 0.0
            sums[1] = 0.0
            _sums(p, row, mean, space, sums, 0)
            slope = sums[1] * f64(rstd)
            bias_parts[r * planes + k] = real(sums[0])
            weight_parts[r * planes + k] = real(slope)
            total += sums[0] * f64(weight[c])
            tilted += slope * f64(weight[c])
        common = real(total / f64(size)) * rstd
        tilt = real(tilted / f64(size)) * rstd * rstd
        for k in range(planes):
            c = (r * planes + k) % channels
            p = at(g, r * size + k * space)
            row = at(x, r * size + k * space)
            o = at(grad, r * size + k * space)
            scale = rstd * weight[c]
            for j in range(space):
                o[j] = p[j] * scale - common - (row[j] - mean) * tilt


# Channels: x is (sample, channel, element), statistics are per channel (batch norm). A call gets at
# # most `MOST` channels, start to stop, and goes through the batch plane by plane.


@inline
def _channel_statistics(
    x: storeds, means: reals, variances: reals, rstds: reals, batch: i64, space: i64, count: i64,
    eps: f64, start: i64, width: i64,
) -> None:  # fmt: skip
    sums = local(f64, MOST)
    size = f64(batch * space)
    for k in range(width):
        sums[k] = 0.0
    for n in range(batch):
        base = (n * count + start) * space
        for k in range(width):
            sums[k] = sums[k] + row_sum(at(x, base + k * space), space)
    for k in range(width):
        means[start + k] = real(sums[k] / size)
        sums[k] = 0.0
    for n in range(batch):
        base = (n * count + start) * space
        for k in range(width):
            row = at(x, base + k * space)
            sums[k] = sums[k] + row_squares(row, means[start + k], space)
    for k in range(width):
        variance = sums[k] / size
        variances[start + k] = real(variance)
        rstds[start + k] = real(1.0 / sqrt(variance + eps))


@kernel
def channels(
    x: storeds, weight: reals, bias: reals, out: storeds, means: reals, variances: reals,
    rstds: reals, batch: i64, space: i64, count: i64, eps: f64, start: i64, stop: i64,
) -> None:  # fmt: skip
    width = stop - start
    _channel_statistics(x, means, variances, rstds, batch, space, count, eps, start, width)
    for n in range(batch):
        base = (n * count + start) * space
        for k in range(width):
            row = at(x, base + k * space)
            y = at(out, base + k * space)
            mean = means[start + k]
            scale = rstds[start + k] * weight[start + k]
            shift = bias[start + k]
            for j in range(space):
                y[j] = (row[j] - mean) * scale + shift


@kernel
def channels_gradient(
    g: storeds, x: storeds, weight: reals, means: reals, rstds: reals, grad: storeds,
    weight_grads: reals, bias_grads: reals, batch: i64, space: i64, count: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """The gradients for channels; the input's only if `grad` has room for it."""
    sums = local(f64, 2 * MOST)
    size = f64(batch * space)
    width = stop - start
    for k in range(2 * width):
        sums[k] = 0.0
    for n in range(batch):
        base = (n * count + start) * space
        for k in range(width):
            place = base + k * space
            _sums(at(g, place), at(x, place), means[start + k], space, sums, k)
    for k in range(width):
        bias_grads[start + k] = real(sums[2 * k])
        weight_grads[start + k] = real(sums[2 * k + 1] * f64(rstds[start + k]))
    for n in range(batch if given(grad) else 0):
        base = (n * count + start) * space
        for k in range(width):
            p = at(g, base + k * space)
            row = at(x, base + k * space)
            o = at(grad, base + k * space)
            mean = means[start + k]
            rstd = rstds[start + k]
            scale = rstd * weight[start + k]
            common = real(sums[2 * k] / size) * scale
            tilt = real(sums[2 * k + 1] / size) * rstd * rstd * scale
            for j in range(space):
                o[j] = p[j] * scale - common - (row[j] - mean) * tilt


# Columns of a matrix: adjacent channels (channels last).


@kernel
def column_statistics(
    x: storeds, means: reals, squares: reals, count: i64, chunk: i64, start: i64, stop: i64
) -> None:
    """Per chunk of rows: the mean of each column, and the sum of squared distances from it."""
    mean = at(means, start // chunk * count)
    square = at(squares, start // chunk * count)
    for j in range(count):
        mean[j] = 0.0
        square[j] = 0.0
    base = at(x, start * count)  # its distances are small numbers, which are summed well
    for r in range(start, stop):
        row = at(x, r * count)
        for j in range(count):
            mean[j] = mean[j] + (row[j] - base[j])
    scale = real(1.0 / f64(stop - start))
    for j in range(count):
        mean[j] = base[j] + mean[j] * scale
    for r in range(start, stop):
        row = at(x, r * count)
        for j in range(count):
            d = row[j] - mean[j]
            square[j] = square[j] + d * d


@kernel
def merged_statistics(
    parts: reals, squares: reals, weight: reals, means: reals, variances: reals, rstds: reals,
    scales: reals, count: i64, height: i64, chunk: i64, eps: f64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The statistics of columns from those of chunks of rows."""
    pieces = (height + chunk - 1) // chunk
    for j in range(start, stop):
        total = f64(0.0)
        for k in range(pieces):
            size = min(chunk, height - k * chunk)
            total += f64(parts[k * count + j]) * f64(size)
        mean = total / f64(height)
        square = f64(0.0)
        for k in range(pieces):
            size = min(chunk, height - k * chunk)
            apart = f64(parts[k * count + j]) - mean
            square += f64(squares[k * count + j]) + apart * apart * f64(size)
        rstd = 1.0 / sqrt(square / f64(height) + eps)
        means[j] = real(mean)
        variances[j] = real(square / f64(height))
        rstds[j] = real(rstd)
        scales[j] = real(rstd) * weight[j]


@kernel
def scaled_columns(
    x: storeds, mean: reals, scale: reals, shift: reals, out: storeds, count: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    for r in range(start, stop):
        row = at(x, r * count)
        y = at(out, r * count)
        for j in range(count):
            y[j] = (row[j] - mean[j]) * scale[j] + shift[j]


@kernel
def column_products(
    g: storeds, x: storeds, mean: reals, weight_parts: reals, bias_parts: reals, count: i64,
    chunk: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Per chunk of rows: the sums down each column of g and of g * (x - mean)."""
    gain = at(weight_parts, start // chunk * count)
    shift = at(bias_parts, start // chunk * count)
    for j in range(count):
        gain[j] = 0.0
        shift[j] = 0.0
    for r in range(start, stop):
        p = at(g, r * count)
        row = at(x, r * count)
        for j in range(count):
            gain[j] = gain[j] + p[j] * (row[j] - mean[j])
            shift[j] = shift[j] + p[j]


@kernel
def merged_products(
    weight_parts: reals, bias_parts: reals, weight: reals, rstds: reals, weight_grads: reals,
    bias_grads: reals, scales: reals, commons: reals, tilts: reals, count: i64, height: i64,
    pieces: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The gradients of weight and bias, and the coefficients of the input's."""
    for j in range(start, stop):
        total = f64(0.0)
        slope = f64(0.0)
        for k in range(pieces):
            total += f64(bias_parts[k * count + j])
            slope += f64(weight_parts[k * count + j])
        rstd = rstds[j]
        scale = rstd * weight[j]
        bias_grads[j] = real(total)
        weight_grads[j] = real(slope * f64(rstd))
        scales[j] = scale
        commons[j] = real(total / f64(height)) * scale
        tilts[j] = real(slope / f64(height)) * rstd * rstd * scale


@kernel
def columns_gradient(
    g: storeds, x: storeds, mean: reals, scale: reals, common: reals, tilt: reals, grad: storeds,
    count: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    for r in range(start, stop):
        p = at(g, r * count)
        row = at(x, r * count)
        o = at(grad, r * count)
        for j in range(count):
            o[j] = p[j] * scale[j] - common[j] - (row[j] - mean[j]) * tilt[j]


# Planes, each of its own channel.


@kernel
def scaled_planes(
    x: storeds, mean: reals, scale: reals, shift: reals, out: storeds, count: i64, space: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    for r in range(start, stop):
        row = at(x, r * space)
        y = at(out, r * space)
        c = r % count
        m = mean[c]
        s = scale[c]
        b = shift[c]
        for j in range(space):
            y[j] = (row[j] - m) * s + b


@exact_kernel
def followed(running: reals, now: reals, kept: real, taken: real, start: i64, stop: i64) -> None:
    """Move running statistics towards those of a batch."""
    for i in range(start, stop):
        running[i] = running[i] * kept + taken * now[i]
