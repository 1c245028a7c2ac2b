"""``theano.tensor.nnet.corr3d``: correlations of volumes with filters, which are not mirrored."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.tensor.nnet.abstract_conv import (
    AbstractConv3d,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
)


class _OfVolumes:
    """The arguments of Theano's class, in its order."""

    def __init__(self, border_mode: Any = "valid", subsample: Any = (1, 1, 1),
                 filter_dilation: Any = (1, 1, 1), num_groups: int = 1) -> None:  # fmt: skip
        super().__init__(  # type: ignore[call-arg]
            border_mode=border_mode, subsample=subsample, filter_flip=False,
            filter_dilation=filter_dilation, num_groups=num_groups,
        )  # fmt: skip


class Corr3dMM(_OfVolumes, AbstractConv3d):
    """``op(volumes, filters)``."""


class Corr3dMM_gradInputs(_OfVolumes, AbstractConv3d_gradInputs):  # noqa: N801
    """``op(filters, gradient, size)``: the adjoint in volumes."""


class Corr3dMM_gradWeights(_OfVolumes, AbstractConv3d_gradWeights):  # noqa: N801
    """``op(volumes, gradient, size)``: the adjoint in filters."""
