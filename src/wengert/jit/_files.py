"""Traced modules in files: their programs as JSON, their tensors in the safetensors format."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from typing import Any

from wengert.export.exported_program import ExportedProgram
from wengert.export.files import (
    Decoder,
    Encoder,
    File,
    decoded,
    encoded,
    read_archive,
    reading,
    write_archive,
)
from wengert.export.graph_signature import InputKind
from wengert.jit._modules import LoadedModule, with_state
from wengert.jit._scripting import ScriptFunction, ScriptModule
from wengert.jit._tracing import Method
from wengert.nn import Module

_PROGRAM = "archive/traced.json"
_VERSION = 1


def write_module(m: Any, f: File, extra_files: dict[str, Any] | None) -> None:
    """Write a traced module or function; RuntimeError for one that has no program."""
    if isinstance(m, ScriptFunction):
        methods, names, training = {"forward": m.method()}, {"": m.name}, False
    elif isinstance(m, ScriptModule):
        methods, names, training = m.saved_methods(), _class_names(m), m.training
    else:
        raise RuntimeError(
            f"jit.save: a {type(m).__name__} is Python, of which a file has no program: save"
            " torch.jit.trace(module, example_inputs), or its state_dict"
        )
    encoder = Encoder()
    content = {
        "version": _VERSION,
        "training": training,
        "classes": names,
        "methods": {
            name: [encoded(method.program, encoder), method.names, method.positional]
            for name, method in methods.items()
        },
    }
    write_archive(f, _PROGRAM, content, encoder, extra_files)


def _class_names(module: Module) -> dict[str, str]:
    return {
        path: m.original_name if isinstance(m, ScriptModule) else type(m).__name__
        for path, m in module.named_modules()
    }


def read_module(f: File, extra_files: dict[str, Any] | None) -> LoadedModule:
    """A module that `save` wrote; RuntimeError for anything else."""
    _refuse_torchscript(f)
    content, tensors, extra = read_archive(f, _PROGRAM, "jit.load")
    for name in extra_files or ():
        if extra_files is not None and name in extra:
            extra_files[name] = extra[name]
    with reading("jit.load"):
        if content["version"] != _VERSION:
            raise ValueError(f"version {content['version']!r}, this one reads {_VERSION}")
        methods = {
            str(name): _method(decoded(program, Decoder(tensors)), names, positional)
            for name, (program, names, positional) in content["methods"].items()
        }
        held: dict[str, tuple[Any, bool]] = {}
        for method in methods.values():
            for path, tensor, persistent in _state(method.program):
                held.setdefault(path, (tensor, persistent))
        names = {str(path): str(name) for path, name in content["classes"].items()}
        state = [(path, tensor, persistent) for path, (tensor, persistent) in held.items()]
        module: LoadedModule = with_state(LoadedModule, names, state)
        for name, method in methods.items():
            module.add_method(name, method)
        return module.train(bool(content["training"]))


def _method(program: ExportedProgram, names: Any, positional: Any) -> Method:
    if not all(isinstance(n, str) for n in names) or not 0 <= positional <= len(names):
        raise ValueError(f"arguments {names!r}")
    return Method(program, names, int(positional))


def _state(program: ExportedProgram) -> Iterator[tuple[str, Any, bool]]:
    """The parameters and buffers of a program, by path, and whether they are persistent."""
    for path, tensor in program.state_dict.items():
        yield path, tensor, True
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.BUFFER and spec.target in program.constants:
            yield spec.target, program.constants[spec.target], False


def _refuse_torchscript(f: File) -> None:
    """RuntimeError for a file that PyTorch's ``torch.jit.save`` wrote."""
    if not isinstance(f, str | os.PathLike) and not f.seekable():
        return
    start = None if isinstance(f, str | os.PathLike) else f.tell()
    try:
        with zipfile.ZipFile(f) as archive:
            found = any(name.endswith("/constants.pkl") for name in archive.namelist())
    except zipfile.BadZipFile:
        found = False
    if found:
        raise RuntimeError(
            "jit.load: the file is a TorchScript archive, which holds programs in PyTorch's own"
            " language: save the state_dict of the model instead"
        )
    if start is not None and not isinstance(f, str | os.PathLike):
        f.seek(start)
