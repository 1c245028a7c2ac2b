"""Programs in files: a zip archive of JSON and of tensors, in the safetensors format."""

from __future__ import annotations

import io
import json
import keyword
import os
import re
import struct
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from wengert.autograd.transforms.tree import Spec
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.export._values import Decoder as Decoder
from wengert.export._values import Encoder as Encoder
from wengert.export._values import spelled
from wengert.export.exported_program import ExportedProgram
from wengert.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from wengert.fx import Graph, Node
from wengert.fx.experimental.recorder import ValueInfo
from wengert.fx.experimental.sizes import Symbol
from wengert.fx.immutable_collections import immutable_dict, immutable_list
from wengert.nn import Parameter
from wengert.ops.results import Results, kind_of
from wengert.serialization import tensor_files

File = str | os.PathLike[str] | IO[bytes]
_VERSION = 1
_PROGRAM, _EXTRA = "archive/program.json", "archive/extra/"
_TENSORS = "archive/tensors.safetensors"
_CONTAINERS: dict[str, Any] = {c.__name__: c for c in (tuple, list, dict, OrderedDict)}
# What zipfile and json raise for files that are damaged.
_UNREADABLE = (
    zipfile.BadZipFile, struct.error, EOFError, NotImplementedError, OverflowError, RecursionError,
    ValueError, zlib.error,
)  # fmt: skip
_KINDS = {c: name for name, c in _CONTAINERS.items()}
_KINDS |= {Size: "tuple", immutable_list: "list", immutable_dict: "dict"}


def save(
    ep: ExportedProgram, f: File, *, extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None, pickle_protocol: int = 2,
) -> None:  # fmt: skip
    """Write a program to a file: its graph as JSON, its tensors in the safetensors format.

    The file is the library's own: PyTorch does not read it. Tensors that share memory are apart
    in it; a parameter that stands at several paths stays one.

    Args:
        ep: the program.
        f: a path, or a file open for binary writing.
        extra_files: texts to keep beside it, by name.
        opset_version: no difference here, as `pickle_protocol`: nothing is pickled.

    Raises:
        NotImplementedError: for a program that draws random numbers, calls a custom operation or
            returns containers of a class of its own.

    >>> import io, wengert
    >>> program = wengert.export.export(wengert.nn.Linear(2, 1), (wengert.ones(3, 2),))
    >>> file = io.BytesIO()
    >>> wengert.export.save(program, file)
    >>> _ = file.seek(0)
    >>> wengert.export.load(file).module()(wengert.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            "The 'ep' parameter must be an instance of 'ExportedProgram', got"
            f" '{type(ep).__name__}' instead."
        )
    encoder = Encoder()
    write_archive(f, _PROGRAM, encoded(ep, encoder), encoder, extra_files)


def write_archive(
    f: File, program: str, content: Any, encoder: Encoder, extra_files: dict[str, Any] | None
) -> None:
    """Write what an encoder has seen: an entry of JSON, the tensors, and texts beside them."""
    text = json.dumps(content, allow_nan=False)
    tensors = tensor_files.dumps({k: x.detach() for k, x in encoder.tensors.items()})
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(program, text)
        file.writestr(_TENSORS, tensors)
        for name, content in (extra_files or {}).items():
            file.writestr(_EXTRA + name, content)
    if isinstance(f, str | os.PathLike):
        with open(f, "wb") as out:
            out.write(archive.getvalue())
    else:
        f.write(archive.getvalue())


def load(
    f: File, *, extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:  # fmt: skip
    """Read a program that `save` wrote.

    Nothing runs, and what the program calls are the library's operations alone. They do trust the
    plans of convolutions and norms in their arguments further than `load` can check: run a
    program of a stranger as you would run a stranger's numbers, not in a process that matters.

    Args:
        f: a path, or a seekable file open for binary reading.
        extra_files: filled with the texts that the file has under these names.
        expected_opset_version: no difference here.

    RuntimeError for a file that is no program, FileNotFoundError for a path where there is none.

    >>> import io, wengert
    >>> wengert.export.load(io.BytesIO(b"text"))
    Traceback (most recent call last):
    RuntimeError: export.load: not a program: File is not a zip file
    """
    content, tensors, extra = read_archive(f, _PROGRAM, "export.load")
    for name in extra_files or ():
        if extra_files is not None and name in extra:
            extra_files[name] = extra[name].decode()
    with reading("export.load"):
        return decoded(content, Decoder(tensors))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """A context in which what a file should not have is a RuntimeError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise RuntimeError(f"{what}: not a program: {type(error).__name__}: {error}") from None


def read_archive(f: File, program: str, what: str) -> tuple[Any, dict[str, Tensor], Any]:
    """The JSON of an entry, the tensors, and the texts beside them."""
    try:
        with zipfile.ZipFile(f) as archive:
            text, data = _entry(archive, program), _entry(archive, _TENSORS)
            extra = {
                name.removeprefix(_EXTRA): _entry(archive, name)
                for name in archive.namelist()
                if name.startswith(_EXTRA)
            }
        content = json.loads(text)
    except _UNREADABLE as error:
        raise RuntimeError(f"{what}: not a program: {error}") from None
    with reading(what):
        return content, tensor_files.loads(data, f"{what}: the file"), extra


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of an entry; they are as many as the file has: nothing is compressed in it."""
    entries = [e for e in archive.infolist() if e.filename == name]
    if len(entries) != 1 or entries[0].compress_type != zipfile.ZIP_STORED:
        raise zipfile.BadZipFile(f"expected one uncompressed entry {name!r}")
    return archive.read(entries[0])


def encoded(ep: ExportedProgram, encoder: Encoder) -> dict[str, Any]:
    """A program as JSON; its tensors are the encoder's."""
    return {
        "version": _VERSION,
        "nodes": [_encoded_node(n, encoder) for n in ep.graph.nodes],
        "inputs": [
            [s.kind.name, _encoded_argument(s.arg, encoder), s.target, s.persistent]
            for s in ep.graph_signature.input_specs
        ],
        "outputs": [
            [s.kind.name, _encoded_argument(s.arg, encoder), s.target]
            for s in ep.graph_signature.output_specs
        ],
        "state": {
            path: [encoder.tensor(x), isinstance(x, Parameter), x.requires_grad]
            for path, x in ep.state_dict.items()
        },
        "constants": {path: encoder.tensor(x) for path, x in ep.constants.items()},
        "example": encoder.value(_plain(ep.example_inputs), "the example"),
        "in_spec": _encoded_spec(ep.in_spec),
        "out_spec": _encoded_spec(ep.out_spec),
        "symbols": [list(s) for s in ep.symbols],
    }


def _plain(example: Any) -> Any:
    args, kwargs = example
    return tuple(args), dict(kwargs or {})


def _encoded_node(node: Node, encoder: Encoder) -> dict[str, Any]:
    target, args, kwargs = node.target, tuple(node.args), dict(node.kwargs)
    if node.op == "call_function":
        function, args, kwargs = spelled(node)
        target = encoder.target(function, node.name)
    meta = {k: node.meta[k] for k in ("dims", "constant", "where", "calls") if k in node.meta}
    entry = {
        "op": node.op, "name": node.name, "target": target,
        "args": encoder.value(args, node.name),
        "kwargs": encoder.value(kwargs, node.name),
        "meta": encoder.value(meta, node.name),
    }  # fmt: skip
    if "val" in node.meta:
        entry["val"] = _encoded_info(node.meta["val"], encoder)
    if "view_of" in node.meta:
        entry["view_of"] = node.meta["view_of"].name
    return entry


def _encoded_info(info: Any, encoder: Encoder) -> Any:
    if isinstance(info, ValueInfo):
        return {"shape": list(info.shape), "dtype": encoder.value(info.dtype, "a result")}
    if isinstance(info, tuple | list):
        return [_encoded_info(x, encoder) for x in info]
    return encoder.value(info, "a result")


def _encoded_argument(arg: TensorArgument | ConstantArgument, encoder: Encoder) -> Any:
    if isinstance(arg, TensorArgument):
        return [arg.name]
    return [arg.name, encoder.value(arg.value, arg.name)]


def _encoded_spec(spec: Spec) -> Any:
    if spec.kind is None:
        return None
    kind = _KINDS.get(spec.kind)
    if isinstance(spec.kind, type) and issubclass(spec.kind, Results):
        kind = f"result.{spec.kind.__name__}"
    if kind is None or not all(isinstance(k, str | int) for k in spec.keys):
        raise NotImplementedError(f"export.save: a file cannot hold containers of {spec.kind}")
    return [kind, list(spec.keys), [_encoded_spec(c) for c in spec.children_specs]]


def decoded(content: Any, decoder: Decoder) -> ExportedProgram:
    """A program that `encoded` wrote."""
    if content["version"] != _VERSION:
        raise ValueError(f"version {content['version']!r}, this one reads {_VERSION}")
    state: dict[str, Tensor] = {}
    parameters: dict[str, Parameter] = {}
    for path, (name, trained, requires_grad) in content["state"].items():
        tensor: Tensor = decoder.tensors[name]
        if trained:
            made = parameters.setdefault(name, Parameter(tensor, bool(requires_grad)))
            state[_path(path)] = made
        else:
            state[_path(path)] = tensor
    constants = {_path(p): decoder.tensors[name] for p, name in content["constants"].items()}
    graph = Graph()
    for entry in content["nodes"]:
        _add_node(graph, entry, decoder)
    graph.lint()
    inputs = [
        InputSpec(InputKind[kind], _argument(arg, decoder), None if to is None else _path(to), kept)
        for kind, arg, to, kept in content["inputs"]
    ]
    outputs = [
        OutputSpec(OutputKind[kind], _argument(arg, decoder), to)
        for kind, arg, to in content["outputs"]
    ]
    for spec in inputs:
        if spec.target is not None and spec.target not in state and spec.target not in constants:
            raise ValueError(f"there is no tensor {spec.target!r}")
    names = [n.name for n in graph.nodes if n.op == "placeholder"]
    if names != [s.arg.name for s in inputs]:
        raise ValueError("the signature has other inputs than the graph")
    symbols = [
        Symbol(str(name), int(size), int(low), high, tuple([(int(a), int(b)) for a, b in places]))
        for name, size, low, high, places in content["symbols"]
    ]
    return ExportedProgram(
        graph, ExportGraphSignature(inputs, outputs), state, constants,
        decoder.value(content["example"]), _spec(content["in_spec"]), _spec(content["out_spec"]),
        symbols,
    )  # fmt: skip


def _identifier(name: Any) -> str:
    """A name that a program's text can have: GraphModule writes one."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"{name!r} is no name")
    return name


def _path(path: Any) -> str:
    if not isinstance(path, str) or not re.fullmatch(r"\w+(\.\w+)*", path):
        raise ValueError(f"{path!r} is no path of a tensor")
    return path


def _add_node(graph: Graph, entry: Any, decoder: Decoder) -> None:
    op, name = entry["op"], _identifier(entry["name"])
    if op == "call_function":
        target: Any = decoder.target(entry["target"])
    elif op in ("placeholder", "output"):
        target = _identifier(entry["target"])
    else:
        raise ValueError(f"a step {op!r}")
    if name in decoder.nodes:
        raise ValueError(f"two steps {name!r}")
    args, kwargs = decoder.value(entry["args"]), decoder.value(entry["kwargs"])
    for key in kwargs:
        _identifier(key)
    node = graph.create_node(op, target, args, kwargs, name)
    node.name = name
    node.meta.update(decoder.value(entry["meta"]))
    if "val" in entry:
        node.meta["val"] = _info(entry["val"], decoder)
    if "view_of" in entry:
        node.meta["view_of"] = decoder.nodes[entry["view_of"]]
    decoder.nodes[name] = node


def _info(info: Any, decoder: Decoder) -> Any:
    if isinstance(info, dict) and "shape" in info:
        return ValueInfo(Size(map(int, info["shape"])), decoder.value(info["dtype"]))
    if isinstance(info, list):
        return [_info(x, decoder) for x in info]
    return decoder.value(info)


def _argument(arg: Any, decoder: Decoder) -> TensorArgument | ConstantArgument:
    if len(arg) == 1:
        return TensorArgument(_identifier(arg[0]))
    return ConstantArgument(str(arg[0]), decoder.value(arg[1]))


def _spec(spec: Any) -> Spec:
    if spec is None:
        return Spec(None)
    kind, keys, children = spec
    if kind.startswith("result."):
        container = kind_of(kind.removeprefix("result."))
    else:
        container = _CONTAINERS[kind]
    return Spec(container, tuple(keys), tuple([_spec(c) for c in children]))
