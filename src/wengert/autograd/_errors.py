"""The errors of a graph's life: what happened, where, and which line to change."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from wengert._core import Call, Node, Tensor
from wengert._storage import Write, line_of, place

if TYPE_CHECKING:
    from wengert.autograd._engine import Walk


class GraphError(RuntimeError):
    """Anything wrong with the life of a graph."""


class GraphReleasedError(GraphError):
    """Backward came to a node whose saved values an earlier backward released."""


class SavedTensorOverwrittenError(GraphError):
    """A value that backward needs was written in place after it was saved."""


class GraphInUseError(GraphError):
    """Two walks at once want nodes that one of them releases."""


class NanGradientError(GraphError):
    """Under anomaly detection: a derivative came out as nan."""


class NoGraphError(GraphError):
    """Backward on a tensor that nothing recorded."""


class NonScalarRootError(GraphError):
    """Backward without `gradient=` on a tensor of more than one element."""


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` raise for a derivative that is wrong."""


class Interrupted(Call):
    """A call that something ended before the gradients that it computed had arrived."""

    __slots__ = ()


def made(node: Node) -> str:
    """The op of a node, its module if it has one, and its line."""
    path = node.site.path()
    inside = f" in {path}" if path else ""
    return f"{name_of(node)}{inside} ({place(node.code, node.lasti)})"


def called(call: Call | None) -> str:
    """A call and its line."""
    assert call is not None
    return f"{call.what}  at {_line(call)}"


def _line(call: Call | None) -> str:
    assert call is not None
    return place(call.code, call.lasti)


def name_of(node: Node) -> str:
    """The name of a node's operation, as it was called."""
    op = getattr(node, "op", None)
    return op.called if op is not None else type(node).__name__.removesuffix("Backward0")


def released(walk: Walk, node: Node) -> GraphReleasedError:
    """The error of a second backward: who released the node, and what joins the two graphs."""
    assert node.state is not None
    earlier = node.state.released
    consumer = next((n for n in walk.order if node in n.edges), None)
    lines = [
        "Trying to backward through the graph a second time (or directly access saved tensors"
        " after they have already been freed).",
        f"  this call:   {called(walk.call)}",
        f"  released by: {called(earlier)}",
        f"  reached:     {made(node)}",
    ]
    if isinstance(earlier, Interrupted):
        lines += [
            "  The call that released it was interrupted: no .grad has changed, but part of the"
            " graph is gone. Remedy: compute the loss again before this call",
        ]
        return GraphReleasedError("\n".join(lines))
    if consumer is not None:
        lines += [
            f"  joined by:   {made(consumer)}",
            "  The last line uses a value of the graph that the earlier call released. Remedies:",
            "    1. it should not pass gradients on: use value.detach() in that line"
            " (an RNN's state between windows, a GAN's fake batch)",
            "    2. both losses are wanted: sum them, (loss_a + loss_b).backward(), once",
            "    3. the value is to be differentiated again: compute it again before this call",
        ]
    else:
        lines += [
            "  Remedies:",
            "    1. several losses: sum them and call backward once",
            "    2. the same loss again: compute it again before this call",
        ]
    lines.append(
        f"    {len(lines) - lines.index(next(x for x in lines if 'emedies' in x))}. keep the"
        ' graph (and its memory): retain_graph=True, or "auto", at the earlier call,'
        f" {_line(earlier)}"
    )
    return GraphReleasedError("\n".join(lines))


_warned: set[tuple[str, int]] = set()


def warn_released(walk: Walk, node: Node) -> None:
    """Under the torch alias: PyTorch would have passed here, so we do, and say so once a line."""
    key = walk.call.code.co_filename, line_of(walk.call.code, walk.call.lasti)
    if key in _warned:
        return
    _warned.add(key)
    assert node.state is not None
    earlier = node.state.released
    warnings.warn_explicit(
        f"this backward passes {made(node)}, which was released by"
        f" {_line(earlier)}. It saved nothing, so PyTorch lets it pass and"
        " the gradient is right; wengert without the torch alias raises GraphReleasedError."
        " Sum the losses, or keep the graph with retain_graph=True in the earlier call.",
        UserWarning,
        *key,
    )


def overwritten(walk: Walk, node: Node, slot: str, value: np.ndarray, write: Write) -> GraphError:
    """The error of an in-place write to a saved value: who saved it, which line wrote."""
    dtype = value.dtype.name
    return SavedTensorOverwrittenError(
        "one of the variables needed for gradient computation has been modified by an inplace"
        f" operation: {slot.removeprefix('s_')!r} of {name_of(node)}, {dtype}"
        f" {list(value.shape)}.\n"
        f"  this call:   {called(walk.call)}\n"
        f"  saved by:    {made(node)}\n"
        f"  written by:  {write.by}  at {place(write.code, write.lasti)}\n"
        "  Remedies:\n"
        "    1. use the out-of-place form in the writing line\n"
        "    2. give the operation that saved it a .clone()\n"
        "    3. call backward before the write (optimizer.step() writes to parameters)"
    )


def no_graph(index: int, tensor: Tensor, walk: Walk) -> NoGraphError:
    """The error of a root that does not require grad."""
    return NoGraphError(
        f"element {index} of tensors does not require grad and does not have a grad_fn:"
        f" {called(walk.call)} got a tensor of shape"
        f" {list(tensor._array.shape)} and dtype {tensor._array.dtype.name} that nothing"
        " recorded.\n"
        "  Remedies:\n"
        "    1. some input must require grad: model parameters, or x.requires_grad_()\n"
        "    2. nothing between it and here may cut the graph: .detach(), .item(), .numpy(),"
        " torch.tensor(x), no_grad, argmax or a cast to integers"
    )


def inside_transform(walk: Walk) -> GraphError:
    """The error of a backward inside a function that is being transformed."""
    return GraphError(
        "You are attempting to call Tensor.backward() (or perhaps using some torch.autograd.* APIs)"
        " inside of a function being transformed by vmap or grad. This is unsupported: use"
        " torch.func.grad, vjp, jacrev, jacfwd or hessian inside, or call backward() outside.\n"
        f"  this call: {called(walk.call)}"
    )


def non_scalar(shape: tuple[int, ...], node: Node, walk: Walk) -> NonScalarRootError:
    """The error of a root with several elements and no `gradient=`."""
    return NonScalarRootError(
        "grad can be implicitly created only for scalar outputs, and this one has shape"
        f" {list(shape)}.\n"
        f"  this call: {called(walk.call)}\n"
        f"  made by:   {made(node)}\n"
        "  Remedies:\n"
        "    1. reduce it first: .sum().backward() or .mean().backward()\n"
        "    2. give the cotangent: .backward(gradient=torch.ones_like(y))"
    )


def contended(walk: Walk, other: Walk) -> GraphInUseError:
    """The error of a walk over nodes that another one is using, if one of them releases."""
    if other.thread == walk.thread:
        text = (
            "backward inside of a backward: this call would release nodes that the call around it"
            " still needs."
        )
        remedies = ["pass retain_graph=True to the inner call"]
    else:
        text = (
            "two threads walk the same graph, and one of them releases what both need (as if"
            " trying to backward through the graph a second time)."
        )
        remedies = [
            "sum the losses and call backward once",
            "pass retain_graph=True to both calls, and keep the other until both are through",
        ]
    lines = [text, f"  this call:  {called(walk.call)}", f"  the other:  {called(other.call)}"]
    lines += ["  Remedies:", *[f"    {k}. {remedy}" for k, remedy in enumerate(remedies, 1)]]
    return GraphInUseError("\n".join(lines))


def explain(walk: Walk, node: Node, error: Exception) -> None:
    """Note on an exception where in the graph it came up."""
    if isinstance(error, NanGradientError):
        return  # says so itself
    error.add_note(f"in the derivative of {made(node)}\n  of {called(walk.call)}")


class UnusedInputError(GraphError):
    """An input of `grad` that the outputs do not depend on."""


def unused(index: int, node: Node, walk: Walk) -> UnusedInputError:
    """The error of an input that no path leads to."""
    return UnusedInputError(
        f"The differentiated Tensor at index {index} appears to not have been used in the graph."
        " Set allow_unused=True if this is the desired behavior.\n"
        f"  this call: {called(walk.call)}\n"
        f"  unused:    inputs[{index}], shape {list(node.shape)},"
        f" {'a leaf made' if not node.edges else 'made by ' + name_of(node)}"
        f" at {place(node.code, node.lasti)}\n"
        "  Remedies:\n"
        "    1. differentiate with respect to the tensor that the outputs were computed from"
        " (not a copy, a view made later, or the value before an in-place operation)\n"
        "    2. allow_unused=True gives None for it, materialize_grads=True gives zeros"
    )
