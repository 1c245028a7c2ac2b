"""Shapes, joining and splitting, and what makes tensors."""

from __future__ import annotations

from typing import Any

from sweeps._sample import (
    LINES,
    ROWS,
    SQUARES,
    Sample,
    X,
    calling,
    each,
    fixed,
    of,
    sample,
    shaped,
)

SHAPES = [
    *each("t fliplr flipud rot90 diagonal diag tril triu", SQUARES),
    sample("mT", SQUARES, call=lambda m, x: x.mT),
    sample("reshape", SQUARES, call=lambda m, x: x.t().reshape(-1)),
    sample("contiguous", SQUARES, call=lambda m, x: x.t().contiguous()),
    calling("view", X)(-1),
    calling("flatten", X)(),
    *each("view_as reshape_as", X, X),
    sample("permute", X, call=lambda m, x: x.view(x.shape[0], 10, -1).permute(2, 0, 1)),
    calling("movedim", X)(0, 1),
    calling("transpose", X)(0, 1),
    calling("swapaxes", X)(0, 1),
    calling("unsqueeze", X)(0),
    calling("squeeze", X)(),
    calling("unflatten", X)(1, (10, -1)),
    calling("narrow", X)(1, 1, 8),
    calling("select", X)(1, 3),
    *each("atleast_1d atleast_2d", X),
    sample("diag_embed", of({k: (10, n) for k, n in
                             ((3, 10), (4, 32), (5, 100), (6, 316), (7, 1000))})),
    *(sample(f"cat (dim={d})", X, X, call=lambda m, x, y, d=d: m.cat([x, y], d)) for d in (1, 0)),
    *(sample(f"stack (dim={d})", X, X, call=lambda m, x, y, d=d: m.stack([x, y], d))
      for d in (2, 1, 0)),
    *(sample(name, X, X, call=lambda m, x, y, name=name: getattr(m, name)([x, y]))
      for name in ("hstack", "vstack", "dstack", "column_stack")),
    sample("block_diag", SQUARES, SQUARES, most=6),
    sample("broadcast_tensors", X, fixed(1)),
    sample("broadcast_to", X, call=lambda m, x: m.broadcast_to(x, (3, *x.shape))),
    sample("expand", X, call=lambda m, x: x.unsqueeze(0).expand(3, -1, -1)),
    sample("expand_as", fixed(1), X, call=lambda m, x, y: x.expand_as(y)),
    calling("repeat", X)(2, 1),
    calling("tile", X)((1, 2)),
    calling("repeat_interleave", X)(2, 1),
    calling("roll", X)(3, 1),
    calling("roll of all", X)(3),
    calling("flip", X)((0, 1)),
    *(calling(f"{name} in ten", X)(10) for name in ("tensor_split", "chunk")),
    *(sample(f"{name} in ten", X, call=lambda m, x, name=name: getattr(m, name)(
        x, x.shape[0] // 10)) for name in ("split", "unsafe_split")),
    calling("unbind", of({k: (10, 10 ** (k - 1)) for k in range(3, 8)}))(),
    calling("unfold", X)(1, 10, 5),
    sample("meshgrid", shaped(lambda k: ROWS[k][:1]), shaped(lambda k: ROWS[k][1:]),
           call=lambda m, x, y: [g.contiguous() for g in m.meshgrid(x, y, indexing="ij")]),
    sample("cartesian_prod", shaped(lambda k: ROWS[k][:1]), shaped(lambda k: ROWS[k][1:])),
    sample("combinations", shaped(lambda k: ROWS[k][:1]), most=6),
    *(sample(name, X, call=lambda m, x, name=name: getattr(m, name)(m.complex(x, x)), most=6)
      for name in ("real", "imag", "conj", "view_as_real")),
    sample("view_as_complex", X, call=lambda m, x: m.view_as_complex(
        x.view(-1, 2)).abs(), most=6),
    sample("nn.functional.pad with zeros", X,
           call=lambda m, x: m.nn.functional.pad(x, (1, 1, 1, 1))),
    *(sample(f"nn.functional.pad, {mode}", of(LINES),
             call=lambda m, x, mode=mode: m.nn.functional.pad(x, (3, 3), mode))
      for mode in ("reflect", "replicate", "circular")),
]  # fmt: skip


def making(name: str, call: Any, **options: Any) -> Sample:
    """A sample of what makes a tensor: `call(library, shape)`."""
    return Sample(name, call, (), backward=False, prepare=lambda m, k: ROWS[k], **options)


MAKING = [
    *(making(name, lambda m, s, name=name: getattr(m, name)(s)) for name in ("zeros", "ones")),
    making("empty", lambda m, s: m.empty(s), alike=False),
    making("full", lambda m, s: m.full(s, 2.5)),
    making("arange", lambda m, s: m.arange(s[0] * s[1])),
    making("arange of floats", lambda m, s: m.arange(0.0, float(s[0] * s[1]))),
    making("linspace", lambda m, s: m.linspace(0, 1, s[0] * s[1])),
    making("eye", lambda m, s: m.eye(int((s[0] * s[1]) ** 0.5))),
    making("tril_indices", lambda m, s: m.tril_indices(s[0] // 2, s[0] // 2), most=6),
    making("triu_indices", lambda m, s: m.triu_indices(s[0] // 2, s[0] // 2), most=6),
    *(sample(name, X, backward=False, alike="empty" not in name)
      for name in ("zeros_like", "ones_like", "empty_like")),
    calling("full_like", X, backward=False)(2.0),
    *(sample(name, X, backward=False, alike="empty" not in name,
             call=lambda m, x, name=name: getattr(x, name)(x.shape))
      for name in ("new_zeros", "new_ones", "new_empty")),
    sample("new_full", X, backward=False, call=lambda m, x: x.new_full(x.shape, 2.0)),
    calling("zero_", X, backward=False)(),
    calling("fill_", X, backward=False)(1.5),
    calling("copy_", X, X, backward=False)(),
    sample("resize_", X, backward=False, call=lambda m, x: x.resize_(x.shape)),
]  # fmt: skip

FAMILY: list[Sample] = [*SHAPES, *MAKING]
