"""PowerSGD: buckets are reduced as products of thin matrices (Vogels et al., 2019).

A gradient M of n by m becomes P Q^T of rank r: P averages M Q, Q averages M^T P, with P
orthogonal. What the product misses is added to the next step's gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wengert.core.tensor import Tensor, wrap
from wengert.distributed._reducer import GradBucket
from wengert.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from wengert.distributed.collectives import all_reduce
from wengert.distributed.futures import Future
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.reduce_op import ReduceOp


class PowerSGDState:
    """What PowerSGD remembers from step to step, and how far it compresses.

    Args:
        process_group: the ranks; None means all.
        matrix_approximation_rank: the rank of the products.
        start_powerSGD_iter: how many steps average whole gradients first.
        min_compression_rate: leave a matrix whole unless its factors are smaller by this factor.
        use_error_feedback: add what a step lost to the next one.
        warm_start: start from the last step's Q, rather than from random numbers.
        orthogonalization_epsilon: added to a column's norm before dividing by it; 0: QR, by LAPACK.
        random_seed: for the first Q; the same on all ranks.
        compression_stats_logging_frequency: without effect; see `compression_stats`.
        batch_tensors_with_same_shape: without effect: products of a step are always few.

    ValueError if compression would start before the buckets are in their final order.

    >>> from wengert.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    >>> powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=10).matrix_approximation_rank
    1
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "start_powerSGD_iter must be > 1 with use_error_feedback or warm_start, got"
                f" {start_powerSGD_iter}: the first step settles the order of the buckets"
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.compression_stats_logging_frequency = compression_stats_logging_frequency
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = np.random.default_rng(random_seed)
        self.error_dict: dict[int, np.ndarray] = {}
        self.q_memory_dict: dict[int, list[np.ndarray]] = {}
        self.iter = 0
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0

    def compression_stats(self) -> tuple[float, int, int]:
        """The rate so far, and the numbers of elements before and after compression."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0, before, after)


def _average(group: ProcessGroup | None, arrays: Sequence[np.ndarray]) -> None:
    """Average arrays in place, by one collective."""
    if not arrays:
        return
    row = np.concatenate([array.reshape(-1) for array in arrays])
    all_reduce(wrap(row), ReduceOp.AVG, group)
    start = 0
    for array in arrays:
        array[...] = row[start : start + array.size].reshape(array.shape)
        start += array.size


def _orthogonal(matrix: np.ndarray, epsilon: float) -> np.ndarray:
    """A matrix with orthogonal columns that span the same."""
    if not epsilon:
        return np.linalg.qr(matrix)[0]
    matrix = matrix.copy()
    for k in range(matrix.shape[1]):
        column = matrix[:, k]
        column /= np.linalg.norm(column) + epsilon
        later = matrix[:, k + 1 :]
        later -= np.outer(column, column @ later)
    return matrix


def _factors(state: PowerSGDState, bucket: int, matrices: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The Q of each matrix: the last step's, or random and the same on all ranks."""
    if state.warm_start and bucket in state.q_memory_dict:
        return state.q_memory_dict[bucket]
    return [
        state.rng.standard_normal(
            (m.shape[1], min(*m.shape, state.matrix_approximation_rank))
        ).astype(m.dtype)
        for m in matrices
    ]


def _compress(state: PowerSGDState, bucket: int, matrices: Sequence[np.ndarray]) -> None:
    """Replace matrices by the averages over ranks of their approximations."""
    epsilon = state.orthogonalization_epsilon
    qs = [_orthogonal(q, epsilon) for q in _factors(state, bucket, matrices)]
    ps = [m @ q for m, q in zip(matrices, qs, strict=True)]
    _average(state.process_group, ps)
    ps = [_orthogonal(p, epsilon) for p in ps]
    qs = [m.T @ p for m, p in zip(matrices, ps, strict=True)]
    _average(state.process_group, qs)
    if state.warm_start:
        state.q_memory_dict[bucket] = qs
    for m, p, q in zip(matrices, ps, qs, strict=True):
        np.matmul(p, q.T, out=m)
    state.total_numel_after_compression += sum(p.size + q.size for p, q in zip(ps, qs, strict=True))


def _compressible(state: PowerSGDState, shape: tuple[int, ...]) -> bool:
    if len(shape) < 2:
        return False
    rows, columns = shape[0], math.prod(shape[1:])
    factors = (rows + columns) * min(rows, columns, state.matrix_approximation_rank)
    return factors * state.min_compression_rate < rows * columns


def _with_error(state: PowerSGDState, bucket: GradBucket) -> np.ndarray:
    """The gradients in a row of their own, with what the last step lost."""
    data = bucket.buffer()._array
    kind = data.dtype if data.dtype == np.float64 else np.float32
    row = data.astype(kind)
    if bucket.index() in state.error_dict:
        row += state.error_dict[bucket.index()]
    return row


def _finished(state: PowerSGDState, bucket: GradBucket, row: np.ndarray) -> Future[Tensor]:
    if bucket.is_last():
        state.iter += 1
    future: Future[Tensor] = Future()
    future.set_result(wrap(row).to(bucket.buffer().dtype))
    return future


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average a bucket with each matrix in it as a product of low rank.

    The two halves of a product wait for each other, so a bucket is reduced before the backward
    goes on.

    >>> from wengert.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    >>> powerSGD_hook.powerSGD_hook.__name__
    'powerSGD_hook'
    """
    if state.iter < state.start_powerSGD_iter:
        state.iter += bucket.is_last()
        return allreduce_hook(state.process_group, bucket)
    row = _with_error(state, bucket)
    before = row.copy() if state.use_error_feedback else None
    matrices, others, start = [], [], 0
    for gradient in bucket.gradients():
        shape = gradient._array.shape
        piece = row[start : start + gradient.numel()]
        start += piece.size
        if _compressible(state, shape):
            matrices.append(piece.reshape(shape[0], -1))
        else:
            others.append(piece)
    _compress(state, bucket.index(), matrices)
    if before is not None:
        # Of what went uncompressed nothing is lost: there the difference is still 0.
        state.error_dict[bucket.index()] = before - row
    _average(state.process_group, others)
    state.total_numel_before_compression += row.size
    state.total_numel_after_compression += sum(piece.size for piece in others)
    return _finished(state, bucket, row)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average a bucket as one square matrix of low rank: fewer bytes, less accurate.

    >>> from wengert.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    >>> powerSGD_hook.batched_powerSGD_hook.__name__
    'batched_powerSGD_hook'
    """
    if state.iter < state.start_powerSGD_iter:
        state.iter += bucket.is_last()
        return allreduce_hook(state.process_group, bucket)
    row = _with_error(state, bucket)
    side = math.isqrt(row.size - 1) + 1
    square = np.zeros((side, side), row.dtype)
    square.reshape(-1)[: row.size] = row
    _compress(state, bucket.index(), [square])
    approximation = square.reshape(-1)[: row.size]
    if state.use_error_feedback:
        state.error_dict[bucket.index()] = row - approximation
    state.total_numel_before_compression += row.size
    return _finished(state, bucket, approximation)


__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]
