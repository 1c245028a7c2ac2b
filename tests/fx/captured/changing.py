"""Programs in which something changes between two calls: each yields what it finds.

They are run as they are and compiled; what they find has to be the same.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

import wengert
from wengert import nn
from wengert.nn import functional as F

Compile = Callable[[Any], Any]
Found = Iterator[Any]
SETTINGS: dict[str, Any] = {"scale": 2.0, "list": [1.0, 2.0]}
SCALE, SHIFT = 2.0, wengert.ones(3)


def x(*shape: int) -> Any:
    return wengert.linspace(-1, 1, math.prod(shape or (3,))).reshape(shape or (3,))


def helper(a: Any) -> Any:
    return a * 2


def other_helper(a: Any) -> Any:
    return a * 3


def a_global_number(compile: Compile) -> Found:
    global SCALE
    run = compile(lambda a: a * SCALE)
    for k in range(8):
        SCALE = 2.0 if k < 5 else 5.0
        yield run(x())


def a_global_tensor(compile: Compile) -> Found:
    global SHIFT
    SHIFT = wengert.ones(3)
    run = compile(lambda a: a + SHIFT)
    for k in range(9):
        if k == 4:
            SHIFT = wengert.full((3,), 7.0)
        if k == 6:
            SHIFT.mul_(2)
        yield run(x())


def a_global_dictionary(compile: Compile) -> Found:
    run = compile(lambda a: a * SETTINGS["scale"] + SETTINGS["list"][0])
    for k in range(9):
        SETTINGS["scale"] = float(k // 3)
        SETTINGS["list"][0] = float(k // 4)
        yield run(x())


def a_global_function(compile: Compile) -> Found:
    global helper
    run, before = compile(lambda a: helper(a)), helper
    for k in range(8):
        helper = before if k % 5 else other_helper
        yield run(x())
    helper = before


def a_cell(compile: Compile) -> Found:
    factor = 1.0

    def inner(a: Any) -> Any:
        return a * factor

    run = compile(inner)
    for k in range(8):
        factor = float(k // 4)
        yield run(x())


def a_default(compile: Compile) -> Found:
    def inner(a: Any, factor: float = 2.0) -> Any:
        return a * factor

    run = compile(inner)
    for k in range(8):
        inner.__defaults__ = (float(k // 4),)
        yield run(x())


def an_attribute_of_an_argument(compile: Compile) -> Found:
    run = compile(lambda a, config: a * config.scale)
    config = SimpleNamespace(scale=1.0)
    for k in range(8):
        config.scale = float(k // 4)
        yield run(x(), config)


class Scaled(nn.Module):
    kind = "scaled"

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.scale, self.calls = nn.Linear(3, 3), 2.0, 0
        self.drop = nn.Dropout(0.5)
        self.register_buffer("mean", wengert.zeros(3))

    def forward(self, a: Any) -> Any:
        return self.drop(self.layer(a)) * self.scale + self.mean + len(self.kind)


def made(kind: Callable[[], Any] = Scaled) -> Any:
    wengert.manual_seed(0)
    return kind()


def an_attribute_of_a_module(compile: Compile) -> Found:
    model = made()
    run = compile(model)
    for k in range(8):
        model.scale = float(k // 4)
        yield run(x())


def a_class_attribute(compile: Compile) -> Found:
    model = made()
    run = compile(model)
    for k in range(8):
        Scaled.kind = "ab" if k < 4 else "abc"
        yield run(x())
    Scaled.kind = "scaled"


def modes_of_a_module(compile: Compile) -> Found:
    model = made()
    run = compile(model)
    for k in range(12):
        model.train(k % 6 < 3)
        yield run(x())


def parameters(compile: Compile) -> Found:
    model = made()
    run = compile(model)
    for k in range(15):
        if k == 3:
            with wengert.no_grad():
                model.layer.weight.mul_(2)
        if k == 6:
            model.layer.weight = nn.Parameter(wengert.ones(3, 3))
        if k == 8:
            model.layer.bias.requires_grad_(False)
        if k == 10:
            model.mean = wengert.full((3,), 4.0)
        if k == 12:
            model.layer = nn.Linear(3, 3, bias=False)
            nn.init.ones_(model.layer.weight)
        model.zero_grad()
        out = run(x())
        out.sum().backward()
        yield out, [p.grad for p in model.parameters()]


def dtypes_of_a_module(compile: Compile) -> Found:
    model = made().eval()
    run = compile(model)
    for k in range(8):
        if k == 4:
            model.double()
        yield run(x().to(model.layer.weight.dtype))


def hooks_of_a_module(compile: Compile) -> Found:
    model, seen = made().eval(), []
    run = compile(model)
    for k in range(8):
        if k == 3:
            handle = model.layer.register_forward_hook(lambda m, i, o: o * 10)
        if k == 5:
            handle.remove()
            model.register_forward_pre_hook(lambda m, i: seen.append(1))
        yield run(x()), len(seen)


def methods_of_a_module(compile: Compile) -> Found:
    model = made().eval()
    run = compile(model)
    for k in range(8):
        if k == 4:
            model.layer.forward = lambda a: a * 100
        yield run(x())


def counts_of_calls(compile: Compile) -> Found:
    class Counting(Scaled):
        def forward(self, a: Any) -> Any:
            self.calls += 1
            return a * self.calls

    model = made(Counting)
    run = compile(model)
    for _ in range(6):
        yield run(x()), model.calls


def a_list_that_grows(compile: Compile) -> Found:
    seen: list[Any] = []

    def inner(a: Any) -> Any:
        out = a * 2
        seen.append(out.sum())
        return out

    run = compile(inner)
    for _ in range(6):
        yield run(x()), len(seen), seen[-1]


def a_tensor_that_is_kept(compile: Compile) -> Found:
    state = SimpleNamespace(last=wengert.zeros(3))

    def inner(a: Any) -> Any:
        state.last = state.last + a
        return state.last

    run = compile(inner)
    for _ in range(6):
        yield run(x()), state.last


def a_tensor_that_is_written(compile: Compile) -> Found:
    total = wengert.zeros(3)

    def inner(a: Any) -> Any:
        total.add_(a)
        return total * 2

    run = compile(inner)
    for _ in range(6):
        yield run(x()), total.clone()


def arguments_that_are_written(compile: Compile) -> Found:
    def inner(a: Any, b: Any) -> Any:
        a[0] = 5
        b.mul_(a)
        return a + b

    run = compile(inner)
    for _ in range(6):
        a, b = x(), x() + 3
        yield run(a, b), a, b, run(a, a)


def written_arguments_with_gradients(compile: Compile) -> Found:
    weight = wengert.ones(3, requires_grad=True)

    def inner(a: Any) -> Any:
        a.mul_(weight)
        return a * 2

    run = compile(inner)
    for _ in range(5):
        weight.grad = None
        a = x()
        run(a).sum().backward()
        yield a, a.requires_grad, weight.grad


def the_grad_mode(compile: Compile) -> Found:
    weight = wengert.ones(3, requires_grad=True)
    run = compile(lambda a: a * weight)
    for k in range(9):
        with wengert.set_grad_enabled(k % 3 != 2):
            out = run(x())
        yield out, out.requires_grad


def inner_grad_modes(compile: Compile) -> Found:
    weight = wengert.ones(3, requires_grad=True)

    def inner(a: Any) -> Any:
        with wengert.no_grad():
            b = a * weight
            with wengert.enable_grad():
                c = a * weight
        return b + c * 2 if c.requires_grad else b

    run = compile(inner)
    for k in range(6):
        with wengert.set_grad_enabled(k % 3 != 2):
            out = run(x())
            weight.grad = None
            if out.requires_grad:
                out.sum().backward()
        yield out, weight.grad, wengert.is_grad_enabled()


def autocast(compile: Compile) -> Found:
    model = made().eval()
    run = compile(model)
    for k in range(9):
        with wengert.autocast("cpu", wengert.bfloat16, enabled=k % 3 == 1):
            yield run(x()).float()


def inner_autocast(compile: Compile) -> Found:
    model = made().eval()

    def inner(a: Any) -> Any:
        with wengert.autocast("cpu", wengert.bfloat16):
            return model.layer(a)

    run = compile(inner)
    for _ in range(4):
        yield run(x()).float()


def inference(compile: Compile) -> Found:
    run = compile(lambda a: a * 2)
    for k in range(6):
        with wengert.inference_mode(k % 2 == 1):
            out = run(x())
        yield out, out.is_inference()


def the_default_dtype(compile: Compile) -> Found:
    run = compile(lambda a: wengert.ones(3) + a.int())
    for k in range(6):
        wengert.set_default_dtype(wengert.float64 if k % 3 == 2 else wengert.float32)
        try:
            out = run(x())
        finally:
            wengert.set_default_dtype(wengert.float32)
        yield out, str(out.dtype)


def random_tensors(compile: Compile) -> Found:
    run = compile(lambda a: F.dropout(a) + wengert.rand(3) + wengert.rand_like(a))
    wengert.manual_seed(3)
    for _ in range(6):
        yield run(x()), wengert.rand(1)


def a_seed(compile: Compile) -> Found:
    def inner(a: Any) -> Any:
        wengert.manual_seed(1)
        return a + wengert.rand(3)

    run = compile(inner)
    for _ in range(4):
        yield run(x()), wengert.rand(1)


def random_numbers(compile: Compile) -> Found:
    run = compile(lambda a: a * random.random())
    random.seed(0)
    for _ in range(5):
        yield run(x())


def numpy_numbers(compile: Compile) -> Found:
    values = np.ones(3, np.float32)
    run = compile(lambda a: a + wengert.as_tensor(values) + float(values[0]))
    for k in range(6):
        values[:] = k
        yield run(x())


def numbers_of_arguments(compile: Compile) -> Found:
    run = compile(lambda a, k: a * k)
    for k in (1, 1, 1, 1.0, 1.0, True, True, 0.0, -0.0, 0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11):
        yield run(x(), k), run(x(), k).dtype == wengert.float32, 1 / run(x() + 2, k)


PROGRAMS = [
    f for name, f in list(globals().items())
    if getattr(f, "__annotations__", {}).get("return") == "Found"
]  # fmt: skip
