"""Errors about the graph: what happened, where, and which line to change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.autograd.naming import describe_call, describe_node, op_name, origin
from wengert.core.messages import current_call, message
from wengert.core.storage import Write, quoted_location
from wengert.core.tensor import Call, Cut, Leaf, Node, RawCut, Tensor


class GraphError(RuntimeError):
    """Base class of errors about a graph's lifetime."""

    __module__ = "wengert.autograd"  # as tracebacks show it, and where users import it from


class GraphReleasedError(GraphError):
    """Backward reached a node whose saved values an earlier backward released."""

    __module__ = "wengert.autograd"


class SavedTensorOverwrittenError(GraphError):
    """A value that backward needs was modified in place after it was saved."""

    __module__ = "wengert.autograd"


class GraphInUseError(GraphError):
    """Two concurrent walks need nodes that one of them releases."""

    __module__ = "wengert.autograd"


class NanGradientError(GraphError):
    """Under anomaly detection, a derivative is nan."""

    __module__ = "wengert.autograd"


class NoGraphError(GraphError):
    """Backward on a tensor that has no graph."""

    __module__ = "wengert.autograd"


class NonScalarRootError(GraphError):
    """Backward without `gradient=` on a tensor of more than one element."""

    __module__ = "wengert.autograd"


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` for a wrong derivative."""

    __module__ = "wengert.autograd.gradcheck"


def saved_tensor_overwritten(
    call: Call, node: Node, slot: str, value: np.ndarray, write: Write
) -> GraphError:
    """The error for an in-place write to a saved value: what saved it, which line wrote."""
    writer = f"{write.by}  at {quoted_location(write.code, write.lasti)}"
    facts = [("written by", writer)]
    owner = dict(node.saved).get(slot)
    source = node.edges[owner] if owner is not None and 0 <= owner < len(node.edges) else None
    if source is not None:
        facts.insert(0, ("changed", _owner(source)))
    if type(source) is Leaf or write.by.endswith(".step()"):
        by = write.by if write.by.endswith(")") else f"{write.by}()"
        remedies = [
            f"call backward before {by}: of several losses, all of them",
            f"compute the loss again after {by}: it was computed with the values before",
        ]
        if write.by.endswith(".step()"):
            carried = "a state is carried over from before it (an RNN's): cut it off there,"
            remedies.append(f"{carried} state.detach()")
    else:
        remedies = [
            "write to a copy: .clone() the tensor first, in the writing line"
            if owner is not None and owner < 0
            else "give the operation that saved it a .clone()",
            _out_of_place(write.by),
            "call backward before the write",
        ]  # fmt: skip
    return saved_tensor_overwritten_by(call, node, slot, value, facts, remedies)


_SIGNS = {"__iadd__": "+", "__isub__": "-", "__imul__": "*", "__itruediv__": "/", "__ipow__": "**"}


def _out_of_place(name: str) -> str:
    """The out-of-place alternative to an in-place operation."""
    sign, plain = _SIGNS.get(name), name.removesuffix("_")
    if sign is not None:
        return f"write y = y {sign} ... for y {sign}= ... in the writing line"
    if plain == name or name.startswith("__"):
        return "compute a new tensor in the writing line (torch.where, torch.cat, torch.stack)"
    return f"use the out-of-place form in the writing line: y = y.{plain}(...) for y.{name}(...)"


def _owner(source: Node) -> str:
    """The source of a saved value: a parameter, by name, or another operation."""
    return _named(source) if type(source) is Leaf else f"the result of {describe_node(source)}"


def _named(node: Node) -> str:
    """Where a tensor comes from, with its name in its module if it is a parameter."""
    return _parameter(node) or origin(node)


def _parameter(node: Node) -> str:
    """A parameter's name in its module, and its line; empty for other tensors."""
    from wengert.autograd.gc_queries import parameter_name

    name = parameter_name(node.tensor()) if type(node) is Leaf else ""
    return f"parameter {name} ({quoted_location(node.code, node.lasti)})" if name else ""


def saved_tensor_overwritten_by(
    call: Call, node: Node, slot: str, value: np.ndarray,
    writer: list[tuple[str, str]], remedies: list[str],
) -> GraphError:  # fmt: skip
    """The error for a saved value that has changed; `writer` is what is known about the write."""
    head = (
        "one of the variables needed for gradient computation has been modified by an inplace"
        f" operation: {slot.removeprefix('s_')!r} of {op_name(node)}, {value.dtype.name}"
        f" {list(value.shape)}."
    )
    facts = [("this call", describe_call(call)), ("saved by", describe_node(node)), *writer]
    return SavedTensorOverwrittenError(message("saved-tensor-overwritten", head, facts, remedies))


def no_graph(index: int, tensor: Tensor, call: Call) -> NoGraphError:
    """The error for a root that does not require grad: which operation cut it off, and where."""
    head = (
        f"element {index} of tensors does not require grad and does not have a grad_fn: nothing"
        f" recorded this tensor of shape {list(tensor._array.shape)} and dtype"
        f" {tensor._array.dtype.name}"
    )
    this_call = ("this call", describe_call(call))
    if tensor._cut is not None:
        text, facts, remedies = cut_by(tensor._cut)
        return NoGraphError(message("no-graph", f"{head}: {text}.", [this_call, *facts], remedies))
    from wengert.autograd import diagnosis

    escape = diagnosis.escape_of(tensor)
    if escape is not None:
        text, facts, remedy = escape
        return NoGraphError(message("no-graph", f"{head}: {text}.", [this_call, *facts], [remedy]))
    remedies = [
        "some input must require grad: model parameters, or x.requires_grad_()",
        "nothing between it and here may cut the graph: .detach(), .item(), .numpy(),"
        " torch.tensor(x), no_grad, argmax or a cast to integers",
    ]
    facts = [this_call, *diagnosis.latest_escape()]
    return NoGraphError(message("no-graph", f"{head}.", facts, remedies))


_CUTS = {
    "detach()": "use the tensor itself in that line, if gradients are to pass",
    "detach_()": "leave that line out, if gradients are to pass",
    ".data": "use the tensor itself in that line, if gradients are to pass",
    "numpy()": "compute with the tensor's own operations in that line",
    "tensor()": "a tensor of tensors is a copy of their values: torch.stack(...) keeps the graph",
    "as_tensor()": "a tensor of tensors is a copy of their values: torch.stack(...) keeps the"
    " graph",
    "Parameter()": "a Parameter starts a graph: make it once, outside of what is differentiated",
    "Buffer()": "assign the tensor to the module as a plain attribute",
}
_OFF = ("no_grad()", "inference_mode()", "set_grad_enabled(False)")
_UNRECORDED = " without create_graph"
_FORWARD = ".forward()"


def cut_by(raw: RawCut) -> tuple[str, list[tuple[str, str]], list[str]]:
    """Where the graph was lost: a sentence, the lines of code, and remedies."""
    cut = Cut(*raw)
    source = cut.node() if cut.node is not None else None
    by = f"{cut.what}  at {quoted_location(cut.code, cut.lasti)}"
    of = [] if source is None or type(source) is Leaf else [("of", describe_node(source))]
    if cut.what.startswith(_OFF):
        text = "it was computed where recording is off"
        return text, [("turned off", by)], ["compute it outside of that"]
    if cut.what.endswith(_UNRECORDED):
        text = "it was computed during a backward that is not recorded itself"
        return text, [("computed by", by)], ["pass create_graph=True there"]
    if cut.what.endswith(_FORWARD):
        text = "it was computed by the forward of a Function, which is not recorded"
        return text, [("computed by", by)], ["return it from forward()", "compute it outside"]
    if cut.what == "requires_grad_(False)":
        remedy = "leave something to train: requires_grad_() on some of the parameters"
        return "what it was computed from was frozen", [("frozen by", by)], [remedy]
    if cut.what in _CUTS:
        text = "its values were cut off from the graph"
        return text, [("cut off by", by), *of], [_CUTS[cut.what]]
    remedy = "put something differentiable in its place: softmax for argmax, sigmoid for x > 0"
    return f"{cut.what} has no derivative", [("cut off by", by), *of], [remedy]


def inside_transform(call: Call) -> GraphError:
    """The error for a backward inside a function being transformed."""
    head = (
        "You are attempting to call Tensor.backward() (or perhaps using some torch.autograd.* APIs)"
        " inside of a function being transformed by vmap or grad. This is unsupported."
    )
    if call.what == "backward()":
        head = (
            "backward() called inside a functorch transform. This is not supported, please use"
            " functorch.grad or functorch.vjp instead or call backward() outside of functorch"
            " transforms."
        )
    return GraphError(message(
        "inside-transform",
        head,
        [("this call", describe_call(call))],
        [
            "inside, use torch.func.grad, vjp, jacrev, jacfwd or hessian",
            "call backward() outside of the transformed function, on its result",
        ],
    ))  # fmt: skip


def leaf_inside_transform(what: str) -> GraphError:
    """The error for making a tensor a leaf inside a function being transformed."""
    return GraphError(message(
        "inside-transform",
        f"You are attempting to call Tensor.{what} (or perhaps using torch.autograd.functional.*"
        " APIs) inside of a function being transformed by a functorch transform. This is"
        " unsupported: the transform's derivatives would not pass that tensor.",
        [("this call", current_call(what))],
        [
            "inside, use torch.func.grad, vjp, jacrev, jacfwd or hessian",
            "of torch.autograd.functional, use the functions with create_graph=True",
            f"call {what} outside of the transformed function",
        ],
    ))  # fmt: skip


def non_scalar(shape: tuple[int, ...], node: Node, call: Call) -> NonScalarRootError:
    """The error for a root with several elements and no `gradient=`."""
    return NonScalarRootError(message(
        "non-scalar-root",
        "grad can be implicitly created only for scalar outputs, and this one has shape"
        f" {list(shape)}.",
        [("this call", describe_call(call)), ("made by", describe_node(node))],
        [
            "reduce it first: .sum().backward() or .mean().backward()",
            "give the cotangent: .backward(gradient=torch.ones_like(y))",
        ],
    ))  # fmt: skip


def graph_in_use(call: Call, other: Call, inside: bool) -> GraphInUseError:
    """The error for a walk over nodes that another walk uses, if one of them releases.

    `inside` says that the other one waits for this one.
    """
    if inside:
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
    facts = [("this call", describe_call(call)), ("the other", describe_call(other))]
    return GraphInUseError(message("graph-in-use", text, facts, remedies))


def add_graph_note(call: Call, node: Node, error: Exception) -> None:
    """Add a note to an exception about where in the graph it was raised."""
    if isinstance(error, NanGradientError):
        return  # says so itself
    error.add_note(f"in the derivative of {describe_node(node)}\n  of {describe_call(call)}")


class UnusedInputError(GraphError):
    """The outputs do not depend on an input of `grad`."""

    __module__ = "wengert.autograd"


def unused_input(
    index: int, node: Node, call: Call, lines: Sequence[tuple[str, str]], cause: str
) -> UnusedInputError:
    """The error for an input that no gradient reached; `lines` and `cause` say why."""
    return UnusedInputError(message(
        "unused-input",
        f"The differentiated Tensor at index {index} appears to not have been used in the graph."
        " Set allow_unused=True if this is the desired behavior.",
        [
            ("this call", describe_call(call)),
            ("unused", f"inputs[{index}], shape {list(node.shape)}, {_named(node)}"),
            *lines,
        ],
        [
            "differentiate with respect to the tensor that the outputs were computed from"
            " (not a copy, a view made later, or the value before an in-place operation)",
            "allow_unused=True gives None for it, materialize_grads=True gives zeros",
        ],
        cause,
    ))  # fmt: skip


def input_without_grad(what: str, tensor: Tensor, call: Call) -> RuntimeError:
    """The error for an input of `grad` that does not require grad."""
    from wengert.autograd.gc_queries import parameter_name

    head = f"One of the differentiated Tensors does not require grad: {what}"
    name = parameter_name(tensor)
    if name:
        head += f", the parameter {name}"
    head += f", of shape {list(tensor._array.shape)}"
    facts = [("this call", describe_call(call))]
    if tensor._cut is not None:
        text, lines, _ = cut_by(tensor._cut)
        head += f": {text}"
        facts += lines
    return RuntimeError(message(
        "input-without-grad",
        f"{head}.",
        facts,
        [
            "requires_grad_() on it before it is used",
            "it was cut off (detach(), no_grad, .data): differentiate with respect to the tensor"
            " that the outputs were computed from",
        ],
    ))  # fmt: skip


def leaf_written(leaf: Node, name: str, view: bool = False, verb: str = "is being") -> RuntimeError:
    """The error for an in-place operation on a leaf that requires grad, or on a view of one."""
    what = "a view of a leaf" if view else "a leaf"
    where = quoted_location(leaf.code, leaf.lasti)
    return RuntimeError(message(
        "view-of-leaf-in-place" if view else "leaf-in-place",
        f"{what} Variable that requires grad {verb} used in an in-place operation.",
        [("this call", current_call(f"{name}()")), ("the leaf", _parameter(leaf) or where)],
        [
            "its values are to change (initialisation, a step of your own): write under"
            " torch.no_grad()",
            "a changed copy is wanted: use the out-of-place form, or write to a .clone()",
        ],
    ))  # fmt: skip


def lost_view_written(edge: Node, name: str) -> RuntimeError:
    """The error for a write through a view made in no_grad mode, which lost its base's history."""
    return RuntimeError(message(
        "view-made-in-no-grad",
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled."
        " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify"
        " your code by moving both the view and the inplace either both inside the no_grad block"
        " (if you don't want the inplace to be tracked) or both outside (if you want the inplace"
        " to be tracked).",
        [("this call", current_call(f"{name}()")), ("its memory", origin(edge))],
        [
            "the write is to be recorded: make the view outside of no_grad()",
            "it is not to be recorded: write inside of no_grad() as well",
        ],
    ))  # fmt: skip


def numpy_of_graph(head: str, edge: Node, call: str) -> str:
    """The error for accessing the memory of a tensor that requires grad."""
    return message(
        "numpy-of-graph",
        head,
        [("this call", current_call(call)), ("the tensor", origin(edge))],
        [
            "its values (for plots, metrics, scikit-learn): .detach().numpy(), or .item()",
            "no gradient is wanted of that part: compute it under torch.no_grad()",
            "the result is to be differentiated: use the operations of torch, not NumPy's",
        ],
    )


def integer_requires_grad(head: str, dtype: object, call: str) -> str:
    """The error for requiring grad of integers."""
    return message(
        "integer-requires-grad",
        f"{head} {dtype}",
        [("this call", current_call(call))],
        [
            "make it of floats: 1.0 instead of 1, dtype=torch.float32, or .float()",
            "indices and labels have no gradient: leave requires_grad out",
        ],
    )


def grad_of_non_leaf(edge: Node) -> str:
    """The warning for reading the `.grad` of a non-leaf, which is never filled."""
    return message(
        "grad-of-non-leaf",
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad"
        " attribute won't be populated during autograd.backward(). If you indeed want the .grad"
        " field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
        [("made by", describe_node(edge))],
        [
            "call retain_grad() on it before backward()",
            "read the .grad of the leaf that it was computed from",
            "it was to be a leaf: call requires_grad_() after that line, not before",
        ],
    )


def hook_without_graph(call: str) -> RuntimeError:
    """The error for a hook on a tensor that no gradient will reach."""
    return RuntimeError(message(
        "hook-without-graph",
        "cannot register a hook on a tensor that doesn't require gradient",
        [("this call", current_call(call))],
        [
            "register it only where x.requires_grad (a frozen layer, or torch.no_grad(), is"
            " usual in evaluation)",
            "some input must require grad, and no detach() or no_grad() come between",
        ],
    ))  # fmt: skip
