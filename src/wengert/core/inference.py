"""The restrictions on inference tensors: no writes outside inference mode, no saving.

Their flag is `Tensor._block`. Code that creates a tensor, records an operation or writes in place
first checks whether `inferences` is empty, as it is in most programs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.core.messages import current_call, message
from wengert.core.storage import quoted_location
from wengert.core.tensor import RawCut, Tensor, inference, made_in_inference_mode

_CLONE = "turn it into an ordinary tensor: x.clone()"
_NO_GRAD = "compute it under torch.no_grad() instead of torch.inference_mode()"


def inherit(view: Tensor, source: Tensor) -> None:
    """Give a tensor that shares another's memory the same inference flag."""
    view._block = getattr(source, "_block", None)


def mark_inference(result: Tensor) -> None:
    """Flag a tensor as made in inference mode, if it is on; views follow their base."""
    if getattr(result, "_root", None) is None:
        result._block = inference.block


def inference_cut(
    op_name: str,
    inputs: Iterable[Any],
    values: Iterable[Any] = (),
    saved: Iterable[Any] = (),
) -> RawCut | None:
    """Where inference mode began if all tensor inputs are inference tensors, else None.

    An operation on inference tensors alone is never recorded. One with ordinary tensors as well
    must not save inference tensors: RuntimeError.
    """
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    if all(map(made_in_inference_mode, tensors)):
        block = tensors[0]._block
        return None if block is None else block.cut
    for x, value in zip(values, saved, strict=True):
        if value is not None and isinstance(x, Tensor) and made_in_inference_mode(x):
            raise RuntimeError(message(
                "inference-tensor",
                "Inference tensors cannot be saved for backward. Please do not use Tensors created"
                " in inference mode in computation tracked by autograd. To work around this, you"
                " can make a clone to get a normal tensor and use it in autograd, or use"
                " `torch.no_grad()` instead of `torch.inference_mode()`.",
                [("this call", current_call(f"{op_name}()")), ("the tensor", _describe_tensor(x))],
                [_CLONE, _NO_GRAD],
            ))  # fmt: skip
    return None


def _describe_tensor(tensor: Tensor) -> str:
    block = tensor._block
    assert block is not None
    assert block.cut is not None
    what, code, lasti, _ = block.cut
    return f"of shape {list(tensor.shape)}, made under {what}  at {quoted_location(code, lasti)}"


def check_written(tensors: Iterable[Tensor], name: str) -> None:
    """Raise RuntimeError if one of them is an inference tensor, outside inference mode."""
    if inference.block is None and any(map(made_in_inference_mode, tensors)):
        raise RuntimeError(message(
            "inference-tensor",
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make"
            " a clone to get a normal tensor before doing inplace update.",
            [("this call", current_call(f"{name}()"))],
            [_CLONE, "write inside of torch.inference_mode()", _NO_GRAD],
        ))  # fmt: skip


def check_may_require_grad(tensor: Tensor) -> None:
    """Raise RuntimeError if a tensor may not require grad here."""
    if inference.block is None and made_in_inference_mode(tensor):
        raise RuntimeError(message(
            "inference-tensor",
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
            [("this call", current_call("requires_grad = True"))],
            [f"{_CLONE.removesuffix('x.clone()')}x.clone().requires_grad_()", _NO_GRAD],
        ))  # fmt: skip


def no_version() -> RuntimeError:
    """The error for reading the version of an inference tensor."""
    return RuntimeError(message(
        "inference-tensor",
        "Inference tensors do not track version counter.",
        [("this call", current_call("_version"))],
        [_CLONE],
    ))  # fmt: skip
