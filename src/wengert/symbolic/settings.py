"""The settings that programs know as ``theano.config``."""

from __future__ import annotations

import configparser
import contextlib
import os
from collections.abc import Iterator
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
    "DebugMode.check_strides": 0,
    "experimental.unpickle_gpu_on_cpu": False,
    "warn.ignore_bug_before": "0.9",
    "warn.round": False,
}
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
        for name, value in values.items():
            self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        head, dot, tail = name.partition(".")
        if not dot:
            setattr(self, name, value)
            return
        below = self.__dict__.setdefault(head, Settings({}))
        if isinstance(below, Settings):
            below._set(tail, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "floatX" and value not in FLOATS:
            raise ValueError(
                f'Invalid value ({value!r}) for configuration variable "floatX". Valid options'
                f" are {FLOATS}"
            )
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"config has no setting {name!r}")

    @contextlib.contextmanager
    def change_flags(self, *dictionaries: dict[str, Any], **values: Any) -> Iterator[None]:
        """Settings for the time of a ``with`` block or of a decorated function."""
        merged = {k: v for d in dictionaries for k, v in d.items()} | values
        before = {name: self.value_of(name) for name in merged}
        for name, value in merged.items():
            self._set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                self._set(name, value)

    def value_of(self, name: str) -> Any:
        """The value of a setting with a dotted name."""
        value: Any = self
        for piece in name.replace("__", ".").split("."):
            value = getattr(value, piece)
        return value


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


def _initial() -> dict[str, Any]:
    texts = _from_files() | _from_environment()
    return _DEFAULTS | {name: _typed(name, text) for name, text in texts.items()}


config = Settings(_initial())
