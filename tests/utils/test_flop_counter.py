"""Counts are PyTorch's, in forward and backward, by module."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from tests.dispatch.programs import ours, theirs
from wengert.dispatch import ops
from wengert.utils.flop_counter import FlopCounterMode, register_flop_formula


def _mlp(n: Any) -> Any:
    net = n.nn.Sequential(n.nn.Linear(3, 4), n.nn.ReLU(), n.nn.Linear(4, 2))
    return lambda: net(n.lib.ones(5, 3)).sum().backward()


def _residual(n: Any) -> Any:
    class Block(n.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = n.nn.Conv2d(4, 8, 3, 2, 1, bias=False)
            self.norm = n.nn.BatchNorm2d(8)
            self.second = n.nn.Conv2d(8, 8, 3, 1, 1, groups=2)
            self.up = n.nn.ConvTranspose2d(8, 4, 2, 2)

        def forward(self, x: Any) -> Any:
            h = n.F.relu(self.norm(self.first(x)))
            return self.up(h + self.second(h)) + x

    block = Block()
    return lambda: block(n.lib.ones(2, 4, 16, 16, requires_grad=True)).sum().backward()


def _transformer(n: Any) -> Any:
    layer = n.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
    return lambda: layer(n.lib.ones(2, 7, 16)).sum().backward()


def _products(n: Any) -> Any:
    a = n.lib.ones(3, 4, 5, requires_grad=True)
    b = n.lib.ones(3, 5, 2, requires_grad=True)

    def program() -> None:
        (a @ b).sum().backward()
        n.lib.baddbmm(n.lib.zeros(3, 4, 2), a, b).sum().backward()
        (a @ b[0]).sum().backward()
        n.lib.einsum("bij,bjk->bik", a, b).sum().backward()

    return program


def _counts(names: Any, program: Any) -> tuple[int, dict[str, dict[str, int]]]:
    run = program(names)
    with names.flops.FlopCounterMode(display=False) as counter:
        run()
    counts = counter.get_flop_counts().items()
    by_name = {module: {str(op): n for op, n in ops.items()} for module, ops in counts}
    return counter.get_total_flops(), by_name


@pytest.mark.torch
@pytest.mark.parametrize("program", [_mlp, _residual, _transformer, _products])
def test_the_counts_are_pytorchs(torch: Any, program: Any) -> None:
    assert _counts(ours(), program) == _counts(theirs(torch), program)


def test_branches_are_counted_where_they_are() -> None:
    """In PyTorch, the backward of one branch counts for the module of another that is open."""

    class Branches(wengert.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = wengert.nn.Linear(3, 4), wengert.nn.Linear(3, 4)

        def forward(self, x: Any) -> Any:
            return self.a(x) + self.b(x)

    net = Branches()
    with FlopCounterMode(display=False) as counter:
        net(wengert.ones(2, 3)).sum().backward()
    counts = {name: sum(ops.values()) for name, ops in counter.get_flop_counts().items()}
    assert counts == {"Global": 192, "Branches": 192, "Branches.a": 96, "Branches.b": 96}


def test_formulas_of_ones_own(capsys: Any) -> None:
    with FlopCounterMode(custom_mapping={ops.aten.exp: lambda x, out_shape: 7}) as counter:
        wengert.ones(2).exp()
    assert counter.get_total_flops() == 7
    assert capsys.readouterr().out.splitlines()[0].split() == ["Module", "FLOP", "%", "Total"]
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(len)(lambda: 0)


def test_the_table() -> None:
    with FlopCounterMode(display=False) as counter:
        wengert.nn.Sequential(wengert.nn.Linear(1000, 1500))(wengert.ones(1, 1000))
    assert [line.split() for line in counter.get_table(1).splitlines()[2:]] == [
        ["Global", "3M", "100.00%"],
        ["-", "aten.addmm", "3M", "100.00%"],
        ["Sequential", "3M", "100.00%"],
        ["-", "aten.addmm", "3M", "100.00%"],
    ]
    assert "Sequential.0" in counter.get_table()
