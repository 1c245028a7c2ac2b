"""Autocast: regions of lower precision. `casts.py` says what becomes of operations in them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

from wengert.amp import casts
from wengert.amp.casts import cast
from wengert.amp.state import lower_dtype, state
from wengert.core import dtypes
from wengert.core.device import device
from wengert.core.dtypes import dtype as dtype_
from wengert.core.signals import without_entry_signals

_CPU_DTYPES = (dtypes.bfloat16, dtypes.float16)
_AVAILABLE = frozenset(
    {"cpu", "cuda", "ipu", "xpu", "xla", "mps", "hpu", "mtia", "maia", "privateuseone"}
)


def is_autocast_available(device_type: str) -> bool:
    """Whether PyTorch has an autocast for a kind of device.

    >>> import wengert.amp
    >>> wengert.amp.is_autocast_available("cpu"), wengert.amp.is_autocast_available("meta")
    (True, False)
    """
    return _kind("is_autocast_available", device_type) in _AVAILABLE


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether this is inside of an enabled `autocast` for a kind of device.

    >>> import wengert
    >>> with wengert.autocast("cpu"):
    ...     wengert.is_autocast_enabled("cpu")
    True
    """
    return state.enabled.get(_kind("is_autocast_enabled", device_type), False)


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Say whether operations are cast from here on.

    >>> import wengert
    >>> wengert.set_autocast_enabled("cpu", False)
    """
    kind = _kind("set_autocast_enabled", device_type)
    if kind == "cpu" and enabled:
        casts.begin()
    state.enabled[kind] = bool(enabled)
    casts.end()


def get_autocast_dtype(device_type: str) -> dtype_:
    """The dtype that regions ask for if they name none.

    >>> import wengert
    >>> wengert.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return lower_dtype(_kind("get_autocast_dtype", device_type))


def set_autocast_dtype(device_type: str, dtype: dtype_) -> None:
    """Set what `get_autocast_dtype` says.

    >>> import wengert
    >>> wengert.set_autocast_dtype("cpu", wengert.bfloat16)
    """
    state.dtypes[_kind("set_autocast_dtype", device_type)] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether the innermost region asked for a cache of casts.

    >>> import wengert
    >>> wengert.is_autocast_cache_enabled()
    True
    """
    return state.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set what `is_autocast_cache_enabled` says.

    >>> import wengert
    >>> wengert.set_autocast_cache_enabled(True)
    """
    state.cache = bool(enabled)


def clear_autocast_cache() -> None:
    """Nothing to clear: each use of a tensor is a cast of its own.

    >>> import wengert
    >>> wengert.clear_autocast_cache()
    """


def is_autocast_cpu_enabled() -> bool:
    """The old name of ``is_autocast_enabled("cpu")``."""
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype() -> dtype_:
    """The old name of ``get_autocast_dtype("cpu")``."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> dtype_:
    """The old name of ``get_autocast_dtype("cuda")``."""
    return get_autocast_dtype("cuda")


def _kind(name: str, device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise TypeError(
            f"{name}(): argument 'device_type' must be str, not {type(device_type).__name__}"
        )
    return device(device_type).type


class autocast:  # noqa: N801 (PyTorch's name)
    """A region, or a decorated function, of lower precision.

    Matrix products, convolutions and attention give `dtype`, and losses, decompositions and
    Fourier transforms float32, whichever of the two their arguments have; float64 stays. What has
    no such rule computes in the dtypes that come. Products of bfloat16 are summed in float32 and
    rounded once.

    Args:
        device_type: the kind of device; a region of one that is not there is disabled.
        dtype: bfloat16 or float16; None: bfloat16 on the CPU.
        enabled: False makes a full-precision region inside of another.
        cache_enabled: kept, without effect: a tensor is cast at each use.

    >>> import wengert
    >>> with wengert.autocast("cpu", dtype=wengert.bfloat16):
    ...     (wengert.eye(2) @ wengert.ones(2, 2)).dtype
    torch.bfloat16
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtype_ | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if dtype is not None and not isinstance(dtype, dtype_):
            raise ValueError(f"Expected `dtype` of type `torch.dtype`, got: `{type(dtype)}`")
        self.device = device(device_type).type
        if self.device not in _AVAILABLE:
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{self.device}'"
            )
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._cache = state.cache if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._supported()
        self._before: tuple[Any, ...] = ()  # and what was before that: it may call itself

    def _supported(self) -> bool:
        """Whether such a region can be; a warning says why not."""
        if self.device != "cpu":
            reason = f"{self.device.upper()} is not available. Disabling autocast."
        elif self.fast_dtype not in _CPU_DTYPES:
            listed = ", ".join(map(str, _CPU_DTYPES))
            reason = (
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"CPU Autocast only supports dtypes of {listed} currently, not {self.fast_dtype}."
            )
        else:
            return True
        warnings.warn(reason, UserWarning, stacklevel=3)
        return False

    def __enter__(self) -> autocast:
        kind = self.device
        if kind == "cpu" and self._enabled:
            casts.begin()
        enabled, lower = state.enabled, state.dtypes
        before = is_autocast_enabled(kind), get_autocast_dtype(kind), state.cache
        # No call from here on: a signal would come in between.
        self._before = *before, self._before
        enabled[kind], lower[kind] = self._enabled, self.fast_dtype
        state.cache = self._cache
        return self

    @without_entry_signals
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        kind = self.device
        state.enabled[kind], state.dtypes[kind], state.cache, self._before = self._before
        if self._enabled:
            casts.end()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return wrapper


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: dtype_ | None = None,
) -> Callable[..., Any]:
    """Decorates the `forward` of a `Function`: it remembers whether autocast was on.

    Args:
        fwd: the method; without one, a decorator is returned.
        device_type: whose autocast is meant.
        cast_inputs: a dtype for the floating-point inputs inside of a region, where `forward`
            then runs without autocast.

    >>> import wengert
    >>> class Double(wengert.autograd.Function):
    ...     @staticmethod
    ...     @wengert.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @wengert.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> Double.apply(wengert.ones(2))
    tensor([2., 2.])
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    kind = _kind("custom_fwd", device_type)

    @functools.wraps(fwd)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        ctx, inside = args[0], is_autocast_enabled(kind)
        ctx._dtype = get_autocast_dtype(kind)
        ctx._fwd_used_autocast = inside and cast_inputs is None
        if not inside or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(kind, enabled=False):
            return fwd(*cast(args, cast_inputs), **cast(kwargs, cast_inputs))

    return wrapper


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorates the `backward` of a `Function`: it runs under the autocast of its `forward`.

    >>> import wengert
    >>> wengert.amp.custom_bwd(device_type="cpu").func is wengert.amp.custom_bwd
    True
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    kind = _kind("custom_bwd", device_type)

    @functools.wraps(bwd)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(kind, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return wrapper


__all__ = [
    "autocast", "clear_autocast_cache", "custom_bwd", "custom_fwd", "get_autocast_cpu_dtype",
    "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled",
    "set_autocast_cache_enabled", "set_autocast_dtype", "set_autocast_enabled",
]  # fmt: skip
