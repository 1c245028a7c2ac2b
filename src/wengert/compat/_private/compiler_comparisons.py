"""What ``torch._dynamo.utils`` and ``.testing`` compare results by, and make inputs of."""

from __future__ import annotations

import contextlib
import functools
import random
import re
import sys
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert
from wengert import Tensor
from wengert.compat._private import dynamo_settings


def same(
    ref: Any, res: Any, fp64_ref: Any = None, cos_similarity: bool = False, tol: float = 1e-4,
    equal_nan: bool = False, exact_dtype: bool = True, relax_numpy_equality: bool = False,
    ignore_non_fp: bool = False, **options: Any,
) -> bool:  # fmt: skip
    """Whether two results are equal: tensors within `tol`, in containers and objects of a class.

    `fp64_ref` and further options are taken, and nothing is asked of them.
    """

    def alike(a: Any, b: Any) -> bool:
        return same(
            a, b, None, cos_similarity, tol, equal_nan, exact_dtype, relax_numpy_equality,
            ignore_non_fp,
        )  # fmt: skip

    if isinstance(ref, list | tuple | dict):
        return _equal_containers(ref, res, alike)
    if isinstance(ref, Tensor):
        return isinstance(res, Tensor) and _equal(ref, res, cos_similarity, tol, equal_nan,
                                                  exact_dtype, ignore_non_fp)  # fmt: skip
    if isinstance(ref, np.ndarray | np.generic) or relax_numpy_equality:
        return same(wengert.as_tensor(ref), wengert.as_tensor(res), None, cos_similarity, tol,
                    equal_nan, exact_dtype)  # fmt: skip
    if isinstance(ref, float):
        return bool(np.isclose(ref, res, rtol=tol, atol=tol, equal_nan=equal_nan))
    kind: Any = type(ref)
    if kind.__eq__ is object.__eq__ and hasattr(ref, "__dict__"):
        return kind is type(res) and alike(vars(ref), vars(res))
    return bool(ref == res)


def _equal_containers(ref: Any, res: Any, alike: Callable[[Any, Any], bool]) -> bool:
    mapping = isinstance(ref, dict)
    if not isinstance(res, dict if mapping else (list, tuple)):
        raise AssertionError(f"type mismatch: {type(ref)} {type(res)}")
    if mapping:
        return ref.keys() == {*res} and all(alike(ref[k], res[k]) for k in ref)
    return len(ref) == len(res) and all(map(alike, ref, res))


def _equal(
    ref: Tensor, res: Tensor, cos_similarity: bool, tol: float, equal_nan: bool,
    exact_dtype: bool, ignore_non_fp: bool,
) -> bool:  # fmt: skip
    ref, res = (x.to_dense() if x.is_sparse else x for x in (ref, res))
    if exact_dtype and ref.dtype != res.dtype:
        return False
    if ref.dtype == wengert.bool or not (ref.is_floating_point() or ref.is_complex()):
        return ignore_non_fp or wengert.equal(ref, res.to(ref.dtype))
    ref, res = ref.detach(), res.detach().to(ref.dtype)
    if cos_similarity:
        both = ref.flatten().double(), res.flatten().double()
        return bool(wengert.nn.functional.cosine_similarity(*both, dim=0, eps=1e-6) >= 0.99)
    return ref.shape == res.shape and wengert.allclose(
        ref, res, rtol=tol, atol=tol, equal_nan=equal_nan
    )


def rmse(ref: Tensor, res: Tensor) -> Tensor:
    """The root of the mean of squared differences."""
    return (ref - res).square().mean().sqrt()


def istype(obj: object, allowed_types: Any) -> bool:
    """Whether the class of an object is one of these, and none that derives from them."""
    kinds = allowed_types if isinstance(allowed_types, tuple | list | set) else (allowed_types,)
    return type(obj) in kinds


def clone_input(x: Tensor, *, dtype: Any = None) -> Tensor:
    """A copy with the strides of `x`; a leaf if that requires grad."""
    copy = x.detach().clone() if dtype is None else x.detach().to(dtype, copy=True)
    return copy.requires_grad_(x.requires_grad)


def clone_me(x: Tensor | None) -> Tensor | None:
    """A copy that is a leaf."""
    return None if x is None else clone_input(x)


def ifdynstaticdefault(count1: Any, count2: Any) -> Any:
    """The first where shapes are taken for static, as the settings say."""
    settings: Any = dynamo_settings
    return count1 if settings.assume_static_by_default else count2


def rand_strided(
    size: Sequence[int], stride: Sequence[int], dtype: Any = wengert.float32,
    device: Any = "cpu", extra_size: int = 0,
) -> Tensor:  # fmt: skip
    """Random numbers in memory of that layout."""
    last = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else -1
    return (
        wengert.randn(last + 1 + extra_size, device=device)
        .to(dtype)
        .as_strided(tuple(size), tuple(stride))
    )


def requires_bwd_pass(out: Any) -> bool:
    """Whether a result, or some of a list, has a backward."""
    if isinstance(out, Tensor):
        return out.requires_grad
    return isinstance(out, list | tuple) and any(map(requires_bwd_pass, out))


def reduce_to_scalar_loss(out: Any) -> Any:
    """One number that all elements of a result have a share in."""
    if isinstance(out, Tensor):
        return out.sum() / out.numel()
    if isinstance(out, dict):
        out = list(out.values())
    if isinstance(out, list | tuple):
        return sum(map(reduce_to_scalar_loss, out)) / len(out)
    raise NotImplementedError(f"no loss of a result of type {type(out).__name__}")


def empty_line_normalizer(code: str) -> str:
    """The text without empty lines."""
    return "\n".join(line for line in code.split("\n") if line.strip())


def remove_trailing_space(code: str) -> str:
    """The text whose lines end with what can be seen."""
    return "\n".join(line.rstrip() for line in code.split("\n"))


def expectedFailureDynamic(fn: Callable[..., Any]) -> Callable[..., Any]:  # noqa: N802
    """The test as it is: there is one way of compiling shapes."""
    return fn


expectedFailureCodegenDynamic = expectedFailureDynamic  # noqa: N816
expectedFailureDynamicWrapper = expectedFailureDynamic  # noqa: N816


def normalize_gm(gm_str: str) -> str:
    """The text of a graph module without lines of comments, and without two empty ones."""
    lines = remove_trailing_space(re.sub(r"(?m)^ *#.*\n?", "", gm_str)).split("\n")
    kept = [line for i, line in enumerate(lines) if line or (i and lines[i - 1])]
    return "\n".join(kept)


def check_dynamic_shape_capture() -> bool:
    """Whether the settings say that shapes may change."""
    settings: Any = dynamo_settings
    return not settings.assume_static_by_default


def reset_rng_state(use_xla: bool = False) -> None:
    """Seed the generators of wengert, Python and NumPy."""
    wengert.manual_seed(1337)
    random.seed(1337)
    np.random.seed(1337)


def make_test_cls_with_patches(
    cls: type, cls_prefix: str, fn_suffix: str, *patches: Any, xfail_prop: str | None = None,
    decorator: Callable[[Any], Any] = lambda test: test,
) -> type:  # fmt: skip
    """A class of the same tests under settings; of each patch the module, the name, the value."""
    name = f"{cls_prefix}{cls.__name__}"
    made = type(name, cls.__bases__, {"__qualname__": name})
    for member in dir(cls):
        value = getattr(cls, member)
        if member.startswith("test_") and callable(value):
            test = _patched(value, member + fn_suffix, patches)
            if xfail_prop is not None and hasattr(value, xfail_prop):
                test = unittest.expectedFailure(test)
            setattr(made, member + fn_suffix, decorator(test))
        elif not hasattr(made, member):
            setattr(made, member, value)
    return made


def _patched(test: Callable[..., Any], name: str, patches: Sequence[Any]) -> Any:
    @functools.wraps(test)
    def run(self: Any) -> Any:
        with contextlib.ExitStack() as stack:
            for module, attribute, value in patches:
                stack.enter_context(module.patch({attribute: value}))
            return test(self)

    run.__name__ = name
    return run


def _of_python(least: tuple[int, int], below: tuple[int, int]) -> Callable[[Any], Any]:
    names = ".".join(map(str, least)), ".".join(map(str, below))
    here = least <= sys.version_info[:2] < below
    return unittest.skipUnless(here, f"for Python from {names[0]}, before {names[1]}")


skipIfNotPy311 = _of_python((3, 11), (4, 0))  # noqa: N816
skipIfNotPy312 = _of_python((3, 12), (4, 0))  # noqa: N816
skipIfPy312 = _of_python((3, 0), (3, 12))  # noqa: N816
xfailIfPy312 = (  # noqa: N816
    unittest.expectedFailure if sys.version_info >= (3, 12) else expectedFailureDynamic
)

__all__ = [
    "check_dynamic_shape_capture", "clone_input", "clone_me", "empty_line_normalizer",
    "expectedFailureCodegenDynamic", "expectedFailureDynamic", "expectedFailureDynamicWrapper",
    "ifdynstaticdefault", "istype", "make_test_cls_with_patches", "normalize_gm", "rand_strided",
    "reduce_to_scalar_loss", "remove_trailing_space", "requires_bwd_pass", "reset_rng_state",
    "rmse", "same", "skipIfNotPy311", "skipIfNotPy312", "skipIfPy312", "xfailIfPy312",
]  # fmt: skip
