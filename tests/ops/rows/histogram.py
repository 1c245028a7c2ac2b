"""Rows of `wengert.ops.histogram`, `floating` and `slopes`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs
from tests.ops.rows.gathering import I, error

EDGES = np.array([-2.0, -0.5, 0.25, 1.0, 1.5])
POINTS = np.array([0.0, 0.5, 2.0, 2.25])


def with_edges(rng: Any) -> tuple[Any, ...]:
    """Numbers and the edges of bins."""
    return rng.standard_normal((4, 5)), EDGES.copy()


def at_points(gradient: Any) -> Any:
    """`gradient` at points of different distances."""
    return lambda x, **kwargs: gradient(x, spacing=[x.new_tensor(POINTS)], **kwargs)


HALF_OPEN = {"range": (-1.0, 1.0)}

ROWS = [
    Row("histogram", lambda rng: (rng.standard_normal(30), 4), grad=False),
    Row("histogram", lambda rng: (np.array([1.0, 1.0]), 3), tag="flat", grad=False),
    Row("histogram", lambda rng: (np.zeros(0), 3), tag="empty", grad=False),
    Row("histogram", lambda rng: (rng.standard_normal((3, 4)), 4), {**HALF_OPEN, "density": True},
        "density", grad=False),
    Row("histogram", with_edges, tag="edges", grad=False),
    Row("histogram", with_edges, {"weight": np.arange(20.0).reshape(4, 5), "density": True},
        "weight", grad=False, dtypes=()),
    Row("histogramdd", lambda rng: (rng.standard_normal((20, 2)), [2, 3]), grad=False),
    Row("histogramdd", lambda rng: (rng.standard_normal((2, 8, 2)), 3),
        {"range": [-1.0, 1.0, -2.0, 2.0], "density": True}, "density", grad=False),
    Row("histogramdd", lambda rng: (rng.standard_normal((20, 2)), [EDGES.copy(), POINTS.copy()]),
        {"weight": np.arange(20.0)}, "edges", grad=False, dtypes=()),
    Row("nextafter", lambda rng: (np.array([1.0, 2.0, 0.0]), np.array([2.0, 2.0, -1.0])),
        tag="equal", grad=False),
    Row("nextafter", inputs((2, 1), (3,)), tag="broadcast"),
    Row("Tensor.nextafter_", inputs((2, 3), (3,))),
    Row("frexp", lambda rng: (np.array([1.5, -6.5, 0.3, 3e8]),)),
    Row("frexp", lambda rng: (np.array([1.0, -0.0, np.inf, np.nan, 1e-310]),), tag="special",
        grad=False),
    Row("gradient", inputs((4, 3)), dtypes=("float32", "int64")),
    Row("gradient", inputs((4, 3)), {"spacing": 0.5, "edge_order": 2}, "edge"),
    Row("gradient", inputs((4, 3)), {"spacing": None}, "none"),
    Row("gradient", inputs((4, 2)), {"spacing": [2.0, 0.5]}, "spacings"),
    Row("gradient", inputs((2, 4)), {"dim": -1}, "points", through=at_points),
    Row("gradient", inputs((2, 4)), {"dim": 1, "edge_order": 2}, "points-edge", through=at_points),
    Row("vander", inputs((3,)), grad=False, dtypes=("float32", "int64")),
    Row("vander", inputs((3,)), {"N": 2, "increasing": True}, "increasing", grad=False),
    Row("vander", inputs((3,)), {"N": 0}, "none", grad=False),
    Row("trapz", inputs((2, 4))),
    Row("nonzero_static", lambda rng: (np.array([[0, 2], [3, 0]]),), {"size": 3}, grad=False,
        dtypes=()),
    Row("nonzero_static", lambda rng: (np.array([1, 2, 0]),), {"size": 1, "fill_value": 7}, "cut",
        grad=False, dtypes=()),
    Row("unravel_index", lambda rng: (np.array([3, 7, 12, -1]), (2, 5)), grad=False, dtypes=()),
    Row("unravel_index", lambda rng: (np.array(7), 9), tag="0d", grad=False, dtypes=()),
]  # fmt: skip

ERRORS = [
    error("histogram", (0,), RuntimeError, "bins must be > 0, but got 0"),
    error("histogram", (2,), RuntimeError, "min 2.0 max 1.0", "range", range=(2.0, 1.0)),
    error("histogram", (2,), RuntimeError, "should have 2 elements, but got 1", "pair",
          range=(2.0,)),
    error("histogram", ({(2, 2)},), RuntimeError, "one dimension, but got 2", "edges"),
    error("histogram", (I([0, 1]),), RuntimeError, "same dtype", "dtype"),
    error("histogramdd", (2,), RuntimeError, "at least 2 dimensions, got 1", "rank", (3,)),
    error("histogramdd", ([2],), RuntimeError, "got 1 and 3", "bins"),
    error("histogramdd", (2, [0.0]), RuntimeError, "should have 6 elements, but got 1"),
    ErrorRow("histogram", lambda rng: (np.array([1, 2]), 2), NotImplementedError, "Long"),
    ErrorRow("histogram", lambda rng: (np.array([np.nan]), 2), RuntimeError, "not finite", {},
             "nan"),
    ErrorRow("nextafter", lambda rng: (np.array([1]), np.array([2])), NotImplementedError, "Long"),
    ErrorRow("frexp", lambda rng: (np.array([1]),), RuntimeError, "only supports floating-point"),
    error("gradient", (), RuntimeError, "edge_order=2, got 3", "order", edge_order=3),
    error("gradient", (), RuntimeError, "appears multiple times", "dims", dim=(0, 0)),
    error("gradient", (), IndexError, "Dimension out of range", dim=5),
    error("gradient", (), RuntimeError, "at least edge_order", "short", edge_order=2),
    error("gradient", (), RuntimeError, "got a list of length 1", "list", spacing=[1.0]),
    error("vander", (), RuntimeError, "one-dimensional tensor, got 2"),
    error("vander", (-1,), RuntimeError, "non-negative, got -1", "N", (3,)),
    error("nonzero_static", (), RuntimeError, "integer, got -1", size=-1),
    error("unravel_index", (5,), TypeError, "integer dtype, but got torch.float64"),
    ErrorRow("unravel_index", lambda rng: (np.array([1]), (2, -5)), ValueError, "negative values"),
    ErrorRow("unravel_index", lambda rng: (np.array([1]), (2, 5.0)), TypeError, "only contain"),
]  # fmt: skip
