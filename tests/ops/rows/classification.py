"""Rows of `wengert.ops.classification`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."
CLASSES = np.array([1, 0, 3])
MAPS = np.array([[[0, 1], [2, -100]], [[3, 3], [1, 0]]])


def scores(*shape: int, target=CLASSES):
    return lambda rng: (rng.standard_normal(shape), target)


def probabilities(rng):
    p = rng.uniform(0.1, 1, (3, 4))
    return rng.standard_normal((3, 4)), p / p.sum(1, keepdims=True)


def variants(name: str, **common):
    """Every reduction with all classes, with ignored ones, and with maps of classes."""
    rows = []
    for r in ("none", "sum", "mean"):
        rows += [
            Row(F + name, scores(3, 4), {**common, "reduction": r}, tag=r),
            Row(
                F + name,
                scores(3, 4),
                {**common, "reduction": r, "ignore_index": 0},
                tag=r + "-ignored",
            ),
            Row(
                F + name,
                scores(2, 4, 2, 2, target=MAPS),
                {**common, "reduction": r},
                tag=r + "-maps",
            ),
        ]
    return rows


def tagged(rows: list[Row], tag: str) -> list[Row]:
    return [Row(r.name, r.make, r.kwargs, f"{tag}-{r.tag}") for r in rows]


ROWS = [
    *variants("nll_loss"),
    Row(F + "nll_loss", scores(4, target=np.array(2)), tag="one"),
    *variants("cross_entropy"),
    *tagged(variants("cross_entropy", label_smoothing=0.2), "smooth"),
    Row(F + "cross_entropy", scores(4, target=np.array(2)), tag="one"),
    Row(
        F + "cross_entropy", scores(4, target=np.array([2])), tag="one-row", grad=False
    ),  # PyTorch's derivative refuses that shape
    Row(F + "cross_entropy", scores(4, target=np.array(2)), {"reduction": "none"}, tag="one-none"),
    Row(F + "cross_entropy", scores(3, 4, target=CLASSES.astype(np.uint8)), tag="bytes"),
    Row(F + "cross_entropy", lambda rng: (1e4 * rng.standard_normal((3, 4)), CLASSES), tag="large"),
    Row(
        F + "cross_entropy",
        scores(3, 4, target=np.full(3, -100)),
        {"reduction": "sum"},
        tag="ignored",
    ),
    *[
        Row(
            F + "cross_entropy",
            probabilities,
            {"reduction": r, "label_smoothing": s},
            tag=f"probabilities-{r}-{s}",
        )
        for r, s in (("none", 0.0), ("sum", 0.3), ("mean", 0.0))
    ],
    Row(F + "cross_entropy", inputs((2, 4, 3), (2, 4, 3)), tag="probability-maps"),
    Row(F + "cross_entropy", inputs((4,), (4,)), tag="probability-vector"),
    Row(F + "multi_margin_loss", scores(3, 4)),
    Row(
        F + "multi_margin_loss",
        scores(3, 4),
        {"p": 2, "margin": 0.5, "reduction": "none"},
        tag="square",
    ),
    Row(F + "multi_margin_loss", scores(4, target=np.array([2])), {"reduction": "sum"}, tag="one"),
    Row(
        F + "multilabel_margin_loss",
        scores(2, 4, target=np.array([[3, 0, -1, 1], [1, -1, -1, -1]])),
    ),
    Row(
        F + "multilabel_margin_loss",
        scores(4, target=np.array([2, 1, -1, 0])),
        {"reduction": "none"},
        tag="one",
    ),
]


def zeros(*shapes: tuple[int, ...]):
    return lambda rng: tuple(np.zeros(s) for s in shapes)


def wrong(shape: tuple[int, ...], target):
    return lambda rng: (np.zeros(shape), np.array(target))


ERRORS = [
    *[
        row
        for name in ("cross_entropy", "nll_loss")
        for row in (
            ErrorRow(F + name, wrong((2, 3), [0, 7]), IndexError, "Target 7 is out of bounds."),
            ErrorRow(
                F + name, wrong((2, 3), [0, -1]), IndexError, "Target -1 is out", tag="negative"
            ),
            ErrorRow(
                F + name,
                wrong((2, 3), [0, 1, 2]),
                ValueError,
                r"Expected input batch_size \(2\) to match target batch_size \(3\)",
            ),
            ErrorRow(
                F + name, zeros((2, 3), (2,)), RuntimeError, "to be Long or Byte, but got Double"
            ),
            ErrorRow(
                F + name,
                wrong((2, 3, 4), [0, 1]),
                RuntimeError,
                r"Expected target size \[2, 4\]",
                tag="maps",
            ),
            ErrorRow(
                F + name,
                wrong((2, 3), [0, 1]),
                RuntimeError,
                "all 3 classes",
                {"weight": np.zeros(4)},
                tag="weight",
            ),
            ErrorRow(
                F + name,
                wrong((2, 3), [0, 1]),
                ValueError,
                "not a valid value",
                {"reduction": "foo"},
                tag="reduction",
            ),
            ErrorRow(F + name, wrong((), 0), ValueError, "1 or more dimensions", tag="scalar")
            if name == "nll_loss"
            else ErrorRow(
                F + name, zeros((2, 3), (2, 4)), RuntimeError, "multi-target", tag="multi"
            ),
        )
    ],
    ErrorRow(
        F + "cross_entropy",
        wrong((2, 3), [0, 1]),
        RuntimeError,
        "between 0.0 and 1.0",
        {"label_smoothing": 1.5},
        tag="smoothing",
    ),
    ErrorRow(
        F + "cross_entropy",
        zeros((2, 3), (2, 3)),
        RuntimeError,
        "ignore_index",
        {"ignore_index": 1},
        tag="ignore",
    ),
    ErrorRow(
        F + "cross_entropy",
        wrong((2, 3), [[0, 1, 2]] * 2),
        RuntimeError,
        "class probabilities, got Long",
        tag="long",
    ),
    ErrorRow(
        F + "cross_entropy",
        lambda rng: (np.zeros((2, 3), int), np.array([0, 1])),
        NotImplementedError,
        "Long",
    ),
    ErrorRow(F + "multi_margin_loss", wrong((2, 3), [0, 7]), RuntimeError, "target out of range"),
    ErrorRow(F + "multi_margin_loss", wrong((2, 3), [0, 1]), ValueError, "only p == 1", {"p": 3}),
    ErrorRow(
        F + "multi_margin_loss", wrong((2, 3), [0, 1, 2]), RuntimeError, "target size", tag="n"
    ),
    ErrorRow(F + "multilabel_margin_loss", wrong((2, 3), [0, 1]), RuntimeError, "inconsistent"),
]
