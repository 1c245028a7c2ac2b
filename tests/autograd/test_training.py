"""What training code does with graphs: freezing, GANs, losses as modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn


def nodes_below(tensor: Any) -> list[Any]:
    """Every node of a graph that is no leaf."""
    found: list[Any] = []
    queue = [tensor._edge]
    while queue:
        node = queue.pop()
        if node is None or node in found or not node.edges:
            continue
        found.append(node)
        queue += node.edges
    return found


def saved_arrays(tensor: Any) -> list[np.ndarray]:
    """Every array that the nodes below a tensor saved, each memory once."""
    arrays: dict[int, np.ndarray] = {}
    for node in nodes_below(tensor):
        for slot, _ in node.saved:
            value = getattr(node, slot)
            for array in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(array, np.ndarray):
                    arrays[array.__array_interface__["data"][0]] = array
    return list(arrays.values())


def saved_bytes(tensor: Any) -> int:
    return sum(a.nbytes for a in saved_arrays(tensor))


def conv_net() -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(8 * 4, 10),
    )  # fmt: skip


def test_layers_before_the_first_trained_one_save_nothing() -> None:
    net = conv_net()
    for p in net[:-1].parameters():
        p.requires_grad_(False)
    x = wengert.randn(5, 1, 8, 8)
    y = net(x)
    assert [type(n).__name__ for n in nodes_below(y)] == ["AddmmBackward0"]
    assert saved_bytes(y) == 5 * 32 * 4  # the input of the linear layer, for its weight


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: nn.Conv2d(3, 4, 3), (2, 3, 8, 8)),
        (lambda: nn.Linear(3, 4), (2, 3)),
        (lambda: nn.BatchNorm2d(3).eval(), (2, 3, 8, 8)),
    ],
    ids=["conv", "linear", "batch_norm"],
)
def test_frozen_layers_save_no_input(layer: Any, shape: tuple[int, ...]) -> None:
    module = layer().requires_grad_(False)
    x = wengert.randn(shape, requires_grad=True)
    y = module(x)
    sizes = [a.size for a in saved_arrays(y)]
    weights = sum(p.numel() for p in [*module.parameters(), *module.buffers()])
    assert sum(sizes) <= weights  # parameters or statistics, never activations
    (g,) = wengert.autograd.grad(y.sum(), x)
    assert g.shape == x.shape


def gan() -> tuple[Any, Any, Any]:
    wengert.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
    critic = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    return generator, critic, wengert.randn(6, 4)


def test_a_frozen_discriminator_passes_gradients_to_the_generator() -> None:
    generator, critic, z = gan()
    critic.requires_grad_(False)
    critic(generator(z)).mean().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in generator.parameters())
    assert all(p.grad is None for p in critic.parameters())


def test_a_detached_fake_does_not() -> None:
    generator, critic, z = gan()
    fake = generator(z)
    critic(fake.detach()).mean().backward()
    assert all(p.grad is None for p in generator.parameters())
    assert all(p.grad is not None for p in critic.parameters())
    critic(fake).mean().backward()  # the generator's graph was not touched
    assert all(p.grad is not None for p in generator.parameters())


def test_a_fake_that_was_not_detached_is_named() -> None:
    generator, critic, z = gan()
    fake = generator(z)
    critic(fake).mean().backward()
    with pytest.raises(wengert.autograd.GraphReleasedError) as caught:
        critic(fake).mean().backward()
    assert "linear in Sequential.2" in str(caught.value)
    assert "joined by:   linear in Sequential.0" in str(caught.value)


class ContentLoss(nn.Module):
    """As in early style-transfer code: a module that passes its input on, with a backward."""

    def __init__(self, target: Any, weight: float) -> None:
        super().__init__()
        self.target = target.detach() * weight
        self.weight = weight
        self.criterion = nn.MSELoss()

    def forward(self, input: Any) -> Any:
        self.loss = self.criterion(input * self.weight, self.target)
        self.output = input
        return self.output

    def backward(self, retain_graph: bool = True) -> Any:
        self.loss.backward(retain_graph=retain_graph)
        return self.loss


def test_a_loss_module_with_its_own_backward() -> None:
    wengert.manual_seed(0)
    image = wengert.rand(1, 1, 8, 8).requires_grad_()
    first, second = nn.Conv2d(1, 2, 3), nn.Conv2d(2, 2, 3)
    first.requires_grad_(False)
    second.requires_grad_(False)
    target = wengert.rand(1, 1, 8, 8)
    losses = [ContentLoss(first(target), 3.0), ContentLoss(second(first(target)), 2.0)]
    losses[1](second(losses[0](first(image))))
    total = sum(loss.backward() for loss in losses)
    stepwise = image.grad.clone()
    image.grad = None
    losses[1](second(losses[0](first(image))))
    joint = losses[0].loss + losses[1].loss
    joint.backward()
    np.testing.assert_allclose(image.grad.numpy(), stepwise.numpy(), rtol=1e-5, atol=1e-7)
    assert total.item() == pytest.approx(joint.item())


def test_two_heads_one_after_the_other_equal_the_sum() -> None:
    wengert.manual_seed(0)
    trunk, left, right = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 2)
    modules = nn.ModuleList([trunk, left, right])
    x = wengert.randn(7, 4)

    def losses() -> tuple[Any, Any]:
        h = trunk(x).relu()
        return left(h).pow(2).mean(), right(h).exp().mean()

    one, two = losses()
    one.backward(retain_graph=True)
    two.backward()
    stepwise = [p.grad.clone() for p in modules.parameters()]
    modules.zero_grad()
    one, two = losses()
    (one + two).backward()
    for p, g in zip(modules.parameters(), stepwise, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), g.numpy(), rtol=1e-5, atol=1e-6)


def test_optimizer_step_between_two_losses_names_its_line() -> None:
    wengert.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = wengert.optim.SGD(net.parameters(), lr=0.1)
    y = net(wengert.randn(7, 4))
    y.mean().backward(retain_graph=True)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace") as caught:
        y.pow(2).mean().backward()
    assert "optimizer.step()" in str(caught.value)
    assert __file__ in str(caught.value)


def test_weights_train_to_a_fit() -> None:
    wengert.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = wengert.optim.Adam(net.parameters(), lr=0.02)
    x = wengert.rand(128, 2) * 2 - 1
    target = (x[:, :1] * x[:, 1:]).detach()
    for _ in range(300):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), target)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.003
