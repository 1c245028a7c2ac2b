"""``hvd.elastic``: states that are committed, restored and shared, and a sampler that goes on.

The ranks of a run stay the same. A run that has lost one ends, and ``wengert run --max-restarts``
starts it again: what is to outlive that belongs in a checkpoint.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.horovod.torch.elastic.sampler import ElasticSampler as ElasticSampler
from wengert.horovod.torch.elastic.state import ObjectState as ObjectState
from wengert.horovod.torch.elastic.state import TorchState as TorchState


def run(function: Callable[..., Any]) -> Callable[..., Any]:
    """A training loop that begins with the state of rank 0 on all ranks."""

    @functools.wraps(function)
    def synchronized(state: ObjectState, *args: Any, **kwargs: Any) -> Any:
        state.sync()
        return function(state, *args, **kwargs)

    return synchronized
