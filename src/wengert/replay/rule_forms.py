"""What rules compute as operations, and the rules of those, as kernels: second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.replay.emitting import Emitter
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import copy
from wengert.replay.product_forms import (
    linear_weight,
    matmul,
    matmul_left,
    matmul_right,
    swapped,
)
from wengert.replay.row_forms import log_softmax_back, softmax_back
from wengert.replay.sum_forms import total, total_back, unbroadcast
from wengert.replay.window_forms import convolution_weight, weight_back_grad, weight_back_input


def repeated(emitter: Emitter, instruction: Instruction) -> bool:
    """The elements, as they broadcast to the result."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 2 or not views[1].size:
        return False
    source, out = views
    lead = len(out.shape) - len(source.shape)
    if lead < 0 or any(
        n not in (1, m) for n, m in zip(source.shape, out.shape[lead:], strict=True)
    ):
        return False
    copy(emitter, source.expanded(out.shape), out)
    return True


RULE_FORMS: dict[Any, Callable[[Emitter, Instruction], bool]] = {
    "_outer": linear_weight,
    ("_outer", "grad"): swapped(matmul_left),
    ("_outer", "input"): swapped(matmul),
    "times": matmul,
    ("times", "input"): matmul_left,
    ("times", "other"): matmul_right,
    "times_transposed": matmul_left,
    ("times_transposed", "input"): matmul,
    ("times_transposed", "other"): swapped(matmul_right),
    "transposed_times": swapped(matmul_right),
    ("transposed_times", "input"): swapped(matmul_left),
    ("transposed_times", "other"): swapped(matmul),
    "sum_to_shape": unbroadcast,
    **dict.fromkeys(("expand_to", ("sum_to_shape", "input")), repeated),
    ("expand_to", "input"): unbroadcast,
    "expand_back": total_back,
    ("expand_back", "input"): total,
    **dict.fromkeys(("_softmax_pullback", ("_softmax_pullback", "input")), softmax_back),
    "_log_softmax_pullback": log_softmax_back,
    "_convolution_weight": convolution_weight,
    ("_convolution_weight", "grad"): weight_back_grad,
    ("_convolution_weight", "input"): weight_back_input,
}
