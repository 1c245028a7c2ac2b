"""Modules as programs: their inputs, their state, and what they compute."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.grad_mode import enable_grad, is_grad_enabled
from wengert.autograd.transforms.recorded import RecordLevel
from wengert.autograd.transforms.tree import Spec, flatten_tree, registry, unflatten_tree
from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.export.dims import specs_of, symbols_of
from wengert.func import functional_call
from wengert.fx.experimental.recorder import Recording, record
from wengert.fx.experimental.sizes import SizeError, Sizes, Symbol, generalized, sampled
from wengert.nn import Module
from wengert.replay.failures import UserError, UserErrorType


class TracedModule(NamedTuple):
    """A module as a program.

    Attributes:
        recording: the graph, which reads parameters and buffers as attributes.
        names: of the inputs of the graph.
        leaves: the example's, in that order.
        in_spec: the structure of ``(args, kwargs)``.
        out_spec: the structure of the result.
        symbols: the dynamic dimensions.
    """

    recording: Recording
    names: list[str]
    leaves: list[Any]
    in_spec: Spec
    out_spec: Spec
    symbols: list[Symbol]


class _ExportLevel(RecordLevel):
    """A recording in which results under `no_grad` are detached: programs may be trained."""

    what = "exporting"
    grad = True

    def recorded(self, value: Any, node: Any) -> Any:
        """A tracer of a value that a node computes."""
        tracer = super().recorded(value, node)
        floating = tracer.is_floating_point() or tracer.is_complex()
        return tracer if is_grad_enabled() or not floating else self.detach(tracer)

    def detach(self, value: Any) -> Any:
        """A node of its own, once."""
        if getattr(value.node, "target", None) is Tensor.detach:
            return value
        with enable_grad():
            return super().detach(value)

    def write(self, target: Any, result: Any, put: Callable[[Any, Any], None]) -> None:
        """As everywhere; what is written under `no_grad` leaves the target's graph as it is."""
        computed = self.owns(target) and target.node.op == "call_function"
        if is_grad_enabled() or not computed:
            super().write(target, result, put)
            return
        self.check_running()
        put(target.value, self.lower(result))
        shown = self.recorder.call(Tensor.detach, [target.node], {}, target.value)
        self.recorder.viewed(shown, target.node)
        self.recorder.call(Tensor.copy_, [shown, self.node_of(result)], {}, target.value)


def trace_module(
    mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None, merge: bool = False,
) -> TracedModule:  # fmt: skip
    """Record a call of a module; at several sizes where some are dynamic.

    With `merge` dynamic dimensions that only change together are one.
    """
    arguments = arguments_of(mod, args, kwargs or {})
    leaves, in_spec = flatten_tree((tuple(args), dict(kwargs or {})))
    names = input_names_of(mod, args, kwargs or {})
    specs = specs_of(dynamic_shapes, [a for _, a in arguments], [n for n, _ in arguments])
    symbols = symbols_of(specs, leaves)
    state = dict(mod.named_parameters()) | dict(mod.named_buffers())
    rebuilt: list[Spec] = []

    def call(state: dict[str, Any], inputs: list[Any]) -> Any:
        own_args, own_kwargs = unflatten_tree(inputs, in_spec)
        result = functional_call(mod, state, tuple(own_args), own_kwargs)
        results, spec = flatten_tree(result)
        rebuilt[:] = [spec] if holds_registered(spec) else []
        return results if rebuilt else result

    def record_at(sizes: Sizes) -> Recording:
        return record(call, resized(leaves, symbols, sizes), names, state, _ExportLevel)

    if not symbols:
        recording = record_at({})
    elif merge:
        symbols, recording = _merging(record_at, symbols)
    else:
        recording = generalized(sampled(record_at, symbols))
    out_spec = rebuilt[0] if rebuilt else flatten_tree(recording.output)[1]
    return TracedModule(recording, names, leaves, in_spec, out_spec, symbols)


def holds_registered(spec: Spec) -> bool:
    """Whether a structure has containers of registered classes, which no graph holds."""
    return spec.kind in registry or any(map(holds_registered, spec.children_specs))


def input_names_of(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The names of the leaves of the arguments of a call: of parameters, and the way there."""
    arguments = arguments_of(mod, args, kwargs)
    return _unique([n for name, arg in arguments for n in _leaf_names(name, arg)])


def _merging(
    record_at: Callable[[Sizes], Recording], symbols: Sequence[Symbol]
) -> tuple[list[Symbol], Recording]:
    """As `generalized`, with dimensions that cannot change alone taken together."""
    try:
        return list(symbols), generalized(sampled(record_at, symbols))
    except SizeError as error:
        for size in {s.size for s in symbols}:
            alike = [s for s in symbols if s.size == size]
            if len(alike) > 1:
                places = tuple(p for s in alike for p in s.places)
                others = [s for s in symbols if s.size != size]
                merged = [alike[0]._replace(places=places), *others]
                names = {s.name: alike[0].name for s in alike} | {s.name: s.name for s in others}

                def record_merged(sizes: Sizes, names: dict[str, str] = names) -> Recording:
                    return record_at({n: sizes[to] for n, to in names.items()})

                return _merging(record_merged, merged)
        raise error


def resized(leaves: Sequence[Any], symbols: Sequence[Symbol], sizes: Sizes) -> list[Any]:
    """The leaves with dynamic dimensions of other sizes: cut off, or repeated from the start."""
    result = list(leaves)
    for symbol in symbols:
        for leaf, dim in symbol.places:
            array = memory_of(result[leaf])
            size = sizes[symbol.name]
            if array.shape[dim] != size:
                if not array.shape[dim]:
                    raise SizeError(f"dynamic dimension {symbol.name!r}: the example's is empty")
                index = np.arange(size) % array.shape[dim]
                result[leaf] = wrap(np.take(array, index, dim))
    return result


def arguments_of(mod: Module, args: Any, kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
    """The arguments of a call by the names of the parameters of `forward`."""
    if not isinstance(args, tuple):
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}",
        )
    try:
        parameters = list(inspect.signature(mod.forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    arguments = []
    for k, arg in enumerate(args):
        plain = k < len(parameters) and parameters[k].kind in (
            inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )  # fmt: skip
        if plain:
            name = parameters[k].name
        else:
            star = next((p for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
            first = parameters.index(star) if star is not None else 0
            name = f"{star.name if star is not None else 'arg'}_{k - first}"
        arguments.append((name, arg))
    return arguments + list(kwargs.items())


def _leaf_names(name: str, arg: Any) -> list[str]:
    if isinstance(arg, dict):
        return [n for key, value in arg.items() for n in _leaf_names(f"{name}_{key}", value)]
    if isinstance(arg, tuple | list):
        return [n for k, value in enumerate(arg) for n in _leaf_names(f"{name}_{k}", value)]
    if type(arg) in registry:
        return _leaf_names(name, list(registry[type(arg)].flatten(arg)[0]))
    return [name]


def _unique(names: Sequence[str]) -> list[str]:
    result: list[str] = []
    for name in names:
        candidate, k = name, 0
        while candidate in result:
            k += 1
            candidate = f"{name}_{k}"
        result.append(candidate)
    return result
