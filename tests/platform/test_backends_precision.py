"""Precisions of float32 products: kept, inherited and refused as in PyTorch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import wengert

NODES = (
    "", "mkldnn", "mkldnn.conv", "mkldnn.matmul", "mkldnn.rnn", "cudnn", "cudnn.conv",
    "cudnn.rnn", "cuda.matmul",
)  # fmt: skip


def node(library: Any, name: str) -> Any:
    found = library.backends
    for part in name.split(".") if name else ():
        found = getattr(found, part)
    return found


def own(library: Any) -> dict[str, str]:
    return {name: node(library, name).fp32_precision for name in NODES}


def reset(library: Any) -> None:
    for name in NODES:
        none = "tf32" if name in ("cudnn.conv", "cudnn.rnn") else "none"
        node(library, name).fp32_precision = none


@pytest.fixture(autouse=True)
def as_before(request: pytest.FixtureRequest) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if request.node.get_closest_marker("torch"):
            import torch

            # The harness of PyTorch's tests forbids it in this process for good.
            stack.enter_context(torch.backends.__allow_nonbracketed_mutation())
        yield
    wengert.set_float32_matmul_precision("highest")
    reset(wengert)


@pytest.mark.torch
@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("value", ["ieee", "tf32", "bf16", "none", "tf64"])
def test_set_and_inherited(torch: ModuleType, name: str, value: str) -> None:
    outcomes = []
    for library in (torch, wengert):
        reset(library)
        try:
            node(library, name).fp32_precision = value
            outcomes.append(own(library))
        except RuntimeError as error:
            outcomes.append(str(error).partition(";")[0])
        reset(library)
    assert outcomes[0] == outcomes[1]


@pytest.mark.torch
def test_a_precision_of_its_own_stays(torch: ModuleType) -> None:
    for library in (torch, wengert):
        reset(library)
        library.backends.mkldnn.conv.fp32_precision = "ieee"
        library.backends.fp32_precision = "bf16"
    assert own(wengert) == own(torch)
    assert own(wengert)["mkldnn.conv"] == "ieee"
    assert own(wengert)["mkldnn.rnn"] == "bf16"
    reset(torch)


@pytest.mark.torch
@pytest.mark.parametrize("precision", ["highest", "high", "medium"])
def test_precision_of_matrix_products(torch: ModuleType, precision: str) -> None:
    for library in (torch, wengert):
        reset(library)
        library.set_float32_matmul_precision(precision)
    assert own(wengert) == own(torch)
    torch.set_float32_matmul_precision("highest")
    reset(torch)


def test_tf32_under_its_older_name() -> None:
    matmul = wengert.backends.cuda.matmul
    assert not matmul.allow_tf32
    matmul.allow_tf32 = True
    assert matmul.fp32_precision == "tf32"
    matmul.allow_tf32 = False
    assert matmul.fp32_precision == "ieee"


@pytest.mark.parametrize("name", ["", "mkldnn", "cudnn"])
def test_flags_are_for_a_block(name: str) -> None:
    module = node(wengert, name)
    with contextlib.suppress(ZeroDivisionError), module.flags(fp32_precision="tf32"):
        assert module.fp32_precision == "tf32"
        raise ZeroDivisionError
    assert module.fp32_precision == "none"
    wrong = module.flags(fp32_precision="x")
    with pytest.raises(RuntimeError, match="Unknown precision: x"):
        wrong.__enter__()


@pytest.mark.parametrize(
    "ask", ["preferred_linalg_library", "preferred_blas_library", "preferred_rocm_fa_library"]
)
def test_no_library_of_a_gpu_is_preferred(ask: str) -> None:
    preferred = getattr(wengert.backends.cuda, ask)
    default = preferred()
    assert default.name == "Default"
    assert preferred("default") is preferred(default) is default
    with pytest.raises(RuntimeError, match="Unknown input value 'zork'"):
        preferred("zork")
    with pytest.raises(RuntimeError, match="Unknown input value type: 3"):
        preferred(3)
    with pytest.raises(RuntimeError, match="Cannot set preferred backend to"):
        preferred({"l": "magma", "b": "cublaslt", "r": "ck"}[ask[10]])


def test_switches_without_effect() -> None:
    from wengert.backends import mkl, mkldnn, nnpack

    with nnpack.flags(False):
        assert nnpack.set_flags(True) == (False,)
    assert nnpack.set_flags(True) == (True,)
    with mkl.verbose(mkl.VERBOSE_ON), mkldnn.verbose(mkldnn.VERBOSE_ON_CREATION):
        assert wengert.ones(2).sum() == 2
    with mkldnn.flags(enabled=False, deterministic=True):
        assert (mkldnn.enabled, mkldnn.deterministic, mkldnn.allow_tf32) == (False, True, True)
    assert (mkldnn.enabled, mkldnn.deterministic, mkldnn.allow_tf32) == (True, False, None)
