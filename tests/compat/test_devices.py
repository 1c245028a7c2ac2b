"""What scripts ask about devices, threads and compilers, with PyTorch's answers on a CPU."""

from __future__ import annotations

import importlib
import warnings

import pytest

from wengert import _settings, compiler, jit

ANSWERS = {
    "cuda": {
        "is_available": False,
        "device_count": 0,
        "is_initialized": False,
        "empty_cache": None,
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "get_arch_list": [],
        "get_rng_state_all": [],
    },
    "mps": {"is_available": False, "device_count": 0},
    "xpu": {"is_available": False, "device_count": 0, "empty_cache": None},
    "accelerator": {"is_available": False, "device_count": 0, "current_accelerator": None},
    "cpu": {"is_available": True, "device_count": 1, "synchronize": None},
    "backends.cudnn": {"is_available": False, "version": None},
    "backends.mps": {"is_available": False, "is_built": False},
    "backends.cuda": {"is_built": False, "flash_sdp_enabled": True},
}
QUESTIONS = [(module, name) for module, names in ANSWERS.items() for name in names]
REFUSALS = {
    ("cuda", "synchronize"): AssertionError,
    ("cuda", "current_device"): AssertionError,
    ("cuda", "get_device_name"): AssertionError,
    ("cuda", "get_device_properties"): AssertionError,
    ("cuda", "mem_get_info"): AssertionError,
    ("mps", "synchronize"): RuntimeError,
    ("mps", "empty_cache"): RuntimeError,
    ("xpu", "synchronize"): AssertionError,
    ("accelerator", "synchronize"): RuntimeError,
    ("accelerator", "current_device_index"): RuntimeError,
}


def ask(root: str, module: str, name: str) -> object:
    return getattr(importlib.import_module(f"{root}.{module}"), name)()


@pytest.mark.parametrize(("module", "name"), QUESTIONS)
def test_answers(module, name):
    assert ask("wengert", module, name) == ANSWERS[module][name]


@pytest.mark.torch
@pytest.mark.parametrize(("module", "name"), QUESTIONS)
def test_answers_are_those_of_a_cpu_build(torch, module, name):
    assert ask("torch", module, name) == ANSWERS[module][name]


@pytest.mark.parametrize(("module", "name"), REFUSALS)
def test_refuses_without_a_device(module, name):
    with pytest.raises(REFUSALS[module, name], match=r"CUDA|MPS|XPU|accelerator"):
        ask("wengert", module, name)


@pytest.mark.torch
@pytest.mark.parametrize(("module", "name"), REFUSALS)
def test_refusals_are_those_of_a_cpu_build(torch, module, name):
    if (module, name) == ("cuda", "get_device_properties"):
        with pytest.raises(AssertionError):
            torch.cuda.get_device_properties(0)
        return
    with pytest.raises(REFUSALS[module, name]):
        ask("torch", module, name)


@pytest.mark.parametrize("seed", ["manual_seed", "manual_seed_all"])
def test_seeding_a_missing_device_passes(seed):
    module = importlib.import_module("wengert.cuda")
    assert getattr(module, seed)(3) is None


def test_cudnn_switches_and_flags():
    from wengert.backends import cudnn

    assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == (True, False, False)
    with cudnn.flags(enabled=False, deterministic=True):
        assert (cudnn.enabled, cudnn.deterministic) == (False, True)
    assert (cudnn.enabled, cudnn.deterministic) == (True, False)


def test_version_has_no_device():
    version = importlib.import_module("wengert.version")
    assert (version.cuda, version.hip, version.xpu, version.debug) == (None, None, None, False)


def test_threads_are_set():
    before = _settings.get_num_threads()
    try:
        _settings.set_num_threads(1)
        assert _settings.get_num_threads() == 1
    finally:
        _settings.set_num_threads(before)
    assert _settings.get_num_threads() == before


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True])
@pytest.mark.parametrize("name", ["set_num_threads", "set_num_interop_threads"])
def test_thread_counts_are_checked(name, count):
    with pytest.raises(RuntimeError, match=f"{name} expects a"):
        getattr(_settings, name)(count)


def test_determinism_is_kept():
    try:
        _settings.use_deterministic_algorithms(True, warn_only=True)
        assert _settings.are_deterministic_algorithms_enabled()
        assert _settings.is_deterministic_algorithms_warn_only_enabled()
    finally:
        _settings.use_deterministic_algorithms(False)
    assert not _settings.are_deterministic_algorithms_enabled()
    with pytest.raises(TypeError, match="'mode' must be bool, not int"):
        _settings.use_deterministic_algorithms(1)


def test_matmul_precision_is_kept():
    try:
        _settings.set_float32_matmul_precision("high")
        assert _settings.get_float32_matmul_precision() == "high"
        with pytest.warns(UserWarning, match="'low' is not one of"):
            _settings.set_float32_matmul_precision("low")
        assert _settings.get_float32_matmul_precision() == "high"
    finally:
        _settings.set_float32_matmul_precision("highest")


@pytest.fixture
def untold(monkeypatch):
    monkeypatch.setattr(compiler, "_told", set())


def test_compile_is_a_decorator(untold):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        @compiler.compile
        def double(x):
            return x * 2

        @compiler.compile(mode="max-autotune", fullgraph=True)
        def triple(x):
            return x * 3

    (warning,) = caught  # once, however often it is used
    assert str(warning.message).startswith("torch.compile compiles nothing in wengert")
    assert warning.filename == __file__
    assert (double(2), triple(2)) == (4, 6)


def test_compile_gives_a_model_back(untold):
    def model(x):
        return x

    with pytest.warns(UserWarning, match="eagerly"):
        assert compiler.compile(model) is model
    with pytest.raises(RuntimeError, match="'model' is 3, expected a callable"):
        compiler.compile(3)


def test_disabled_compile_says_nothing(untold):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiler.compile(len, disable=True) is len
        assert compiler.disable(len) is len
        assert compiler.disable()(len) is len
    assert not compiler.is_compiling()


def half(x):
    return x / 2


def test_script_gives_the_function_back(untold):
    with pytest.warns(UserWarning, match=r"torch\.jit\.script compiles nothing"):
        assert jit.script(half) is half
    with pytest.warns(UserWarning, match=r"torch\.jit\.trace compiles nothing"):
        assert jit.trace(half, 1.0) is half
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jit.script(half) is half
        assert jit.trace(half, 1.0) is half


def test_marks_of_the_script_compiler_change_nothing():
    assert jit.ignore(half) is half
    assert jit.ignore(drop=True)(half) is half
    assert jit.unused(half) is half
    assert jit.export(half) is half
    assert (jit.is_scripting(), jit.is_tracing()) == (False, False)
