"""Rows of `wengert.ops.loss`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."
PAIR = inputs((3, 4), (3, 4))
SIGNS = np.array([1, -1, 1])


def zeros(*shapes: tuple[int, ...]):
    return lambda rng: tuple(np.zeros(s) for s in shapes)


def unit(*shapes: tuple[int, ...]):
    return inputs(*shapes, low=0.05, high=0.95)


def signed(*shapes: tuple[int, ...]):
    """Normal arrays and one of signs, of int64 so that it gets no gradient."""
    return lambda rng: (*(rng.standard_normal(s) for s in shapes), SIGNS)


def positive(rng):
    return rng.standard_normal((3, 4)), rng.standard_normal((3, 4)), rng.uniform(0.5, 2, (3, 4))


def counts(rng):
    return rng.uniform(0.5, 2, (3, 4)), rng.uniform(2, 5, (3, 4))


def logs(rng):
    p = rng.uniform(0.1, 1, (3, 4))
    return rng.standard_normal((3, 4)), p / p.sum(1, keepdims=True)


def reductions(name: str, make, **kwargs):
    return [
        Row(F + name, make, {**kwargs, "reduction": r}, tag="-".join([*kwargs, r]))
        for r in ("none", "sum", "mean")
    ]


ROWS = [
    *reductions("mse_loss", PAIR),
    *reductions("l1_loss", PAIR),
    *reductions("huber_loss", PAIR, delta=0.7),
    *reductions("smooth_l1_loss", PAIR, beta=0.7),
    Row(F + "smooth_l1_loss", PAIR, {"beta": 0.0}, tag="zero"),
    *reductions("binary_cross_entropy", unit((3, 4), (3, 4))),
    *reductions("binary_cross_entropy_with_logits", PAIR),
    Row(
        F + "binary_cross_entropy_with_logits",
        lambda rng: (np.array([-800.0, 900.0, 0.5]), np.array([1.0, 0.0, 0.5])),
        tag="large",
    ),
    Row(F + "kl_div", logs, {"reduction": "batchmean"}),
    Row(F + "kl_div", logs, {"reduction": "none"}, tag="none"),
    Row(F + "kl_div", logs, {"reduction": "sum", "log_target": True}, tag="log"),
    *reductions("margin_ranking_loss", signed((3,), (3,)), margin=0.5),
    *reductions("hinge_embedding_loss", lambda rng: (rng.standard_normal(3), SIGNS), margin=0.5),
    *reductions("cosine_embedding_loss", signed((3, 4), (3, 4)), margin=0.1),
    Row(
        F + "cosine_embedding_loss",
        lambda rng: (rng.standard_normal(4), rng.standard_normal(4), np.array(-1)),
        tag="vectors",
    ),
    *reductions("triplet_margin_loss", inputs((3, 4), (3, 4), (3, 4))),
    Row(
        F + "triplet_margin_loss",
        inputs((3, 4), (3, 4), (3, 4)),
        {"swap": True, "p": 3.0, "margin": 2.0},
        tag="swap",
    ),
    Row(F + "triplet_margin_with_distance_loss", inputs((3, 4), (3, 4), (3, 4))),
    Row(
        F + "triplet_margin_with_distance_loss",
        inputs((3, 4), (3, 4), (3, 4)),
        {"distance_function": lambda x, y: (x - y).abs().sum(-1), "swap": True},
        tag="own",
    ),
    *reductions("poisson_nll_loss", counts),
    Row(F + "poisson_nll_loss", counts, {"log_input": False, "full": True}, tag="full"),
    Row(
        F + "poisson_nll_loss",
        lambda rng: (rng.standard_normal(2), np.array([0, 1])),
        {"full": True},
        tag="small",
        grad=False,
        dtypes=(),
    ),
    *reductions("gaussian_nll_loss", positive),
    Row(F + "gaussian_nll_loss", positive, {"full": True, "eps": 1.0}, tag="full", grad=False),
    Row(
        F + "gaussian_nll_loss",
        lambda rng: (rng.standard_normal((3, 4)), rng.standard_normal((3, 4)), np.arange(1.0, 4)),
        tag="by-row",
    ),
    Row(
        F + "gaussian_nll_loss",
        lambda rng: (rng.standard_normal((3, 4)), rng.standard_normal((3, 4)), 2.0),
        tag="number",
    ),
    *reductions("soft_margin_loss", lambda rng: (rng.standard_normal(3), SIGNS)),
    *reductions("multilabel_soft_margin_loss", PAIR),
]

ERRORS = [
    ErrorRow(F + "mse_loss", PAIR, ValueError, "foo is not a valid value", {"reduction": "foo"}),
    ErrorRow(
        F + "mse_loss",
        lambda rng: (np.zeros(2, int), np.zeros(2, int)),
        NotImplementedError,
        "Long",
    ),
    ErrorRow(F + "mse_loss", PAIR, ValueError, "same size", {"weight": np.zeros(4)}, tag="weight"),
    ErrorRow(F + "huber_loss", PAIR, RuntimeError, "non-positive", {"delta": 0.0}),
    ErrorRow(F + "smooth_l1_loss", PAIR, RuntimeError, "negative values for beta", {"beta": -1.0}),
    ErrorRow(F + "binary_cross_entropy", zeros((2,), (3,)), ValueError, "Using a target size"),
    ErrorRow(
        F + "binary_cross_entropy",
        lambda rng: (np.full(2, 2.0), np.zeros(2)),
        RuntimeError,
        "elements of input should be between 0 and 1",
    ),
    ErrorRow(
        F + "binary_cross_entropy",
        lambda rng: (np.zeros(2), np.full(2, 2.0)),
        RuntimeError,
        "elements of target should be between 0 and 1",
        tag="target",
    ),
    ErrorRow(
        F + "binary_cross_entropy",
        lambda rng: (np.zeros(2), np.zeros(2, int)),
        RuntimeError,
        "Found dtype Long but expected Double",
        tag="dtype",
    ),
    ErrorRow(F + "binary_cross_entropy_with_logits", zeros((2,), (3,)), ValueError, "Target size"),
    ErrorRow(
        F + "binary_cross_entropy_with_logits",
        lambda rng: (np.zeros(2), np.zeros(2, int)),
        RuntimeError,
        "output type Long",
    ),
    ErrorRow(F + "margin_ranking_loss", zeros((2,), (2,), (2, 1)), RuntimeError, "same dimension"),
    ErrorRow(
        F + "cosine_embedding_loss",
        zeros((2, 3), (2, 3), (2, 2)),
        RuntimeError,
        "multi-target not supported",
    ),
    ErrorRow(
        F + "cosine_embedding_loss",
        zeros((2, 3), (2, 3), (3,)),
        RuntimeError,
        "must match",
        tag="size",
    ),
    ErrorRow(
        F + "triplet_margin_loss",
        zeros((2, 3), (2, 3), (3,)),
        RuntimeError,
        "same number of dimensions",
    ),
    ErrorRow(
        F + "triplet_margin_loss",
        zeros((2, 3), (2, 3), (2, 3)),
        ValueError,
        "margin must be greater",
        {"margin": -1.0},
    ),
    ErrorRow(F + "hinge_embedding_loss", zeros((2,), (3,)), RuntimeError, "must match the size"),
    ErrorRow(F + "poisson_nll_loss", PAIR, ValueError, "not a valid value", {"reduction": "foo"}),
    ErrorRow(
        F + "gaussian_nll_loss",
        lambda rng: (np.zeros(2), np.zeros(2), np.zeros(2) - 1),
        ValueError,
        "negative",
    ),
    ErrorRow(F + "gaussian_nll_loss", zeros((2,), (2,), (3,)), ValueError, "incorrect size"),
    ErrorRow(F + "soft_margin_loss", zeros((2,), (3,)), RuntimeError, "must match the size"),
]
