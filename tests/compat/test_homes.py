"""What classes say of where they are defined, and pickles across the alias."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import wengert
from tests.cli.process import good, python, script
from tests.cli.process import wengert as command

OBJECTS = """
    import collections
    from {torch} import nn, optim
    import {torch} as torch
    layer = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    objects = [torch.ones(2), torch.ones(2).bfloat16(), layer, nn.Parameter(torch.ones(1)),
               torch.Size([1]), torch.float32, optim.SGD(layer.parameters(), lr=0.1), nn.ReLU,
               torch.ones(2, requires_grad=True), torch.device("cpu"), torch.ones(2).max(0)]
"""


def test_bases_are_pytorchs_under_the_alias(tmp_path: Path) -> None:
    text = """
        import torch, torch.optim
        from torch import nn
        for kind in (type(torch.ones(1)), nn.Parameter, nn.Module, torch.optim.Optimizer):
            print(kind.__module__, str(kind)[8:-2])
        class Net(nn.Linear): pass
        print(any(base.__module__.startswith("torch") for base in Net.__mro__))
        from wengert import compat
        compat.uninstall()
        print(nn.Module.__module__, type(torch.ones(1)).__module__)
    """
    output = good(command("run", "--quiet", str(script(tmp_path, text))))
    assert output.splitlines() == [
        "torch torch.Tensor",
        "torch.nn.parameter torch.nn.parameter.Parameter",
        "torch.nn.modules.module torch.nn.modules.module.Module",
        "torch.optim.optimizer torch.optim.optimizer.Optimizer",
        "True",
        "wengert.nn.module wengert.core.tensor",
    ]


def test_they_are_wengerts_without_it() -> None:
    assert wengert.Tensor.__module__ == "wengert.core.tensor"
    assert wengert.nn.Module.__module__ == "wengert.nn.module"


@pytest.mark.parametrize("writer", ["torch", "wengert"])
def test_pickles_load_with_and_without_the_alias(tmp_path: Path, writer: str) -> None:
    file = tmp_path / "objects.pickle"
    text = OBJECTS.format(torch=writer)
    write = script(
        tmp_path, f"{text}\n    import pickle\n    pickle.dump(objects, open({str(file)!r}, 'wb'))"
    )
    if writer == "torch":
        good(command("run", "--quiet", str(write)))
    else:
        good(python(str(write)))
    assert b"torch.nn" not in file.read_bytes()
    objects = pickle.loads(file.read_bytes())
    assert len(objects) == 11
    read = script(tmp_path, f"""
        import torch, pickle
        objects = pickle.load(open({str(file)!r}, "rb"))
        print(type(objects[0]) is torch.Tensor, objects[1].dtype, objects[2](objects[0]).shape)
    """)  # fmt: skip
    assert good(command("run", "--quiet", str(read))) == "True torch.bfloat16 torch.Size([3])\n"
