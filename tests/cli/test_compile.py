"""``wengert run --compile``: the same output as without, whatever the script does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.process import forked, script, wengert

START = """
import math, random, threading
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0); random.seed(0)

def mlp(*widths):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])

def show(*values):
    print(*[f"{float(v):.4f}" for v in values])
"""

CLASSIFIER = """
model = nn.Sequential(nn.Linear(20, 64, bias=False), nn.BatchNorm1d(64), nn.Tanh(),
                      nn.Dropout(0.2), nn.Linear(64, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 20, 0.5)
X, Y = torch.randn(500, 20), torch.randint(0, 5, (500,))
losses, best = [], math.inf
for epoch in range(4):
    model.train()
    for i in range(0, 500, 48):  # the last batch is smaller
        optimizer.zero_grad()
        loss = F.cross_entropy(model(X[i:i + 48]), Y[i:i + 48])
        loss.backward()
        if i == 96:
            show(nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        optimizer.step()
        losses.append(loss)
        if loss.item() < best:
            best = loss.item()
    schedule.step()
    model.eval()
    with torch.no_grad():
        show(F.cross_entropy(model(X), Y))
show(sum(losses), best, *[p.sum() for p in model.parameters()], torch.rand(1))
"""

ADVERSARIES = """
generator, critic = mlp(8, 64, 8), mlp(8, 64, 1)
of_generator = torch.optim.Adam(generator.parameters(), 1e-2)
of_critic = torch.optim.Adam(critic.parameters(), 1e-2)
for step in range(30):
    real, fake = torch.randn(32, 8) + 1, generator(torch.randn(32, 8))
    of_critic.zero_grad()
    loss = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()
    loss.backward()
    of_critic.step()
    if step % 2:
        critic.requires_grad_(False)
        of_generator.zero_grad()
        F.softplus(-critic(fake)).mean().backward()
        of_generator.step()
        critic.requires_grad_(True)
    if step % 10 == 0:
        show(loss, *[p.grad.norm() for p in critic.parameters()])
show(*[p.sum() for p in (*generator.parameters(), *critic.parameters())])
"""

ACCUMULATION = """
model = mlp(6, 64, 64, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
hooks = []
for step in range(40):
    x = torch.randn(16 if step % 7 else 5, 6) * (math.nan if step == 21 else 1.0)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean() / 4
    if not torch.isfinite(loss):
        print("skipped")
        continue
    loss.backward(retain_graph=step % 5 == 0)
    if step % 5 == 0:
        (loss * 0.1).backward()
    if step == 12:
        hooks.append(model[0].weight.register_hook(lambda g: g * 0.5))
    if step == 24:
        hooks.pop().remove()
        model[2] = nn.Linear(64, 64)
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad(set_to_none=step % 8 == 3)
    try:
        if step == 30:
            model(torch.randn(3, 7))
    except RuntimeError:
        print("shapes")
    if step % 10 == 0:
        show(loss, *[0 if p.grad is None else p.grad.sum() for p in model.parameters()])
for _ in range(200):  # no step ends these
    loss = model(torch.randn(2, 6)).mean()
show(loss, *[p.sum() for p in model.parameters()])
"""

STATE_CARRIED_ON = """
cell, readout = nn.GRUCell(3, 16), nn.Linear(16, 3)
parameters = [*cell.parameters(), *readout.parameters()]
optimizer = torch.optim.RMSprop(parameters, 1e-3)
lbfgs_model = mlp(2, 8, 1)
lbfgs = torch.optim.LBFGS(lbfgs_model.parameters(), max_iter=4)
points = torch.randn(20, 2)
h, total = torch.zeros(4, 16), 0
for step in range(25):
    sequence = torch.randn(6, 4, 3)
    loss, x = 0, sequence[0]
    for t in range(1, 6):
        h = cell(x, h)
        out = readout(h)
        loss = loss + F.mse_loss(out, sequence[t])
        x = sequence[t] if random.random() < 0.5 else out
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    h = h.detach()
    total += loss.detach()
    if step % 8 == 0:
        def closure():
            lbfgs.zero_grad()
            loss = (lbfgs_model(points).squeeze() - points.prod(1)).square().mean()
            loss.backward()
            return loss
        show(lbfgs.step(closure), h.sum())

def other():
    model = mlp(4, 32, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with torch.enable_grad():
        for p in model.parameters():
            nn.init.constant_(p, 0.1)
        for k in range(12):
            optimizer.zero_grad()
            loss = model(torch.full((8, 4), 0.1 * k)).square().mean()
            loss.backward()
            optimizer.step()
    results.append(loss.item())

results = []
threads = [threading.Thread(target=other) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
show(total, *results, *[p.sum() for p in parameters], torch.rand(1))
"""

SCRIPTS = {
    "a classifier": CLASSIFIER,
    "adversaries": ADVERSARIES,
    "accumulation, hooks and errors": ACCUMULATION,
    "state carried on, closures, threads": STATE_CARRIED_ON,
}


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_a_compiled_script_does_what_it_does(tmp_path: Path, text: str) -> None:
    path = str(script(tmp_path, START + text))
    eager = forked("wengert", "-m", "wengert", "run", "--quiet", path)
    compiled = forked("wengert", "-m", "wengert", "run", "--compile", path)
    assert (eager.returncode, eager.stderr) == (0, "")
    assert compiled.returncode == 0
    assert NUMBER.sub("N", compiled.stdout) == NUMBER.sub("N", eager.stdout)
    ours, theirs = ([float(x) for x in NUMBER.findall(r.stdout)] for r in (compiled, eager))
    assert ours == pytest.approx(theirs, rel=1e-3, abs=2e-4)
    steps = re.search(r"([\d,]+) steps compiled", compiled.stderr)
    assert steps is not None
    assert int(steps[1]) >= 10


NUMBER = re.compile(r"-?\d+\.\d+|nan")


def test_the_summary_says_what_was_compiled(tmp_path: Path) -> None:
    path = str(script(tmp_path, START + CLASSIFIER))
    told = forked("wengert", "-m", "wengert", "run", "--compile", path).stderr
    assert re.search(r"script\.py:\d+: \d+ operations and \d+ backwards? in \d+ programs?", told)
    assert forked("wengert", "-m", "wengert", "run", "--compile", "--quiet", path).stderr == ""


def test_a_report_of_each_operation_is_refused(tmp_path: Path) -> None:
    refused = wengert("run", "--compile", "--report", "x.html", str(script(tmp_path, "")))
    assert refused.returncode == 2
    assert "--compile goes with neither --report" in refused.stderr


def test_a_failing_script_fails_as_without(tmp_path: Path) -> None:
    path = str(script(tmp_path, START + "mlp(2, 3)(torch.ones(1, 2)); raise SystemExit(3)"))
    assert forked("wengert", "-m", "wengert", "run", "--compile", path).returncode == 3


COMPILED = """
@torch.compile(fullgraph=True)
def step(x):
    model.zero_grad()
    model(x).square().mean().backward()

model = mlp(2, 3)
for _ in range(8):
    step(torch.ones(4, 2))
    show(model[0].weight.grad.sum())

@torch.compile
def once(x):
    return x + 1

once(torch.ones(2))
"""


def test_a_plain_run_leaves_backwards_to_the_programs_of_compiled_functions(tmp_path: Path) -> None:
    path = str(script(tmp_path, START + COMPILED))
    told = forked("wengert", "-m", "wengert", "run", path).stderr
    programs = re.search(r"programs +.*  step: (\d+) operations and 1 backward in 1 program", told)
    assert programs is not None
    assert re.search(r"  once: no program so far\n", told)
    assert re.search(r"compiled +.*backward\(\): \d+ calls in programs of compiled functions", told)
