"""Rows of `wengert.ops.grid`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row

SAMPLE, AFFINE = "nn.functional.grid_sample", "nn.functional.affine_grid"
CENTRES = {"align_corners": False}
IMAGE, VOLUME = ((2, 3, 4, 5), (2, 3, 2, 2)), ((2, 2, 3, 4, 3), (2, 2, 1, 2, 3))


def points(shapes, reach=1.5):
    """An input, and a grid that reaches over its ends."""

    def make(rng):
        return rng.standard_normal(shapes[0]), rng.uniform(-reach, reach, shapes[1])

    return make


def corners(rng):
    """The points of the elements themselves, at which the ends are met exactly."""
    x, y = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 4))
    return rng.standard_normal((1, 1, 4, 5)), np.stack([x, y], -1)[None]


def zeros(*shapes):
    return lambda rng: tuple(np.zeros(s) for s in shapes)


ROWS = [
    Row(
        SAMPLE,
        points(shapes),
        {"mode": mode, "padding_mode": padding, "align_corners": align},
        tag=f"{mode}, {padding}, {align}, {len(shapes[0]) - 2}",
    )
    for shapes in (IMAGE, VOLUME)
    for mode in ("bilinear", "nearest", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for align in (True, False)
    if (mode, len(shapes[0])) != ("bicubic", 5)
]
ROWS += [
    Row(SAMPLE, points(IMAGE), CENTRES, tag="centres"),
    Row(SAMPLE, points(((0, 3, 4, 5), (0, 3, 2, 2))), CENTRES, tag="no samples"),
    Row(SAMPLE, points(((2, 0, 4, 5), (2, 3, 2, 2))), CENTRES, tag="no channels"),
    Row(SAMPLE, points(((2, 3, 1, 1), (2, 3, 2, 2))), {"align_corners": True,
        "padding_mode": "reflection"}, tag="one element"),
    Row(AFFINE, lambda rng: (rng.standard_normal((2, 2, 3)), (2, 1, 3, 4)),
        {"align_corners": True}),
    Row(AFFINE, lambda rng: (rng.standard_normal((1, 2, 3)), (1, 5, 1, 4)),
        {"align_corners": False}, tag="centres"),
    Row(AFFINE, lambda rng: (rng.standard_normal((2, 3, 4)), (2, 1, 3, 4, 2)),
        {"align_corners": False}, tag="volume"),
]  # fmt: skip


def wrong(make, match, tag, kind=RuntimeError, name=SAMPLE, **options):
    return ErrorRow(name, make, kind, match, {"align_corners": False, **options}, tag)


def mixed(rng):
    return np.zeros((1, 1, 2, 2)), np.zeros((1, 2, 2, 2), np.float32)


def maps(*shape, size=(1, 1, 2, 2), dtype=float):
    return lambda rng: (np.zeros(shape, dtype), size)


PLANE = ((1, 1, 2, 2), (1, 2, 2, 2))
ERRORS = [
    wrong(zeros(*PLANE), "expected mode", "mode", ValueError, mode="x"),
    wrong(zeros(*PLANE), "expected padding_mode", "padding", ValueError, padding_mode="x"),
    wrong(zeros((1, 1, 2), (1, 2, 2, 2)), "size 1 in last", "rank"),
    wrong(zeros((1, 1, 2, 2), (1, 2, 2)), "same number of dimensions", "rank of grid"),
    wrong(zeros((1, 1, 2, 2), (2, 2, 2, 2)), "same batch size", "batch"),
    wrong(zeros((1, 1, 2, 2), (1, 2, 2, 3)), "size 2 in last", "coordinates"),
    wrong(mixed, "same dtype", "dtype"),
    wrong(zeros((1, 1, 0, 2), (1, 2, 2, 2)), "non-empty spatial", "empty"),
    wrong(zeros((1, 1, 2, 2, 2), (1, 2, 2, 2, 3)), "only supports 4D", "cubic", mode="bicubic"),
    wrong(lambda rng: (np.zeros((1, 1, 2, 2), int), np.zeros((1, 2, 2, 2), int)),
          "not implemented", "ints", NotImplementedError),
    wrong(maps(1, 2, 2), "of shape Nx2x3", "shape", ValueError, AFFINE),
    wrong(maps(1, 2, 3, dtype=int), "floating point", "dtype", ValueError, AFFINE),
    wrong(maps(1, 2, 3, size=(1, 1, 2)), "4D and 5D sizes", "rank", NotImplementedError, AFFINE),
    wrong(maps(1, 2, 3, size=(1, 1, 0, 2)), "positive output size", "empty", ValueError, AFFINE),
    wrong(maps(2, 2, 3), "batch size of theta", "batch", RuntimeError, AFFINE),
]  # fmt: skip
