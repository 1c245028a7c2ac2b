"""Modules written once, for wengert and for PyTorch: `programs(torch)` makes them of either."""

import math
import operator
from typing import Any


def programs(torch: Any) -> dict[str, Any]:
    nn = torch.nn

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
            self.w = nn.Parameter(torch.ones(4))
            self.register_buffer("b", torch.zeros(4))

        def forward(self, x: torch.Tensor, y=None, *, k=2.5, **kw):
            h = self.layers(x)
            h = h + 1
            z = torch.relu(h) * self.w + self.b
            z = z.view(z.shape[0], -1)[:, 1:3]
            z = torch.cat([z, 2 - z, -z], dim=1)
            return {"z": z, "a": (z.size(0), z.dtype)}

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.gamma, self.w = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2, 3))
            self.register_buffer("b", torch.zeros(2))

        def forward(self, x):
            scale = self.gamma.reshape(1, -1).exp()
            return x * scale @ self.w.t() + self.w.sum(1) * self.w.shape[1] + self.b

    class Inner(nn.Module):
        def forward(self, x, flag=True):
            return x if flag else -x

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.inner = nn.Linear(2, 2), Inner()

        def forward(self, x, table):
            y = torch.zeros(2)
            x = self.inner(self.linear(x))
            return x + y + self.linear.weight + table["a"] + table.b.c(2).mean(-1)

    class Rest(nn.Module):
        def forward(self, first, *others, **named):
            return first + others[0] * named["scale"]

    return {
        "layers": Layers(),
        "outer": Outer(),
        "scaled": Scaled(),
        "rest": Rest(),
        **functions_of(torch),
    }


def functions_of(torch: Any) -> dict[str, Any]:
    def arithmetic(x, y):
        z = (x + y, x - 2, 3 * x, x / y, x // 2, x % 3, x**2, 2**x, x @ y, ~x, +x, abs(x))
        return z, [x == y, x < 1, x >= 2], {"k": x[0, ..., None], "s": slice(1, 2)}

    def methods(x):
        return (
            x.view(-1).float().T.shape,
            x.add(1).mul(x.size(0)).grad_fn,
            x.sum(dim=0, keepdim=True),
        )

    def unpacked(x):
        a, b = x.chunk(2)
        return math.sqrt(a) + b, operator.mul(a, b)

    def functions(x, w):
        h = torch.nn.functional.linear(x, w)
        return (
            torch.sigmoid(h),
            torch.stack([h, h], dim=1),
            h.to(torch.float64),
            (h, torch.Size([1])),
        )

    return {
        "arithmetic": arithmetic, "methods": methods, "unpacked": unpacked, "functions": functions,
    }  # fmt: skip
