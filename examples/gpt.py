"""A small GPT learns to write Python from the standard library's own sources.

Blocks of causal self-attention and a two-layer network, each behind a LayerNorm and beside a
residual connection. The scores of the next character are products with the embeddings of the
characters: one matrix, used twice, whose gradient is the sum of both uses. AdamW, with a rate
that warms up and falls as a cosine. Prints the loss, also on text not seen, and a sample.

    python gpt.py
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


class Attention(nn.Module):
    """Each position looks at itself and at what came before."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        by_head = self.queries_keys_values(x).unflatten(2, (3, self.heads, -1))
        queries, keys, values = by_head.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return self.out(seen.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attend = nn.Sequential(nn.LayerNorm(width), Attention(width, heads))
        self.think = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
        )

    def forward(self, x):
        x = x + self.attend(x)
        return x + self.think(x)


class GPT(nn.Module):
    def __init__(self, alphabet, context=64, width=64, heads=4, layers=4):
        super().__init__()
        self.context = context
        self.characters = nn.Embedding(alphabet, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.readout = nn.Linear(width, alphabet, bias=False)
        self.readout.weight = self.characters.weight
        self.apply(initialize)

    def forward(self, codes):
        positions = torch.arange(codes.shape[1])
        x = self.characters(codes) + self.positions(positions)
        return self.readout(self.norm(self.blocks(x)))


def initialize(module):
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.05)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def corpus():
    """The characters that occur, and the text as their indices."""
    text = "\n".join(inspect.getsource(module) for module in SOURCES)
    return torch.unique(torch.tensor(list(text.encode())), return_inverse=True)


def random_windows(text, batch, length):
    """Characters from anywhere in the text and those that follow, both (batch, length)."""
    starts = torch.randint(len(text) - length, (batch, 1))
    windows = text[starts + torch.arange(length + 1)]
    return windows[:, :-1], windows[:, 1:]


def loss_of(scores, targets):
    return F.cross_entropy(scores.flatten(0, 1), targets.flatten())


def warm_up_then_cosine(steps, warm_up):
    """The factor of the learning rate in each step: up to 1, then down to a tenth."""

    def factor(step):
        if step < warm_up:
            return (step + 1) / warm_up
        progress = (step - warm_up) / max(1, steps - warm_up)
        return 0.1 + 0.45 * (1 + math.cos(math.pi * progress))

    return factor


def make_step(model, text, steps, batch=16, learning_rate=4e-3):
    """A function that takes a step of training and returns the loss."""
    optimizer = optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95))
    rate = warm_up_then_cosine(steps, warm_up=steps // 10)
    schedule = optim.lr_scheduler.LambdaLR(optimizer, rate)

    def step():
        inputs, targets = random_windows(text, batch, model.context)
        loss = loss_of(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        schedule.step()
        return loss

    return step


@torch.no_grad()
def evaluate(model, text):
    """The loss of every character of a text, window by window."""
    windows = text[: len(text) // (model.context + 1) * (model.context + 1)]
    windows = windows.view(-1, model.context + 1)
    return loss_of(model(windows[:, :-1]), windows[:, 1:]).item()


@torch.no_grad()
def sample(model, prompt, length):
    """What the model writes after the prompt, one character drawn after the other."""
    written = prompt
    for _ in range(length):
        scores = model(written[None, -model.context :])[0, -1]
        drawn = torch.multinomial(scores.softmax(dim=0), num_samples=1)
        written = torch.cat([written, drawn])
    return written


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--sample", type=int, default=300, help="characters to write")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    characters, text = corpus()
    seen, unseen = text[:-UNSEEN], text[-UNSEEN:]
    model = GPT(
        len(characters), arguments.context, arguments.width, arguments.heads, arguments.layers
    )
    print(f"{len(seen):,} characters, {len(characters)} different ones, "
          f"{sum(p.numel() for p in model.parameters()):,} weights")  # fmt: skip

    step = make_step(model, seen, arguments.steps, arguments.batch)
    losses = []
    for count in range(1, arguments.steps + 1):
        losses.append(step().item())
        if count == 1 or count % 20 == 0:
            print(f"step {count:4}: loss {mean(losses[-20:]):.3f}")
    print(f"unseen text: loss {evaluate(model, unseen):.3f}")

    written = sample(model, unseen[:40], arguments.sample)
    print(textwrap.indent(bytes(characters[written].tolist()).decode(errors="replace"), "| "))


if __name__ == "__main__":
    main()
