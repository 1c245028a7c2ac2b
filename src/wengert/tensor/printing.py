"""Printing tensors exactly like PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.dtypes import of_numpy
from wengert.core.float8 import is_float8
from wengert.core.tensor import Leaf, Tensor
from wengert.kernels.precision import HALF


class PrintOptions:
    """The options of `set_printoptions`.

    Attributes:
        precision: digits after the point.
        threshold: larger tensors are abbreviated.
        edgeitems: the elements shown at either end of an abbreviated dimension.
        linewidth: characters per line.
        sci_mode: scientific notation: always, never, or (None) if needed.
    """

    def __init__(
        self,
        precision: int = 4,
        threshold: float = 1000,
        edgeitems: int = 3,
        linewidth: int = 80,
        sci_mode: bool | None = None,
    ) -> None:
        self.precision, self.threshold, self.edgeitems = precision, threshold, edgeitems
        self.linewidth, self.sci_mode = linewidth, sci_mode


PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print: a profile ("default", "short", "full"), and individual options.

    `sci_mode` returns to automatic with each call that does not set it.

    >>> import wengert
    >>> wengert.set_printoptions(precision=2)
    >>> wengert.tensor([0.12345])
    tensor([0.12])
    >>> wengert.set_printoptions(profile="default")
    """
    if profile is not None:
        for name, value in vars(PROFILES[profile]).items():
            setattr(options, name, value)
    settings = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems,
             "linewidth": linewidth}  # fmt: skip
    for name, value in settings.items():
        if value is not None:
            setattr(options, name, value)
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the print options, by name.

    >>> import wengert
    >>> wengert.get_printoptions()["precision"]
    4
    """
    return dict(vars(options))


Format = Callable[[Any], str]


def _formatter(values: np.ndarray) -> tuple[int, Format]:
    """The common width of the values as text, and the function that makes that text."""
    if values.dtype.kind != "f":
        texts = map(str, values.ravel().tolist())
        width = max(map(len, texts), default=1)
        return width, lambda v: str(v).rjust(width)
    text = _number_text(values)
    finite = values[np.isfinite(values) & (values != 0)].tolist()
    width = max((len(text(v)) for v in finite), default=1)
    return width, lambda v: text(v).rjust(width)


def _number_text(values: np.ndarray) -> Format:
    """The format of a real number among the others: 1., 1.0000 or 1.0000e+00."""
    magnitudes = np.abs(values[np.isfinite(values) & (values != 0)]).astype(np.float64)
    integral = bool((magnitudes == np.ceil(magnitudes)).all())
    scientific = options.sci_mode
    if scientific is None:
        scientific = _spread(magnitudes, integral)
    if magnitudes.size == 0:
        scientific = False
    if scientific:
        return f"{{:.{options.precision}e}}".format
    if integral:
        return lambda v: f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}"
    return f"{{:.{options.precision}f}}".format


def _spread(magnitudes: np.ndarray, integral: bool) -> bool:
    """Whether fixed notation would hide digits."""
    if magnitudes.size == 0:
        return False
    low, high = float(magnitudes.min()), float(magnitudes.max())
    return high / low > 1000 or high > 1e8 or low < 1e-4


def _complex_formatter(values: np.ndarray) -> tuple[int, Format]:
    real_width, real = _formatter(values.real)
    imag_width, imag = _formatter(values.imag)

    def text(v: complex) -> str:
        tail = (imag(v.imag) + "j").lstrip()
        return real(v.real) + (tail if tail[0] in "+-" else "+" + tail)

    return real_width + imag_width + 1, text


def _shown(array: np.ndarray) -> np.ndarray:
    """The elements shown in an abbreviation."""
    edge = options.edgeitems
    for axis, n in enumerate(array.shape):
        if n > 2 * edge:
            pieces = np.split(array, [edge, n - edge], axis)
            array = np.concatenate([pieces[0], pieces[2]], axis) if edge else pieces[0]
    return array


def body_of(array: np.ndarray, indent: int) -> str:
    """The elements, in brackets."""
    if array.dtype in HALF or is_float8(array.dtype):
        array = array.astype(np.float32)
    shortened = array.size > options.threshold
    visible = _shown(array) if shortened else array
    width, text = (_complex_formatter if array.dtype.kind == "c" else _formatter)(visible)
    return _brackets(array, indent, shortened, width, text)


def _brackets(array: np.ndarray, indent: int, shortened: bool, width: int, text: Format) -> str:
    if array.ndim == 0:
        return text(array.item())
    if array.ndim == 1:
        return _row(array, indent, shortened, width, text)
    edge = options.edgeitems
    if shortened and len(array) > 2 * edge:
        rows: list[Any] = [*range(edge), None, *range(len(array) - edge, len(array))]
    else:
        rows = list(range(len(array)))
    texts = [
        "..." if i is None else _brackets(array[i], indent + 1, shortened, width, text)
        for i in rows
    ]
    separator = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + separator.join(texts) + "]"


def _row(array: np.ndarray, indent: int, shortened: bool, width: int, text: Format) -> str:
    edge = options.edgeitems
    if shortened and not edge:
        return "[...]" if array.size else "[]"
    if shortened and array.size > 2 * edge:
        texts = [*map(text, array[:edge].tolist()), " ...", *map(text, array[-edge:].tolist())]
    else:
        texts = list(map(text, array.tolist()))
    per_line = max(1, (options.linewidth - indent) // (width + 2))
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def is_default(dtype: dtypes.dtype) -> bool:
    """Whether a dtype follows from how numbers look, and is not printed."""
    default = dtypes.defaults.dtype
    return dtype in (default, default.to_complex(), dtypes.int64, dtypes.bool_)


def text_of(tensor: Tensor, contents: str | None = None) -> str:
    """The `repr` of a tensor; `contents` stands in the place of the elements."""
    array, dtype, kind = tensor._array, of_numpy[tensor._outline.dtype], type(tensor).__name__
    prefix = "tensor(" if kind in ("Tensor", "Parameter", "Buffer") else f"{kind}("
    suffixes = []
    if array.size == 0:
        if array.ndim != 1:
            suffixes.append(f"size={array.shape}")
        if dtype is not dtypes.defaults.dtype:
            suffixes.append(f"dtype={dtype}")
        body = "[]"
    else:
        if not is_default(dtype):
            suffixes.append(f"dtype={dtype}")
        body = body_of(array, len(prefix))
    edge = tensor._edge
    if edge is not None:
        name = type(edge).__name__
        suffixes.append("requires_grad=True" if type(edge) is Leaf else f"grad_fn=<{name}>")
    return joined(prefix + (body if contents is None else contents), suffixes, len(prefix))


def joined(text: str, suffixes: list[str], indent: int, new_line: bool = False) -> str:
    """The text, closed by the suffixes; they begin a new line where one would be too long.

    With `new_line` they do so in any case.
    """
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if new_line or length + len(suffix) + 2 > options.linewidth:
            new_line = False
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"


def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    return text_of(self, tensor_contents)


def bind() -> None:
    """Give Tensor what this module is about."""
    define: Any = Tensor
    define.__repr__ = _repr


__all__ = ["get_printoptions", "set_printoptions"]
