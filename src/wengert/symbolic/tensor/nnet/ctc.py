"""``theano.tensor.nnet.ctc``: connectionist temporal classification."""

from __future__ import annotations

from typing import Any

from wengert import ops
from wengert.ops.ctc import ctc_loss
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.expressions.wrapped import Wrapped


def ctc_available() -> bool:
    """Whether there is an implementation: always."""
    return True


ctc_available.msg = None  # type: ignore[attr-defined]


def _losses(activations: Any, labels: Any, lengths: Any) -> Any:
    counts = (labels >= 0).sum(1)
    scores = ops.log_softmax(activations, -1)
    targets = ops.clamp(labels, min=0)
    return ctc_loss(scores, targets, lengths, counts, blank=0, reduction="none")


def ctc(activations: Any, labels: Any, input_lengths: Any) -> Any:
    """The loss of each sequence; label 0 is the blank.

    Args:
        activations: of (time, batch, classes), before the softmax.
        labels: int32 of (batch, labels), with negative numbers behind the last label.
        input_lengths: int32, how many time steps of each sequence count.

    Raises TypeError for other numbers of dimensions and other dtypes.
    """
    x = as_tensor_variable(activations)
    y, lengths = as_tensor_variable(labels), as_tensor_variable(input_lengths)
    for what, v, ndim, dtypes in (
        ("activations", x, 3, ("float32", "float64")), ("labels", y, 2, ("int32",)),
        ("input_lengths", lengths, 1, ("int32",)),
    ):  # fmt: skip
        if v.ndim != ndim or v.dtype not in dtypes:
            raise TypeError(
                f"ctc: {what} must have {ndim} dimensions and dtype {' or '.join(dtypes)}, and"
                f" {v} is {v.type}"
            )
    return Wrapped("ConnectionistTemporalClassification", _losses,
                   [TensorType(x.dtype, (False,))])(x, y, lengths)  # fmt: skip
