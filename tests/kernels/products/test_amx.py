"""Products on AMX tiles, by an emulator of the instructions; and who is given the real ones."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert
from tests.kernels.products.test_pairs import assert_product, laid_out
from tests.kernels.threads import same_for_all_threads
from wengert.kernels.jit import available

if not available():
    pytest.skip("needs llvmlite", allow_module_level=True)

from tests.kernels.products.emulated_tiles import _Key, emulated
from wengert.kernels.jit import disk, targets
from wengert.kernels.products import amx, amx_check, gemm, packed
from wengert.kernels.products.microkernel import lanes

BRAIN = np.dtype(ml_dtypes.bfloat16)
rng = np.random.default_rng(0)

tiled = pytest.mark.skipif(lanes() != 16, reason="processors with AMX have vectors of 512 bits")


@pytest.fixture
def tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amx, "KERNEL", emulated())
    monkeypatch.setattr(amx, "has_amx", lambda: True)


def no_tiles_are_left() -> bool:
    """Whether this thread gave them back."""
    libc = ctypes.CDLL(None)
    libc.pthread_getspecific.restype = ctypes.c_void_p
    return libc.pthread_getspecific(_Key.number) is None


@tiled
@pytest.mark.parametrize("layouts", ["nn", "nt", "tn", "tt", "ss", "on", "no"])
def test_layouts(tiles: None, layouts: str) -> None:
    for m, n, k in ((2, 2, 1), (16, 48, 32), (33, 70, 129), (130, 40, 64), (50, 100, 1500)):
        a, b = laid_out(m, k, layouts[0]), laid_out(k, n, layouts[1])
        assert_product(gemm.gemm_of_pairs(a, b), a, b)
    assert no_tiles_are_left()


SIZES = st.integers(2, 35), st.integers(2, 100), st.integers(1, 100)


@tiled
@settings(max_examples=60, deadline=None)
@given(st.tuples(*SIZES), st.sampled_from(["nn", "nt", "tn"]))
def test_edges_of_tiles(sizes: tuple[int, int, int], layouts: str) -> None:
    m, n, k = sizes
    a, b = laid_out(m, k, layouts[0]), laid_out(k, n, layouts[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(amx, "KERNEL", emulated())
        assert_product(gemm.product_on_tiles(a, b), a, b)


@tiled
def test_batches_and_rows_that_are_added(tiles: None) -> None:
    a, b = (rng.standard_normal(s).astype(BRAIN) for s in ((3, 2, 20, 31), (2, 31, 50)))
    assert_product(gemm.gemm_of_pairs(a, b), a, b)
    turned = b.swapaxes(-1, -2)
    assert_product(gemm.gemm_of_pairs(turned, a.swapaxes(-1, -2)), turned, a.swapaxes(-1, -2))
    for k in (31, 1500):  # of one block of terms, and of several
        a, b = laid_out(20, k, "n"), laid_out(k, 50, "n")
        bias = rng.standard_normal(50).astype(np.float32)
        got = gemm.gemm_of_pairs(a, b, bias)
        assert got is not None
        exact = a.astype("d") @ b.astype("d") + bias
        np.testing.assert_allclose(got, exact, rtol=1e-4, atol=1e-4)


@tiled
def test_digits_do_not_depend_on_threads(tiles: None) -> None:
    a, b = laid_out(301, 1027, "n"), laid_out(1027, 190, "n")
    assert_product(same_for_all_threads(lambda: gemm.gemm_of_pairs(a, b)), a, b)
    assert no_tiles_are_left()


@tiled
def test_a_matrix_times_its_transpose_is_symmetric(tiles: None) -> None:
    a = laid_out(75, 1200, "n")
    out = gemm.gemm_of_pairs(a, a.T)
    assert out is not None
    np.testing.assert_array_equal(out, out.T)


@tiled
def test_not_a_number_and_infinity_stay_in_their_rows(tiles: None) -> None:
    a, b = laid_out(40, 65, "n"), laid_out(65, 70, "n")
    a[3, 64], a[7, 0] = np.nan, np.inf
    out = gemm.gemm_of_pairs(a, b)
    assert out is not None
    assert np.isnan(out[3]).all()
    assert np.isinf(out[7]).all()
    assert np.isfinite(np.delete(out, [3, 7], 0)).all()


@tiled
def test_layers_train_on_tiles(tiles: None) -> None:
    x, w, g = (rng.standard_normal(s).astype("f") for s in ((128, 96), (80, 96), (128, 80)))
    values = [wengert.from_numpy(v).bfloat16().requires_grad_() for v in (x, w)]
    wengert.nn.functional.linear(*values).backward(wengert.from_numpy(g).bfloat16())
    wide = [v.detach().double().requires_grad_() for v in values]
    wengert.nn.functional.linear(*wide).backward(wengert.from_numpy(g).bfloat16().double())
    for ours, exact in zip(values, wide, strict=True):
        scale = float(exact.grad.abs().max())
        np.testing.assert_allclose(
            ours.grad.double().numpy(), exact.grad.numpy(), rtol=2**-8, atol=scale * 2**-12
        )


@tiled
@pytest.mark.parametrize("add", [0, 1])
def test_a_tile_in_python(add: int) -> None:
    depth, vectors = 32, 2
    a = rng.standard_normal((16, 2 * depth)).astype(BRAIN)
    b = rng.standard_normal((depth, 16 * vectors, 2)).astype(BRAIN)
    c = rng.standard_normal((16, 16 * vectors)).astype(np.float32)
    exact = np.einsum("rkp,kcp->rc", a.reshape(16, depth, 2).astype("d"), b.astype("d")) + add * c
    panel = a.reshape(16, -1, 32).swapaxes(0, 1).copy().reshape(-1).view(np.float32)
    rest = (b.reshape(-1).view(np.float32), 16 * vectors, depth, c.reshape(-1), 16 * vectors, add)
    amx.tiled_pairs_product(16, vectors, panel, *rest)
    np.testing.assert_allclose(c, exact, rtol=1e-5, atol=1e-5)


@tiled
def test_blocks_have_whole_tiles_of_terms() -> None:
    for k in (16, 400, 4000):
        for threads in (1, 2):
            sizes = packed.plan(packed.Factors(100, 200, k, k, 1, 200, 1), threads, amx.PANELS)[0]
            assert sizes.block_depth % 16 == 0
            assert sizes.high == 16
            assert sizes.block_rows % 16 == 0


def assembly(text: str) -> str:
    """What LLVM makes of a module for the first processor with AMX."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu="sapphirerapids", opt=3)
    return str(machine.emit_assembly(llvm.parse_assembly(text)))


@tiled
def test_the_text_becomes_instructions() -> None:
    of_tiles = assembly(amx.tiled_pairs_product.module())
    found = Counter(re.findall(r"\b(?:tile|tdp)\w+", of_tiles))
    # In the functions for one, two and three vectors.
    assert found == {"tilezero": 6, "tileloadd": 9, "tdpbf16ps": 6, "tilestored": 12}
    for native, instruction in ((amx.configured, "ldtilecfg"), (amx.unconfigured, "tilerelease")):
        declared = "".join(f"declare {line}\n" for line in native.declarations())
        assert instruction in assembly(declared + native.llvm().replace("internal ", "", 2))


def test_the_configuration_has_eight_whole_tiles() -> None:
    assert len(amx._CONFIGURATION) == 64
    assert amx._CONFIGURATION[:2] == b"\1\0"  # the palette, and where to start
    assert np.frombuffer(amx._CONFIGURATION, "<u2")[8:16].tolist() == [64] * 8
    assert list(amx._CONFIGURATION[48:56]) == [16] * 8


class Asked:
    """Answers of a first product, counted."""

    def __init__(self, answer: bool | None) -> None:
        self.answer, self.count = answer, 0

    def __call__(self) -> bool | None:
        self.count += 1
        return self.answer


@pytest.fixture
def with_tiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A processor that has them, and an empty folder of kernels."""
    there = targets.Processor("sapphirerapids", "+avx,+avx512f,+amx-tile,+amx-bf16")
    monkeypatch.setattr(targets, "processor", lambda: there)
    monkeypatch.setattr(amx, "lanes", lambda: 16)
    monkeypatch.setattr(amx, "permitted", lambda: True)
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))


@pytest.mark.parametrize("right", [True, False])
def test_a_first_product_is_computed_once_for_a_machine(
    with_tiles: None, right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(right)
    monkeypatch.setattr(amx, "_tried", asked)
    assert [amx._found(), amx._found()] == [right, right]
    assert asked.count == 1
    disk.clear()
    assert amx._found() is right
    assert asked.count == 2


def test_no_answer_is_kept_where_there_was_none(
    with_tiles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(None)
    monkeypatch.setattr(amx, "_tried", asked)
    assert [amx._found(), amx._found()] == [False, False]
    assert asked.count == 2


@pytest.mark.parametrize("missing", ["permission", "tiles", "bfloat16", "vectors", "wish"])
def test_who_has_no_tiles_computes_no_first_product(
    with_tiles: None, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(True)
    monkeypatch.setattr(amx, "_tried", asked)
    if missing == "permission":
        monkeypatch.setattr(amx, "permitted", lambda: False)
    elif missing == "wish":
        monkeypatch.setenv("WENGERT_AMX", "0")
    elif missing == "vectors":
        monkeypatch.setattr(amx, "lanes", lambda: 8)
    else:
        features = "+amx-bf16" if missing == "tiles" else "+amx-tile"
        monkeypatch.setattr(targets, "processor", lambda: targets.Processor("x", features))
    assert not amx._found()
    assert asked.count == 0


def program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def test_an_illegal_instruction_harms_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = {
        "exit 0": True, "exit 3": False, "kill -ILL $$": False, "kill -SEGV $$": False,
        "exit 1": None, "kill -KILL $$": None,  # it could not be imported, or had no memory
    }  # fmt: skip
    for text, answer in answers.items():
        monkeypatch.setattr("sys.executable", program(tmp_path / "python", text))
        assert amx._tried() is answer
    for name in ("", str(tmp_path / "nothing")):
        monkeypatch.setattr("sys.executable", name)
        assert amx._tried() is None
    monkeypatch.setattr(amx, "_PATIENCE", 0.05)
    monkeypatch.setattr("sys.executable", program(tmp_path / "python", "sleep 5"))
    assert amx._tried() is None


@tiled
def test_a_first_product_is_exact_or_wrong(tiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amx_check, "permitted", lambda: True)
    assert amx_check.computes()
    monkeypatch.setattr(amx_check, "product_on_tiles", lambda a, b: np.zeros((37, 70), "f"))
    assert not amx_check.computes()
    monkeypatch.setattr(amx_check, "permitted", lambda: False)
    assert not amx_check.computes()


def test_a_process_of_its_own_finds_what_this_one_may_use() -> None:
    assert amx._tried() is (amx.permitted() and amx.has_amx())


@pytest.mark.parametrize(
    ("system", "machine"), [("darwin", "x86_64"), ("win32", "AMD64"), ("linux", "aarch64")]
)
def test_other_systems_are_not_asked(
    system: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert not amx._asked_linux()


@tiled
def test_kernels_on_tiles_have_names_of_their_own() -> None:
    from wengert.kernels.products import pairs

    names = {
        "|".join(f"{a.__name__}>{b.__name__}" for a, b in k.instead.items())
        for k in (amx.KERNEL, emulated(), pairs._DOTTED, pairs._ADDED, packed.product_kernel)
    }
    assert len(names) == 5
