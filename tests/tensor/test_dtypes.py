"""dtypes, their limits, the default one; devices."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from tests.tensor.parity import assert_same, expressions

DTYPES = expressions("""
    T.channels_last
    repr(T.preserve_format)
    T.result_type(1,2)
    T.result_type('a',matrix(T))
    T.can_cast(T.float32,T.int64)
    T.can_cast(T.int64,T.float16)
    T.can_cast(T.complex64,T.float64)
    T.can_cast(T.int64,T.bool)
    T.can_cast(T.int64,T.uint8)
    T.can_cast(T.int64,T.int8)
    T.can_cast(T.bool,T.uint8)
    T.can_cast(3,4)
    T.promote_types(T.uint16,T.int32)
    T.promote_types(T.uint16,T.uint8)
    T.promote_types(T.uint16,T.bool)
    T.promote_types(T.uint16,T.float32)
    T.finfo(T.float32)
    T.finfo(T.float16)
    T.finfo(T.bfloat16)
    T.finfo(T.float64)
    T.finfo(T.complex64)
    T.finfo()
    T.finfo(T.int32)
    T.finfo('a')
    T.iinfo(T.int8)
    T.iinfo(T.uint8)
    T.iinfo(T.bool)
    T.iinfo(T.float32)
    T.iinfo(T.int64).max
    T.iinfo(3)
    T.finfo(T.bfloat16).resolution
    T.finfo(T.float16).tiny
    T.finfo(T.float32)==T.finfo(T.float32)
    T.finfo(T.float32).bits
    T.finfo(T.float32).dtype
    T.iinfo(T.int32)
    T.iinfo(T.uint16)
    T.float32.to_complex()
    T.complex64.to_real()
    T.int32.to_complex()
    T.int32.to_real()
    T.float
    T.half
    T.float32.is_signed
    T.float32.itemsize
    T.bfloat16.to_complex()
    T.strided
""")

DEVICES = expressions("""
    T.device('cuda')
    T.device('cuda:3')
    T.device('cuda', 1)
    T.device('cpu', 0)
    T.device(type='cpu', index=1)
    T.device(T.device('mps'))
    str(T.device('cuda:3'))
    T.device('cuda:3').index
    T.device('cpu').index
    T.device('cpu') == T.device('cpu:0')
    T.device('cpu') == 'cpu'
    T.device('cpu', -1)
    T.device('cpu:-1')
    T.device('cpu:01')
    T.device('cpu:1', 1)
    T.device('foo')
    T.device(3)
    T.device(2.5)
    T.device('cuda', 1.5)
    T.device()
    pickle.loads(pickle.dumps(T.device('cuda:1')))
    len({T.device('cpu'), T.device('cpu'), T.device('cpu:0')})
    T.zeros(2, device='cpu:0').device
    T.zeros(2, device='cuda')
    T.zeros(2, device='xpu')
    T.zeros(2, device='mps')
    T.zeros(2, device='foo')
    T.zeros(2, device=0)
""")
NAMES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("expression", DTYPES + DEVICES)
def test_dtypes_and_devices_equal_torch(expression: str, torch: Any) -> None:
    assert_same(torch, expression)


@pytest.mark.torch
@pytest.mark.parametrize("a", NAMES)
def test_every_pair_promotes_as_in_torch(a: str, torch: Any) -> None:
    for b in NAMES:
        assert_same(torch, f"T.promote_types(T.{a}, T.{b})")
        assert_same(torch, f"T.can_cast(T.{a}, T.{b})")


VALUES = ("True", "2", "2.5", "1j", "T.ones((), dtype=T.float64)", "T.ones(2, dtype=T.int32)",
          "T.ones(2, dtype=T.float16)", "T.ones(2, dtype=T.bool)", "T.ones((), dtype=T.int64)",
          "T.ones(2, dtype=T.complex64)")  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("a", VALUES)
def test_result_types_equal_torch(a: str, torch: Any) -> None:
    for b in VALUES:
        if {a, b} == {"1j", "T.ones(2, dtype=T.float16)"}:
            continue  # complex32 in torch, a name only here
        assert_same(torch, f"T.result_type({a}, {b})")


@pytest.mark.torch
@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_describes_itself(name: str, torch: Any) -> None:
    for what in ("is_floating_point", "is_complex", "is_signed", "itemsize", "to_real()"):
        assert_same(torch, f"T.{name}.{what}")
    assert_same(torch, f"T.{name}")


@pytest.mark.torch
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_limits_equal_torch(name: str, torch: Any) -> None:
    for what in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert_same(torch, f"T.finfo(T.{name}).{what}")


def test_only_floating_dtypes_become_the_default() -> None:
    for wrong in (wengert.int64, wengert.complex64, "float32"):
        with pytest.raises(TypeError, match="floating-point"):
            wengert.set_default_dtype(wrong)
    assert wengert.get_default_dtype() is wengert.float32


def test_the_old_way_to_set_the_default_warns() -> None:
    with pytest.warns(UserWarning, match="deprecated"):
        wengert.set_default_tensor_type(wengert.DoubleTensor)
    try:
        assert wengert.get_default_dtype() is wengert.float64
    finally:
        wengert.set_default_dtype(wengert.float32)


def test_the_default_device_is_the_cpu() -> None:
    wengert.set_default_device("cpu")
    assert wengert.get_default_device() == wengert.device("cpu")
    with pytest.raises(AssertionError, match="CUDA"):
        wengert.set_default_device("cuda")
    with wengert.device("cpu"):
        assert wengert.zeros(1).device.type == "cpu"


def test_devices_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="not writable"):
        wengert.device("cpu").type = "cuda"
