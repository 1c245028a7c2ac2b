"""Subclasses with `__torch_dispatch__`, as PyTorch's documentation writes them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import wengert
from tests.dispatch.programs import ours, theirs
from wengert.utils._python_dispatch import TorchDispatchMode


def wrapper_class(names: Any, log: list[str]) -> Any:  # noqa: C901 (a class in a function)
    """A class that keeps a tensor, computes with it, and writes down what it is asked about."""
    tensor = names.lib.Tensor
    disabled = names.lib._C._disabled_torch_function_impl if names.lib is not wengert else None
    if disabled is None:
        from wengert.overrides import _disabled_torch_function_impl as disabled

    class Wrapper(tensor):  # type: ignore[misc]
        __torch_function__ = disabled

        @staticmethod
        def __new__(cls: Any, elem: Any) -> Any:
            self = tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, device=elem.device
            )
            self.elem = elem
            return self

        def __repr__(self) -> str:
            return f"Wrapper({self.elem.tolist()})"

        def __tensor_flatten__(self) -> Any:
            return ["elem"], None

        @staticmethod
        def __tensor_unflatten__(inner: Any, context: Any, size: Any, stride: Any) -> Any:
            return Wrapper(inner["elem"])

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            def unwrapped(x: Any) -> Any:
                if isinstance(x, list | tuple):
                    return type(x)(map(unwrapped, x))
                return x.elem if isinstance(x, cls) else x

            def wrapped(x: Any) -> Any:
                if isinstance(x, list | tuple):
                    return tuple(map(wrapped, x))
                return cls(x) if isinstance(x, tensor) else x

            log.append(f"{func} {[t.__name__ for t in types]}")
            out = wrapped(func(*unwrapped(args), **(kwargs or {})))
            return names.dispatch.return_and_correct_aliasing(func, args, kwargs, out)

    return Wrapper


def _program(names: Any) -> list[str]:
    log: list[str] = []
    wrapper = wrapper_class(names, log)
    lib = names.lib
    a = wrapper(lib.arange(6.0).reshape(2, 3))
    says = [
        a.shape, a.stride(), str(a.dtype), names.dispatch.is_traceable_wrapper_subclass(a),
        a @ lib.ones(3, 2), a + 1, 2 * a, a.sum(), a.abs()[0], lib.cat([a, a]), a.t().contiguous(),
        names.F.linear(a, lib.ones(4, 3), lib.ones(4)), a.add_(1), a.mul_(lib.ones(3)) is a,
        a.reshape(3, 2), a.view(6).split(2), a.max(1)[1],
        names.dispatch.transform_subclass(a, lambda name, x: x * 2),
    ]  # fmt: skip
    return [*map(repr, says), *log]


@pytest.mark.torch
def test_a_wrapper_as_in_pytorch(torch: Any) -> None:
    said = _program(ours())
    assert said == _program(theirs(torch))
    assert "aten.mm.default ['Wrapper']" in said


def test_a_wrapper_has_no_data() -> None:
    a = wrapper_class(ours(), [])(wengert.ones(1000, 1000))
    for read in (
        lambda: a.numpy() + 1,
        a.tolist,
        lambda: np.asarray(a) * 2,
        a.numpy,
        a.untyped_storage,
        a.__dlpack__,
    ):
        with pytest.raises(RuntimeError, match="a wrapper and has no data of its own"):
            read()


@pytest.mark.torch
def test_what_a_wrapper_says_of_memory_that_is_not_there(torch: Any) -> None:
    def said(names: Any) -> list[Any]:
        wrapper = wrapper_class(names, [])
        a = wrapper(names.lib.arange(6.0).reshape(2, 3))
        at = wrapper._make_wrapper_subclass(wrapper, (2, 3), (3, 1), 4)
        a.detach().elem.add_(1)
        return [
            a.data_ptr(), a.storage_offset(), at.storage_offset(), a.is_contiguous(), a.numel(),
            type(a.data) is wrapper, repr(copy.deepcopy(a)),
        ]  # fmt: skip

    assert said(ours()) == said(theirs(torch))


def test_a_wrapper_that_requires_grad_is_refused() -> None:
    a = wrapper_class(ours(), [])(wengert.ones(2)).requires_grad_()
    with pytest.raises(NotImplementedError, match=r"aten.exp.default of a Wrapper that requires"):
        a.exp()
    with wengert.no_grad():
        assert repr(a.neg()) == "Wrapper([-1.0, -1.0])"


def test_modes_are_asked_before_classes() -> None:
    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append((str(func), [t.__name__ for t in types]))
            return func(*args, **(kwargs or {}))

    log: list[str] = []
    a = wrapper_class(ours(), log)(wengert.ones(2))
    with Log():
        a + 1
    assert seen == [("aten.add.Tensor", ["Wrapper"])]
    assert log == ["aten.add.Tensor ['Wrapper']"]


def test_a_class_with_data_computes_by_super() -> None:
    seen = []

    class Seen(wengert.Tensor):
        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = wengert.ones(2, requires_grad=True)
    r = wengert.Tensor._make_subclass(Seen, wengert.ones(2), True)
    (r * x).exp().sum().backward()
    assert seen[0] == "aten.mul.Tensor"
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 1.0]), rtol=1e-6)
    np.testing.assert_allclose(r.grad.numpy(), np.exp([1.0, 1.0]), rtol=1e-6)


def test_a_class_without_it_has_no_wrappers() -> None:
    class Plain(wengert.Tensor):
        pass

    with pytest.raises(RuntimeError, match="Plain must define __torch_dispatch__"):
        wengert.Tensor._make_wrapper_subclass(Plain, (2,))
