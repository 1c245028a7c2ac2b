"""`map_location`: where the tensors of a file are to live. Here that is the CPU, if asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.core.device import device
from wengert.tensor.storages import UntypedStorage

Restore = Callable[[UntypedStorage, str], UntypedStorage]


def restorer(map_location: Any) -> Restore:
    """The function that `map_location` stands for: of a storage, and where it was saved."""
    if map_location is None:
        return check_on_cpu
    if isinstance(map_location, dict):
        return lambda storage, location: check_on_cpu(storage, map_location.get(location, location))
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, str | device):
        return lambda storage, location: check_on_cpu(storage, map_location)
    if not callable(map_location):
        raise TypeError(
            "load(): argument 'map_location' must be a device, a str, a dict or a function, not"
            f" {type(map_location).__name__}"
        )

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        answer = map_location(storage, location)
        if answer is None:
            return check_on_cpu(storage, location)
        if not isinstance(answer, UntypedStorage):
            raise TypeError(
                f"the function map_location returned {type(answer).__name__}, not a storage"
            )
        return answer

    return restore


def check_on_cpu(storage: UntypedStorage, location: Any) -> UntypedStorage:
    """The storage, if the location is the CPU; one without memory, if it is the meta device."""
    name = str(location)
    if name.partition(":")[0] == "cpu":
        return storage
    if name.partition(":")[0] == "meta":
        return UntypedStorage(storage.nbytes(), device="meta")
    if name.startswith("cuda"):
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is"
            " False. If you are running on a CPU-only machine, please use torch.load with"
            " map_location=torch.device('cpu') to map your storages to the CPU. The location is"
            f" {name!r}."
        )
    raise RuntimeError(
        "don't know how to restore data location of torch.storage.UntypedStorage (tagged with"
        f" {name}); map_location='cpu' loads it here"
    )
