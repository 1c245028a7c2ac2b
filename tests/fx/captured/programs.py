"""Programs that a backend compiles: what makes the function, and calls of it, for a library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Calls = list[tuple[Any, ...]]
Made = tuple[Callable[..., Any], Calls]


def numbers(torch: Any, *shape: int, start: float = -1.0) -> Any:
    count = 1
    for size in shape:
        count *= size
    return torch.linspace(start, start + 2, count).reshape(shape)


def leaf(torch: Any, *shape: int) -> Any:
    return numbers(torch, *shape).requires_grad_()


def _calculations(torch: Any) -> list[Callable[..., Any]]:  # noqa: C901 (a list)
    """Functions of two that calculate."""
    functional = torch.nn.functional

    def operators(x: Any, y: Any) -> Any:
        return ((x + y) * 2 - x / y) ** 2 + ((-x) @ y.T).sum() + (x // 2).sum() + 1 / y.abs().sum()

    def comparisons(x: Any, y: Any) -> Any:
        return x < y, x >= 0, (x == y) | ~(x > 1), x > 0

    def methods(x: Any, y: Any) -> Any:
        return x.sin().add(y).clamp(min=0).sum(dim=0, keepdim=True)

    def functions(x: Any, y: Any) -> Any:
        return torch.cat([torch.sin(x), torch.where(x > 0, x, y)], dim=1), torch.stack((x, y))

    def indices(x: Any, y: Any) -> Any:
        return x[0], x[:, 1:], x[..., None], y[1, 2]

    def several(x: Any, y: Any) -> Any:
        a, b = x.split(2)
        values, places = y.max(dim=1)
        return a + b, values, places

    def conversions(x: Any, y: Any) -> Any:
        return x.to(torch.float64).float(), (y * 3).long(), x.detach(), x.clone()

    def in_place(x: Any, y: Any) -> Any:
        z = x.clone()
        z.add_(1)
        z *= y
        z[0] = 5
        return z

    def written(x: Any, y: Any) -> Any:
        x.mul_(2)
        return x + y

    def created(x: Any, y: Any) -> Any:
        return x + torch.ones(3) + torch.zeros_like(y) + torch.tensor([1.0, 2.0, 3.0])

    def layers(x: Any, y: Any) -> Any:
        return functional.softmax(functional.relu(x), dim=1) + functional.layer_norm(y, (3,))

    return [
        operators, comparisons, methods, functions, indices, several, conversions, in_place,
        written, created, layers,
    ]  # fmt: skip


def _ways(torch: Any) -> list[Callable[..., Any]]:  # noqa: C901 (a list)
    """Functions of two with Python around their operations."""
    scale = numbers(torch, 3)

    def containers(x: Any, y: Any) -> Any:
        return {"sum": x + y, "list": [x * 2, (y, 3)], "text": "a", "none": None}

    def rows(x: Any, y: Any) -> Any:
        return sum(row * 2 for row in x) + y[0]

    def loops(x: Any, y: Any) -> Any:
        for k in range(3):
            x = x * k + y if k % 2 else x.cos()
        return x

    def without_gradients(x: Any, y: Any) -> Any:
        with torch.no_grad():
            z = x * 2
        return z + y

    def sizes(x: Any, y: Any) -> Any:
        return x.reshape(x.shape[1], x.size(0)) * x.dim() + len(y)

    def closed_over(x: Any, y: Any) -> Any:
        return x * scale + y

    def branches(x: Any, y: Any) -> Any:
        return x.sin() if x.shape[0] > 2 and x.dtype == torch.float32 else y

    def nothing(x: Any, y: Any) -> Any:
        return x

    def kept(x: Any, y: Any) -> Any:
        def inner(z: Any) -> Any:
            return z * 2 + y

        return inner(x) - next(inner(y) for _ in range(2))

    return [
        containers, rows, loops, without_gradients, sizes, closed_over, branches, nothing, kept,
    ]  # fmt: skip


def plain(torch: Any) -> dict[str, Made]:
    """Functions that are one graph."""
    x, y = numbers(torch, 4, 3), numbers(torch, 4, 3, start=0.5)

    def defaults(x: Any, y: Any = 2.0, *, z: float = 3.0) -> Any:
        return x * y + z

    both = (*_calculations(torch), *_ways(torch))
    found: dict[str, Made] = {f.__name__: (f, [(x, y)] * 3) for f in both}
    found["defaults"] = defaults, [(x,), (x,), (x,)]
    found["same_twice"] = (lambda x, y: x * 2 + y), [(x, x)] * 3
    found["nested"] = (lambda d: d["a"] + d["b"][0] * d["b"][1]), [({"a": x, "b": [y, 2]},)] * 3
    found["scalar"] = (lambda x, k: x * k), [(x, 2.5)] * 3
    return found


def again(torch: Any) -> dict[str, Made]:
    """Functions that are called with arguments of other kinds: a graph for each."""
    one, two = numbers(torch, 2), numbers(torch, 3)
    return {
        "shapes": ((lambda x: x.sin() + 1), [(one,), (two,), (one,), (two,)]),
        "dtypes": ((lambda x: x.sin() + 1), [(one,), (one.double(),), (one,), (one.double(),)]),
        "requires_grad": ((lambda x: x * 2), [(one,), (leaf(torch, 2),), (one,)]),
        "texts": (
            (lambda x, how: x.sin() if how == "sin" else x.cos()),
            [(one, "sin"), (one, "cos"), (one, "sin"), (one, "cos")],
        ),
        "flags": ((lambda x, up: x + 1 if up else x - 1), [(one, True), (one, False)] * 3),
        "none": ((lambda x, y=None: x * 2 if y is None else x + y), [(one,), (one, one)] * 3),
    }


def broken(torch: Any) -> dict[str, Made]:
    """Functions of several graphs."""
    x = numbers(torch, 4, start=0.5)

    def chosen(a: Any, b: Any) -> Any:
        x = a / (torch.abs(a) + 1)
        if b.sum() < 0:
            b = b * -1
        return x * b

    def ended(x: Any) -> Any:
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

    def masked(x: Any) -> Any:
        return (x[x > 1] * 2).sum()

    def asked(x: Any) -> Any:
        y = x.sin()
        return y + 1 if bool((y > 0).all()) else y - 1

    return {
        "chosen": (chosen, [(x, x), (x, -x), (x, x), (x, -x), (x, x)]),
        "masked": (masked, [(x,)] * 3),
        "asked": (asked, [(x,), (-x,), (x,), (-x,)]),
        **({"ended": (ended, [(x,)] * 3)} if hasattr(torch, "_dynamo") else {}),
    }


def modules(torch: Any) -> dict[str, Any]:
    """Modules, with the arguments of a call."""
    nn, x = torch.nn, numbers(torch, 4, 3)

    class Mixed(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)
            self.register_buffer("weights", torch.ones(4))
            self.factor = 3

        def forward(self, x: Any) -> Any:
            hidden = torch.relu(self.norm(self.first(x)))
            return {"out": hidden * self.weights * self.factor, "hidden": hidden}

    class Residual(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])

        def forward(self, x: Any, scale: float = 1.0) -> Any:
            for block in self.blocks:
                x = x + block(x).tanh() * scale
            return x

    return {
        "linear": (nn.Linear(3, 2), x),
        "sequential": (nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 1)), x),
        "mixed": (Mixed(), x),
        "residual": (Residual(), x),
        "convolution": (nn.Sequential(nn.Conv1d(3, 2, 2), nn.ReLU()), numbers(torch, 1, 3, 5)),
        "embedding": (nn.Embedding(5, 2), torch.tensor([0, 3, 4])),
    }
