"""Modules about devices that packages import: what they answer without any, against PyTorch."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.process import good, python

PROGRAM = """
import json
import torch, torch.accelerator.memory, torch.cuda.comm, torch.cuda.graphs, torch.cuda.nccl
from torch.utils._device import DeviceContext, set_device

x = torch.ones(3)
calls = {
    "allocated": lambda: torch.accelerator.memory.memory_allocated(),
    "empty": lambda: torch.accelerator.memory.empty_cache(),
    "capturing": lambda: torch.cuda.graphs.is_current_stream_capturing(),
    "pool": lambda: torch.cuda.graphs.graph_pool_handle(),
    "graph": lambda: torch.cuda.graphs.CUDAGraph(),
    "captured": lambda: torch.cuda.graphs.graph(None),
    "graphed": lambda: torch.cuda.graphs.make_graphed_callables(torch.nn.ReLU(), (x,)),
    "broadcast": lambda: torch.cuda.comm.broadcast(x, [0]),
    "scatter": lambda: torch.cuda.comm.scatter(x, [0]),
    "gather": lambda: torch.cuda.comm.gather([x]),
    "add": lambda: torch.cuda.comm.reduce_add([x]),
    "version": lambda: torch.cuda.nccl.version(),
    "nccl": lambda: torch.cuda.nccl.is_available([x]),
    "identity": lambda: torch.cuda.nccl.unique_id(),
    "reduce": lambda: torch.cuda.nccl.all_reduce([x]),
}
told = {}
for name, call in calls.items():
    try:
        told[name] = call()
    except Exception as error:
        told[name] = type(error).__name__
with DeviceContext(torch.device("meta")) as entered:
    told["within"] = [entered, torch.ones(2).device.type]
told["after"] = torch.ones(2).device.type
told["decorated"] = set_device("meta")(lambda n: torch.ones(n).device.type)(2)
print(json.dumps(told))
"""


@pytest.mark.torch
def test_as_in_a_pytorch_for_the_cpu(torch: Any) -> None:
    install = "import wengert.compat; wengert.compat.install()\n"
    ours, theirs = (
        json.loads(good(python("-W", "ignore", "-c", start + PROGRAM))) for start in (install, "")
    )
    assert ours == theirs
