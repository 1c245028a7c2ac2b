"""Losses."""

from __future__ import annotations

from wengert.compat._private.harness.operations.letters import (
    FLOATS,
    FLOATS_COMPLEX,
    FLOATS_WIDE,
    NUMBERS,
    REALS,
    REALS_BOOL,
)
from wengert.compat._private.harness.operations.recipes import Const, Index, Of, T, on, op
from wengert.compat._private.harness.operations.records import OpInfo

LOSSES: list[OpInfo] = [
    op(
        "nn.functional.cross_entropy",
        FLOATS,
        on(T(4, 5), Index(4, high=5)),
        on(T(4, 5, 3), Index(4, 3, high=5), reduction="sum", label_smoothing=0.2),
        on(T(4, 5), T(4, 5, low=0, high=1), reduction="none"),
        no="out",
    ),
    op(
        "nn.functional.nll_loss",
        FLOATS,
        on(T(4, 5), Index(4, high=5)),
        on(T(4, 5), Index(4, high=5), weight=T(5, low=0, high=1, grad=False), reduction="sum"),
        on(T(4, 5, 3), Index(4, 3, high=5), ignore_index=1, reduction="none"),
        no="out",
    ),
    op(
        "nn.functional.mse_loss",
        FLOATS,
        on(T(3, 4), T(3, 4)),
        on(T(3, 4), T(3, 4), reduction="sum"),
        on(T(3), T(3), reduction="none"),
        no="out",
    ),
    op(
        "nn.functional.l1_loss",
        FLOATS_COMPLEX,
        on(T(3, 4), T(3, 4)),
        on(T(3, 4), T(3, 4), reduction="sum"),
        on(T(3), T(3), reduction="none"),
        no="out",
    ),
    op(
        "nn.functional.smooth_l1_loss",
        FLOATS,
        on(T(3, 4), T(3, 4)),
        on(T(3, 4), T(3, 4), reduction="sum", beta=2.0),
        no="out",
    ),
    op(
        "nn.functional.huber_loss",
        FLOATS,
        on(T(3, 4), T(3, 4)),
        on(T(3, 4), T(3, 4), reduction="sum", delta=2.0),
        no="out",
    ),
    op(
        "nn.functional.binary_cross_entropy",
        FLOATS,
        on(T(3, 4, low=0.1, high=0.9), T(3, 4, low=0, high=1)),
        on(
            T(3, low=0.1, high=0.9),
            T(3, low=0, high=1),
            weight=T(3, low=0, high=1, grad=False),
            reduction="sum",
        ),
        no="out",
    ),
    op(
        "nn.functional.binary_cross_entropy_with_logits",
        FLOATS,
        on(T(3, 4), T(3, 4, low=0, high=1)),
        on(
            T(3),
            T(3, low=0, high=1),
            weight=T(3, grad=False),
            pos_weight=T(3, low=0, high=1, grad=False),
            reduction="sum",
        ),
        no="out",
    ),
    op(
        "nn.functional.kl_div",
        FLOATS,
        on(T(3, 4), T(3, 4, low=0, high=1)),
        on(T(3, 4), T(3, 4), log_target=True, reduction="sum"),
        on(T(3, 4), T(3, 4, low=0, high=1), reduction="batchmean"),
        no="out",
    ),
    op(
        "nn.functional.soft_margin_loss",
        FLOATS,
        on(T(3, 4, low=-1, high=1), T(3, 4, low=-1, high=1, grad=False)),
        on(T(3), T(3, low=-1, high=1, grad=False), reduction="sum"),
        no="out",
    ),
    op(
        "nn.functional.margin_ranking_loss",
        REALS,
        on(T(4), T(4), T(4)),
        on(T(4), T(4), T(4), margin=0.5, reduction="sum"),
        no="out",
    ),
    op(
        "nn.functional.hinge_embedding_loss",
        FLOATS,
        on(T(3, 4), Const([1, -1, 1, -1])),
        on(T(4), Const([1, -1, -1, 1]), margin=2.0, reduction="sum"),
        no="out",
    ),
    op(
        "nn.functional.multi_margin_loss",
        FLOATS_WIDE,
        on(T(4, 5), Index(4, high=5)),
        on(T(4, 5), Index(4, high=5), p=2, margin=0.5, reduction="sum"),
        no="twice forward out",
    ),
    op(
        "nn.functional.multilabel_margin_loss",
        FLOATS_WIDE,
        on(T(2, 4), Const([[3, 0, -1, 1], [1, 2, 0, -1]])),
        on(T(4), Const([3, 0, -1, 1]), reduction="sum"),
        no="twice forward out",
    ),
    op(
        "nn.functional.multilabel_soft_margin_loss",
        FLOATS,
        on(T(3, 4), T(3, 4, low=0, high=1)),
        on(T(3, 4), T(3, 4, low=0, high=1), weight=T(4, grad=False), reduction="sum"),
        no="out",
    ),
    op(
        "nn.functional.triplet_margin_loss",
        NUMBERS,
        on(T(3, 4), T(3, 4), T(3, 4)),
        on(T(3, 4), T(3, 4), T(3, 4), margin=0.5, p=1.0, swap=True, reduction="sum"),
        no="out",
    ),
    op(
        "nn.functional.triplet_margin_with_distance_loss",
        NUMBERS,
        on(T(3, 4), T(3, 4), T(3, 4)),
        on(T(3, 4), T(3, 4), T(3, 4), margin=0.5, swap=True, reduction="sum"),
        no="out",
    ),
    op(
        "nn.functional.cosine_embedding_loss",
        REALS_BOOL,
        on(T(3, 4), T(3, 4), Const([1, -1, 1])),
        on(T(3, 4), T(3, 4), Const([1, -1, 1]), margin=0.5, reduction="sum"),
        no="out",
    ),
    op(
        "nn.functional.gaussian_nll_loss",
        FLOATS,
        on(T(3, 4), T(3, 4), T(3, 4, low=0.1, high=2)),
        on(T(3, 4), T(3, 4), T(3, 1, low=0.1, high=2), full=True, reduction="sum"),
        no="out",
    ),
    op(
        "nn.functional.poisson_nll_loss",
        REALS,
        on(T(3, 4), T(3, 4, low=0, high=4)),
        on(
            T(3, 4, low=0.1, high=4),
            T(3, 4, low=0, high=4),
            log_input=False,
            full=True,
            reduction="sum",
        ),
        no="out",
    ),
    op(
        "nn.functional.ctc_loss",
        FLOATS_WIDE,
        on(
            Of(lambda draw: draw(6, 2, 4).log_softmax(2)),
            Const([[1, 2, 1], [3, 1, 2]]),
            Const([6, 5]),
            Const([3, 2]),
        ),
        no="forward out",
    ),
]

__all__ = ["LOSSES"]
