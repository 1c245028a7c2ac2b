"""What tests do around others: mocks, texts of errors, results of two programs side by side."""

from __future__ import annotations

import functools
import inspect
import os
import re
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import wengert
from wengert import Tensor
from wengert.autograd import gradcheck, gradgradcheck
from wengert.autograd.transforms.tree import flatten_tree
from wengert.compat._private.harness.cases import TestCase

_Test = Callable[..., Any]

NOTEST_CPU = "cpu" in os.environ.get("PYTORCH_TESTING_DEVICE_EXCEPT_FOR", "").split(",")
TEST_WITH_DEV_DBG_ASAN = False
ALLOW_XPU_PROFILING_TEST = False
DEVICE_LIST_SUPPORT_PROFILING_TEST = ("cuda",)

# How exact results of each dtype are where a test asks for an absolute tolerance.
dtype2prec_DONTUSE = {
    wengert.float32: 1e-5, wengert.float64: 1e-5, wengert.float16: 1e-2, wengert.bfloat16: 1e-1,
}  # fmt: skip


class NoTest:
    """What pytest collects no tests of."""

    __test__ = False


class AlwaysWarnTypedStorageRemoval:
    """A context; typed storages warn of nothing here."""

    def __init__(self, always_warn: bool) -> None:
        if not isinstance(always_warn, bool):
            raise AssertionError(f"argument 'always_warn' is {always_warn!r}, expected a bool")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


def gcIfJetson(fn: _Test) -> _Test:
    """The function as it is: that is for machines of one kind."""
    return fn


def skipIfNotMiopenSuggestNHWC(fn: _Test) -> _Test:
    """The function as it is: that is for ROCm."""
    return fn


def mock_wrapper(method: _Test) -> Any:
    """A method that does the same, and tells its attribute `mock` of each call."""
    told = mock.MagicMock()

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        told(*args, **kwargs)
        return method(self, *args, **kwargs)

    run.mock = told  # type: ignore[attr-defined]
    return run


def get_tensors_from(args: Any, kwargs: dict[str, Any]) -> set[Tensor]:
    """The tensors among the arguments of a call."""
    return {x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)}


def outs_and_grads(fn: _Test, graph_inps: Any, inps: Any) -> tuple[Any, list[Any]]:
    """What a function gives, and the gradients of its sum, which the inputs do not keep."""
    outs = fn(*graph_inps)
    for out in flatten_tree(outs)[0]:
        if isinstance(out, Tensor) and out.requires_grad:
            out.sum().backward(retain_graph=True)
    tensors = [x for x in flatten_tree(inps)[0] if isinstance(x, Tensor)]
    grads = [x.grad for x in tensors]
    for x in tensors:
        x.grad = None
    return outs, grads


def compare_equal_outs_and_grads(test: Any, m1: _Test, m2: _Test, inps: Any) -> None:
    """Two functions give the same, and the same gradients."""
    first, second = (outs_and_grads(m, inps, inps) for m in (m1, m2))
    test.assertEqual(first[0], second[0])
    test.assertEqual(first[1], second[1])


def find_library_location(lib_name: str) -> Path:
    """Where PyTorch would have a library: nothing is there."""
    return Path(wengert.__file__).parent / "lib" / lib_name


def download_file(url: str, binary: bool = True) -> str:
    """The path of a file that is fetched unless it is there; the test is skipped if it cannot."""
    folder = Path(tempfile.gettempdir()) / "wengert-tests"
    folder.mkdir(exist_ok=True)
    path = folder / Path(urllib.parse.urlsplit(url).path).name
    if not path.exists():
        try:
            with urllib.request.urlopen(url, timeout=15) as answer:
                path.write_bytes(answer.read())
        except urllib.error.URLError as error:
            text = f"could not download {url!r}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
            raise unittest.SkipTest(text) from error
    return str(path)


_FRAME = re.compile(r'(?P<margin>\s*)File "(?P<file>[^"]*)", line \d+, in (?P<name>.*)')


def _without_frames(lines: list[str], file: str) -> Iterator[str]:
    """The lines of an error but for frames of other files, and of this one outside functions."""
    depth = None  # how far the frame that is left out is indented
    for line in lines:
        frame = _FRAME.match(line)
        if frame:
            own = frame["file"] == file and frame["name"].strip() != "<module>"
            depth = None if own else len(frame["margin"])
        elif depth is not None and len(line) - len(line.lstrip(" ")) <= depth:
            depth = None
        if depth is None:
            yield line


def munge_exc(
    e: Any, *, suppress_suffix: bool = True, suppress_prefix: bool = True,
    file: str | None = None, skip: int = 0, **options: Any,
) -> str:  # fmt: skip
    """The text of an error without what changes: lines, folders, frames of other files."""
    file = inspect.stack()[1 + skip].filename if file is None else file

    text = "".join(_without_frames(str(e).splitlines(keepends=True), file))
    text = re.sub(r"line \d+", "line N", text)
    text = re.sub(r"\.py:\d+", ".py:N", text)
    text = text.replace(file, Path(file).name)
    return text.replace(f"{Path(wengert.__file__).parent}{os.sep}", "")


def make_dynamo_test(fn: Any = None) -> Any:
    """Run a test as it is, and then compiled."""
    if fn is None:
        return make_dynamo_test

    @functools.wraps(fn)
    def run(self: Any, **kwargs: Any) -> None:
        fn(self, **kwargs)
        wengert.compiler.reset()
        wengert.compiler.compile(lambda: fn(self, **kwargs))()
        wengert.compiler.reset()

    return run


class TestGradients(TestCase):
    """Derivatives of operations that are listed with inputs."""

    __test__ = False

    def _check_helper(
        self, device: Any, dtype: Any, op: Any, variant: Any, check: str, *,
        check_forward_ad: bool = False, check_backward_ad: bool = True,
        check_batched_grad: bool | None = None, check_batched_forward_grad: bool = False,
    ) -> None:  # fmt: skip
        if variant is None:
            self.skipTest("the operation has no such form")
        samples = op.sample_inputs(device, dtype, requires_grad=True)
        for sample in samples:
            if sample.broadcasts_input and variant is op.get_inplace():
                continue
            function, given = _of_leaves(op, variant, sample)
            if not given:
                continue
            if check == "bwgrad_bwgrad":
                self.assertTrue(gradgradcheck(function, given))
            elif check == "fwgrad_bwgrad":
                self.assertTrue(gradgradcheck(function, given, check_fwd_over_rev=True,
                                              check_rev_over_rev=False))  # fmt: skip
            else:
                options = {"check_forward_ad": check_forward_ad,
                           "check_backward_ad": check_backward_ad}  # fmt: skip
                self.assertTrue(gradcheck(function, given, **options))

    def _grad_test_helper(
        self, device: Any, dtype: Any, op: Any, variant: Any, *, check_forward_ad: bool = False,
        check_backward_ad: bool = True, check_batched_grad: bool | None = None,
        check_batched_forward_grad: bool = False,
    ) -> None:  # fmt: skip
        self._check_helper(
            device, dtype, op, variant, "gradcheck", check_forward_ad=check_forward_ad,
            check_backward_ad=check_backward_ad,
        )  # fmt: skip

    def _skip_helper(self, op: Any, device: Any, dtype: Any) -> None:
        if dtype not in op.supported_backward_dtypes(device):
            self.skipTest("the operation has no derivative of this dtype")
        if not op.supports_autograd and not op.supports_forward_ad:
            self.skipTest("the operation has no derivative")


def _of_leaves(op: Any, variant: Any, sample: Any) -> tuple[_Test, tuple[Tensor, ...]]:
    """A call as a function of the tensors in it that require grad."""
    given = sample.input, sample.args, sample.kwargs
    leaves = [x for x in flatten_tree(given)[0] if isinstance(x, Tensor) and x.requires_grad]

    def call(*values: Tensor) -> Any:
        by_leaf = {id(x): v for x, v in zip(leaves, values, strict=True)}

        def put(x: Any) -> Any:
            if type(x) in (list, tuple):
                return type(x)(map(put, x))
            return by_leaf.get(id(x), x)

        input = put(sample.input)
        if variant is op.get_inplace():
            input = input.clone()
        kwargs = {name: put(x) for name, x in sample.kwargs.items()}
        out = op.gradcheck_wrapper(variant, input, *map(put, sample.args), **kwargs)
        return sample.output_process_fn_grad(out)

    return call, (*leaves,)


__all__ = [
    "ALLOW_XPU_PROFILING_TEST", "DEVICE_LIST_SUPPORT_PROFILING_TEST", "NOTEST_CPU",
    "TEST_WITH_DEV_DBG_ASAN", "AlwaysWarnTypedStorageRemoval", "NoTest", "TestGradients",
    "compare_equal_outs_and_grads", "download_file", "dtype2prec_DONTUSE",
    "find_library_location", "gcIfJetson", "get_tensors_from", "make_dynamo_test",
    "mock_wrapper", "munge_exc", "outs_and_grads", "skipIfNotMiopenSuggestNHWC",
]  # fmt: skip
