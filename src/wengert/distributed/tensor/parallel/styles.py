"""How a module is shared out: its parameters, what comes in, and what goes out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.tensor.creation import distribute_module, distribute_tensor
from wengert.distributed.tensor.dtensor import DTensor
from wengert.distributed.tensor.placements import Placement, Replicate, Shard
from wengert.nn import Embedding, Linear, Module, Parameter


class ParallelStyle:
    """How a module is shared out: a base for the ways there are.

    >>> from wengert.distributed.tensor.parallel import ColwiseParallel, ParallelStyle
    >>> issubclass(ColwiseParallel, ParallelStyle)
    True
    """

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        raise NotImplementedError


def _placed(value: Any, mesh: DeviceMesh, layout: Any, desired: Any) -> Any:
    """A tensor, of which this rank has a part, as it is wanted; anything else as it is."""
    if not isinstance(value, Tensor) or layout is None:
        return value
    tensor = value if isinstance(value, DTensor) else DTensor.from_local(value, mesh, [layout])
    return tensor if desired is None else tensor.redistribute(placements=[desired])


def _returned(value: Any, layout: Any, use_local: bool) -> Any:
    if not isinstance(value, DTensor):
        return value
    value = value if layout is None else value.redistribute(placements=[layout])
    return value.to_local() if use_local else value


def _share_out(module: Module, mesh: DeviceMesh, placements: dict[str, Placement]) -> None:
    """Distribute a module's own parameters."""
    for name, p in module._parameters.items():
        if p is not None:
            part = distribute_tensor(p.detach(), mesh, [placements[name]])
            module._parameters[name] = Parameter(part, p.requires_grad)


class _MatrixParallel(ParallelStyle):
    """A layer with a matrix that is cut."""

    _default_input: Placement = Replicate()
    _default_output: Placement = Replicate()

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts = input_layouts or self._default_input
        self.output_layouts = output_layouts or self._default_output
        self.use_local_output = use_local_output

    def _cuts(self, module: Module) -> tuple[dict[str, Placement], Placement]:
        """Where parameters go, and where the input is wanted."""
        raise NotImplementedError

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if not isinstance(module, Linear | Embedding):
            raise NotImplementedError(
                f"{type(self).__name__} currently only supports nn.Linear and nn.Embedding, got"
                f" {type(module).__name__}"
            )
        placements, desired = self._cuts(module)
        _share_out(module, device_mesh, placements)

        def before(own: Module, args: Any, mesh: DeviceMesh) -> Any:
            return _placed(args[0], mesh, self.input_layouts, desired), *args[1:]

        def after(own: Module, output: Any, mesh: DeviceMesh) -> Any:
            return _returned(output, self.output_layouts, self.use_local_output)

        return distribute_module(module, device_mesh, None, before, after)


class ColwiseParallel(_MatrixParallel):
    """A layer of which each rank computes some outputs: `Linear` or `Embedding`.

    Args:
        input_layouts: where the inputs are; None: each rank has them whole.
        output_layouts: where the outputs go; None: their last dimension is cut.
        use_local_output: whether the output is this rank's part, or a `DTensor`.

    >>> from wengert.distributed.tensor.parallel import ColwiseParallel
    >>> ColwiseParallel().output_layouts
    Shard(dim=-1)
    """

    _default_output = Shard(-1)

    def _cuts(self, module: Module) -> tuple[dict[str, Placement], Placement]:
        if isinstance(module, Embedding):
            return {"weight": Shard(1)}, Replicate()
        return {"weight": Shard(0), "bias": Shard(0)}, Replicate()


class RowwiseParallel(_MatrixParallel):
    """A layer of which each rank uses some inputs: `Linear`, or `Embedding` with some of its rows.

    Args:
        input_layouts: where the inputs are; None: their last dimension is cut.
        output_layouts: where the outputs go; None: each rank gets them whole.
        use_local_output: whether the output is this rank's part, or a `DTensor`.

    >>> from wengert.distributed.tensor.parallel import RowwiseParallel
    >>> RowwiseParallel().input_layouts
    Shard(dim=-1)
    """

    _default_input = Shard(-1)

    def _cuts(self, module: Module) -> tuple[dict[str, Placement], Placement]:
        if isinstance(module, Embedding):
            return {"weight": Shard(0)}, Replicate()
        return {"weight": Shard(1), "bias": Replicate()}, Shard(-1)


class SequenceParallel(ParallelStyle):
    """A layer that treats positions on their own, such as `LayerNorm`: each rank has some of them.

    Args:
        sequence_dim: the dimension of the positions.
        use_local_output: whether the output is this rank's part, or a `DTensor`.

    >>> from wengert.distributed.tensor.parallel import SequenceParallel
    >>> SequenceParallel(sequence_dim=0).use_local_output
    False
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        cut = Shard(self.sequence_dim)

        def before(own: Module, args: Any, mesh: DeviceMesh) -> Any:
            return _placed(args[0], mesh, cut, cut), *args[1:]

        def after(own: Module, output: Any, mesh: DeviceMesh) -> Any:
            return _returned(output, None, self.use_local_output)

        return distribute_module(module, device_mesh, None, before, after)


def _in_tuple(layouts: Any) -> tuple[Any, ...]:
    return tuple(layouts) if isinstance(layouts, list | tuple) else (layouts,)


class PrepareModuleInput(ParallelStyle):
    """What comes into a module is distributed in another way first.

    Args:
        input_layouts: where each argument is; None: it stays as it is.
        desired_input_layouts: where each is wanted.
        input_kwarg_layouts: where keyword arguments are, by their names.
        desired_input_kwarg_layouts: where they are wanted.
        use_local_output: whether the module gets this rank's part, or a `DTensor`.

    >>> from wengert.distributed.tensor import Replicate, Shard
    >>> from wengert.distributed.tensor.parallel import PrepareModuleInput
    >>> PrepareModuleInput(input_layouts=Shard(0), desired_input_layouts=Replicate()).input_layouts
    (Shard(dim=0),)
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | Sequence[Placement | None] | None = None,
        desired_input_layouts: Placement | Sequence[Placement | None] | None = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = _in_tuple(input_layouts)
        self.desired_input_layouts = _in_tuple(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if len(self.input_layouts) != len(self.desired_input_layouts):
            raise AssertionError(
                "PrepareModuleInput: input_layouts and desired_input_layouts should have same"
                f" length, got {len(self.input_layouts)} and {len(self.desired_input_layouts)}"
            )

    def _prepared(self, value: Any, mesh: DeviceMesh, layout: Any, desired: Any) -> Any:
        placed = _placed(value, mesh, layout, desired)
        return _returned(placed, None, self.use_local_output) if layout is not None else placed

    def _before(self, module: Module, args: Any, kwargs: Any, mesh: DeviceMesh) -> Any:
        if self.input_layouts != (None,) and len(args) != len(self.input_layouts):
            raise ValueError(
                "PrepareModuleInput: module inputs and input_layouts should have same length, got"
                f" {len(args)} and {len(self.input_layouts)}"
            )
        if self.input_layouts != (None,):
            pairs = zip(args, self.input_layouts, self.desired_input_layouts, strict=True)
            args = tuple(self._prepared(x, mesh, layout, wanted) for x, layout, wanted in pairs)
        wanted = self.desired_input_kwarg_layouts
        named = {
            key: self._prepared(x, mesh, self.input_kwarg_layouts.get(key), wanted.get(key))
            for key, x in kwargs.items()
        }
        return args, named

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        before = partial(self._before, mesh=device_mesh)
        module.register_forward_pre_hook(before, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """What goes out of a module is distributed in another way.

    Args:
        output_layouts: where each output is; None: it stays as it is.
        desired_output_layouts: where each is wanted.
        use_local_output: whether the output is this rank's part, or a `DTensor`.

    >>> from wengert.distributed.tensor import Replicate, Shard
    >>> from wengert.distributed.tensor.parallel import PrepareModuleOutput
    >>> style = PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(0))
    >>> style.desired_output_layouts
    (Shard(dim=0),)
    """

    def __init__(
        self,
        *,
        output_layouts: Placement | Sequence[Placement | None],
        desired_output_layouts: Placement | Sequence[Placement],
        use_local_output: bool = True,
    ) -> None:
        self.output_layouts = _in_tuple(output_layouts)
        self.desired_output_layouts = _in_tuple(desired_output_layouts)
        self.use_local_output = use_local_output

    def _after(self, module: Module, args: Any, output: Any, mesh: DeviceMesh) -> Any:
        several = isinstance(output, tuple)
        outputs = output if several else (output,)
        if len(outputs) != len(self.output_layouts):
            raise ValueError(
                "PrepareModuleOutput: module outputs and output_layouts should have same length,"
                f" got {len(outputs)} and {len(self.output_layouts)}"
            )
        pairs = zip(outputs, self.output_layouts, self.desired_output_layouts, strict=True)
        placed = tuple(
            x if layout is None
            else _returned(_placed(x, mesh, layout, wanted), None, self.use_local_output)
            for x, layout, wanted in pairs
        )  # fmt: skip
        return placed if several else placed[0]

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_hook(partial(self._after, mesh=device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """What comes into a module, and what goes out, is distributed in another way.

    Args:
        use_local_input: whether the module gets this rank's part, or a `DTensor`.
        use_local_output: whether the output is this rank's part, or a `DTensor`.
        layouts: those of `PrepareModuleInput` and `PrepareModuleOutput`.

    >>> from wengert.distributed.tensor import Replicate, Shard
    >>> from wengert.distributed.tensor.parallel import PrepareModuleInputOutput
    >>> style = PrepareModuleInputOutput(
    ...     input_layouts=Shard(0), desired_input_layouts=Replicate(),
    ...     output_layouts=Replicate(), desired_output_layouts=Shard(0),
    ... )
    """

    def __init__(
        self, *, use_local_input: bool = False, use_local_output: bool = True, **layouts: Any
    ) -> None:
        outward = {key: layouts.pop(key) for key in ("output_layouts", "desired_output_layouts")}
        self._input = PrepareModuleInput(use_local_output=use_local_input, **layouts)
        self._output = PrepareModuleOutput(use_local_output=use_local_output, **outward)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        return self._output._apply(self._input._apply(module, device_mesh), device_mesh)


__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
]
