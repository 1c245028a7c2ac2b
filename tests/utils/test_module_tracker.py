"""The tracker knows the modules of an operation, in forward and in backward."""

from __future__ import annotations

from typing import Any

import wengert
from wengert.utils._python_dispatch import TorchDispatchMode
from wengert.utils.checkpoint import checkpoint
from wengert.utils.module_tracker import ModuleTracker


class Net(wengert.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = wengert.nn.Sequential(wengert.nn.Linear(2, 2), wengert.nn.Tanh())

    def forward(self, x: Any) -> Any:
        return self.inner(x) * 2


class Places(TorchDispatchMode):
    """Where each operation runs."""

    def __init__(self) -> None:
        super().__init__()
        self.tracker = ModuleTracker()
        self.places: list[tuple[str, str, bool]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(func).split(".")[1]
        innermost = max(self.tracker.parents - {"Global"}, key=len, default="Global")
        self.places.append((name, innermost, self.tracker.is_bw))
        return func(*args, **(kwargs or {}))


def test_forward_and_backward() -> None:
    net, x = Net(), wengert.ones(3, 2)
    with Places() as mode:
        net(x).sum().backward()
    assert ("addmm", "Net.inner.0", False) in mode.places
    assert ("tanh", "Net.inner.1", False) in mode.places
    assert ("mul", "Net", False) in mode.places
    assert ("mm", "Net.inner.0", True) in mode.places
    assert ("sum", "Global", False) in mode.places
    assert ModuleTracker().parents == {"Global"}


def test_what_a_checkpoint_computes_again() -> None:
    net, x = Net(), wengert.ones(3, 2, requires_grad=True)
    with Places() as mode:
        checkpoint(net, x, use_reentrant=False).sum().backward()
    assert mode.places.count(("tanh", "Net.inner.1", False)) == 1
    assert mode.places.count(("tanh", "Net.inner.1", True)) == 1
