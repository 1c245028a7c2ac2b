"""``torch.testing._internal.two_tensor``: a tensor that is two, and a mode that makes such ones."""

from __future__ import annotations

from typing import Any

import wengert
from wengert import Tensor
from wengert.autograd.transforms.tree import map_leaves
from wengert.dispatch.modes import TorchDispatchMode


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(f"TwoTensor: {what}")


class TwoTensor(Tensor):
    """Two tensors `a` and `b` of one shape and dtype: what is done to it is done to both."""

    a: Tensor
    b: Tensor

    @staticmethod
    def __new__(
        cls, a: Tensor, b: Tensor, outer_size: Any = None, outer_stride: Any = None, *,
        requires_grad: bool | None = None,
    ) -> Any:  # fmt: skip
        """Wrap two tensors."""
        for fact in ("device", "layout", "dtype", "shape", "requires_grad"):
            one, other = getattr(a, fact), getattr(b, fact)
            _expect(one == other, f"expected a.{fact} == b.{fact}, got {one} and {other}")
        make: Any = Tensor
        pair: Any = make._make_wrapper_subclass(
            cls, outer_size if outer_size is not None else a.size(),
            strides=outer_stride if outer_stride is not None else a.stride(),
            storage_offset=a.storage_offset(), dtype=a.dtype, layout=a.layout, device=a.device,
            requires_grad=a.requires_grad if requires_grad is None else requires_grad,
        )  # fmt: skip
        pair.a, pair.b = a, b
        return pair

    def __init__(
        self, a: Tensor, b: Tensor, outer_size: Any = None, outer_stride: Any = None, *,
        requires_grad: bool | None = None,
    ) -> None:  # fmt: skip
        pass

    def __repr__(self, **options: Any) -> str:  # type: ignore[override]
        """Both tensors."""
        return f"TwoTensor({self.a!r}, {self.b!r})"

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        """The names of the tensors inside; nothing else makes it up."""
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: dict[str, Tensor], meta: Any, outer_size: Any, outer_stride: Any
    ) -> TwoTensor:
        """The tensor of the two inside."""
        _expect(meta is None, f"expected no meta, got {meta!r}")
        _expect(outer_size is not None, "expected an outer_size, got None")
        _expect(outer_stride is not None, "expected an outer_stride, got None")
        pair: TwoTensor = TwoTensor(
            inner_tensors["a"], inner_tensors["b"], outer_size, outer_stride
        )
        return pair

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operation on the first tensors, then on the second, and pair what they give."""

        def side(name: str) -> Any:
            def pick(x: Any) -> Any:
                return getattr(x, name) if isinstance(x, TwoTensor) else x

            return func(*map_leaves(pick, args), **map_leaves(pick, kwargs or {}))

        return _paired(side("a"), side("b"), args)

    def get_elem_a(self) -> Tensor:
        """The first tensor."""
        return self.a


def _paired(a: Any, b: Any, args: Any) -> Any:
    """A `TwoTensor` for each tensor of two results; an argument that was written is returned."""
    if isinstance(a, list | tuple):
        return type(a)(_paired(x, y, args) for x, y in zip(a, b, strict=True))
    if not isinstance(a, Tensor):
        _expect(a == b, f"both tensors have to give one answer, got {a!r} and {b!r}")
        return a
    written = [x for x in args if isinstance(x, TwoTensor) and x.a is a]
    return written[0] if written else TwoTensor(a, b)


class TwoTensorMode(TorchDispatchMode):
    """A mode under which functions that make tensors make a `TwoTensor`."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operation, and pair a tensor that it made with its own copy."""
        made = func(*args, **(kwargs or {}))
        plain = isinstance(made, Tensor) and not isinstance(made, TwoTensor)
        given = any(isinstance(x, Tensor) for x in args)
        return TwoTensor(made, wengert.clone(made)) if plain and not given else made


__all__ = ["TwoTensor", "TwoTensorMode"]
