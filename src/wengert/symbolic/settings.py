"""The settings that programs know as ``theano.config``."""

from __future__ import annotations

import configparser
import contextlib
import os
import struct
from collections.abc import Callable
from typing import Any

_DEFAULTS: dict[str, Any] = {
    "floatX": "float64",
    "device": "cpu",
    "mode": "Mode",
    "linker": "cvm",
    "optimizer": "fast_run",
    "cast_policy": "custom",
    "int_division": "int",
    "on_unused_input": "raise",
    "on_opt_error": "warn",
    "compute_test_value": "off",
    "compute_test_value_opt": "off",
    "exception_verbosity": "low",
    "optimizer_verbose": False,
    "optimizer_including": "",
    "optimizer_excluding": "",
    "print_test_value": False,
    "profile": False,
    "profile_memory": False,
    "profile_optimizer": False,
    "allow_gc": True,
    "openmp": False,
    "force_device": False,
    "init_gpu_device": "",
    "cxx": "",
    "compiledir": "",
    "base_compiledir": "",
    "warn_float64": "ignore",
    "allow_downcast": None,
    "traceback.limit": 8,
    "scan.allow_gc": False,
    "scan.allow_output_prealloc": True,
    "lib.cnmem": 0.0,
    "gpuarray.preallocate": -1.0,
    "dnn.enabled": "False",
    "blas.ldflags": "",
    "nvcc.fastmath": False,
    "NanGuardMode.nan_is_error": True,
    "NanGuardMode.inf_is_error": True,
    "NanGuardMode.big_is_error": True,
    "NanGuardMode.action": "raise",
    "pickle_test_value": True,
    "deterministic": "default",
    "conv.assert_shape": False,
    "print_global_stats": False,
    "contexts": "",
    "print_active_device": True,
    "gpuarray.sync": False,
    "gpuarray.sched": "default",
    "gpuarray.single_stream": True,
    "cuda.root": "",
    "dnn.conv.algo_fwd": "small",
    "dnn.conv.algo_bwd_data": "none",
    "dnn.conv.algo_bwd_filter": "none",
    "dnn.conv.precision": "as_input_f32",
    "dnn.include_path": "",
    "dnn.library_path": "",
    "assert_no_cpu_op": "ignore",
    "nocleanup": False,
    "tensor.cmp_sloppy": 0,
    "tensor.local_elemwise_fusion": True,
    "gpu.local_elemwise_fusion": True,
    "lib.amdlibm": False,
    "traceback.compile_limit": 0,
    "numpy.seterr_all": "ignore",
    "numpy.seterr_divide": "None",
    "numpy.seterr_over": "None",
    "numpy.seterr_under": "None",
    "numpy.seterr_invalid": "None",
    "unpickle_function": True,
    "reoptimize_unpickled_function": False,
    "openmp_elemwise_minsize": 200000,
    "check_input": True,
    "cache_optimizations": False,
    "unittests.rseed": "666",
    "optimizer_requiring": "",
    "DebugMode.patience": 10,
    "DebugMode.check_c": False,
    "DebugMode.check_py": True,
    "DebugMode.check_finite": True,
    "DebugMode.warn_input_not_reused": True,
    "DebugMode.check_preallocated_output": "",
    "profiling.time_thunks": True,
    "profiling.n_apply": 20,
    "profiling.n_ops": 20,
    "profiling.output_line_width": 512,
    "profiling.min_memory_size": 1024,
    "profiling.min_peak_memory": False,
    "profiling.destination": "stderr",
    "profiling.debugprint": False,
    "profiling.ignore_first_call": False,
    "optdb.position_cutoff": float("inf"),
    "optdb.max_use_ratio": 8.0,
    "gcc.cxxflags": "",
    "cmodule.warn_no_version": False,
    "blas.check_openmp": True,
    "metaopt.verbose": 0,
    "vm.lazy": None,
    "on_shape_error": "warn",
    "scan.debug": False,
    "compile.wait": 5,
    "compile.timeout": 120,
    "cycle_detection": "regular",
    "check_stack_trace": "off",
    "DebugMode.check_strides": 0,
    "experimental.unpickle_gpu_on_cpu": False,
    "warn.ignore_bug_before": "0.9",
    "warn.round": False,
    "warn.inc_subtensor1_opt": True,
    "DebugMode.check_preallocated_output_ndim": 4,
    "metaopt.optimizer_excluding": "",
    "metaopt.optimizer_including": "",
    "tensor.insert_inplace_optimizer_validate_nb": -1,
    "experimental.local_alloc_elemwise": True,
    "experimental.local_alloc_elemwise_assert": True,
    "cmodule.preload_cache": False,
    "cmodule.debug": False,
    "gpuelemwise.sync": True,
    "dnn.base_path": "",
    "ctc.root": "",
}
# Warnings about errors of earlier versions, which programs turn on and off.
_DEFAULTS |= {
    f"warn.{name}": False
    for name in (
        "argmax_pushdown_bug", "gpusum_01_011_0111_bug", "sum_sum_bug", "sum_div_dimshuffle_bug",
        "subtensor_merge_bug", "gpu_set_subtensor1", "vm_gc_bug", "signal_conv2d_interface",
        "reduce_join", "inc_set_subtensor1", "identify_1pexp_bug",
    )
}  # fmt: skip
NAMES = tuple(_DEFAULTS)
FLOATS = ("float16", "float32", "float64")


class Settings:
    """Settings by name; dotted names are settings of settings.

    Read once from the environment variable THEANO_FLAGS (``floatX=float32,device=cpu``) and the
    file ``~/.theanorc``, as programs and their instructions expect. Most are accepted because
    programs set them, and change nothing: `floatX`, `cast_policy`, `compute_test_value`,
    `on_unused_input` and `exception_verbosity` are read.

    >>> from wengert.symbolic import config
    >>> config.floatX
    'float64'
    """

    def __init__(self, values: dict[str, Any]) -> None:
        object.__setattr__(self, "_filters", {})
        for name, value in values.items():
            self.assign(name, value)

    def declare(
        self, name: str, value: Any, check: Callable[[Any], Any], read: bool = False
    ) -> None:
        """A setting of a program's own; `check` gives what may be assigned, or raises.

        `read` says that it has a value already because the environment or a file has one.
        """
        head, dot, tail = name.partition(".")
        if not dot:
            if name in self._filters or (name in self.__dict__ and not read):
                raise AttributeError("This name is already taken", name)
            self._filters[name] = check
            setattr(self, name, value)
            return
        below = self.__dict__.setdefault(head, Settings({}))
        if not isinstance(below, Settings):
            raise TypeError("Internal config nodes must be config class instances", below)
        below.declare(tail, value, check, read)

    def assign(self, name: str, value: Any) -> None:
        """Set what has a dotted name, or one with two underscores for a dot, as in Theano-PyMC."""
        head, dot, tail = name.replace("__", ".").partition(".")
        if not dot:
            setattr(self, name, value)
            return
        below = self.__dict__.setdefault(head, Settings({}))
        if isinstance(below, Settings):
            below.assign(tail, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "floatX" and value not in FLOATS:
            raise ValueError(
                f'Invalid value ({value!r}) for configuration variable "floatX". Valid options'
                f" are {FLOATS}"
            )
        if name in self._filters:
            value = self._filters[name](value)
        if "__" in name:
            self.assign(name, value)
            return
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if "__" in name.strip("_"):
            return self.value_of(name)
        raise AttributeError(f"config has no setting {name!r}")

    def __copy__(self) -> Settings:
        # Programs save the settings so and assign the copy later; what functions read is this.
        return self

    def change_flags(self, *dictionaries: Any, **values: Any) -> ChangedFlags:
        """Settings for the time of a ``with`` block or of a decorated function."""
        return ChangedFlags(self, {k: v for d in dictionaries for k, v in dict(d).items()} | values)

    def value_of(self, name: str) -> Any:
        """The value of a setting with a dotted name."""
        value: Any = self
        for piece in name.replace("__", ".").split("."):
            value = getattr(value, piece)
        return value


class ChangedFlags(contextlib.ContextDecorator):
    """Settings from `__enter__` to `__exit__`, whoever calls them.

    No generator: that would end, and put the settings back, when a program that has entered it lets
    go of it, as PyMC3's models do that are entered twice.
    """

    def __init__(self, settings: Settings, values: dict[str, Any]) -> None:
        self.settings, self.values = settings, values
        self.before: dict[str, Any] = {}

    def __enter__(self) -> None:
        self.before = {name: self.settings.value_of(name) for name in self.values}
        for name, value in self.values.items():
            self.settings.assign(name, value)

    def __exit__(self, *_: object) -> None:
        for name, value in self.before.items():
            self.settings.assign(name, value)

    def _recreate_cm(self) -> ChangedFlags:
        # A decorated function that calls itself has one for each call.
        return ChangedFlags(self.settings, self.values)


def _typed(name: str, text: str) -> Any:
    """A setting's value from its text, in the type of its default."""
    default = _DEFAULTS.get(name)
    if isinstance(default, bool):
        return text.strip().lower() in ("1", "true", "yes")
    if isinstance(default, int | float):
        return type(default)(text)
    return text.strip()


def _from_files() -> dict[str, str]:
    """What ``.theanorc`` says: settings outside of [global] have their section's name in front."""
    paths = os.environ.get("THEANORC", "~/.theanorc").split(os.pathsep)
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    with contextlib.suppress(configparser.Error):
        parser.read([os.path.expanduser(p) for p in paths])
    return {
        name if section == "global" else f"{section}.{name}": value
        for section in parser.sections()
        for name, value in parser[section].items()
    }


def _from_environment() -> dict[str, str]:
    flags = os.environ.get("THEANO_FLAGS", "")
    pairs = [flag.partition("=") for flag in flags.split(",") if flag.strip()]
    return {name.strip(): value for name, _, value in pairs}


def texts() -> dict[str, str]:
    """What the environment and the files say."""
    return _from_files() | _from_environment()


def _initial() -> dict[str, Any]:
    return _DEFAULTS | {name: _typed(name, text) for name, text in texts().items()}


def local_bitwidth() -> int:
    """How many bits a pointer has."""
    return struct.calcsize("P") * 8


def python_int_bitwidth() -> int:
    """How many bits a long integer of C has."""
    return struct.calcsize("l") * 8


config = Settings(_initial())
