"""What scripts ask of ``torch.cuda``: there is none, and the answers are those of a CPU build.

Questions are answered, seeds and cache clearing pass; what needs a device raises
AssertionError, as in PyTorch.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

from wengert.core.device import OutOfMemoryError as OutOfMemoryError
from wengert.cuda import amp as amp
from wengert.cuda import nvtx as nvtx
from wengert.platform.absences import refusing

# Those of the devices: none.
default_generators: tuple[Any, ...] = ()


def is_available() -> bool:
    """False: wengert computes on the CPU.

    >>> import wengert.cuda
    >>> wengert.cuda.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def get_arch_list() -> list[str]:
    """An empty list."""
    return []


def manual_seed(seed: int) -> None:
    """Nothing to seed; ValueError unless `seed` is a number."""
    int(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Nothing to seed."""


def seed_all() -> None:
    """Nothing to seed."""


def empty_cache() -> None:
    """Nothing to empty."""


def memory_allocated(device: Any = None) -> int:
    """0: no device memory is in use."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """An empty dictionary."""
    return OrderedDict()


def get_rng_state_all() -> list[Any]:
    """An empty list: one state for each device."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Nothing to set."""


def _needs_device(name: str, error: type[Exception] = AssertionError) -> Any:
    text = (
        f"Torch not compiled with CUDA enabled: torch.cuda.{name}() needs a device, and"
        " wengert computes on the CPU; ask torch.cuda.is_available() first"
    )
    return refusing(name, __name__, error, text)


caching_allocator_alloc = _needs_device("caching_allocator_alloc")
caching_allocator_delete = _needs_device("caching_allocator_delete")
can_device_access_peer = _needs_device("can_device_access_peer")
current_device = _needs_device("current_device")
cudart = _needs_device("cudart")
current_stream = _needs_device("current_stream")
default_stream = _needs_device("default_stream")
get_device_capability = _needs_device("get_device_capability")
get_device_name = _needs_device("get_device_name")
get_device_properties = _needs_device("get_device_properties")
get_rng_state = _needs_device("get_rng_state")
get_sync_debug_mode = _needs_device("get_sync_debug_mode")
graph = _needs_device("graph", RuntimeError)
graph_pool_handle = _needs_device("graph_pool_handle", RuntimeError)
init = _needs_device("init")
initial_seed = _needs_device("initial_seed")
ipc_collect = _needs_device("ipc_collect")
is_current_stream_capturing = _needs_device("is_current_stream_capturing", RuntimeError)
make_graphed_callables = _needs_device("make_graphed_callables", RuntimeError)
mem_get_info = _needs_device("mem_get_info")
memory_snapshot = _needs_device("memory_snapshot")
memory_summary = _needs_device("memory_summary")
power_draw = _needs_device("power_draw")
reset_accumulated_memory_stats = _needs_device("reset_accumulated_memory_stats")
reset_max_memory_cached = _needs_device("reset_max_memory_cached")
reset_max_memory_allocated = _needs_device("reset_max_memory_allocated")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats")
set_device = _needs_device("set_device")
set_per_process_memory_fraction = _needs_device("set_per_process_memory_fraction")
set_rng_state = _needs_device("set_rng_state")
set_stream = _needs_device("set_stream")
set_sync_debug_mode = _needs_device("set_sync_debug_mode")
synchronize = _needs_device("synchronize")
temperature = _needs_device("temperature")
utilization = _needs_device("utilization")


def _dummy(name: str) -> Any:
    def refuse(cls: type, *args: Any, **options: Any) -> NoReturn:
        raise RuntimeError(
            f"Tried to instantiate dummy base class {name}: torch.cuda.{name} needs a device, and"
            " wengert computes on the CPU"
        )

    doc = "RuntimeError when made: there is no device."
    return type(name, (), {"__new__": refuse, "__doc__": doc, "__module__": __name__})


Stream = _dummy("Stream")
Event = _dummy("Event")
ExternalStream = _dummy("ExternalStream")
CUDAGraph = _dummy("CUDAGraph")


def stream(stream: Any) -> AbstractContextManager[None]:
    """A context that does nothing: the one stream that there can be is None."""
    return nullcontext()


def device(device: Any) -> AbstractContextManager[None]:
    """A context that does nothing for None and negative numbers, and refuses a device."""
    return nullcontext() if device is None or device == -1 else current_device()


def device_of(obj: Any) -> AbstractContextManager[None]:
    """A context that does nothing: no tensor is on a CUDA device."""
    return nullcontext()


def _old_type(name: str) -> Any:
    def refuse(cls: type, *args: Any, **options: Any) -> NoReturn:
        raise TypeError(
            f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled."
        )

    doc = "TypeError when made, and the type of no tensor: there is no device."
    return type(name, (), {"__new__": refuse, "__doc__": doc, "__module__": __name__})


BoolTensor = _old_type("BoolTensor")
ByteTensor = _old_type("ByteTensor")
CharTensor = _old_type("CharTensor")
DoubleTensor = _old_type("DoubleTensor")
FloatTensor = _old_type("FloatTensor")
HalfTensor = _old_type("HalfTensor")
IntTensor = _old_type("IntTensor")
LongTensor = _old_type("LongTensor")
ShortTensor = _old_type("ShortTensor")
