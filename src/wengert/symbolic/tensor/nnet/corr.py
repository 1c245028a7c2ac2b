"""``theano.tensor.nnet.corr``: correlations of images with filters, which are not mirrored."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.tensor.nnet.abstract_conv import (
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
)


class _OfImages:
    """The arguments of Theano's class, in its order."""

    def __init__(self, border_mode: Any = "valid", subsample: Any = (1, 1),
                 filter_dilation: Any = (1, 1), num_groups: int = 1,
                 unshared: bool = False) -> None:  # fmt: skip
        super().__init__(  # type: ignore[call-arg]
            border_mode=border_mode, subsample=subsample, filter_flip=False,
            filter_dilation=filter_dilation, num_groups=num_groups, unshared=unshared,
        )  # fmt: skip


class CorrMM(_OfImages, AbstractConv2d):
    """``op(images, filters)``.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.tensor.nnet.corr import CorrMM
    >>> x, w = T.dtensor4("x"), T.dtensor4("w")
    >>> CorrMM()(x, w).eval({x: [[[[1.0, 2.0, 3.0]]]], w: [[[[1.0, 10.0]]]]}).ravel()
    array([21., 32.])
    """


class CorrMM_gradInputs(_OfImages, AbstractConv2d_gradInputs):  # noqa: N801
    """``op(filters, gradient, size)``: the adjoint in images."""


class CorrMM_gradWeights(_OfImages, AbstractConv2d_gradWeights):  # noqa: N801
    """``op(images, gradient, size)``: the adjoint in filters."""
