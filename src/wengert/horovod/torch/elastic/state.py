"""Values of a training loop that can be committed, restored, and taken over from rank 0."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from wengert.horovod.torch.functions import (
    broadcast_object,
    broadcast_optimizer_state,
    broadcast_parameters,
)


class ObjectState:
    """Attributes that are committed together.

    >>> from wengert.horovod.torch.elastic import ObjectState
    >>> state = ObjectState(batch=3)
    >>> state.batch = 5
    >>> state.restore()
    >>> state.batch
    3
    """

    def __init__(self, **kwargs: Any) -> None:
        self._names = list(kwargs)
        self._on_reset: list[Callable[[], None]] = []
        self.commits = 0
        self.__dict__.update(kwargs)
        self.save()

    def register_reset_callbacks(self, callbacks: list[Callable[[], None]]) -> None:
        """Functions to be called by `on_reset`."""
        self._on_reset.extend(callbacks)

    def on_reset(self) -> None:
        """Call the functions that were registered."""
        for callback in self._on_reset:
            callback()

    def _values(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self._names}

    def save(self) -> None:
        """Keep the values, for `restore`."""
        self._saved = deepcopy({name: _state_of(v) for name, v in self._values().items()})

    def commit(self) -> None:
        """Keep the values; also look for changes of the ranks, which do not happen."""
        self.commits += 1
        self.save()
        self.check_host_updates()

    def check_host_updates(self) -> None:
        """Nothing: the ranks of a run stay the same."""

    def restore(self) -> None:
        """Go back to the values that were kept last."""
        for name, saved in deepcopy(self._saved).items():
            value = self.__dict__[name]
            if _keeps_state(value):
                value.load_state_dict(saved)
            else:
                self.__dict__[name] = saved

    def sync(self) -> None:
        """Take over the values of rank 0."""
        plain = {n: v for n, v in self._values().items() if not _keeps_state(v)}
        self.__dict__.update(broadcast_object(plain))
        for value in self._values().values():
            if hasattr(value, "param_groups"):
                broadcast_optimizer_state(value, 0)
            elif hasattr(value, "named_parameters"):
                broadcast_parameters(value.state_dict(), 0)
            elif _keeps_state(value):
                value.load_state_dict(broadcast_object(value.state_dict()))
        self.save()


class TorchState(ObjectState):
    """The state of a model, an optimizer, a sampler, and plain values."""

    def __init__(self, model: Any = None, optimizer: Any = None, **kwargs: Any) -> None:
        objects = {"model": model, "optimizer": optimizer}
        super().__init__(**{n: v for n, v in objects.items() if v is not None}, **kwargs)


def _keeps_state(value: Any) -> bool:
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


def _state_of(value: Any) -> Any:
    return value.state_dict() if _keeps_state(value) else value


__all__ = ["ObjectState", "TorchState"]
