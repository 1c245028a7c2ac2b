"""Programs that index by tensors and compute with integers, compiled and eager."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.replay.harness import Program, adding_to, batch, compare, mlp, state
from wengert import nn
from wengert.compiler import compile as compiled
from wengert.compiler import explain, reset
from wengert.nn import functional as F
from wengert.replay.run import Run
from wengert.replay.state import active

PROGRAMS: list[Program] = []
program = adding_to(PROGRAMS)


def edges(nodes: int, count: int) -> Any:
    return wengert.randint(nodes, (2, count))


@program
def messages_along_edges(wrap, log):
    first, second = nn.Linear(8, 16), nn.Linear(16, 3)
    model = nn.ModuleList([first, second])

    def spread(layer, h, ends):
        h, (row, col) = layer(h), ends
        degree = wengert.zeros(64).index_add(0, col, wengert.ones(len(col))) + 1
        weight = degree[row].rsqrt() * degree[col].rsqrt()
        sums = wengert.zeros(64, h.shape[1]).index_add_(0, col, h[row] * weight[:, None])
        return sums + h / degree[:, None]

    @wrap
    def step(x, ends, labels, known):
        model.zero_grad()
        scores = spread(second, spread(first, x, ends).relu(), ends)
        loss = F.cross_entropy(scores[known], labels[known])
        loss.backward()
        return loss, scores

    labels = wengert.randint(3, (64,))
    for k in range(7):
        ends = edges(64, 200 + k // 5)
        log += [*step(batch(), ends, labels, wengert.arange(64) % 3 != k // 3), *state(model)]


@program
def attention_over_neighbours(wrap, log):
    weight = wengert.randn(4, 5, requires_grad=True)

    @wrap
    def step(h, ends):
        weight.grad = None
        (source, target), n = ends, len(h)
        score = F.leaky_relu((h * weight).sum(-1)[source] + (h.tanh() * weight).sum(-1)[target])
        most = wengert.full((n, 4), -1e9)
        index = target[:, None].expand(-1, 4)
        most = most.scatter_reduce(0, index, score.detach(), "amax")
        share = (score - most[target]).exp()
        total = wengert.zeros(n, 4).scatter_add_(0, index, share)
        share = share / total[target]
        out = wengert.zeros(n, 4, 5).index_add(0, target, h[source] * share[..., None])
        out.square().sum().backward()
        return out, share

    for _ in range(5):
        log += [*step(wengert.randn(20, 4, 5), edges(20, 60)), weight.grad]


@program
def keys_of_all_kinds(wrap, log):
    w = wengert.randn(8, 6, requires_grad=True)

    @wrap
    def step(x, i, j, mask):
        w.grad = None
        y = (x @ w).tanh()
        z = y.view(4, 16, 6)
        found = [
            y[i], y[i, j], y[:, j], y[-1, j], y[i - 64], y[range(6), j[:6]], y[[0, 2, 2]], y[mask],
            y[:, None, j], z[i % 4, :, j], z[..., j % 3], z[1:, i % 16], z[0, mask[:16]],
            y[i[:, None], j],
            z[mask[:4], 2], y[mask, 0], y[i, :3],
        ]  # fmt: skip
        sum([f.square().sum() for f in found]).backward()
        return found

    for k in range(5):
        i, j = wengert.randint(64, (7,)), wengert.randint(6, (7,))
        log += [*step(batch(), i, j, wengert.arange(64) % 5 < 2 + k // 4), w.grad]


@program
def elements_written_by_keys(wrap, log):
    w = wengert.randn(8, 6, requires_grad=True)

    @wrap
    def step(x, i, j, mask):
        w.grad = None
        y = (x @ w).tanh()
        a, b, c, d = y * 2, y * 3, wengert.zeros(64, 6), wengert.full((64, 6), -1.0)
        a[i] = y[:7]
        a[mask] = 0.5
        b[:, 1] = y[:, 0]
        b[2:4, ::2] = 7
        c[:, 0] = y[:, 5]
        c[:, 1:3] = y[:, 3:5]
        d[i, j] = y[0, 0]
        d[3] = y.sum(0, keepdim=True)
        e = y.detach() * 1
        e[e > 0] = 2.0
        e[1:, j] = e[0, 0]
        (a.sum() + b.square().sum() + c.exp().sum() + (d * y).sum()).backward()
        return a, b, c, d, e, a._version, c._version, e._version

    for k in range(5):
        i, j = wengert.randperm(64)[:7], wengert.randint(6, (7,))
        log += [*step(batch(), i, j, wengert.arange(64) % 5 < 2 + k // 4), w.grad]


@program
def elements_written_where_masks_are_true(wrap, log):
    w = wengert.randn(8, 6, requires_grad=True)

    @wrap
    def step(x, known, width):
        w.grad = None
        y = (x @ w).tanh()
        a, b, c, d = y * 2, y.clone(), y + 1, y.detach() * 1
        a[a < 0] = 0
        rows = y.detach().sum(1) > 0
        b[rows] = 0.5
        b[~rows] = y[0]
        c[y > 0.5] = y.sum()
        c[known] = x[:width, 0].sum(0, keepdim=True)
        d[d < 0] = y.mean()
        e = x.clone()
        e[e.isnan()] = 0.0
        try:
            d[rows] = x[:3, :5]
        except RuntimeError as error:
            log.append(str(error).split(" of")[0])
        loss = a.square().sum() + b.sum() + (c * y).sum() + d.exp().sum()
        loss.backward()
        return a, b, c, d, e, a._version, b._version

    for k in range(6):
        x = batch()
        x[0, 0] = float("nan") if k == 3 else 1.0
        log += [*step(x, wengert.arange(64) % 5 < 2 + k // 4, 3), w.grad]


@program
def indices_that_were_computed(wrap, log):
    model = mlp(8, 32, 5)

    @wrap
    def step(x, y):
        model.zero_grad()
        scores = model(x)
        with wengert.no_grad():
            best = scores.argmax(1)
            order = scores.sort(1).indices
            _, top = scores.softmax(1).topk(2, 1)
            place = (y * 7 + best) % 5
            bucket = wengert.where(best > 2, best - 1, y.clamp(0, 3))
        picked = scores.gather(1, best[:, None]).squeeze(1) + scores[range(64), place]
        hot = F.one_hot(top, 5).float().sum((0, 1)) + F.one_hot(bucket, 5).sum(0)
        ahead = scores.take_along_dim(order[:, -2:], 1).sum(1)
        loss = (picked + ahead).mean() + (hot * scores.mean(0)).sum() + scores[0][bucket].mean()
        loss.backward()
        return loss, best, order, top, place, bucket, hot, (best == y).sum(), best.float().mean()

    for _ in range(6):
        log += [*step(batch(), wengert.randint(5, (64,))), *state(model)]


@program
def integers_and_masks(wrap, log):
    @wrap
    def step(x, n):
        positive = x > 0
        count = positive.sum(1)
        places = positive.int().cumsum(1) * positive + 1
        long = (x * 3).long()
        parts = (
            long // 2,
            long % 3,
            -long,
            abs(long) - 1,
            count / 2,
            count * 0.5,
            long / count[:, None],
        )
        mixed = (positive & (count > 2)[:, None]) | ~positive, positive + long, long * positive
        more = long.float() + count[:, None], count.max(), long.sum(), long.to(wengert.int32) + 1
        order = (
            count.argsort(),
            long.amax(1),
            wengert.cat([count, long[:, 0]]),
            long == count[:, None],
        )
        return (
            places,
            long,
            count,
            *parts,
            *mixed,
            *more,
            *order,
            count + n,
            long.bool(),
            count.pow(2),
        )

    for k in range(5):
        log += step(batch(), k // 2)


@program
def classes_of_a_policy(wrap, log):
    model = mlp(4, 32, 3)
    optimizer = wengert.optim.Adam(model.parameters(), lr=0.01)
    states, actions, old = batch(128, 4), wengert.randint(3, (128,)), wengert.randn(128)

    @wrap
    def step(count):
        rows = wengert.randperm(128)[:count]
        s, a, before = states[rows], actions[rows], old[rows]
        chosen = wengert.distributions.Categorical(logits=model(s)).log_prob(a)
        again = F.log_softmax(model(s), -1)[wengert.arange(count), a]
        ratio = (again - before).exp()
        loss = wengert.min(ratio, ratio.clamp(0.8, 1.2)).mean() - chosen.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, ratio

    for k in range(8):
        log += [*step(32 + 8 * (k // 5)), *state(model)]


@program
def lattice(wrap, log):
    layer = nn.Linear(8, 6)

    @wrap
    def step(x, states, skips):
        layer.zero_grad()
        scores = F.log_softmax(layer(x), -1)
        emitted = scores.gather(2, states[None].expand(12, 4, 9))
        alpha = wengert.full((4, 9), -1e9)
        alpha[:, 0] = emitted[0, :, 0]
        alpha[:, 1] = emitted[0, :, 1]
        for t in range(1, 12):
            before = F.pad(alpha[:, :-1], (1, 0), value=-1e9)
            jump = F.pad(alpha[:, :-2], (2, 0), value=-1e9).masked_fill(~skips, -1e9)
            alpha = wengert.stack([alpha, before, jump]).logsumexp(0) + emitted[t]
        loss = -wengert.logaddexp(alpha[:, -1], alpha[:, -2]).mean()
        loss.backward()
        return loss, alpha

    for _ in range(4):
        states = wengert.randint(6, (4, 9))
        log += [*step(wengert.randn(12, 4, 8), states, states % 2 == 0), *state(layer)]


@program
def rows_that_go_on_without_a_backward(wrap, log):
    w = wengert.randn(8, 6, requires_grad=True)
    f = wrap(
        lambda x, i: ((x @ w)[i], (x @ w).index_add(0, i, wengert.ones(5, 6)), (x @ w)[:, i % 6])
    )
    for _ in range(5):
        w.grad, i = None, wengert.randint(64, (5,))
        rows, added, columns = f(batch(), i)
        i.zero_()  # what a graph has saved is a copy
        loss = rows.square().sum() + columns.exp().sum()
        (g,) = wengert.autograd.grad(loss, w, create_graph=True)
        (g.square().sum() + added.detach().sum()).backward()
        log += [rows, columns, g, w.grad]


@program
def tensors_that_others_have_are_written_to(wrap, log):
    buffer, other = wengert.zeros(8), wengert.zeros(4, 8)
    shown, array = buffer.view(2, 4), other.numpy()

    @wrap
    def step(x, i):
        total = x.sum(0) * 2
        buffer.index_add_(0, i, total)
        other[1] = total
        own = wengert.zeros(8)
        part = own[:4]
        own.add_(total)
        own[i] = total.exp()
        return total, own, part

    for _ in range(5):
        log += step(batch(), wengert.randperm(8))
        log += [buffer.clone(), shown.clone(), array.copy(), other.clone(), buffer._version]


@program
def own_memory_that_outlives_the_call(wrap, log):
    module = nn.Module()
    module.register_buffer("total", wengert.zeros(8))

    @wrap
    def step(x, given, i):
        mean = x.mean(0)
        module.total.add_(mean)
        given.index_add_(0, i, mean)
        given[0] = mean[1]
        return (x * given).sum() + module.total.sum()

    for k in range(8):
        given, i = wengert.full((8,), float(k)), wengert.randperm(8)
        log += [step(batch(), given, i), given, given._version, module.total.clone()]
        log += [module.total._version, step(batch(), given, i), given]


@program
def probabilities(wrap, log):
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1), nn.Sigmoid())

    @wrap
    def step(x, y):
        model.zero_grad()
        loss = F.binary_cross_entropy(model(x), y)
        loss.backward()
        return loss

    for k in range(7):
        x = batch()
        if k == 5:
            x[0, 0] = float("nan")
        try:
            log += [step(x, (wengert.rand(64, 1) > 0.5).float()), *state(model)]
        except RuntimeError as error:
            log.append(str(error))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_and_eager_do_the_same(function: Program) -> None:
    compare(function)


WHOLE = [messages_along_edges, attention_over_neighbours, keys_of_all_kinds,
         indices_that_were_computed, integers_and_masks, lattice]  # fmt: skip


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_they_are_whole_programs(function: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    settle = Run.settle

    def settled(run: Run) -> None:  # operations may read no operands either
        assert not active.whole or run.recording or run.settled
        settle(run)

    monkeypatch.setattr(Run, "settle", settled)
    reset()
    function(lambda f: compiled(f, fullgraph=True), [])


def test_a_mask_that_was_computed_splits_with_its_line() -> None:
    reset()

    def f(x):
        y = x.tanh()
        return y[y > 0].exp().sum()

    found = explain(f)(batch())
    (line,) = found.splits
    assert line.endswith("return y[y > 0].exp().sum()")
    assert "torch.where(mask, a, b)" in str(found)


def test_writes_where_a_computed_mask_is_true_split_nothing() -> None:
    reset()
    w = nn.Parameter(wengert.randn(8, 6))

    def f(x):
        y = x @ w
        y[y < 0] = 0
        z = y * 2
        z[z.detach().sum(1) > 1] = y[0]
        z.sum().backward()

    assert explain(f)(batch()).splits == []


def _in_key(x, i):
    return x.exp()[i]


def _in_column(x, i):
    return x.exp()[:, i].sum()


def _beside_others(x, i):
    return x.exp()[wengert.arange(len(i)), i]


def _written(x, i):
    y = x.exp()
    y[i] = 0.5
    return y


def _gathered(x, i):
    return x.exp().gather(1, i[:, None])


def _added(x, i):
    return x.exp().index_add(1, i, wengert.ones(64, len(i)))


def _scattered(x, i):
    return x.exp().scatter_add(1, i[None], wengert.ones(1, len(i)))


def _counted(x, i):
    return F.one_hot(i, 8) + x.exp()[0]


def _embedded(x, i):
    return F.embedding(i, x.exp())


BAD = [_in_key, _in_column, _beside_others, _written, _gathered, _added, _scattered, _counted,
       _embedded]  # fmt: skip


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("operation", BAD, ids=lambda f: f.__name__)
def test_bad_indices_raise_where_they_are_used(operation: Any, deferred: bool) -> None:
    passed: list[str] = []

    def f(x, i, shift):
        index = (i + (x[0, 0] * 0 + shift).long()) if deferred else i + int(shift.item())
        passed.append("before")
        y = operation(x, index)
        passed.append("after")
        return y.sum()

    def outcomes(function):
        wengert.manual_seed(0)
        found: list[Any] = []
        for shift in (0.0, 0.0, 0.0, 0.0, 1000.0, 0.0, -1000.0, 0.0):
            del passed[:]
            try:
                found.append(
                    function(batch(), wengert.tensor([1, 0, 3]), wengert.tensor(shift)).item()
                )
            except (IndexError, RuntimeError) as error:
                found.append((type(error), str(error)))
            found.append([*passed])
        return found

    reset()
    eager = outcomes(f)
    assert eager.count(["before"]) == 2
    ours = outcomes(compiled(f))
    assert [x for x in ours if not isinstance(x, float)] == [
        x for x in eager if not isinstance(x, float)
    ]
    numbers = [[x for x in log if isinstance(x, float)] for log in (ours, eager)]
    np.testing.assert_allclose(*numbers, rtol=1e-5)


def test_indices_of_a_compiled_program_are_looked_at() -> None:
    """A program that is looked at has other values once it is compiled: products that are joint."""
    table, w, u = wengert.randn(32, 8), wengert.randn(32, 8), wengert.randn(32, 32)

    def step(xs: Any) -> Any:
        h = wengert.zeros(16, 32)
        for x in xs:
            h = (F.linear(x, w) + F.linear(h, u)).sin()
        return F.embedding(h.argmax(1), table) + 1

    compiled_step = compiled(step)
    for _ in range(6):
        xs = wengert.randn(6, 16, 8)
        wengert.testing.assert_close(compiled_step(xs), step(xs))
    (peek,) = compiled_step.compiled.record.peeks.values()
    assert "joint_linear" in str(peek.program)
