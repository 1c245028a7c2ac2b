"""Training steps under autocast to bfloat16, beside torch's, and beside those in float32.

    python benchmarks/bfloat16.py

Each library has two processes of its own, with its own default threads, and they take turns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from _contender import Contender, Step, answer
from _measure import Row, in_clean_process, interleaved, shown
from workloads import gpt, images
from workloads._workload import Compile, data, fill, labels, training

LIBRARIES, WAYS = ("wengert", "torch"), ("float32", "bfloat16")
ROUNDS = 9
WIDTHS, BATCH = (512, 1024, 1024, 10), 256


def mlp(library: Any, compiled: Compile) -> Step:
    """Layers whose products take nearly all of a step."""
    nn, functional = library.nn, library.nn.functional
    (a, b, c, d) = WIDTHS
    model = nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, c), nn.ReLU(), nn.Linear(c, d))
    fill(library, model)

    @compiled
    def loss_of(x: Any, target: Any) -> Any:
        return functional.cross_entropy(model(x), target)

    batch = map(library.from_numpy, (data("x", BATCH, a), labels(BATCH, d)))
    return training(compiled, library.optim.SGD(model.parameters(), lr=0.01), loss_of, *batch)


STEPS: dict[str, Callable[[Any, Compile], Step]] = {
    f"MLP {'-'.join(map(str, WIDTHS))}, SGD, batch {BATCH}": mlp,
    gpt.FAMILY[0].name: gpt.FAMILY[0].make,
    images.FAMILY[0].name: images.FAMILY[0].make,
}


def serve(library: str, way: str, name: str) -> None:
    """In a process of its own: for each line read the time of a step."""
    lib = import_module(library)

    def in_bfloat16(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any) -> Any:
            with lib.autocast("cpu", dtype=lib.bfloat16):
                return function(*args)

        return wrapped

    step = STEPS[name](lib, in_bfloat16 if way == "bfloat16" else lambda function: function)
    step()
    answer(step, [])


def found(name: str) -> Iterator[Row]:
    """Milliseconds of a step, and as multiples of those in float32."""
    contenders = {
        (library, way): Contender(__file__, library, way, name)
        for library in LIBRARIES
        for way in WAYS
    }
    medians = interleaved(contenders, ROUNDS)  # type: ignore[arg-type]
    for contender in contenders.values():
        contender.end()
    times = {key: 1e3 * value[0] for key, value in medians.items()}
    for way in WAYS:
        yield Row(f"{name}, {way}", "ms", *(times[library, way] for library in LIBRARIES))
    shares = [times[library, "bfloat16"] / times[library, "float32"] for library in LIBRARIES]
    yield Row(f"{name}, bfloat16 / float32", "times", *shares)


def measure() -> list[Row]:
    """All rows, printed as they are found."""
    return [shown(row) for name in STEPS for row in found(name)]


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve(*sys.argv[sys.argv.index("--serve") + 1 :])
    else:
        in_clean_process(__file__, measure)
