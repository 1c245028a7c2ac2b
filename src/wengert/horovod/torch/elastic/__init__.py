"""``hvd.elastic``: states that are committed, restored and shared, and a sampler that goes on.

The ranks of a run stay the same: after a collective that failed they go back to what they
committed. A run that has lost a rank ends, and ``wengert run --max-restarts`` starts it again: what
is to outlive that belongs in a checkpoint.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.horovod.common.basics import meet_again
from wengert.horovod.common.exceptions import HorovodInternalError
from wengert.horovod.torch.elastic.sampler import ElasticSampler as ElasticSampler
from wengert.horovod.torch.elastic.state import ObjectState as ObjectState
from wengert.horovod.torch.elastic.state import TorchState as TorchState

_ATTEMPTS = 3  # without progress, before an error is the script's own


def run(function: Callable[..., Any]) -> Callable[..., Any]:
    """A training loop that begins with the state of rank 0 on all ranks.

    After `HorovodInternalError` all ranks go back to what was committed last, call the functions
    that `register_reset_callbacks` was given, and begin again; the error is raised when that has
    happened three times without a commit.
    """

    @functools.wraps(function)
    def synchronized(state: ObjectState, *args: Any, **kwargs: Any) -> Any:
        attempts, progress = 0, state.commits
        while True:
            try:
                state.sync()
                return function(state, *args, **kwargs)
            except HorovodInternalError:
                attempts = 1 if state.commits > progress else attempts + 1
                if attempts > _ATTEMPTS:
                    raise
                progress = state.commits
            state.restore()
            meet_again()
            state.on_reset()

    return synchronized
