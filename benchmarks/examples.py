"""A step of each example in wengert and in torch, with each library's default threads.

    python benchmarks/examples.py

The examples run as they are, `import torch` and all: each library has a process of its own,
in which wengert is installed under torch's name, and the two take turns. That both train the
same is checked first: their first losses have to agree.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from _contender import Contender, Step, answer
from _measure import Row, in_clean_process, interleaved, shown

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
LIBRARIES = ("wengert", "torch")
LOSSES = 3  # first losses that are compared
TOLERANCE = 1e-3
ROUNDS = 9


def gan(example: Any, torch: Any) -> Step:
    """A step of both networks on 64 images; the generator's loss."""
    step = example.make_step(example.Generator(), example.Discriminator())
    images = 2 * torch.rand(64, example.PIXELS) - 1
    return lambda: step(images)[1]


def vae(example: Any, torch: Any) -> Step:
    """A step on 64 images."""
    step = example.make_step(example.VAE())
    images = torch.rand(64, example.PIXELS)
    return lambda: step(images)


def style_transfer(example: Any, torch: Any) -> Step:
    """An iteration of L-BFGS on a picture of 96x64 pixels; both losses together."""
    content, style = torch.rand(1, 3, 64, 96), torch.rand(1, 3, 64, 96)
    logits = content.logit().requires_grad_(True)
    step = example.make_step(logits, example.vgg(), content, style, iterations=1)
    return lambda: sum(step())


def inference(example: Any, torch: Any) -> Step:
    """No training: a network classifies 64 images; its largest score stands for the loss."""
    model = example.Classifier().eval()
    images = torch.rand(64, 1, 8, 8)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def step() -> Any:
        return model(images).max()

    return step


def char_lstm(example: Any, torch: Any) -> Step:
    """A window of 64 characters of 32 streams."""
    characters, text = example.corpus()
    return example.make_step(example.CharLSTM(len(characters)), example.windows(text))


def gpt(example: Any, torch: Any) -> Step:
    """A step on 16 windows of 64 characters."""
    characters, text = example.corpus()
    return example.make_step(example.GPT(len(characters)), text, steps=300)


def multitask(method: str) -> Callable[[Any, Any], Step]:
    """A step on 64 pictures by one of the example's methods; the losses' sum."""

    def make(example: Any, torch: Any) -> Step:
        step = example.make_step(example.Multitask(), getattr(example, method))
        pictures, digits = torch.rand(64, 1, 8, 8), torch.randint(10, (64,))
        batch = pictures, digits, torch.randn(64, 2), 40 * torch.randn(64, 1)
        return lambda: step(batch).sum()

    return make


def theano_mlp(example: Any, torch: Any) -> Step:
    """A step on 64 pictures, with the gradients of all parameters from one call."""
    layers = [1024, 512, 256, 128, 40]
    pictures = example.Pictures(pixels=layers[0], classes=layers[-1])
    return example.make_step(example.network(layers), pictures)


def theano_mlp_one_by_one(example: Any, torch: Any) -> Step:
    """The cost of 64 pictures and its gradients, each by a walk of its own."""
    layers = [1024, 512, 256, 128, 40]
    parameters = example.network(layers)
    batch = example.Pictures(pixels=layers[0], classes=layers[-1]).batch(64)

    def step() -> Any:
        cost = example.cost_of(parameters, *batch)
        example.separate_gradients(cost, parameters)
        return cost

    return step


def physics(example: Any, torch: Any) -> Step:
    """Loss, gradient and one product of the Hessian with a vector."""
    experiment = example.Experiment()
    parameters = experiment.guess()

    def step() -> Any:
        loss, gradient, curvature = example.gradient_and_curvature(experiment.loss, parameters)
        curvature(gradient)
        return loss

    return step


# What a row is called, the example's file, and what makes of the example and of torch a function
# that takes a step and returns its loss.
STEPS: dict[str, tuple[str, Callable[[Any, Any], Step]]] = {
    "training step, GAN on digits, batch 64": ("gan", gan),
    "training step, VAE on digits, batch 64": ("vae", vae),
    "L-BFGS iteration, style transfer, 96x64": ("style_transfer", style_transfer),
    "inference, CNN on digits, batch 64": ("inference", inference),
    "training step, character LSTM, 32 windows of 64": ("char_lstm", char_lstm),
    "training step, GPT of 4 layers, 16 windows of 64": ("gpt", gpt),
    "training step, three tasks, a backward each": ("multitask", multitask("sequential")),
    "training step, three tasks, balanced": ("multitask", multitask("balanced")),
    "training step, sigmoid MLP, gradients in one call": ("theano_mlp", theano_mlp),
    "8 gradients of a sigmoid MLP, one by one": ("theano_mlp", theano_mlp_one_by_one),
    "Hessian-vector product, spring chain, 160 time steps": ("physics", physics),
}


def serve(library: str, name: str) -> None:
    """In a process of its own: print the first losses, then for each line read a time of a step."""
    if library == "wengert":
        import_module("wengert.compat").install()
    torch = import_module("torch")
    sys.path.insert(0, str(EXAMPLES))
    file, make = STEPS[name]
    torch.manual_seed(0)
    step = make(import_module(file), torch)
    answer(step, [step().item() for _ in range(LOSSES)])


def row(name: str) -> Row:
    """Milliseconds of a step, in the two libraries in turns."""
    contenders = {library: Contender(__file__, library, name) for library in LIBRARIES}
    ours, theirs = (contenders[library].first for library in LIBRARIES)
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, err_msg=f"losses of {name}")
    found = interleaved(contenders, ROUNDS)  # type: ignore[arg-type]
    for contender in contenders.values():
        contender.end()
    ours_ms, theirs_ms = (found[library][0] * 1e3 for library in LIBRARIES)
    return Row(name, "ms", ours_ms, theirs_ms)


def rows() -> Iterator[Row]:
    """Milliseconds a step."""
    yield from map(row, STEPS)


def measure() -> list[Row]:
    """All rows, printed as they are found."""
    return [shown(row) for row in rows()]


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve(*sys.argv[sys.argv.index("--serve") + 1 :])
    else:
        in_clean_process(__file__, measure)
