"""Programs of operations and graphs that need care, compiled and eager."""

from __future__ import annotations

import pytest

import wengert
from tests.replay.harness import Program, adding_to, batch, compare, mlp, state
from wengert import nn
from wengert.nn import functional as F

PROGRAMS: list[Program] = []
program = adding_to(PROGRAMS)


@program
def gradients_of_gradients(wrap, log):
    model = mlp(8, 64, 1)

    @wrap
    def step(x):
        x.requires_grad_()
        (g,) = wengert.autograd.grad(model(x).sum(), x, create_graph=True)
        model.zero_grad()
        loss = (g.norm(2, 1) - 1).square().mean()
        loss.backward()
        return loss

    for _ in range(4):
        log += [step(batch()), *state(model)]


@program
def weights_that_are_shared_and_moved(wrap, log):
    model = mlp(8, 64, 8)
    average = mlp(8, 64, 8)
    model[2].weight = nn.Parameter(model[0].weight.detach().t().contiguous())

    @wrap
    def step(x):
        model.zero_grad()
        y = F.linear(F.linear(x, model[0].weight).tanh(), model[0].weight.t())
        loss = F.mse_loss(model(y), average(x))
        loss.backward()
        with wengert.no_grad():
            for p, q in zip(average.parameters(), model.parameters(), strict=True):
                p.lerp_(q, 0.1)
        return loss, y

    for _ in range(5):
        log += [*step(batch()), *state(model), *state(average)]


@program
def operations_of_generated_code(wrap, log):
    f = wrap(lambda x: wengert.linalg.lu((x + 1)[:8]))  # whose code is written by the library
    for _ in range(4):
        log += f(batch())


@program
def images_with_dimensions_of_one(wrap, log):
    def f(x):
        large = F.pixel_shuffle(x * 2, 2)
        return large, F.pixel_unshuffle(large + 1, 2), F.interpolate(x + 1, scale_factor=2)

    g = wrap(f)
    for shape in ((1, 4, 1, 1), (1, 4, 3, 1), (2, 4, 1, 3)):
        x = wengert.randn(shape)
        expanded = wengert.randn(shape[1], 1, 1).expand(shape)
        for one in (x, x.to(memory_format=wengert.channels_last), expanded):
            log += [y for _ in range(4) for y in g(one)]


@program
def arrays_among_the_parameters(wrap, log):
    def f(x, size, corners):
        return F.interpolate(x * 2, size, mode="bilinear", align_corners=corners).tanh()

    g, h = wrap(f), wrap(lambda x, y: F.pad(x * 2, (1, 2), mode="reflect") * y)
    images = wengert.randn(2, 3, 8, 8, requires_grad=True)
    for k in range(12):  # the same positions are averaged with other weights
        out = g(images, 12 + k % 2, k % 3 == 0)
        (gradient,) = wengert.autograd.grad(out.square().sum(), images)
        log += [out, gradient, h(batch(), wengert.randn(64, 11))]
    large = wrap(lambda x: F.interpolate(x * 2, 20_000, mode="linear").sum() + x.sum())
    for _ in range(4):
        log.append(large(images[0]))


@program
def single_elements_as_operands(wrap, log):
    f = wrap(lambda c, a, b: wengert.addmm(c * 2, a, b).sum(1).amax() + wengert.dot(c * a[0], b[0]))
    for dtype in (wengert.float32, wengert.float64):
        a, b = batch(4, 4).to(dtype), batch(4, 4).to(dtype)
        log += [f(wengert.tensor(1.5, dtype=dtype), a, b) for _ in range(4)]


@program
def pooling_of_channels_last(wrap, log):
    @wrap
    def f(x):
        out = F.max_pool2d(x * 1, 3, dilation=(1, 2))
        more = out * 2 + 1
        return out, more, *wengert.autograd.grad(sum([more.double().sum()]), [x])

    x = wengert.randn(1, 2, 3, 6).to(memory_format=wengert.channels_last).requires_grad_()
    for _ in range(4):
        log += f(x)


@program
def views_and_writes(wrap, log):
    @wrap
    def step(x):
        y = x * 2
        z = y.view(-1)
        rows = y[1:3]
        y.add_(1)
        rows.mul_(3)
        y[0] = z[5]
        return y.sum(), z[:5], rows.exp()

    for _ in range(4):
        x = batch()
        log += step(x)
        log.append(x)


@program
def resized_before_other_weights(wrap, log):
    first, last = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 2, 1)
    model = nn.ModuleList([first, last])
    modes = "reflect", "replicate", "circular", "reflect"

    @wrap
    def step(x, mode):
        model.zero_grad()
        y = F.interpolate(first(x).relu(), size=(12, 12), mode="bilinear")
        y = F.pad(y, (2, 2, 2, 2), mode=mode)
        loss = last(F.adaptive_avg_pool2d(y, 5)).square().mean()
        loss.backward()
        return loss

    for k in range(8):
        log += [step(wengert.randn(2, 3, 8, 8), modes[k // 2]), *state(model)]


@program
def results_that_show_each_other(wrap, log):
    @wrap
    def step(x):
        q, k, v = [part.view(2, 9, 3, 20).transpose(1, 2) for part in x.split(60, 2)]
        y = F.scaled_dot_product_attention(q, k, v)
        z = y.transpose(1, 2).contiguous().view(2, 9, 60)
        return y, z, y.transpose(1, 2).reshape(2, 9, 60), z.tanh()

    for _ in range(5):
        results = step(wengert.randn(2, 9, 180))
        log += [r.clone() for r in results]
        results[0].mul_(2)
        log += results


@program
def results_of_one_row(wrap, log):
    @wrap
    def step(x):
        row = (x * 2).t()[:1]
        return row.clone(), row.unsqueeze(0).flip(0), (x * 3).t().unflatten(0, (1, -1)).flip(0)

    for _ in range(5):
        log += step(wengert.randn(3, 4))


@program
def results_that_go_on(wrap, log):
    model = wrap(mlp(8, 64, 3))
    optimizer = wengert.optim.AdamW(model.parameters(), lr=0.01)
    for k in range(6):
        x, t = batch(), wengert.randint(3, (64,))
        scores = model(x)
        loss = F.cross_entropy(scores, t)
        if k % 2:
            log.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log += [(scores.argmax(1) == t).float().mean(), *state(model)]


@program
def recurrent_cell_in_operations(wrap, log):
    ih, hh = nn.Linear(8, 64), nn.Linear(16, 64)
    model = nn.ModuleList([ih, hh])

    @wrap
    def cell(x, h, c):
        i, f, g, o = (ih(x) + hh(h)).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    for k in range(5):
        model.zero_grad()
        h = c = wengert.zeros(64, 16)
        states = []
        for x in wengert.randn(4, 64, 8):
            h, c = cell(x, h, c)
            states.append(h)
        if k == 3:
            log.append(c[0, 0].item())
        loss = wengert.stack(states).square().mean() + wengert.cat(states, 1).sum()
        loss.backward()
        log += [loss, h, *state(model)]


@program
def right_answers_counted_before_the_backward(wrap, log):
    model = mlp(8, 64, 3)

    @wrap
    def step(x, t):
        model.zero_grad()
        y = model(x)
        right, near = y.argmax(1) == t, (y.argmax(1) <= t) & (t != y.argmin(1))
        noise = wengert.rand_like(y) + wengert.ones_like(y)
        loss = F.cross_entropy(F.dropout(y * noise, 0.3), t)
        loss.backward()
        return loss, right.float().mean(), near, right.sum()

    for _ in range(5):
        found = step(batch(), wengert.randint(3, (64,)))
        log += [*found, *state(model)]
    if hasattr(step, "compiled"):
        assert "step" not in {code.co_name for code, _ in step.compiled.record.reads}


@program
def masks_and_what_is_filled(wrap, log):
    w = wengert.randn(8, 6, requires_grad=True)
    v = wengert.randn(6, requires_grad=True)

    @wrap
    def step(x, mask):
        w.grad = v.grad = None
        y = (x @ w).tanh()
        a = y.masked_fill(mask, -2.0).exp() + y.masked_fill(mask[:1], 0.5)
        b = wengert.where(mask, y, v) * 2 + wengert.where(mask[:, :1], v.square(), y * 3)
        c = F.dropout(a + b, 0.4) + F.dropout1d(y[None], 0.5)[0]
        loss = c.square().mean() + v.masked_fill(mask, 0.25).sum()
        loss.backward()
        return loss, a, b, c

    for _ in range(5):
        log += [*step(batch(), wengert.rand(64, 6) > 0.5), w.grad.clone(), v.grad.clone()]


@program
def recurrent_layers_without_a_first_state(wrap, log):
    for kind in (nn.RNN, nn.GRU, nn.LSTM):
        model = kind(8, 16, 2, bidirectional=True)

        @wrap
        def step(x, model=model):
            model.zero_grad()
            y, _ = model(x)
            y.square().mean().backward()
            return y

        for _ in range(4):
            log += [step(wengert.randn(5, 4, 8)), *state(model)]


@program
def parts_and_joined(wrap, log):
    weight = wengert.randn(6, 10, requires_grad=True)

    @wrap
    def step(x):
        a, b, _ = (x @ weight).split([3, 3, 4], 1)
        rows = (x @ weight).unbind(0)
        joined = wengert.cat([a.exp(), b, rows[0][None, :3].expand(64, 3)], 1)
        return joined.sum() + wengert.stack([rows[1], rows[1], rows[-1]]).square().sum(), a, rows[2]

    for k in range(5):
        weight.grad = None
        loss, a, row = step(batch(width=6))
        loss.backward(retain_graph=k > 2)
        log += [loss, a, row, weight.grad.clone()]
        if k > 2:
            (a.sum() + row.sum()).backward()
            log.append(weight.grad.clone())


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_and_eager_do_the_same(function: Program) -> None:
    compare(function)
