"""Programs that ask whether they are compiled, and that are refused as one, for either library.

    python -m tests.replay.asked

prints what PyTorch says of them, as JSON. It does so in a process of its own: once its compiler has
run, functions of Python call each other in another way, which references are counted by.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

# What a function does with x, a vector of floats, and with n, a number of an integer tensor, that
# is to be one program.
IN_ONE_PROGRAM: dict[str, Callable[[Any, Any], Any]] = {
    "if x": lambda x, n: x * 2 if x.sum() * 2 > 0 else x,
    "if n": lambda x, n: x * 2 if n else x,
    "not": lambda x, n: not (x > 0).any(),
    "all": lambda x, n: all(x > 0),
    "is_nonzero": lambda x, n: x if x.sum().is_nonzero() else n,
    "equal": lambda x, n: (x * 2).equal(x + x),
    "allclose": lambda x, n: x.allclose(x * 1),
    "complex": lambda x, n: complex((x * 2).sum()),
    "tolist": lambda x, n: (x * 2).tolist(),
    "tolist of n": lambda x, n: x * n.tolist(),
    "item": lambda x, n: x * (x * 2).sum().item(),
    "int": lambda x, n: x * int(n),
    "float": lambda x, n: float(x.sum()),
    "index": lambda x, n: x * [1, 2, 3][n],
    "in": lambda x, n: 2.0 in x * 2,
    "format": lambda x, n: f"{(x * 2).sum()}",
    "numpy": lambda x, n: (x * 2).numpy().sum(),
    "mask": lambda x, n: x[x > 1],
    "nonzero": lambda x, n: (x * 2).nonzero(),
    "reshape": lambda x, n: x.reshape(int(n), -1),
}


def asking(library: Any, backend: Any) -> list[Any]:
    """What code computes, compiled and not, that asks whether it is compiled."""
    own = library.compiler
    own.reset()

    def ask(x: Any) -> Any:
        return x * (3 if own.is_compiling() and own.is_dynamo_compiling() else 2)

    class Asking(library.nn.Module):
        def forward(self, x: Any) -> Any:
            return ask(x)

    x, apart, module = library.ones(1), own.disable(ask), Asking()
    compile_ = functools.partial(library.compile, backend=backend)
    function = compile_(ask)
    found = [function(x), function(x), ask(x), apart(x), compile_(lambda x: apart(x) * 10)(x)]
    found += [compile_(module)(x), module(x)]
    module.compile(backend=backend)
    found.append(module(x))
    own.set_stance("force_eager")
    found.append(function(x))
    own.set_stance("default")
    return [x.item() for x in found]


def refusals(library: Any, backend: Any, name: str) -> list[str]:
    """What three calls of a function raise that is to be one program."""
    library.compiler.reset()
    whole = library.compile(IN_ONE_PROGRAM[name], fullgraph=True, backend=backend)
    found = []
    for _ in range(3):
        try:
            whole(library.tensor([1.0, 2.0, 3.0]), library.tensor(1))
        except RuntimeError as error:
            found.append(str(error))
    return found


if __name__ == "__main__":
    import torch

    refused = {name: len(refusals(torch, "eager", name)) for name in IN_ONE_PROGRAM}
    print(json.dumps([asking(torch, "eager"), refused]))
