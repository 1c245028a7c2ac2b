"""What an operation is called with, and where its tests are decorated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import wengert
from wengert import Tensor
from wengert.compat._private.harness.common import is_iterable_of_tensors, noncontiguous_like
from wengert.compat._private.harness.common import torch_to_numpy_dtype_dict as _numpy_types
from wengert.core.dtypes import dtype as dtype_type


class DecorateInfo:
    """Decorators of those tests that fit everything that is given."""

    def __init__(
        self, decorators: Any, cls_name: str | None = None, test_name: str | None = None, *,
        device_type: str | None = None, dtypes: Iterable[dtype_type] | None = None,
        active_if: bool | Callable[[dict[str, Any]], bool] = True,
    ) -> None:  # fmt: skip
        self.decorators = [*decorators] if isinstance(decorators, Sequence) else [decorators]
        self.cls_name, self.test_name, self.device_type = cls_name, test_name, device_type
        self.dtypes = None if dtypes is None else tuple(dtypes)
        self.active_if = active_if
        for dtype in self.dtypes or ():
            if not isinstance(dtype, dtype_type):
                raise AssertionError(f"argument 'dtypes' holds {dtype!r}, expected dtypes")

    def is_active(
        self, cls_name: str, test_name: str, device_type: str, dtype: Any,
        param_kwargs: dict[str, Any],
    ) -> bool:  # fmt: skip
        """Whether a test is decorated."""
        wanted = self.cls_name, self.test_name, self.device_type
        fits = all(
            a in (None, b) for a, b in zip(wanted, (cls_name, test_name, device_type), strict=True)
        )
        if not fits or not (self.dtypes is None or dtype in self.dtypes):
            return False
        return bool(self.active_if(param_kwargs) if callable(self.active_if) else self.active_if)


def active_decorators(
    listed: Iterable[Any], test_class: str, test_name: str, device: str, dtype: Any,
    param_kwargs: dict[str, Any],
) -> list[Any]:  # fmt: skip
    """Those of the decorators, bare or in a `DecorateInfo`, that are for a test."""
    active: list[Any] = []
    for entry in listed:
        if not isinstance(entry, DecorateInfo):
            active.append(entry)
        elif entry.is_active(test_class, test_name, device, dtype, param_kwargs):
            active += entry.decorators
    return active


class SampleInput:
    """An input of an operation, with further arguments.

    They are given as the operation takes them, or as `args` and `kwargs`, and then with what else
    is known.
    """

    def __init__(
        self, input: Any, *var_args: Any, args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        output_process_fn_grad: Callable[[Any], Any] | None = None,
        broadcasts_input: bool | None = None, name: str | None = None, **var_kwargs: Any,
    ) -> None:  # fmt: skip
        bare = args is None and kwargs is None
        if not bare and (var_args or var_kwargs):
            raise AssertionError(
                "SampleInput: the arguments are given both as they are and as 'args' or 'kwargs'"
            )
        if (
            (var_args or var_kwargs)
            and bare
            and not (output_process_fn_grad is None and broadcasts_input is None and name is None)
        ):
            raise AssertionError(
                "SampleInput: with arguments as they are, use with_metadata() for the rest"
            )
        self.input = input
        self.args = var_args if args is None else args
        self.kwargs = var_kwargs if kwargs is None else kwargs
        if not isinstance(self.args, tuple):
            raise AssertionError(f"argument 'args' is a {type(self.args).__name__}, not a tuple")
        if not isinstance(self.kwargs, dict):
            raise AssertionError(f"argument 'kwargs' is a {type(self.kwargs).__name__}, not a dict")
        self.output_process_fn_grad = output_process_fn_grad or _as_it_is
        self.broadcasts_input, self.name = bool(broadcasts_input), name or ""

    def with_metadata(
        self, *, output_process_fn_grad: Callable[[Any], Any] | None = None,
        broadcasts_input: bool | None = None, name: str | None = None,
    ) -> SampleInput:  # fmt: skip
        """The sample itself, of which this is known as well."""
        self.output_process_fn_grad = output_process_fn_grad or self.output_process_fn_grad
        if broadcasts_input is not None:
            self.broadcasts_input = broadcasts_input
        self.name = self.name if name is None else name
        return self

    def __repr__(self) -> str:
        return self._written(repr)

    def summary(self) -> str:
        """The sample with a tensor's shape and dtype in place of its elements."""
        return self._written(_in_short)

    def _written(self, word: Callable[[Any], str]) -> str:
        return (
            f"SampleInput(input={word(self.input)}, args={word(self.args)},"
            f" kwargs={word(self.kwargs)}, broadcasts_input={self.broadcasts_input},"
            f" name={self.name!r})"
        )

    def transform(self, f: Callable[[Any], Any]) -> SampleInput:
        """The sample whose tensors and dtypes are replaced by what `f` makes of them."""

        def replaced(x: Any) -> Any:
            if isinstance(x, Tensor | dtype_type):
                with wengert.no_grad():
                    return f(x)
            if type(x) in (list, tuple):
                return type(x)(map(replaced, x))
            return {k: replaced(v) for k, v in x.items()} if isinstance(x, dict) else x

        return SampleInput(
            replaced(self.input), args=replaced(self.args), kwargs=replaced(self.kwargs),
            output_process_fn_grad=self.output_process_fn_grad,
            broadcasts_input=self.broadcasts_input, name=self.name + "_transformed",
        )  # fmt: skip

    def numpy(self) -> SampleInput:
        """The sample with arrays, and NumPy's dtypes."""
        return self.transform(_as_array)

    def noncontiguous(self) -> SampleInput:
        """The sample with tensors that are not contiguous."""
        return self.transform(lambda x: noncontiguous_like(x) if isinstance(x, Tensor) else x)


def _as_it_is(output: Any) -> Any:
    return output


def _as_array(x: Any) -> Any:
    if isinstance(x, dtype_type):
        return _numpy_types[x]
    widened = {wengert.bfloat16: wengert.float32, wengert.complex32: wengert.complex64}
    return x.detach().to(widened.get(x.dtype, x.dtype)).numpy()


def _in_short(x: Any) -> str:
    if isinstance(x, Tensor):
        end = "" if x.is_sparse or x.is_contiguous() else ", contiguous=False"
        return f'Tensor[size={tuple(x.shape)}, device="{x.device}", dtype={x.dtype}{end}]'
    if isinstance(x, dict):
        return repr({k: _in_short(v) for k, v in x.items()})
    if is_iterable_of_tensors(x):
        return f"TensorList[{', '.join(map(_in_short, x))}]"
    return f"({','.join(map(_in_short, x))})" if isinstance(x, list | tuple) else repr(x)


class ErrorInput:
    """A `SampleInput` of which an operation raises this error, with a text that fits."""

    def __init__(
        self, sample_input: Any, *, error_type: Any = RuntimeError, error_regex: str
    ) -> None:
        self.sample_input, self.error_type = sample_input, error_type
        self.error_regex = error_regex


class NumericsFilter(NamedTuple):
    """Where a reference is not to be compared with, and what stands there instead."""

    condition: Callable[[Any], Any]
    safe_val: Any


def clone_sample(sample: SampleInput, **kwargs: Any) -> SampleInput:
    """A copy of a sample with copies of its tensors, and further arguments by name."""

    def copied(x: Any) -> Any:
        return x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x

    return SampleInput(
        copied(sample.input), args=tuple(map(copied, sample.args)),
        kwargs={k: copied(kwargs.get(k, v)) for k, v in (sample.kwargs | kwargs).items()},
    )  # fmt: skip


__all__ = [
    "DecorateInfo", "ErrorInput", "NumericsFilter", "SampleInput", "clone_sample",
]  # fmt: skip
