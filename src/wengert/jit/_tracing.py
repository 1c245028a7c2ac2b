"""Traced functions and modules: programs in the place of Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from wengert import allclose, no_grad
from wengert.autograd.transforms.tree import flatten_tree, map_leaves, unflatten_tree
from wengert.core.generators import default_generator
from wengert.core.tensor import Tensor
from wengert.export.exported_program import ExportedProgram, program_of
from wengert.export.graph_signature import InputKind
from wengert.export.tracing import TracedModule as Recorded
from wengert.export.tracing import arguments_of, input_names_of, resized
from wengert.func import functional_call
from wengert.fx.experimental.recorder import Recording, record
from wengert.fx.experimental.sizes import Sizes, Symbol, generalized, sampled
from wengert.jit._levels import RepeatedLevel, TraceLevel, TracerWarning
from wengert.jit._modules import TopLevelTracedModule, with_state
from wengert.jit._scripting import ScriptModule
from wengert.nn import Module
from wengert.replay.direct import Direct


class Method:
    """A program, and how a call's arguments become its inputs.

    Attributes:
        program: which takes parameters and buffers as its first inputs.
        names: of the arguments.
        positional: how many of them were given by position when it was recorded.
    """

    def __init__(self, program: ExportedProgram, names: Sequence[str], positional: int) -> None:
        self.program, self.names, self.positional = program, list(names), positional
        specs = program.graph_signature.input_specs
        self.paths = [s.target for s in specs if s.kind is not InputKind.USER_INPUT]
        nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
        self.inputs = nodes[len(self.paths) :]
        self._direct: tuple[Any, Callable[..., Any]] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program of a function, which has no parameters."""
        constants = self.program.constants
        return self.run([constants[str(path)] for path in self.paths], args, kwargs)

    def run(self, state: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program with these parameters, buffers and constants."""
        values = self._bound(args, kwargs)
        count = self.positional
        by_name = dict(zip(self.names[count:], values[count:], strict=True))
        leaves, spec = flatten_tree((tuple(values[:count]), by_name))
        if spec != self.program.in_spec:
            raise RuntimeError(
                f"traced function: the arguments are {spec}, and were {self.program.in_spec} when"
                " it was traced"
            )
        self._check(leaves)
        graph_module = self.program.graph_module
        code = type(graph_module).forward
        if self._direct is None or self._direct[0] is not code:  # it may be another graph by now
            asserts = any(node.asserts for node in graph_module.graph.nodes)
            self._direct = code, graph_module if asserts else Direct(graph_module)
        return self._direct[1](*state, *leaves)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments in the order of the names."""
        names = self.names
        missing = [n for n in names[len(args) :] if n not in kwargs]
        unknown = [n for n in kwargs if n not in names[len(args) :]]
        if len(args) > len(names) or missing or unknown:
            got = ", ".join([f"{len(args)} by position", *kwargs])
            raise RuntimeError(
                f"traced function: expected the arguments {', '.join(names) or '(none)'}, with"
                f" which it was traced, got {got}"
            )
        return [*args, *[kwargs[n] for n in names[len(args) :]]]

    def _check(self, leaves: Sequence[Any]) -> None:
        """Raise RuntimeError for inputs that the program is not for."""
        sizes: dict[str, int] = {}
        for node, leaf in zip(self.inputs, leaves, strict=True):
            if not isinstance(leaf, Tensor):
                if leaf is None and node.meta.get("constant", 0) is None:
                    continue
                raise RuntimeError(
                    f"traced function: {node.name} is {leaf!r}, expected a tensor as in the trace"
                )
            info = node.meta["val"]
            if leaf.ndim != info.ndim or _family(leaf.dtype) != _family(info.dtype):
                raise RuntimeError(
                    f"traced function: {node.name} has {leaf.ndim} dimensions of {leaf.dtype}, and"
                    f" was traced with {info.ndim} of {info.dtype}: trace it with such an input"
                )
            for d, expected in enumerate(node.meta.get("dims", info.shape)):
                if isinstance(expected, str):
                    expected = sizes.setdefault(expected, leaf.shape[d])
                if leaf.shape[d] != expected:
                    raise RuntimeError(
                        f"traced function: {node.name} has size {leaf.shape[d]} in dimension {d},"
                        f" and the trace is for {expected}: trace it with an input of this size"
                    )


def _family(dtype: Any) -> str:
    """Dtypes that a trace takes in each other's place."""
    return "complex" if dtype.is_complex else "float" if dtype.is_floating_point else str(dtype)


class _Function(Module):
    """A function as a module, so that it is recorded as one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        vars(self)["forward"] = function


def function_method(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], strict: bool = True
) -> Method:
    """The program of a function."""
    return method_of(_Function(function), "forward", args, kwargs, strict)


def method_of(
    mod: Module, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], strict: bool = True
) -> Method:
    """Record a method of a module, for all sizes of its inputs where it follows them."""
    if name != "forward":
        shell = type(mod).__new__(type(mod))
        shell.__dict__.update(mod.__dict__, forward=getattr(mod, name))
        mod = shell
    arguments = arguments_of(mod, args, kwargs)
    leaves, in_spec = flatten_tree((tuple(args), dict(kwargs)))
    for leaf in leaves:
        if not isinstance(leaf, Tensor | None):
            raise RuntimeError(
                f"Type '{type(leaf).__name__}' cannot be traced. Only Tensors and (possibly"
                " nested) Lists, Dicts, and Tuples of Tensors can be traced; fix other arguments"
                " in a lambda or with functools.partial"
            )
    names = input_names_of(mod, args, kwargs)
    state = dict(mod.named_parameters()) | dict(mod.named_buffers())

    def call(state: dict[str, Any], inputs: list[Any]) -> Any:
        own_args, own_kwargs = unflatten_tree(inputs, in_spec)
        return functional_call(mod, state, tuple(own_args), own_kwargs)

    def record_at(symbols: Sequence[Symbol], sizes: Sizes, level: Any = RepeatedLevel) -> Recording:
        return record(call, resized(leaves, symbols, sizes), names, state, level)

    recording = record_at([], {}, TraceLevel)
    _check_constants(recording, state)
    _check_output(recording.output, strict)
    symbols, recording = _for_all_sizes(record_at, _candidates(leaves), recording)
    out_spec = flatten_tree(recording.output)[1]
    traced = Recorded(recording, names, leaves, in_spec, out_spec, symbols)
    program = program_of(mod, traced, ((), {}))
    return Method(program, [n for n, _ in arguments], len(args))


def _candidates(leaves: Sequence[Any]) -> list[Symbol]:
    """The dimensions of the inputs, those of the same place and size taken together."""
    places: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for k, leaf in enumerate(leaves):
        for d, size in enumerate(leaf.shape if isinstance(leaf, Tensor) else ()):
            if size:
                places.setdefault((d, size), []).append((k, d))
    return [Symbol(f"d{d}_{size}", size, 0, None, tuple(at)) for (d, size), at in places.items()]


def _for_all_sizes(
    record_at: Callable[..., Recording], symbols: Sequence[Symbol], recording: Recording
) -> tuple[list[Symbol], Recording]:
    """The program for as many dynamic dimensions as it follows, and these."""
    free = [s for s in symbols if _follows(record_at, s)]
    first = [s for s in free if all(d == 0 for _, d in s.places)]
    for chosen in (free, first):
        if chosen and len(chosen) <= 4:
            with suppress(Exception):  # of the function, at sizes that it is not for
                return list(chosen), _generalized(record_at, chosen)
    return [], recording


def _follows(record_at: Callable[..., Recording], symbol: Symbol) -> bool:
    try:
        _generalized(record_at, [symbol])
    except Exception:  # of the function, at sizes that it is not for
        return False
    return True


def _generalized(record_at: Callable[..., Recording], symbols: Sequence[Symbol]) -> Recording:
    return generalized(sampled(lambda sizes: record_at(symbols, sizes), symbols))


def _check_constants(recording: Recording, state: dict[str, Any]) -> None:
    """Raise RuntimeError for a constant that would be trained: it belongs to no module."""
    for node in recording.graph.nodes:
        if node.op == "get_attr" and str(node.target).startswith("_param_constant"):
            raise RuntimeError(
                "Cannot insert a Tensor that requires grad as a constant. Consider making it a"
                " parameter or input, or detaching the tensor: a trace keeps constants apart"
                f" from the modules whose parameters they are ({node.name})"
            )


def _check_output(output: Any, strict: bool) -> None:
    kinds = {type(x) for x in _containers(output)}
    name = next((k.__name__ for k in (dict, list) if any(issubclass(x, k) for x in kinds)), None)
    if strict and name is not None:
        message = (
            f"Encountering a {name} at the output of the tracer might cause the trace to be"
            f" incorrect, this is only valid if it has the same {name} structure for all inputs:"
            " return a tuple, or pass strict=False"
        )
        if name == "dict":
            raise RuntimeError(message)
        warnings.warn(message, TracerWarning, stacklevel=5)
    leaves = flatten_tree(output)[0]
    if not all(hasattr(x, "op") for x in leaves):
        wrong = next(x for x in leaves if not hasattr(x, "op"))
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from"
            f" traced functions, got {type(wrong).__name__}"
        )


def _containers(value: Any) -> Iterable[Any]:
    if isinstance(value, tuple | list | dict):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


def traced_module(mod: Module, methods: dict[str, Method]) -> TopLevelTracedModule:
    """A module with these programs in place of methods, and the parameters of `mod`."""
    names = {
        path: m.original_name if isinstance(m, ScriptModule) else type(m).__name__
        for path, m in mod.named_modules(remove_duplicate=False)
    }
    state = [
        (f"{path}.{name}" if path else name, tensor, name not in m._non_persistent_buffers_set)
        for path, m in mod.named_modules(remove_duplicate=False)
        for name, tensor in [*m._parameters.items(), *m._buffers.items()]
        if tensor is not None
    ]
    traced: TopLevelTracedModule = with_state(TopLevelTracedModule, names, state)
    for name, method in methods.items():
        traced.add_method(name, method)
    for path, m in mod.named_modules(remove_duplicate=False):
        traced.get_submodule(path).training = m.training
    return traced


def compare(
    name: str, function: Callable[..., Any], traced: Callable[..., Any], args: tuple[Any, ...],
    kwargs: dict[str, Any], tolerance: float,
) -> None:  # fmt: skip
    """Warn where a trace computes something else than what it was made of."""
    before = default_generator.get_state()
    results = []
    with no_grad():
        for call in (function, traced):
            own, named = map_leaves(_copied, (args, kwargs))
            results.append(flatten_tree(call(*own, **named))[0])
            default_generator.set_state(before)
    for k, (a, b) in enumerate(zip(*results, strict=False)):
        if a.shape != b.shape or not allclose(a, b.to(a.dtype), tolerance, tolerance, True):
            warnings.warn(
                f"Output nr {k + 1}. of the traced function does not match the corresponding"
                f" output of the Python function ({name}): it is another each time, or depends on"
                " what is no input",
                TracerWarning,
                stacklevel=3,
            )


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value
