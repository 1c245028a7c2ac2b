"""``torch.utils.flop_counter``: how many floating point operations a program does, by module."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any

from wengert.core.tensor import Tensor
from wengert.dispatch.modes import TorchDispatchMode
from wengert.dispatch.ops import aten
from wengert.dispatch.overloads import OpOverloadPacket
from wengert.utils._pytree import tree_map
from wengert.utils.module_tracker import ModuleTracker

Formula = Callable[..., int]
Shape = Sequence[int]

# By operation; those that are wengert's own by name.
flop_registry: dict[Any, Formula] = {}


def get_shape(i: Any) -> Any:
    """The shape of a tensor; other values as they are.

    >>> import wengert
    >>> wengert.utils.flop_counter.get_shape(wengert.ones(2, 3))
    torch.Size([2, 3])
    """
    return i.shape if isinstance(i, Tensor) else i


def shape_wrapper(f: Formula) -> Formula:
    """A formula of shapes as one of tensors.

    >>> import wengert
    >>> count = wengert.utils.flop_counter.shape_wrapper(lambda a, out_shape: a[0])
    >>> count(wengert.ones(5), out_val=None)
    5
    """

    @wraps(f)
    def counted(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out_shape, **kwargs)

    return counted


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Count an operation, or several, by the decorated formula.

    It is given the arguments of the operation and ``out_shape``, with shapes in the place of
    tensors; with `get_raw` the tensors, and ``out_val``.

    >>> import wengert
    >>> from wengert.dispatch import ops
    >>> from wengert.utils.flop_counter import FlopCounterMode, register_flop_formula
    >>> @register_flop_formula(ops.aten.cross)
    ... def cross_flop(a, b, *args, out_shape, **kwargs):
    ...     return 3 * wengert.Size(out_shape).numel()
    """

    def register(formula: Formula) -> Formula:
        for target in targets if isinstance(targets, list | tuple) else (targets,):
            if not isinstance(target, OpOverloadPacket | str):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket"
                    f" (i.e. torch.ops.mylib.foo), got {target} which is of type {type(target)}"
                )
            flop_registry[target] = formula if get_raw else shape_wrapper(formula)
        return formula

    return register


@register_flop_formula(aten.mm)
def mm_flop(
    a_shape: Shape, b_shape: Shape, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """Of a product of matrices.

    >>> from wengert.utils.flop_counter import mm_flop
    >>> mm_flop((2, 3), (3, 4))
    48
    """
    return 2 * a_shape[0] * a_shape[1] * b_shape[1]


@register_flop_formula(aten.addmm)
def addmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any
) -> int:
    """Of a product of matrices; the sum does not count.

    >>> from wengert.utils.flop_counter import addmm_flop
    >>> addmm_flop((4,), (2, 3), (3, 4))
    48
    """
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """Of a batch of products of matrices.

    >>> from wengert.utils.flop_counter import bmm_flop
    >>> bmm_flop((5, 2, 3), (5, 3, 4))
    240
    """
    return a_shape[0] * mm_flop(a_shape[1:], b_shape[1:])


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any
) -> int:
    """Of a batch of products of matrices; the sum does not count.

    >>> from wengert.utils.flop_counter import baddbmm_flop
    >>> baddbmm_flop((4,), (5, 2, 3), (5, 3, 4))
    240
    """
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(
    x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False
) -> int:
    """Of a convolution, which multiplies at each place of its output, or of a transposed one.

    >>> from wengert.utils.flop_counter import conv_flop_count
    >>> conv_flop_count((1, 2, 8), (3, 2, 3), (1, 3, 6))
    216
    """
    places = prod((x_shape if transposed else out_shape)[2:])
    return 2 * x_shape[0] * places * prod(w_shape)


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any, _padding: Any, _dilation: Any,
    transposed: bool, *args: Any, out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """Of ``aten.convolution``.

    >>> from wengert.utils.flop_counter import conv_flop
    >>> conv_flop((1, 2, 8), (3, 2, 3), None, 1, 0, 1, False, out_shape=(1, 3, 6))
    216
    """
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula("wengert::convolution_weight")
def _weight_gradient_flop(
    grad_shape: Shape, x_shape: Shape, kernel: Shape, geometry: Any, out_shape: Any = None
) -> int:
    """As PyTorch counts it: groups do not make it less."""
    return 2 * x_shape[0] * grad_shape[1] * x_shape[1] * prod(kernel) * prod(grad_shape[2:])


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Shape, x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any,
    _padding: Any, _dilation: Any, transposed: bool, _output_padding: Any, _groups: Any,
    output_mask: Sequence[bool], out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """Of the gradients of a convolution that are asked for.

    >>> from wengert.utils.flop_counter import conv_backward_flop
    >>> conv_backward_flop((1, 3, 6), (1, 2, 8), (3, 2, 3), None, 1, 0, 1, False, 0, 1,
    ...                    [True, True, False])
    432
    """
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, x_shape, not transposed)
    if output_mask[1]:
        places = prod((x_shape if transposed else grad_out_shape)[2:])
        count += 2 * x_shape[0] * grad_out_shape[1] * x_shape[1] * prod(w_shape[2:]) * places
    return count


def sdpa_flop_count(query_shape: Shape, key_shape: Shape, value_shape: Shape) -> int:
    """Of the two products of an attention.

    >>> from wengert.utils.flop_counter import sdpa_flop_count
    >>> sdpa_flop_count((2, 4, 5, 8), (2, 4, 5, 8), (2, 4, 5, 8))
    6400
    """
    batch, heads, queries, width = query_shape
    keys, values = key_shape[2], value_shape[3]
    return batch * heads * 2 * queries * keys * (width + values)


@register_flop_formula(
    [aten._scaled_dot_product_efficient_attention, aten._scaled_dot_product_flash_attention,
     aten._scaled_dot_product_cudnn_attention]
)  # fmt: skip
def sdpa_flop(
    query_shape: Shape, key_shape: Shape, value_shape: Shape, *args: Any, out_shape: Any = None,
    **kwargs: Any,
) -> int:  # fmt: skip
    """Of an attention.

    >>> from wengert.utils.flop_counter import sdpa_flop
    >>> sdpa_flop((2, 4, 5, 8), (2, 4, 5, 8), (2, 4, 5, 8))
    6400
    """
    return sdpa_flop_count(query_shape, key_shape, value_shape)


@register_flop_formula("wengert::contract")
def _contraction_flop(
    a_shape: Shape, b_shape: Shape, la: Any, lb: Any, lo: Any, out_shape: Any = None
) -> int:
    """Of a term of einsum: a product of matrices."""
    sizes = dict(zip((*la, *lb), (*a_shape, *b_shape), strict=True))
    return 2 * prod(sizes.values())


class FlopCounterMode(TorchDispatchMode):
    """A context that counts floating point operations, by module and operation.

    Products of matrices, convolutions and attention count (see `flop_registry`), in forward and
    backward. At its end it prints a table, with modules down to `depth`, unless `display` is false.
    `custom_mapping` has formulas for further operations.

    >>> import wengert
    >>> from wengert.utils.flop_counter import FlopCounterMode
    >>> net = wengert.nn.Linear(3, 4)
    >>> with FlopCounterMode(display=False) as counter:
    ...     net(wengert.ones(2, 3)).sum().backward()
    >>> counter.get_total_flops()
    96
    >>> {str(op): count for op, count in counter.get_flop_counts()["Linear"].items()}
    {'aten.addmm': 48, 'aten.mm': 48}
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        super().__init__()
        self.depth, self.display = depth, display
        self.mod_tracker = ModuleTracker()
        self.flop_counts: dict[str, dict[Any, int]] = {}
        self.flop_registry = {
            **flop_registry,
            **{
                op: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
                for op, formula in (custom_mapping or {}).items()
            },
        }

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        super().__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        if self.display:
            print(self.get_table(self.depth))

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        packet = func.overloadpacket
        formula = self.flop_registry.get(packet) or self.flop_registry.get(func._name)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=result)
            for name in self.mod_tracker.parents:
                self.flop_counts[name][self._counted_as(packet)] += count
        return result

    def _counted_as(self, packet: OpOverloadPacket) -> OpOverloadPacket:
        """The operation of PyTorch: it has one for all gradients of a convolution."""
        name = packet.__name__
        if name == "contract":
            return aten.bmm
        if name == "convolution_weight" or (name == "convolution" and self.mod_tracker.is_bw):
            return aten.convolution_backward
        return packet

    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.flop_counts.get("Global", {}).values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By the name of the module, and "Global", and by operation."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, with modules down to a depth."""
        depth = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        rows = [("Module", "FLOP", "% Total")]
        for name in sorted(self.flop_counts, key=lambda name: (name != "Global", name)):
            level = 0 if name == "Global" else name.count(".") + 1
            if level > depth:
                continue
            counts = self.flop_counts[name]
            count = sum(counts.values())
            rows.append((" " * level + name, _short(count), _percentage(count, total)))
            for op, n in counts.items():
                rows.append((" " * level + f" - {op}", _short(n), _percentage(n, total)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in rows
        ]
        return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def _short(count: int) -> str:
    for suffix in ("", "K", "M", "B", "T"):
        if count < 1000 or suffix == "T":
            break
        count = count // 1000 if count % 1000 == 0 else count / 1000  # type: ignore[assignment]
    return f"{count:.3f}{suffix}" if isinstance(count, float) else f"{count}{suffix}"


def _percentage(part: int, whole: int) -> str:
    return f"{part / whole:.2%}"


__all__ = [
    "FlopCounterMode", "addmm_flop", "baddbmm_flop", "bmm_flop", "conv_backward_flop", "conv_flop",
    "conv_flop_count", "flop_registry", "get_shape", "mm_flop", "register_flop_formula",
    "sdpa_flop", "sdpa_flop_count", "shape_wrapper",
]  # fmt: skip
