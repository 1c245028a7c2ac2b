"""What a sample of the sweep is: a function, and arrays of any number of elements to call it on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

# Exponent of the number of elements -> shapes of about as many.
ROWS = {3: (10, 100), 4: (100, 100), 5: (100, 1000), 6: (1000, 1000), 7: (10000, 1000)}
SQUARE = {3: (32, 32), 4: (100, 100), 5: (316, 316), 6: (1000, 1000), 7: (3162, 3162)}
BATCHED = {3: (4, 16, 16), 4: (10, 32, 32), 5: (10, 100, 100), 6: (64, 128, 128)}
LINES = {3: (1, 8, 128), 4: (2, 8, 640), 5: (8, 16, 800), 6: (16, 32, 2000), 7: (32, 32, 10000)}
IMAGES = {
    3: (1, 8, 12, 12), 4: (2, 8, 26, 26), 5: (8, 16, 28, 28), 6: (16, 16, 64, 64),
    7: (32, 32, 100, 100),
}  # fmt: skip
VOLUMES = {
    3: (1, 4, 6, 6, 6), 4: (2, 4, 12, 12, 10), 5: (2, 8, 18, 18, 18), 6: (4, 16, 25, 25, 25),
    7: (8, 32, 34, 34, 34),
}  # fmt: skip
SEQUENCES = {
    3: (2, 8, 64), 4: (4, 40, 64), 5: (8, 100, 128), 6: (32, 128, 256), 7: (80, 128, 1024),
}  # fmt: skip


@dataclass(frozen=True)
class Input:
    """One argument: its shape by the exponent, and what its elements are."""

    shape: Callable[[int], Shape]
    kind: str = "normal"  # or "uniform", "integers", "counts" (integers as floats), "booleans"
    low: float = 0.0
    high: float | Callable[[int], float] = 1.0
    wants: bool = True  # a gradient, where it is of floats and the sample has a backward

    def array(self, exponent: int, place: int, dtype: str) -> Array:
        """The argument, which differs from those at other places."""
        high = self.high(exponent) if callable(self.high) else self.high
        return numbers(self.shape(exponent), self.kind, self.low, high, place, dtype)


@lru_cache(maxsize=4)
def numbers(shape: Shape, kind: str, low: float, high: float, place: int, dtype: str) -> Array:
    """The same numbers in every process."""
    generator = np.random.default_rng(place)
    if kind == "normal":
        return generator.standard_normal(shape, dtype)  # type: ignore[call-overload]
    if kind == "uniform":
        values = generator.random(shape, dtype)  # type: ignore[call-overload]
        return values * np.dtype(dtype).type(high - low) + np.dtype(dtype).type(low)
    if kind == "booleans":
        return generator.random(shape, np.float32) < high
    whole = generator.integers(int(low), int(high), shape)
    return whole.astype(dtype) if kind == "counts" else whole


@dataclass(frozen=True)
class Sample:
    """A function as the sweep calls it: `call(library, *tensors)`.

    Attributes:
        backward: whether it is differentiated.
        most: the largest exponent.
        alike: whether all libraries have to compute the same.
    """

    name: str
    call: Callable[..., Any]
    inputs: tuple[Input, ...]
    backward: bool = True
    most: int = 7
    alike: bool = True
    # Made once of the library and the exponent, and the first tensor of each call: a layer.
    prepare: Callable[[Any, int], Any] | None = None


def of(shapes: dict[int, Shape], **options: Any) -> Input:
    """An argument of these shapes."""
    return Input(shapes.__getitem__, **options)


def shaped(shape: Callable[[int], Shape], **options: Any) -> Input:
    """An argument whose shape is a function of the exponent."""
    return Input(shape, **options)


def places(shape: Callable[[int], Shape], length: Callable[[int], int]) -> Input:
    """Indices below a length that grows with the exponent."""
    return Input(shape, "integers", 0, length)


def fixed(*shape: int, **options: Any) -> Input:
    """An argument that does not grow."""
    return Input(lambda exponent: shape, **options)


def flat(exponent: int) -> Shape:
    """A vector's shape."""
    return (10**exponent,)


X = of(ROWS)
VECTOR = shaped(flat)
SQUARES = of(SQUARE)
POSITIVE = of(ROWS, kind="uniform", low=0.1, high=2.0)
UNIT = of(ROWS, kind="uniform", low=-0.9, high=0.9)
CHANCES = of(ROWS, kind="uniform", low=0.05, high=0.95)
MASK = of(ROWS, kind="booleans", high=0.5)
INTEGERS = of(ROWS, kind="integers", low=1, high=100)


@cache  # in no call that counts: looking for what a module lacks takes a microsecond
def at(library: Any, path: str) -> Any:
    """What a library has under a dotted name, or its tensors as a method."""
    found = library
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if callable(found) else getattr(library.Tensor, path)


def path_of(name: str) -> str:
    """The function that a sample is named after."""
    return name.partition(" ")[0].rstrip(",")


def sample(name: str, *inputs: Input, call: Any = None, **options: Any) -> Sample:
    """A sample of the function of that name (up to a space), or of another call."""
    path = path_of(name)
    return Sample(name, call or (lambda m, *args: at(m, path)(*args)), inputs, **options)


def each(names: str, *inputs: Input, below: str = "", **options: Any) -> Iterable[Sample]:
    """A sample of each function on the same inputs; their names are below another."""
    return [sample(below + name, *inputs, **options) for name in names.split()]


def calling(name: str, *inputs: Input, **keywords: Any) -> Callable[..., Sample]:
    """A sample with more arguments, as one writes it: `calling("sum", X)(dim=1)`."""

    def with_arguments(*more: Any, **arguments: Any) -> Sample:
        path = path_of(name)
        return Sample(
            name, lambda m, *args: at(m, path)(*args, *more, **arguments), inputs, **keywords
        )

    return with_arguments
