"""Operations on tensors that are not contiguous: slices, transposes, expansions, channels last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sweeps._sample import IMAGES, ROWS, SEQUENCES, Sample, Shape, numbers

HEADS = 4


class View(NamedTuple):
    """A way to make strided tensors: the shape of the memory by exponent, and the view of it."""

    shapes: dict[int, Shape]
    of: Callable[[Any], Any]

    def __call__(self, library: Any, exponent: int, place: int = 0) -> Any:
        """A tensor whose numbers differ from those at other places."""
        dtype = str(library.get_default_dtype()).rpartition(".")[2]
        memory = numbers(self.shapes[exponent], "normal", 0, 1, place, dtype)
        return self.of(library.from_numpy(memory.copy()))


def _wider(shapes: dict[int, Shape], factor: int) -> dict[int, Shape]:
    return {k: (*s[:-1], factor * s[-1]) for k, s in shapes.items()}


def _queries(packed: Any) -> Any:
    batch, length, width = packed.shape
    heads = packed.view(batch, length, 3, HEADS, width // 3 // HEADS)
    return heads[:, :, 0].transpose(1, 2)


VIEWS = {
    "columns": View(_wider(ROWS, 2), lambda x: x[:, : x.shape[1] // 2]),
    "every other": View(_wider(ROWS, 2), lambda x: x[:, ::2]),
    "transposed": View({k: s[::-1] for k, s in ROWS.items()}, lambda x: x.t()),
    "expanded": View({k: (10 ** (k - 2), 1) for k in ROWS}, lambda x: x.expand(-1, 100)),
    "heads": View(_wider(SEQUENCES, 3), _queries),
    "halves of heads": View(_wider(SEQUENCES, 6), lambda x: _queries(x).chunk(2, -1)[1]),
    "channels last": View({k: (s[0], *s[2:], s[1]) for k, s in IMAGES.items()},
                          lambda x: x.permute(0, 3, 1, 2)),
}  # fmt: skip

# Of a view.
UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "neg": lambda m, x: -x,
    "exp": lambda m, x: x.exp(),
    "relu": lambda m, x: m.nn.functional.relu(x),
    "mul by a number": lambda m, x: x * 2.5,
    "comparison with a number": lambda m, x: x > 0.5,
    "sum": lambda m, x: x.sum(),
    "mean (dim=-1)": lambda m, x: x.mean(-1),
    "sum (dim=0)": lambda m, x: x.sum(0),
    "max (dim=-1)": lambda m, x: x.max(-1),
    "softmax": lambda m, x: x.softmax(-1),
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, x.shape[-1:]),
    "contiguous": lambda m, x: x.contiguous(),
    "clone": lambda m, x: x.clone(),
    "reshape": lambda m, x: x.reshape(-1),
    "to float64": lambda m, x: x.to(m.float64),
    "to bfloat16": lambda m, x: x.to(m.bfloat16),
    "index_select": lambda m, x: x.index_select(0, m.arange(x.shape[0])),
}
# Of two views of one kind.
BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda m, x, y: x + y,
    "where": lambda m, x, y: m.where(x > y, x, y),
    "masked_fill": lambda m, x, y: x.masked_fill(y > 0, 0.0),
    "cat": lambda m, x, y: m.cat([x, y], -1),
    "stack": lambda m, x, y: m.stack([x, y]),
}
# That write into the first of two views, which thus cannot be expanded.
WRITING: dict[str, Callable[[Any, Any, Any], Any]] = {
    "copy_": lambda m, x, y: x.copy_(y),
    "mul_": lambda m, x, y: x.mul_(1.0),
    "add_": lambda m, x, y: x.add_(y),
    "zero_": lambda m, x, y: x.zero_(),
}
PRODUCTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "matmul": lambda m, x, y: x @ y.mT,
    "linear": lambda m, x, y: m.nn.functional.linear(x, m.ones(64, x.shape[-1])),
}


def _of_view(name: str, kind: str, view: View, call: Any, most: int = 7) -> Sample:
    return Sample(f"{name} of {kind}", call, (), backward=False, most=most, prepare=view)


def _of_two(name: str, kind: str, view: View, call: Any, most: int = 7) -> Sample:
    return Sample(f"{name} of {kind}", lambda m, xy: call(m, *xy), (), backward=False, most=most,
                  prepare=lambda m, k: (view(m, k), view(m, k, 1)))  # fmt: skip


def _samples() -> Iterator[Sample]:
    for kind, view in VIEWS.items():
        for name, call in UNARY.items():
            if (name, kind) == ("layer_norm", "expanded"):
                continue  # of equal numbers nothing but rounding is left
            yield _of_view(name, kind, view, call)
        for name, of_two in (BINARY if kind == "expanded" else BINARY | WRITING).items():
            yield _of_two(name, kind, view, of_two)
        for name, of_two in PRODUCTS.items():
            yield _of_two(name, kind, view, of_two, 6 if view.shapes[6][0] < 1000 else 5)
    # With a contiguous operand.
    for kind in ("transposed", "channels last"):
        view = VIEWS[kind]
        yield Sample(f"add of {kind} and contiguous", lambda m, xy: xy[0] + xy[1], (),
                     backward=False, prepare=lambda m, k, view=view: (
                         view(m, k), view(m, k, 1).contiguous()))  # fmt: skip


FAMILY: list[Sample] = list(_samples())
