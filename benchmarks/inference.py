"""Inference beside torch and ONNX Runtime: images, texts, a GPT that writes token by token.

    python benchmarks/inference.py

Each library has a process of its own, with its own default threads, and they take turns.
ONNX Runtime runs what `wengert.onnx.export` makes of the same module. That all compute the same
is checked first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from _contender import Contender, Step, answer
from _measure import Row, in_clean_process, interleaved, shown
from workloads._workload import data, fill, labels

LIBRARIES = ("wengert", "torch", "onnxruntime")
TOLERANCE = 1e-3
ROUNDS = 9
WIDTH, HEADS, LAYERS, ALPHABET = 256, 8, 4, 96
PROMPT, TOKENS = 64, 32


def mlp(lib: Any) -> Any:
    """784-512-256-10."""
    nn = lib.nn
    return nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)
    )


def residual(lib: Any, widths: tuple[int, ...], stem: int, blocks: int) -> Any:
    """A residual network: blocks of two 3x3 convolutions, widths doubled by strides of 2."""
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
            self.short = nn.Sequential()
            if stride > 1 or inputs != outputs:
                self.short = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x: Any) -> Any:
            y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
            return functional.relu(y + self.short(x))

    layers = [nn.Conv2d(3, widths[0], stem, 2 if stem > 3 else 1, stem // 2, bias=False)]
    layers += [nn.BatchNorm2d(widths[0]), nn.ReLU()]
    layers += [nn.MaxPool2d(3, 2, 1)] if stem > 3 else []
    inputs = widths[0]
    for width in widths:
        for k in range(blocks):
            layers.append(Block(inputs, width, 2 if k == 0 and width != widths[0] else 1))
            inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], 10))


def encoder(lib: Any) -> Any:
    """`nn.TransformerEncoder` on embedded texts."""
    nn = lib.nn
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True)
    return nn.Sequential(nn.Embedding(ALPHABET, WIDTH), nn.TransformerEncoder(layer, LAYERS))


def lstm(lib: Any) -> Any:
    """The outputs of `nn.LSTM` for all steps."""
    nn = lib.nn

    class Outputs(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(64, 128, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0]

    return Outputs()


def gpt(lib: Any) -> Any:
    """Takes tokens, their positions and the keys and values so far; adds theirs to these."""
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any, keys: Any, values: Any) -> Any:
            q, k, v = [
                part.view(1, 1, HEADS, WIDTH // HEADS).transpose(1, 2)
                for part in self.qkv(self.norm1(x)).chunk(3, dim=2)
            ]
            keys, values = lib.cat([keys, k], dim=2), lib.cat([values, v], dim=2)
            mixed = functional.scaled_dot_product_attention(q, keys, values)
            x = x + self.out(mixed.transpose(1, 2).reshape(1, 1, WIDTH))
            return x + self.down(functional.gelu(self.up(self.norm2(x)))), keys, values

    class GPT(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(ALPHABET, WIDTH)
            self.positions = nn.Embedding(PROMPT + TOKENS, WIDTH)
            self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, token: Any, position: Any, *past: Any) -> Any:
            x = self.tokens(token) + self.positions(position)
            cache: list[Any] = []
            for k, block in enumerate(self.blocks):
                x, keys, values = block(x, past[2 * k], past[2 * k + 1])
                cache += keys, values
            return functional.linear(self.norm(x), self.tokens.weight), *cache

    return GPT()


def past(length: int) -> list[np.ndarray[Any, Any]]:
    """The keys and values of a text of that length."""
    shape = (1, HEADS, length, WIDTH // HEADS)
    return [data(f"past{k}", *shape) for k in range(2 * LAYERS)]


@dataclass(frozen=True)
class Task:
    """A row: the module, the arrays it takes, and whether it writes token by token."""

    make: Callable[[Any], Any]
    inputs: Callable[[], list[np.ndarray[Any, Any]]]
    writes: bool = False


TEXTS = (16, 128)
SMALL, LARGE = (16, 32, 64), (64, 128, 256, 512)
TASKS = {
    "MLP 784-512-256-10, batch 1": Task(mlp, lambda: [data("x", 1, 784)]),
    "MLP 784-512-256-10, batch 64": Task(mlp, lambda: [data("x", 64, 784)]),
    "ResNet-8, 32x32, batch 1": Task(
        lambda lib: residual(lib, SMALL, 3, 1), lambda: [data("x", 1, 3, 32, 32)]
    ),
    "ResNet-8, 32x32, batch 64": Task(
        lambda lib: residual(lib, SMALL, 3, 1), lambda: [data("x", 64, 3, 32, 32)]
    ),
    "ResNet-18, 224x224, batch 1": Task(
        lambda lib: residual(lib, LARGE, 7, 2), lambda: [data("x", 1, 3, 224, 224)]
    ),
    f"encoder of {LAYERS} layers of {WIDTH}, 1 text of {TEXTS[1]}": Task(
        encoder, lambda: [labels(TEXTS[1], ALPHABET).reshape(1, -1)]
    ),
    f"encoder of {LAYERS} layers of {WIDTH}, {TEXTS[0]} texts of {TEXTS[1]}": Task(
        encoder, lambda: [labels(TEXTS[0] * TEXTS[1], ALPHABET).reshape(TEXTS)]
    ),
    "nn.LSTM of 128, 50 time steps, batch 1": Task(lstm, lambda: [data("x", 1, 50, 64)]),
    f"GPT of {LAYERS} layers of {WIDTH}, {TOKENS} tokens behind {PROMPT}, batch 1": Task(
        gpt, lambda: [np.array([[1]]), np.array([[PROMPT]]), *past(PROMPT)], writes=True
    ),
}  # fmt: skip


def written(run: Callable[..., Any], argmax: Callable[[Any], Any], inputs: Any) -> Any:
    """The scores of the last of the tokens that a GPT writes, each the likeliest."""
    token, position, *cache = inputs
    for _ in range(TOKENS):
        scores, *cache = run(token, position, *cache)
        token, position = argmax(scores), position + 1
    return scores


def in_library(name: str, task: Task) -> Step:
    """A step in torch or in wengert."""
    lib = import_module(name)
    model = fill(lib, task.make(lib)).eval()
    inputs = [lib.from_numpy(a) for a in task.inputs()]

    @lib.no_grad()  # type: ignore[untyped-decorator]
    def step() -> Any:
        if task.writes:
            return written(model, lambda scores: scores.argmax(-1), inputs)
        return model(*inputs)

    return step


def in_onnxruntime(task: Task) -> Step:
    """A step in ONNX Runtime."""
    import onnxruntime  # type: ignore[import-untyped]

    import wengert

    model = fill(wengert, task.make(wengert)).eval()
    arrays = task.inputs()
    names = [f"input{k}" for k in range(len(arrays))]
    axes = {name: {2: "past"} for name in names[2:]}
    program = wengert.onnx.export(
        model, tuple(map(wengert.from_numpy, arrays)), input_names=names, dynamic_axes=axes
    )
    assert program is not None
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())

    def run(*inputs: Any) -> Any:
        return session.run(None, dict(zip(names, inputs, strict=True)))

    if task.writes:
        return lambda: written(run, lambda scores: scores.argmax(-1), arrays)
    return lambda: run(*arrays)[0]


def serve(library: str, name: str) -> None:
    """In a process of its own: print the first results, then for each line read a time."""
    task = TASKS[name]
    step = in_onnxruntime(task) if library == "onnxruntime" else in_library(library, task)
    answer(step, np.asarray(step()).ravel()[:100].tolist())


def row(name: str) -> Row:
    """Milliseconds of a step in the three, in turns."""
    contenders = {library: Contender(__file__, library, name) for library in LIBRARIES}
    first, *others = (contenders[library].first for library in LIBRARIES)
    for found in others:
        np.testing.assert_allclose(found, first, atol=TOLERANCE, rtol=TOLERANCE, err_msg=name)
    medians = interleaved(contenders, ROUNDS)  # type: ignore[arg-type]
    for contender in contenders.values():
        contender.end()
    return Row(name, "ms", *(1e3 * medians[library][0] for library in LIBRARIES))


def rows() -> Iterator[Row]:
    """Milliseconds, of a token where one writes."""
    yield from map(row, TASKS)


def measure() -> list[Row]:
    """All rows, printed as they are found."""
    return [shown(row) for row in rows()]


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve(*sys.argv[sys.argv.index("--serve") + 1 :])
    else:
        in_clean_process(__file__, measure)
