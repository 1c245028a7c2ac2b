"""What a module is made of, layer by layer: shapes, parameters, operations, saved bytes."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from wengert.autograd.grad_mode import enable_grad
from wengert.autograd.transforms.tree import flatten_tree, unflatten_tree
from wengert.core.tensor import Tensor
from wengert.graph._flops import Flops, summed
from wengert.graph.description import NodeInfo, describe
from wengert.graph.formatting import format_bytes, format_flops, text_table
from wengert.graph.nodes import raw_edge
from wengert.tensor.random import get_rng_state, set_rng_state

_HEAD = ["layer", "input", "output", "parameters", "FLOP", "saved"]


@dataclass(frozen=True, slots=True)
class Layer:
    """A module inside a summarized one; its figures include the modules inside of it.

    Attributes:
        path: its name as in ``named_modules()``; nothing for the outermost.
        kind: its class.
        inputs: the shapes of the tensors that its first call was given.
        outputs: the shapes of what that call returned.
        calls: how often it was called.
        parameters: the number of its parameters' elements, each parameter once.
        flops: floating-point operations of all calls and of their derivatives; None where they
            are not known: on the meta device, or without an input.
        saved: bytes that its calls keep for backward; None as for `flops`.
    """

    path: str
    kind: str
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    calls: int
    parameters: int
    flops: Flops | None
    saved: int | None

    @property
    def depth(self) -> int:
        """How many modules it is inside of."""
        return len(self.path.split(".")) if self.path else 0


@dataclass(frozen=True, slots=True)
class Summary:
    """What `summary` found. Printed, it is a table.

    Attributes:
        layers: all modules, outer ones first, in the order of ``named_modules()``.
        parameters: the number of elements of all parameters.
        trainable: of those that require a gradient.
        parameter_bytes: bytes of parameters and buffers.
        flops: floating-point operations of a forward, and of the derivatives.
        saved: bytes that a forward keeps for backward.
    """

    layers: tuple[Layer, ...]
    parameters: int
    trainable: int
    parameter_bytes: int
    flops: Flops | None
    saved: int | None

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return f"{text_table(_HEAD, map(_row, self.layers), {3, 4, 5})}\n\n{_totals(self)}"

    __repr__ = __str__  # an interactive session shows it as it prints


def summary(model: Any, *inputs: Any, **keywords: Any) -> Summary:
    """The layers of a module with shapes, parameters, floating-point operations, saved bytes.

    A copy of the module is called with the inputs, so that neither its buffers nor the random
    numbers of the program change. Frozen layers save nothing, and their operations count. On the
    meta device nothing is computed: shapes and parameters alone are known then. Without inputs
    there are no shapes either.

    Raises TypeError for what is no module, and whatever the module raises when it is called.

    >>> import wengert
    >>> from wengert import nn
    >>> net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    >>> print(wengert.graph.summary(net, wengert.zeros(4, 8)))
    layer        input    output   parameters       FLOP  saved
    Sequential   [4, 8]   [4, 2]          178  1.3 kFLOP  384 B
      0: Linear  [4, 8]   [4, 16]         144  1.0 kFLOP  128 B
      1: ReLU    [4, 16]  [4, 16]                64 FLOP  256 B
      2: Linear  [4, 16]  [4, 2]           34   256 FLOP
    <BLANKLINE>
    178 parameters, 178 of them trained; 712 B with buffers
    1.3 kFLOP forward, 1.6 kFLOP backward; 384 B kept for backward
    """
    if not callable(getattr(model, "named_modules", None)):
        raise TypeError(f"summary(): expected model to be a Module, but got {type(model).__name__}")
    layers = tuple(_layers(model, (inputs, keywords)))
    parameters = list(model.parameters())
    return Summary(
        layers=layers,
        parameters=layers[0].parameters,
        trainable=sum(p.numel() for p in parameters if p.requires_grad),
        parameter_bytes=sum(t.nbytes for t in (*parameters, *model.buffers())),
        flops=layers[0].flops,
        saved=layers[0].saved,
    )


def _layers(model: Any, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> Iterator[Layer]:
    """All modules, with what a call with these arguments shows; without any, none is made."""
    calls: dict[str, list[_Call]] = {}
    recorded = computed = None
    if any(arguments):
        recorded = _graph_of(model, arguments, calls)
        if not any(tensor.is_meta for tensor in _tensors(arguments)):
            computed = _graph_of(model, _with_gradients(arguments), {}, _with_gradients)
    for path, module in model.named_modules():
        of_path = calls.get(path, [])
        flops = saved = None
        if recorded is not None and computed is not None:
            inside = _nodes_inside(recorded, model, path)
            forward = summed(node.flops for node in _nodes_inside(computed, model, path)).forward
            flops = Flops(forward, summed(node.flops for node in inside).backward)
            saved = sum(node.nbytes for node in inside)
        yield Layer(
            path=path,
            kind=type(module).__name__,
            inputs=of_path[0].inputs if of_path else (),
            outputs=of_path[0].outputs if of_path else (),
            calls=len(of_path),
            parameters=sum(p.numel() for p in module.parameters()),
            flops=flops,
            saved=saved,
        )


@dataclass(frozen=True, slots=True)
class _Call:
    """The shapes of one call's tensors."""

    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]


def _graph_of(
    model: Any,
    arguments: Any,
    calls: dict[str, list[_Call]],
    of_result: Callable[[Any], Any] | None = None,
) -> tuple[NodeInfo, ...]:
    """The nodes that a copy of a module records; `calls` gets the shapes of each call.

    What `of_result` makes of the result of a module takes the place of that result.
    """
    twin = copy.deepcopy(model)
    state = get_rng_state()

    def note(path: str, result: Any, *arguments: Any) -> Any:
        calls.setdefault(path, []).append(_Call(_shapes(arguments), _shapes(result)))
        return None if of_result is None else of_result(result)

    for path, module in twin.named_modules():
        module.register_forward_hook(
            lambda _, args, kwargs, result, path=path: note(path, result, args, kwargs),
            with_kwargs=True,
        )
    try:
        with enable_grad():
            result = twin(*arguments[0], **arguments[1])
    finally:
        set_rng_state(state)
    roots = [tensor for tensor in _tensors(result) if raw_edge(tensor) is not None]
    return describe(*roots).nodes if roots else ()


def _nodes_inside(nodes: Iterable[NodeInfo], model: Any, path: str) -> list[NodeInfo]:
    """The operations that ran inside of the module of a path."""
    name = type(model).__name__ + (f".{path}" if path else "")
    return [n for n in nodes if n.module == name or n.module.startswith(f"{name}.")]


def _with_gradients(tree: Any) -> Any:
    """Containers whose tensors are recorded: floating-point ones without a graph get one."""
    leaves, spec = flatten_tree(tree)
    return unflatten_tree([_with_gradient(leaf) for leaf in leaves], spec)


def _with_gradient(value: Any) -> Any:
    if not isinstance(value, Tensor) or value.requires_grad:
        return value
    is_differentiable = value.is_floating_point() or value.is_complex()
    # A copy, so that modules may write into it: into a leaf they may not.
    return value.detach().requires_grad_().clone() if is_differentiable else value


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in flatten_tree(tree)[0] if isinstance(leaf, Tensor)]


def _shapes(tree: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(tensor.shape) for tensor in _tensors(tree))


def _row(layer: Layer) -> list[str]:
    name = layer.path.rpartition(".")[2]
    times = f" x{layer.calls}" if layer.calls > 1 else ""
    return [
        "  " * layer.depth + (f"{name}: " if name else "") + layer.kind + times,
        " ".join(str(list(shape)) for shape in layer.inputs),
        " ".join(str(list(shape)) for shape in layer.outputs),
        f"{layer.parameters:,}" if layer.parameters else "",
        format_flops(layer.flops.forward) if layer.flops and layer.flops.forward else "",
        format_bytes(layer.saved) if layer.saved else "",
    ]


def _totals(model: Summary) -> str:
    lines = [
        f"{model.parameters:,} parameters, {model.trainable:,} of them trained;"
        f" {format_bytes(model.parameter_bytes)} with buffers"
    ]
    if model.flops is not None and model.saved is not None:
        lines.append(
            f"{format_flops(model.flops.forward)} forward, {format_flops(model.flops.backward)}"
            f" backward; {format_bytes(model.saved)} kept for backward"
        )
    return "\n".join(lines)
