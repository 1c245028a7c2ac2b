"""Tensors of which each rank of a mesh has a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from wengert.core.fronts import arm_for_classes
from wengert.core.overriding import DisableTorchFunctionSubclass, silent
from wengert.core.size import Size
from wengert.core.tensor import Tensor, concrete, wrap
from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.tensor.layouts import Layout, Redistribute, Shared, checked
from wengert.distributed.tensor.placements import Placement, Replicate
from wengert.meta.tensors import MetaTensor


class DTensor(Tensor, unwrapped=False):
    """A tensor of which each rank has a part; its shape is that of the whole.

    Operations on it compute on the parts where they can, and on the whole, on each rank, elsewhere.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.tensor import Shard, distribute_tensor
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> rows = distribute_tensor(wengert.ones(4, 3), dist.init_device_mesh("cpu", (1,)), [Shard(0)])
    >>> (rows * 2).placements, rows.sum().full_tensor()
    ((Shard(dim=0),), tensor(12.))
    >>> dist.destroy_process_group()
    """

    __slots__ = ("_layout",)
    _layout: Layout

    parameter_class: Any = None  # of which `Parameter(tensor)` is; set by `parameters`
    # Set by `functions`: what computes a function of which an argument is distributed.
    compute: Callable[[Any, Any, Any], Any]

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return DTensor.compute(func, args, kwargs or {})

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it is distributed over each dimension of the mesh."""
        return self._layout.placements

    @property
    def device_mesh(self) -> DeviceMesh:
        """The ranks."""
        return self._layout.mesh

    @property
    def shape(self) -> Any:
        """That of the whole tensor."""
        return Size(self._layout.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._layout.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape of the whole tensor, or the length of one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    def numel(self) -> int:
        """The number of elements of the whole tensor."""
        return int(self.shape.numel())

    nelement = numel

    def __len__(self) -> int:
        return int(self.shape[0])

    @property
    def grad(self) -> Any:
        """The gradient, distributed as the tensor is."""
        gradient = _plain_grad(self)
        if gradient is None or isinstance(gradient, DTensor):
            return gradient
        self._grad = distributed(gradient, self._layout.of_gradient())
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        with DisableTorchFunctionSubclass():
            Tensor.grad.fset(self, local_of(value) if isinstance(value, DTensor) else value)  # type: ignore[attr-defined]

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """This rank's part, in the same memory, with a gradient placed as `grad_placements` say."""
        local = local_of(self)
        if grad_placements is None:
            return local
        partial = [k for k, placement in enumerate(grad_placements) if placement.is_partial()]
        shared: Tensor = Shared.apply(local, self.device_mesh, partial) if partial else local
        return shared

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The whole tensor; all ranks of the mesh call this."""
        whole = redistributed(self, [Replicate()] * self.device_mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
    ) -> DTensor:
        """The same tensor, placed in another way on the same mesh; all of its ranks call this."""
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("redistribute() to another mesh")
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        fixed = checked("redistribute", self.device_mesh, placements, self.ndim)
        if any(p.is_partial() and p != q for p, q in zip(fixed, self.placements, strict=True)):
            raise RuntimeError(
                "Can not redistribute to Partial, redistributing to Partial is for internal use"
                " only!"
            )
        return redistributed(self, fixed)

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Any = None,
    ) -> DTensor:
        """A tensor of which this rank has this part.

        Args:
            local_tensor: the part.
            device_mesh: the ranks.
            placements: where parts are; None: each rank has the whole.
            run_check: without effect.
            shape: of the whole; None: all parts are as long as this one.
            stride: without effect.
        """
        fixed = checked("from_local", device_mesh, placements, local_tensor.ndim)
        whole = list(local_tensor.shape)
        for size, placement in zip(device_mesh.shape, fixed, strict=True):
            for dim in range(len(whole)):
                whole[dim] *= size if placement.is_shard(dim) else 1
        return distributed(local_tensor, Layout(tuple(shape or whole), device_mesh, fixed))

    def __repr__(  # type: ignore[override]
        self, *, tensor_contents: str | None = None
    ) -> str:
        with DisableTorchFunctionSubclass():
            local = repr(local_of(self).detach())
        return (
            f"DTensor(local_tensor={local}, device_mesh={self.device_mesh!r},"
            f" placements={self.placements!r})"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copy = memo.get(id(self))
        if copy is None:
            own = local_of(self).detach().clone()
            copy = memo[id(self)] = distributed(own, self._layout, type(self))
            copy.requires_grad_(self.requires_grad)
        return copy

    @staticmethod
    def refuse_saving() -> None:
        """RuntimeError: a file of some part would be taken for the tensor."""
        raise RuntimeError(
            "this rank holds some rows of the tensor alone: save"
            " get_model_state_dict(model, options=StateDictOptions(full_state_dict=True)), or all"
            " ranks' rows by torch.distributed.checkpoint.save()"
        )

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.refuse_saving()


def _plain_grad(tensor: Tensor) -> Any:
    with DisableTorchFunctionSubclass():
        return Tensor.grad.fget(tensor)  # type: ignore[attr-defined]


def distributed(local: Tensor, layout: Layout, like: Any = DTensor) -> Any:
    """A tensor of which this rank has a part: with its memory and its graph."""
    _begin(like)
    with DisableTorchFunctionSubclass():
        if local._memoryless:
            make: Any = Tensor
            tensor = make._make_subclass(_memoryless_kind(like), local)
        else:
            plain = local_of(local) if isinstance(local, DTensor) else local
            tensor = plain.as_subclass(like)
    tensor._layout = layout
    return tensor


def local_of(tensor: DTensor) -> Tensor:
    """This rank's part: with the memory and the graph of the tensor."""
    if tensor._memoryless:
        make: Any = Tensor
        with DisableTorchFunctionSubclass():
            plain: Tensor = make._make_subclass(MetaTensor, tensor)
        return plain
    local = wrap(tensor._array, tensor._edge)
    if tensor._edge is None:
        local._cut = tensor._cut
    return local


def redistributed(tensor: DTensor, placements: Sequence[Placement]) -> DTensor:
    """The same tensor, placed in another way."""
    target = tensor._layout.replaced(placements)
    if target.placements == tensor.placements:
        return tensor
    local = Redistribute.apply(local_of(tensor), tensor._layout, target)
    whole: DTensor = distributed(local, target)
    return whole


@cache
def _begin(kind: Any) -> None:
    """Have functions ask the class from now on, and kernels take its memory."""
    concrete.add(kind)
    silent.discard(kind)
    arm_for_classes()


@cache
def _memoryless_kind(like: Any) -> Any:
    kind = type(like.__name__, (MetaTensor, like), {"__slots__": ()})
    silent.discard(kind)
    return kind


def whole_of(value: Any) -> Any:
    """The whole tensor of parts; anything else as it is."""
    return value.full_tensor().detach() if isinstance(value, DTensor) else value
