"""From a kernel's intermediate representation to a function that Python calls.

The only module that imports llvmlite, and only when a kernel is first needed. Object code is
kept on disk, so that a later process compiles nothing. What Python calls is a C function of its
own (`METH_FASTCALL`) that reads the arrays' addresses and calls the kernel; ctypes would cost
a microsecond.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from wengert.core.forks import compile_lock, once
from wengert.kernels.jit import disk, get_threads, prebuilt, targets
from wengert.kernels.jit.language import NEEDS
from wengert.kernels.jit.native import own_modules
from wengert.kernels.jit.threads import pool_text

Function = Callable[..., Any]


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# How a C function takes its arguments: an array and its size; none.
FASTCALL, NOARGS = 0x80, 0x04

_PYTHON = """\
declare i64 @PyLong_AsLongLong(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyErr_Occurred()
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @parallel_for(ptr, ptr, i64, i64)
@wengert_type_error = external global i8
@_Py_NoneStruct = external global i8
"""

# kind -> the type of the argument, and how it is read from the Python object %o
_READ = {
    "p": """\
  %d{i} = getelementptr i8, ptr %o{i}, i64 {data}
  %n{i} = icmp eq ptr %o{i}, @_Py_NoneStruct
  %s{i} = select i1 %n{i}, ptr @none, ptr %d{i}
  %w{i} = load i64, ptr %s{i}
""",
    "i": """\
  %w{i} = call i64 @PyLong_AsLongLong(ptr %o{i})
""",
    "f": """\
  %x{i} = call double @PyFloat_AsDouble(ptr %o{i})
  %y{i} = fptrunc double %x{i} to float
  %z{i} = bitcast float %y{i} to i32
  %w{i} = zext i32 %z{i} to i64
""",
    "d": """\
  %x{i} = call double @PyFloat_AsDouble(ptr %o{i})
  %w{i} = bitcast double %x{i} to i64
""",
}
_TYPES = {"p": "ptr", "i": "i64", "f": "float", "d": "double"}


_ENTRY = """\
@none = internal constant i64 0
@wrong = internal constant [{length} x i8] c"{wrong}\\00"

define ptr @entry_{name}(ptr %self, ptr %arguments, i64 %given) {{
entry:
  %buffer = alloca i64, i64 {size}
  %right = icmp eq i64 %given, {size}
  br i1 %right, label %read, label %refuse
refuse:
  call void @PyErr_SetString(ptr @wengert_type_error, ptr @wrong)
  ret ptr null
read:
{reads}\
  %error = call ptr @PyErr_Occurred()
  %bad = icmp ne ptr %error, null
  br i1 %bad, label %fail, label %ready
fail:
  ret ptr null
ready:
  %one = icmp sle i64 {count}, {chunk}
  br i1 %one, label %here, label %threads
here:
  call void @task_{name}(ptr %buffer, i64 0, i64 {count})
  br label %done
threads:
  %state = call ptr @PyEval_SaveThread()
  call void @parallel_for(ptr @task_{name}, ptr %buffer, i64 {count}, i64 {chunk})
  call void @PyEval_RestoreThread(ptr %state)
  br label %done
done:
  %result = call ptr @PyLong_FromLong(i64 0)
  ret ptr %result
}}

define void @task_{name}(ptr %arguments, i64 %start, i64 %stop) {{
{loads}\
  call void @{name}({passed}i64 %start, i64 %stop)
  ret void
}}
"""


def entry_text(name: str, kinds: str) -> str:
    """The function that Python calls: `name(*arguments, count, chunk)`.

    It calls the kernel `name(*arguments, start, stop)` for the chunks of `range(count)`:
    without Python's lock and on the pool's threads where there are several.
    """
    size = len(kinds) + 2
    reads = ""
    for i, kind in enumerate(kinds + "ii"):
        reads += f"  %g{i} = getelementptr ptr, ptr %arguments, i64 {i}\n"
        reads += f"  %o{i} = load ptr, ptr %g{i}\n"
        reads += _READ[kind].format(i=i, data=targets.DATA)
        reads += f"  %b{i} = getelementptr i64, ptr %buffer, i64 {i}\n"
        reads += f"  store i64 %w{i}, ptr %b{i}\n"
    loads = "".join(
        f"  %g{i} = getelementptr i64, ptr %arguments, i64 {i}\n"
        f"  %a{i} = load {_TYPES[kind]}, ptr %g{i}\n"
        for i, kind in enumerate(kinds)
    )
    wrong = f"{name}: wrong number of arguments, {size} are needed"
    return _ENTRY.format(
        name=name,
        size=size,
        count=f"%w{size - 2}",
        chunk=f"%w{size - 1}",
        reads=reads,
        loads=loads,
        passed="".join(f"{_TYPES[kind]} %a{i}, " for i, kind in enumerate(kinds)),
        wrong=wrong,
        length=len(wrong) + 1,
    )


@cache
def _toolchain() -> tuple[Any, Any]:
    """The target, and the engine that loads object code; both live as long as the process."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # Not by Python's name for it, under which Numba registers another address.
    llvm.add_symbol("wengert_type_error", id(TypeError))
    return _machine(), llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())


def _machine() -> Any:
    # Each its own: an engine takes the target machine that it is given.
    target = llvm.Target.from_default_triple()
    cpu, features = targets.processor()
    return target.create_target_machine(cpu=cpu, features=features, opt=3, jit=True)


# Called with the name and the content of each module that is compiled.
listeners: list[Callable[[str, bytes], None]] = []


def _stored(name: str) -> bytes | None:
    """What a module was compiled to: brought along, or kept."""
    stored = prebuilt.read(name)
    return disk.read(targets.key(name)) if stored is None else stored


def _object(name: str, text: Callable[[], str], finished: bool) -> bytes:
    """A line with the symbols that a module needs, and its object code, made now."""
    machine, _ = _toolchain()
    source = text()
    needs = [line[len(NEEDS) :] for line in source.splitlines() if line.startswith(NEEDS)]
    module = llvm.parse_assembly(source)
    module.verify()
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if not finished:
        # Level 3 and unrolling double the time to compile; kernels are no faster.
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_unrolling = False
        options.loop_vectorization = options.slp_vectorization = True
        passes = llvm.create_pass_builder(machine, options)
        passes.getModulePassManager().run(module, passes)
    code = machine.emit_object(module)
    content = " ".join(needs).encode() + b"\n" + code
    for tell in listeners:
        tell(name, content)
    disk.write(targets.key(name), content)
    return content


# Modules of `native.own_modules` that the engine has.
_own_loaded: set[str] = set()


def add(
    name: str, text: Callable[[], str], finished: bool = False, stored: bytes | None = None
) -> Callable[[str], int]:
    """Load a module; what comes back says where its functions are.

    One that is `finished` has nothing for LLVM's passes to improve. `stored` is what it was
    compiled to, if the caller knows.
    """
    with compile_lock:
        _, engine = _toolchain()
        found = stored or _stored(name) or _object(name, text, finished)
        needs, _, code = found.partition(b"\n")
        for symbol in needs.decode().split():
            if symbol not in _own_loaded:
                add(symbol, own_modules[symbol].module, finished=True)
                _own_loaded.add(symbol)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address: Callable[[str], int] = engine.get_function_address
        return address


@once
def pool() -> tuple[Callable[[int], None], Callable[[], None]]:
    """The functions that limit the pool's workers, and forget them."""
    address = add("pool", lambda: pool_text(platform.machine().lower()))
    limit = ctypes.PYFUNCTYPE(None, ctypes.c_int64)(address("pool_limit"))
    reset = ctypes.PYFUNCTYPE(None)(address("pool_reset"))
    reset()
    limit(get_threads() - 1)
    os.register_at_fork(after_in_child=reset)
    return limit, reset


_loaded: dict[str, Function] = {}


def load(name: str, kinds: str, text: Callable[[], str], identity: str = "") -> Function:
    """A kernel as a function of Python.

    `text` gives LLVM's text of `name(*arguments, i64 start, i64 stop)`; `kinds` has a letter
    for each argument: "p" for an array (or None), "i" an i64, "f" an f32, "d" an f64. The
    function takes the arguments, a count and the size of a chunk. It checks how many came and
    nothing else: arrays have the right dtype, layout and size, or memory is lost.

    What is not in the package's sources must be in `identity`: it tells kernels apart on disk.
    """
    digest = hashlib.sha256(f"{name}|{kinds}|{identity}".encode()).hexdigest()[:16]
    unique = f"{name}_{digest}"
    loaded, stored, source = _loaded.get(unique), None, ""
    if loaded is not None:
        return loaded
    # The text takes longest of what is Python: nobody else, and no fork, waits for it.
    stored = _stored(unique)
    if stored is None:
        body = text().replace(f"@{name}(", f"@{unique}(")
        source = _PYTHON + body + entry_text(unique, kinds)
    with compile_lock:
        pool()
        loaded = _loaded.get(unique)  # by another thread, which asked at the same time
        if loaded is not None:
            return loaded
        address = add(unique, lambda: source, stored=stored)
        loaded = _loaded[unique] = function(name, address(f"entry_{unique}"), FASTCALL)
        _tasks[loaded] = address(f"task_{unique}"), kinds
        return loaded


# Of each kernel that `load` gave, its task and the kinds of its arguments.
_tasks: dict[Function, tuple[int, str]] = {}


def task(kernel: Function) -> tuple[int, str]:
    """The address of `task(arguments, start, stop)` of a kernel, and a letter for each argument.

    `arguments` are words of 64 bits: addresses, numbers, and the bits of floats.
    """
    return _tasks[kernel]


def function(name: str, address: int, flags: int) -> Function:
    """A C function that takes its arguments as `flags` say, as a function of Python."""
    method = _Method(name.encode(), address, flags, None)
    # For good: somebody, such as a profiler, may let go of the function after all modules.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    entry: Function = new(ctypes.addressof(method), None, None)
    return entry


def method(cls: type, name: str, address: int) -> Function:
    """A C function of an object of a class and what Python gives as FASTCALL, as its method."""
    definition = _Method(name.encode(), address, FASTCALL, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    new = ctypes.pythonapi.PyDescr_NewMethod
    new.restype, new.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
    made: Function = new(cls, ctypes.addressof(definition))
    return made


def define(symbol: str, address: int) -> None:
    """Let modules refer to an address by a name."""
    llvm.add_symbol(symbol, address)


def reads_arrays() -> bool:
    """Whether arrays of this Python and NumPy have their address where kernels look for it."""
    probe = np.zeros(1)
    return bool(ctypes.c_void_p.from_address(id(probe) + targets.DATA).value == probe.ctypes.data)
