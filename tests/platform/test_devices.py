"""What scripts ask about devices, threads and compilers, with PyTorch's answers on a CPU."""

from __future__ import annotations

import importlib

import pytest

from wengert import compiler, jit
from wengert.platform import settings

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
        "memory_stats": {},
    },
    "mps": {"is_available": False, "device_count": 0},
    "xpu": {"is_available": False, "device_count": 0, "empty_cache": None},
    "accelerator": {"is_available": False, "device_count": 0, "current_accelerator": None},
    "cpu": {"is_available": True, "is_initialized": True, "device_count": 1, "synchronize": None},
    "compiler": {"is_compiling": False, "is_exporting": False, "reset": None},
    "jit": {"is_scripting": False, "is_tracing": False},
    "backends.mha": {"get_fastpath_enabled": True},
    "backends.cudnn": {"is_available": False, "version": None},
    "backends.mps": {"is_available": False, "is_built": False},
    "backends.cuda": {
        "is_built": False,
        "flash_sdp_enabled": True,
        "cudnn_sdp_enabled": True,
        "fp16_bf16_reduction_math_sdp_allowed": False,
        "is_flash_attention_available": False,
        "is_ck_sdpa_available": False,
    },
    "backends.cusparselt": {"is_available": False, "version": None, "get_max_alg_id": None},
    "backends.kleidiai": {"is_available": False},
    "backends.mkldnn": {"is_acl_available": False},
}
QUESTIONS = [(module, name) for module, names in ANSWERS.items() for name in names]
REFUSALS = {
    ("cuda", "synchronize"): AssertionError,
    ("cuda", "current_device"): AssertionError,
    ("cuda", "get_device_name"): AssertionError,
    ("cuda", "get_device_properties"): AssertionError,
    ("cuda", "mem_get_info"): AssertionError,
    ("cuda", "Stream"): RuntimeError,
    ("cuda", "Event"): RuntimeError,
    ("cuda", "CUDAGraph"): RuntimeError,
    ("cuda", "graph_pool_handle"): RuntimeError,
    ("cuda", "is_current_stream_capturing"): RuntimeError,
    ("cuda", "FloatTensor"): TypeError,
    ("cuda", "default_stream"): AssertionError,
    ("mps", "current_allocated_memory"): RuntimeError,
    ("mps", "synchronize"): RuntimeError,
    ("mps", "empty_cache"): RuntimeError,
    ("xpu", "synchronize"): AssertionError,
    ("xpu", "current_device"): AssertionError,
    ("accelerator", "synchronize"): RuntimeError,
    ("accelerator", "current_stream"): RuntimeError,
    ("accelerator", "empty_cache"): RuntimeError,
    ("accelerator", "memory_allocated"): RuntimeError,
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
    with pytest.raises(REFUSALS[module, name], match=r"CUDA|MPS|XPU|accelerator|base class"):
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
    before = settings.get_num_threads()
    try:
        settings.set_num_threads(1)
        assert settings.get_num_threads() == 1
    finally:
        settings.set_num_threads(before)
    assert settings.get_num_threads() == before


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True])
@pytest.mark.parametrize("name", ["set_num_threads", "set_num_interop_threads"])
def test_thread_counts_are_checked(name, count):
    with pytest.raises(RuntimeError, match=f"{name} expects a"):
        getattr(settings, name)(count)


def test_determinism_is_kept():
    try:
        settings.use_deterministic_algorithms(True, warn_only=True)
        assert settings.are_deterministic_algorithms_enabled()
        assert settings.is_deterministic_algorithms_warn_only_enabled()
    finally:
        settings.use_deterministic_algorithms(False)
    assert not settings.are_deterministic_algorithms_enabled()
    with pytest.raises(TypeError, match="'mode' must be bool, not int"):
        settings.use_deterministic_algorithms(1)


def test_matmul_precision_is_kept():
    try:
        settings.set_float32_matmul_precision("high")
        assert settings.get_float32_matmul_precision() == "high"
        with pytest.warns(UserWarning, match="'low' is not one of"):
            settings.set_float32_matmul_precision("low")
        assert settings.get_float32_matmul_precision() == "high"
    finally:
        settings.set_float32_matmul_precision("highest")


def test_compile_is_a_decorator():
    @compiler.compile
    def double(x):
        return x * 2

    @compiler.compile(mode="max-autotune", fullgraph=True)
    def triple(x):
        return x * 3

    assert (double(2), triple(2)) == (4, 6)
    assert double.__name__ == "double"
    with pytest.raises(AssertionError, match="argument 'model' is 3, expected a callable"):
        compiler.compile(3)
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        compiler.compile(half, mode="fast")


def test_disabled_compile_changes_nothing():
    assert compiler.compile(len, disable=True) is len
    assert compiler.compile(len, backend="eager")([1]) == 1
    assert compiler.disable(half)(3) == compiler.disable()(half)(3) == 1.5
    assert not compiler.is_compiling()


def half(x):
    return x / 2


def test_marks_of_the_script_compiler_change_nothing():
    assert jit.ignore(half) is half
    assert jit.ignore(drop=True)(half) is half
    assert jit.unused(half) is half
    assert jit.export(half) is half
    assert (jit.is_scripting(), jit.is_tracing()) == (False, False)


def test_contexts_of_no_device_do_nothing():
    from wengert import cpu, cuda

    with cuda.device(-1), cuda.device(None), cuda.stream(None), cpu.stream(cpu.Stream()):
        pass
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        cuda.device(0)
    with pytest.raises(RuntimeError, match="NVTX"), cuda.nvtx.range("block"):
        pass


def test_old_types_are_those_of_no_tensor():
    import wengert
    from wengert import cuda

    assert not isinstance(wengert.ones(1), cuda.FloatTensor)


def test_modules_of_devices():
    import wengert
    from wengert import cuda

    assert wengert.get_device_module("cuda:1") is cuda
    assert wengert.get_device_module() is wengert.cpu
    with pytest.raises(RuntimeError, match="does not have a corresponding module"):
        wengert.get_device_module("vulkan")


def test_a_module_without_parameters_moves_anywhere():
    import wengert

    wengert.nn.ReLU().cuda()
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        wengert.nn.Linear(1, 1).cuda()
    assert wengert.nn.Linear(1, 1).share_memory().weight.is_shared()


def test_attention_kernels_are_switches():
    from wengert.backends import cuda

    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled()
    assert cuda.flash_sdp_enabled()


def test_one_process():
    from wengert import distributed, nn

    assert not distributed.is_initialized()
    for refused in (distributed.get_rank, lambda: nn.parallel.DistributedDataParallel(nn.ReLU())):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            refused()
    with pytest.raises(ValueError, match="variable RANK expected"):
        distributed.init_process_group("gloo")


def test_small_names_of_jit():
    assert jit.wait(jit.fork(half, 3)) == 1.5
    assert jit.isinstance([1], list[int])
