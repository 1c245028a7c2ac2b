"""A character LSTM learns to write Python from the standard library's own sources.

The text is cut into streams that are read side by side, window by window. Backpropagation goes
through one window; the state at its end, detached, is where the next window starts. Gradients
are clipped. Prints bits per character, of text that it has not seen too, and a sample.

    python char_lstm.py
"""

import argparse
import ast
import dataclasses
import inspect
import math
import tarfile
import textwrap
import typing
from statistics import mean

import torch
from torch import nn, optim
from torch.nn import functional as F

SOURCES = (argparse, ast, dataclasses, inspect, tarfile, typing)
UNSEEN = 20_000
NATS_PER_BIT = math.log(2)


class CharLSTM(nn.Module):
    def __init__(self, alphabet, width=128, layers=1):
        super().__init__()
        self.embedding = nn.Embedding(alphabet, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.readout = nn.Linear(width, alphabet)

    def forward(self, codes, state=None):
        features, state = self.lstm(self.embedding(codes), state)
        return self.readout(features), state


def corpus():
    """The characters that occur, and the text as their indices."""
    text = "\n".join(inspect.getsource(module) for module in SOURCES)
    return torch.unique(torch.tensor(list(text.encode())), return_inverse=True)


def windows(text, streams=32, length=64):
    """Pairs of characters and those that follow, both (streams, length), without an end."""
    text = text[: len(text) // streams * streams].view(streams, -1)
    while True:
        for start in range(0, text.shape[1] - length, length):
            window = text[:, start : start + length + 1]
            yield window[:, :-1], window[:, 1:]


def loss_of(scores, targets):
    return F.cross_entropy(scores.flatten(0, 1), targets.flatten())


def make_step(model, batches, learning_rate=5e-3):
    """A function that takes a step of training and returns the loss."""
    optimizer = optim.Adam(model.parameters(), lr=learning_rate)
    state = None

    def step():
        nonlocal state
        inputs, targets = next(batches)
        scores, state = model(inputs, state)
        loss = loss_of(scores, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        state = [part.detach() for part in state]
        return loss

    return step


@torch.no_grad()
def bits_per_character(model, text):
    scores, _ = model(text[None, :-1])
    return loss_of(scores, text[None, 1:]).item() / NATS_PER_BIT


@torch.no_grad()
def sample(model, prompt, length):
    """What the model writes after the prompt, one character drawn after the other."""
    scores, state = model(prompt[None])
    written = prompt.tolist()
    for _ in range(length):
        drawn = torch.multinomial(scores[:, -1].softmax(dim=1), num_samples=1)
        written.append(drawn.item())
        scores, state = model(drawn, state)
    return written


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--streams", type=int, default=32, help="texts read side by side")
    parser.add_argument("--window", type=int, default=64, help="characters in a backward")
    parser.add_argument("--sample", type=int, default=300, help="characters to write")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    characters, text = corpus()
    seen, unseen = text[:-UNSEEN], text[-UNSEEN:]
    model = CharLSTM(len(characters), arguments.width, arguments.layers)
    print(f"{len(seen):,} characters, {len(characters)} different ones, "
          f"{sum(p.numel() for p in model.parameters()):,} weights")  # fmt: skip

    step = make_step(model, windows(seen, arguments.streams, arguments.window))
    losses = []
    for count in range(1, arguments.steps + 1):
        losses.append(step().item())
        if count == 1 or count % 20 == 0:
            recent = mean(losses[-20:]) / NATS_PER_BIT
            print(f"step {count:4}: bits per character {recent:.3f}")
    print(f"unseen text: bits per character {bits_per_character(model, unseen):.3f}")

    written = sample(model, unseen[:40], arguments.sample)
    print(textwrap.indent(bytes(characters[written].tolist()).decode(errors="replace"), "| "))


if __name__ == "__main__":
    main()
