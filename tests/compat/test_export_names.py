"""What packages take from ``torch.export`` and ``torch.jit`` under the alias."""

from __future__ import annotations

from tests.cli.process import python

PROGRAM = """
import dataclasses
from importlib import import_module as alias
import wengert
import wengert.compat
wengert.compat.install()
torch = alias("torch")
assert alias("torch.export.dynamic_shapes").Dim is torch.export.Dim
alias("torch.fx.traceback").get_current_meta()

@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    weight: torch.Tensor | None = None

torch.export.register_dataclass(Batch)

class Weighted(torch.nn.Module):
    def forward(self, batch):
        return Batch(batch.x * batch.weight)

program = torch.export.export(Weighted(), (Batch(torch.ones(2), torch.ones(2)),))
program = program.run_decompositions(torch.export.default_decompositions())
result = program.module()(Batch(torch.full((2,), 3.0), torch.ones(2)))
assert result.weight is None
print(result.x.tolist())
"""


def test_programs_of_dataclasses() -> None:
    done = python("-c", PROGRAM)
    assert done.stdout.split("\n")[0] == "[3.0, 3.0]", done.stderr


SWITCHES = """
from importlib import import_module as alias
import wengert.compat
wengert.compat.install()
switches = alias("torch")._C
for name in ("executor", "mode"):
    switch = getattr(switches, f"_jit_set_profiling_{name}")
    print(switch(False), switch(True))
print(switches._jit_override_can_fuse_on_cpu(True), switches._jit_set_texpr_fuser_enabled(False))
"""


def test_switches_of_the_compiler_of_scripts_are_kept() -> None:
    done = python("-c", SWITCHES)
    assert done.stdout.split("\n")[:3] == ["True False", "True False", "None None"], done.stderr
