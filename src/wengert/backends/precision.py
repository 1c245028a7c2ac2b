"""How precise products of float32 have to be, by backend and operation.

Kept and never used: they are always computed in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from wengert.core.signals import call_despite_signals, contextmanager

# What a backend can be asked for; "none" leaves the choice to the one above.
_OF_BACKEND = {
    "generic": ("ieee", "tf32", "bf16", "none"),
    "mkldnn": ("ieee", "tf32", "bf16", "none"),
    "cuda": ("ieee", "tf32", "none"),
}


class Operations:
    """Some operations of a backend; those `above` decide where these have no precision.

    >>> from wengert.backends.precision import Operations
    >>> every = Operations("generic")
    >>> products = Operations("cuda", every)
    >>> every.fp32_precision = "tf32"
    >>> products.fp32_precision
    'tf32'
    """

    def __init__(self, backend: str, above: Operations | None = None, own: str = "none") -> None:
        self._backend, self._above, self._own = backend, above, own

    @property
    def fp32_precision(self) -> str:
        """``"ieee"``, ``"tf32"``, ``"bf16"`` or ``"none"``, the default.

        Setting it raises RuntimeError for what the backend does not have.
        """
        if self._own != "none" or self._above is None:
            return self._own
        inherited = self._above.fp32_precision
        return inherited if inherited in _OF_BACKEND[self._backend] else "none"

    @fp32_precision.setter
    def fp32_precision(self, value: str) -> None:
        if value not in _OF_BACKEND["generic"]:
            raise RuntimeError(
                f"Unknown precision: {value}; fp32_precision is one of"
                f" {', '.join(_OF_BACKEND[self._backend])}"
            )
        if value not in _OF_BACKEND[self._backend]:
            raise RuntimeError(f"backend '{self._backend}' does not support precision '{value}'")
        self._own = value


class Products(Operations):
    """Matrix products of CUDA, with the older name of one precision."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        """Whether the precision is ``"tf32"``."""
        return self.fp32_precision == "tf32"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        self.fp32_precision = "tf32" if value else "ieee"


class PreciseModule(ModuleType):
    """A module whose `fp32_precision` is that of its `precise_operations`."""

    precise_operations: Operations

    @property
    def fp32_precision(self) -> str:
        """How precise products of float32 have to be; they are always computed in float32."""
        return self.precise_operations.fp32_precision

    @fp32_precision.setter
    def fp32_precision(self, value: str) -> None:
        self.precise_operations.fp32_precision = value

    @contextmanager
    def switched(self, precision: str, **values: Any) -> Iterator[None]:
        """Other values of its switches, and another precision, inside a ``with`` block."""
        switches = vars(self)
        before = {name: switches[name] for name in values}
        with set_within(self.precise_operations, precision):
            try:
                switches.update(values)
                yield
            finally:
                call_despite_signals(switches.update, before)


everything = Operations("generic")
cuda = Operations("cuda", everything)
mkldnn_conv, mkldnn_matmul, mkldnn_rnn = (Operations("mkldnn", everything) for _ in range(3))
cuda_conv, cuda_rnn = (Operations("cuda", cuda, "tf32") for _ in range(2))
cuda_matmul = Products("cuda", cuda)

# By what `torch.set_float32_matmul_precision` is given: of CUDA's products, and of oneDNN's.
_OF_PRODUCTS = {"highest": ("ieee", "ieee"), "high": ("tf32", "tf32"), "medium": ("tf32", "bf16")}


def set_products(precision: str) -> None:
    """Set that of all matrix products, by the names ``"highest"``, ``"high"`` and ``"medium"``."""
    cuda_matmul.fp32_precision, mkldnn_matmul.fp32_precision = _OF_PRODUCTS[precision]


@contextmanager
def set_within(operations: Operations, precision: str) -> Iterator[None]:
    """Another precision inside a ``with`` block."""
    before = operations._own
    try:
        operations.fp32_precision = precision
        yield
    finally:
        call_despite_signals(setattr, operations, "_own", before)
