"""Streams of random numbers, which are NumPy's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from wengert.symbolic.expressions.extra_ops import permute_row_elements
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.sampling import Distributions, Draw, drawn
from wengert.symbolic.sharing import RandomStateSharedVariable as RandomStateSharedVariable
from wengert.symbolic.sharing import shared


class RandomStreams(Distributions):
    """Random variables that draw anew at each call of a function that they are in.

    Each has a generator of its own, a `numpy.random.RandomState` whose seed is drawn from that of
    the streams: numbers are those that Theano gives for the seed.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic.tensor.shared_randomstreams import RandomStreams
    >>> streams = RandomStreams(seed=234)
    >>> f = function([], streams.uniform((2,)))
    >>> f()
    array([0.12672381, 0.97091597])
    """

    def __init__(self, seed: Any = None) -> None:
        self.state_updates: list[tuple[Any, Any]] = []
        self.default_instance_seed = seed
        self.gen_seedgen = np.random.RandomState(seed)

    def updates(self) -> list[tuple[Any, Any]]:
        """The updates of all generators."""
        return list(self.state_updates)

    def seed(self, seed: Any = None) -> None:
        """Start all generators anew."""
        if seed is None:
            seed = self.default_instance_seed
        seeds = np.random.RandomState(seed)
        for state, _ in self.state_updates:
            state.set_value(np.random.RandomState(int(seeds.randint(2**30))), borrow=True)

    def __getitem__(self, item: Any) -> Any:
        for state, new in self.state_updates:
            if item is state or item is new:
                return state.get_value(borrow=False)
        raise KeyError(item)

    def __setitem__(self, item: Any, value: Any) -> None:
        if not isinstance(value, np.random.RandomState):
            raise TypeError("value must be a numpy.random.RandomState", value)
        for state, new in self.state_updates:
            if item is state or item is new:
                state.set_value(copy.deepcopy(value))
                return
        raise KeyError(item)

    def draw_from(self, name: str, draw: Draw, size: Any, parameters: Any, ndim: int | None,
                  dtype: Any, extra: int = 0) -> Any:  # fmt: skip
        """Numbers of a distribution, from a generator of their own."""
        state = shared(np.random.RandomState(int(self.gen_seedgen.randint(2**30))))
        state.tag.is_rng = True
        new_state, out = drawn(state, name, draw, size, parameters, ndim, dtype, extra)
        out.rng = state
        out.update = (state, new_state)
        self.state_updates.append(out.update)
        state.default_update = new_state
        return out

    def shuffle_row_elements(self, input: Any) -> Any:
        """The elements of each row in another order."""
        input = as_tensor_variable(input)
        order = self.permutation(size=input.shape[:-1], n=input.shape[-1], ndim=input.ndim - 1)
        shuffled = permute_row_elements(input, order)
        shuffled.permutation = order
        return shuffled
