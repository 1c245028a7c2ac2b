"""Taking elements by indices and masks, and writing, adding and combining them there."""

from __future__ import annotations

from sweeps._sample import (
    MASK,
    POSITIVE,
    ROWS,
    VECTOR,
    Sample,
    X,
    calling,
    fixed,
    flat,
    of,
    places,
    sample,
    shaped,
)


def tenth(exponent: int) -> tuple[int]:
    """A vector of a tenth of the elements."""
    return (10 ** (exponent - 1),)


PLACES = [places(ROWS.__getitem__, lambda k, d=d: ROWS[k][d]) for d in (0, 1)]
NUMBERS = [places(lambda k, d=d: (ROWS[k][d],), lambda k, d=d: ROWS[k][d]) for d in (0, 1)]
LONG = places(flat, lambda k: 10**k)
FEW = places(tenth, lambda k: 10**k)
LONG_TIES = shaped(flat, kind="integers", low=0, high=1000)
LONG_MASK = shaped(flat, kind="booleans", high=0.5)

TAKING = [
    sample("__getitem__ of a slice", X, call=lambda m, x: x[::2]),
    sample("__getitem__ of a mask", VECTOR, LONG_MASK, call=lambda m, x, i: x[i]),
    sample("__getitem__ of indices", VECTOR, LONG, call=lambda m, x, i: x[i]),
    sample("__getitem__ of rows", X, NUMBERS[0], call=lambda m, x, i: x[i]),
    sample("__getitem__ of columns", X, NUMBERS[1], call=lambda m, x, i: x[:, i]),
    sample("__getitem__ of pairs", X, *PLACES, call=lambda m, x, i, j: x[i, j]),
    *(sample(f"gather (dim={d})", X, PLACES[d], call=lambda m, x, i, d=d: x.gather(d, i))
      for d in (1, 0)),
    *(sample(f"take_along_dim (dim={d})", X, PLACES[d],
             call=lambda m, x, i, d=d: m.take_along_dim(x, i, d)) for d in (1, 0)),
    *(sample(f"index_select (dim={d})", X, NUMBERS[d],
             call=lambda m, x, i, d=d: x.index_select(d, i)) for d in (1, 0)),
    calling("take", X, LONG)(),
    calling("masked_select", X, MASK)(),
    sample("nn.functional.embedding", shaped(lambda k: (max(10, 10**k // 640), 64)),
           places(lambda k: (max(1, 10**k // 64),), lambda k: max(10, 10**k // 640)),
           call=lambda m, w, i: m.nn.functional.embedding(i, w)),
    sample("nn.functional.embedding_bag", fixed(1000, 64),
           shaped(lambda k: (max(1, 10**k // 640), 10), kind="integers", high=1000),
           call=lambda m, w, i: m.nn.functional.embedding_bag(i, w)),
    sample("nn.functional.embedding_bag by max", fixed(1000, 64),
           shaped(lambda k: (max(1, 10**k // 640), 10), kind="integers", high=1000),
           call=lambda m, w, i: m.nn.functional.embedding_bag(i, w, mode="max")),
    sample("nn.functional.one_hot", shaped(tenth, kind="integers", high=10), backward=False,
           call=lambda m, i: m.nn.functional.one_hot(i, 10)),
]  # fmt: skip

WRITING = [
    *(sample(f"{name} (dim={d})", X, PLACES[d], X,
             call=lambda m, x, i, y, d=d, name=name: getattr(x, name)(d, i, y),
             alike=name != "scatter")  # where one place comes twice, which one stays is open
      for name in ("scatter", "scatter_add") for d in (1, 0)),
    sample("scatter of a number", X, PLACES[1], call=lambda m, x, i: x.scatter(1, i, 2.0)),
    sample("scatter_add of a vector", VECTOR, LONG, VECTOR,
           call=lambda m, x, i, y: x.scatter_add(0, i, y)),
    *(sample(f"scatter_reduce by {how}", X, PLACES[1], POSITIVE,
             call=lambda m, x, i, y, how=how: x.scatter_reduce(1, i, y, how))
      for how in ("sum", "mean", "amax", "prod")),
    sample("index_add (dim=0)", X, NUMBERS[0], X, call=lambda m, x, i, y: x.index_add(0, i, y)),
    sample("index_add (dim=1)", X, NUMBERS[1], X, call=lambda m, x, i, y: x.index_add(1, i, y)),
    sample("index_copy", X, NUMBERS[0], X, call=lambda m, x, i, y: x.index_copy(0, i, y),
           alike=False),
    sample("index_fill", X, NUMBERS[0], call=lambda m, x, i: x.index_fill(0, i, 1.0)),
    sample("index_put", VECTOR, FEW, shaped(tenth), alike=False,
           call=lambda m, x, i, y: x.index_put((i,), y)),
    sample("index_put and accumulate", VECTOR, LONG, VECTOR,
           call=lambda m, x, i, y: x.index_put((i,), y, accumulate=True)),
    sample("index_put of pairs and accumulate", X, *PLACES, X,
           call=lambda m, x, i, j, y: x.index_put((i, j), y, accumulate=True)),
    sample("index_put of integers and accumulate", LONG_TIES, LONG, LONG_TIES, backward=False,
           call=lambda m, x, i, y: x.index_put((i,), y, accumulate=True)),
    sample("put", VECTOR, FEW, shaped(tenth), call=lambda m, x, i, y: x.put(i, y), alike=False),
    calling("masked_fill", X, MASK)(1.0),
    sample("masked_scatter", X, MASK, X),
    sample("__setitem__ of a slice", X, backward=False,
           call=lambda m, x: x.__setitem__(slice(None, None, 2), 1.0)),
    sample("__setitem__ of a mask", VECTOR, LONG_MASK, backward=False,
           call=lambda m, x, i: x.__setitem__(i, 1.0)),
    sample("__setitem__ of rows", X, NUMBERS[0], backward=False,
           call=lambda m, x, i: x.__setitem__(i, 1.0)),
    sample("nn.functional.max_unpool2d", of({k: (1, 10, 10 * 10 ** ((k - 3) // 2), 10
                                                  * 10 ** ((k - 2) // 2)) for k in range(3, 8)}),
           call=lambda m, x: m.nn.functional.max_unpool2d(
               *m.nn.functional.max_pool2d(x, 2, return_indices=True), 2)),
]  # fmt: skip

FAMILY: list[Sample] = [*TAKING, *WRITING]
