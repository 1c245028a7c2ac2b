"""The names that checkpoints refer to: PyTorch's, so that they go both ways.

Each name has its value and, if a pickle may call it, a builder: a function that checks its
arguments. There is no other way from a name to running code.
"""

from __future__ import annotations

import _compat_pickle as names
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any, NamedTuple

from wengert.core import dtypes, layout
from wengert.core.device import device
from wengert.core.size import Size
from wengert.core.tensor import Tensor, new
from wengert.meta.tensors import without_memory
from wengert.nn.parameter import Buffer, Parameter
from wengert.serialization import _numpy
from wengert.serialization._state import short_repr
from wengert.serialization._storages import TYPED, UNTYPED, Loaded, lengths, rebuilt
from wengert.sparse.construction import sparse_compressed_tensor, sparse_coo_tensor

Builder = Callable[..., Any]  # called with the machine and the arguments


class Known(NamedTuple):
    """The value of a name, and the builder that carries out a call of it (None: not callable)."""

    value: Any
    build: Builder | None = None


class FunctionName:
    """Stands for a function of PyTorch that only pickles name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.name} is called by loading a file only")

    def __repr__(self) -> str:
        return f"<function {self.name}>"


def _storage(value: Any) -> Loaded:
    if type(value) is not Loaded:
        raise UnpicklingError(f"a storage was expected, but got {type(value)}")
    return value


def _tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise UnpicklingError(f"a tensor was expected, but got {type(value)}")
    return value


def _rebuild_tensor(m: Any, storage: Any, offset: Any, size: Any, stride: Any) -> Tensor:
    return rebuilt(_storage(storage), offset, size, stride)


def _rebuild_tensor_v2(
    m: Any, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any,
    hooks: Any = None, metadata: Any = None,
) -> Tensor:  # fmt: skip
    bits = _with_bits(_storage(storage), metadata, None)
    return rebuilt(bits, offset, size, stride, requires_grad is True)


def _rebuild_tensor_v3(
    m: Any, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any,
    dtype: Any, metadata: Any = None,
) -> Tensor:  # fmt: skip
    if type(dtype) is not dtypes.dtype:
        raise UnpicklingError(f"a dtype was expected, but got {short_repr(dtype)}")
    bits = _with_bits(_storage(storage), metadata, dtype)
    return rebuilt(bits, offset, size, stride, requires_grad is True, dtype)


def _with_bits(storage: Loaded, metadata: Any, dtype: dtypes.dtype | None) -> Loaded:
    """PyTorch's lazy conjugation and negation, carried out: on the storage, once.

    A tensor may show it many times over.
    """
    if not isinstance(metadata, dict):
        return storage
    conj, neg = metadata.get("conj") is True, metadata.get("neg") is True
    return storage.changed(conj, neg, dtype) if conj or neg else storage


def _rebuild_parameter(m: Any, data: Any, requires_grad: Any, hooks: Any = None) -> Parameter:
    return Parameter(_tensor(data), requires_grad is True)


def _rebuild_parameter_with_state(
    m: Any, data: Any, requires_grad: Any, hooks: Any, state: Any
) -> Parameter:
    parameter = Parameter(_tensor(data), requires_grad is True)
    set_attributes(m, parameter, state)
    return parameter


def _rebuild_from_type(m: Any, function: Any, kind: Any, arguments: Any, state: Any) -> Tensor:
    if kind not in (Tensor, Parameter, Buffer) or type(arguments) is not tuple:
        raise UnpicklingError(f"a class of tensors was expected, but got {short_repr(kind)}")
    tensor = _tensor(m.names.call(m, function, arguments))
    if kind is not type(tensor):
        plain, tensor = tensor, new(kind)
        tensor._array, tensor._edge, tensor._cut = plain._array, None, None
        tensor.requires_grad_(plain.requires_grad)
        if kind is Buffer:
            tensor.persistent = True
    set_attributes(m, tensor, state)
    return tensor


def set_attributes(m: Any, value: Any, state: Any) -> None:
    """Give an object attributes, unless its class has any of that name."""
    if type(state) is not dict:
        raise UnpicklingError(f"attributes are a dict of names, but got {type(state)}")
    m.spend(len(state))
    for name in state:
        if type(name) is not str or hasattr(type(value), name):
            raise UnpicklingError(f"attribute {short_repr(name)} of {type(value)} cannot be set")
    value.__dict__.update(state)


def _keys(m: Any, values: Any) -> list[Any]:
    if type(values) not in (list, tuple, set):
        raise UnpicklingError(f"a list was expected, but got {type(values)}")
    m.spend(len(values))
    return [m.key(value) for value in values]


def _set(m: Any, values: Any = ()) -> set[Any]:
    return set(_keys(m, values))


def _frozenset(m: Any, values: Any = ()) -> frozenset[Any]:
    return frozenset(_keys(m, values))


def _ordered(m: Any, pairs: Any = ()) -> OrderedDict[Any, Any]:
    if type(pairs) not in (list, tuple) or any(
        type(p) not in (list, tuple) or len(p) != 2 for p in pairs
    ):
        raise UnpicklingError("an OrderedDict is made of a list of pairs")
    m.spend(len(pairs))
    return OrderedDict([(m.key(k), v) for k, v in pairs])


def _counter(m: Any, counts: Any = None) -> Counter[Any]:
    if counts is None:
        return Counter()
    if type(counts) is not dict:
        raise UnpicklingError(f"a Counter is made of a dict, but got {type(counts)}")
    m.spend(len(counts))
    return Counter(counts)


_FACTORIES = (None, list, dict, set, tuple, str, int, float, bool)


def _defaultdict(m: Any, factory: Any = None) -> defaultdict[Any, Any]:
    if not any(factory is allowed for allowed in _FACTORIES):
        raise UnpicklingError(f"a defaultdict of {short_repr(factory)} is not allowed")
    return defaultdict(factory)


def _encode(m: Any, text: Any, encoding: Any = "utf-8") -> bytes:
    if type(text) is not str or encoding not in ("latin1", "utf-8"):
        raise UnpicklingError("bytes are made of a str in latin1")
    m.spend(len(text))
    return text.encode(encoding)


def _bytearray(m: Any, data: Any = b"") -> bytearray:
    if type(data) is not bytes:
        raise UnpicklingError(f"a bytearray is made of bytes, but got {type(data)}")
    m.spend(len(data))
    return bytearray(data)


def _no_bytes(m: Any) -> bytes:
    return b""


def _complex(m: Any, real: Any, imag: Any = 0.0) -> complex:
    if type(real) is not float or type(imag) is not float:
        raise UnpicklingError("a complex number is made of two floats")
    return complex(real, imag)


def _size(m: Any, values: Any = ()) -> Size:
    m.spend(len(lengths("size", values)))
    return Size(values)


def _device(m: Any, kind: Any, index: Any = None) -> device:
    if type(kind) is not str or not (index is None or type(index) is int):
        raise UnpicklingError(
            f"a device is named by a str and an int, not {short_repr(kind)}, {short_repr(index)}"
        )
    return device(kind, index)


_LAYOUTS = (layout.strided, layout.sparse_coo, layout.sparse_csr, layout.sparse_csc,
            layout.sparse_bsr, layout.sparse_bsc)  # fmt: skip


def _get_layout(m: Any, name: Any) -> Any:
    for kind in _LAYOUTS:
        if name == f"torch.{kind.name}":
            return kind
    raise UnpicklingError(f"there are no tensors of layout {short_repr(name)}")


def _rebuild_sparse_tensor(m: Any, kind: Any, components: Any) -> Tensor:
    if type(components) is not tuple or len(components) not in (3, 4):
        raise UnpicklingError(
            f"a sparse tensor has 3 or 4 components, not {short_repr(components)}"
        )
    m.spend(sum(_tensor(c).numel() for c in components[: 2 + (kind is not layout.sparse_coo)]))
    try:
        if kind is layout.sparse_coo:
            indices, values, size, *coalesced = components
            flag = bool(coalesced) and coalesced[0] is True
            return sparse_coo_tensor(indices, values, lengths("size", size), is_coalesced=flag)
        bounds, plain, values, size = components
        return sparse_compressed_tensor(bounds, plain, values, lengths("size", size), layout=kind)
    except (RuntimeError, TypeError, ValueError) as error:
        raise UnpicklingError(f"the components of a sparse tensor do not fit: {error}") from error


def _rebuild_meta_tensor(m: Any, dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    if type(dtype) is not dtypes.dtype:
        raise UnpicklingError(f"a dtype was expected, but got {short_repr(dtype)}")
    shape, steps = lengths("size", size), lengths("stride", stride)
    if len(shape) != len(steps):
        raise RuntimeError(f"a tensor of {len(shape)} dimensions has {len(steps)} strides")
    tensor = without_memory(shape, dtype.np, tuple([step * dtype.itemsize for step in steps]))
    return tensor.requires_grad_(requires_grad is True)


def _table() -> dict[str, Known]:
    table = {
        "collections.OrderedDict": Known(OrderedDict, _ordered),
        "collections.Counter": Known(Counter, _counter),
        "collections.defaultdict": Known(defaultdict, _defaultdict),
        "builtins.set": Known(set, _set),
        "builtins.frozenset": Known(frozenset, _frozenset),
        "builtins.bytearray": Known(bytearray, _bytearray),
        "builtins.bytes": Known(bytes, _no_bytes),
        "builtins.complex": Known(complex, _complex),
        "torch.Size": Known(Size, _size),
        "torch.device": Known(device, _device),
        "torch.Tensor": Known(Tensor),
        "torch.nn.parameter.Parameter": Known(Parameter, _rebuild_parameter),
        "torch.nn.parameter.Buffer": Known(Buffer),
    }
    table |= {
        f"builtins.{t.__name__}": Known(t) for t in (list, dict, tuple, str, int, float, bool)
    }
    table |= {f"torch.{d.name}": Known(d) for d in dtypes.ALL}
    formats = ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format")
    table |= {f"torch.{name}": Known(getattr(layout, name)) for name in formats}
    functions: dict[str, Builder] = {
        "_codecs.encode": _encode,
        "torch.serialization._get_layout": _get_layout,
        "torch._utils._rebuild_tensor": _rebuild_tensor,
        "torch._utils._rebuild_tensor_v2": _rebuild_tensor_v2,
        "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
        "torch._utils._rebuild_sparse_tensor": _rebuild_sparse_tensor,
        "torch._utils._rebuild_meta_tensor_no_storage": _rebuild_meta_tensor,
        "torch._utils._rebuild_parameter": _rebuild_parameter,
        "torch._utils._rebuild_parameter_with_state": _rebuild_parameter_with_state,
        "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
    }
    functions |= _numpy.BUILDERS
    table |= {name: Known(FunctionName(name), build) for name, build in functions.items()}
    table |= {name: Known(kind) for name, kind in _numpy.CLASSES.items()}
    table["numpy.dtype"] = Known(_numpy.dtype, _numpy.build_dtype)
    for module in ("torch", "torch.cuda"):
        table |= {f"{module}.{name}": Known(kind) for name, kind in TYPED.items()}
    table["torch.storage.UntypedStorage"] = Known(UNTYPED)
    return table


KNOWN = _table()
BUILDERS = {id(entry.value): entry.build for entry in KNOWN.values() if entry.build is not None}


def modern(module: str, name: str) -> tuple[str, str]:
    """Names of Python 2, and of NumPy 1, as they are today."""
    module, name = names.NAME_MAPPING.get((module, name), (module, name))
    module = names.IMPORT_MAPPING.get(module, module)
    if module.startswith("numpy.core."):
        module = module.replace("numpy.core.", "numpy._core.", 1)
    return module, name


# Where modules of wengert stand in PyTorch, if it is not the same place.
_ELSEWHERE = {
    "distributed.data_parallel.DistributedDataParallel": "nn.parallel.distributed",
    "nn.module.Module": "nn.modules.module",
    "nn.module.optimized.OptimizedModule": "_dynamo.eval_frame",
    "nn.modules.attention.MultiheadAttention": "nn.modules.activation",
    "nn.modules.lazy.LazyLinear": "nn.modules.linear",
    "nn.modules.linear_loss.LinearCrossEntropyLoss": "nn.modules.loss",
    "nn.modules.linear_loss.LinearCrossEntropyOptions": "nn.modules.linear_cross_entropy_options",
    "nn.modules.parameters.ParameterDict": "nn.modules.container",
    "nn.modules.parameters.ParameterList": "nn.modules.container",
    "nn.modules.pixelshuffle.ChannelShuffle": "nn.modules.channelshuffle",
    "nn.parallel.DataParallel": "nn.parallel.data_parallel",
    "optim._adafactor.Adafactor": "optim",
    "optim._combined.ChainedScheduler": "optim.lr_scheduler",
    "optim._combined.SequentialLR": "optim.lr_scheduler",
    "optim._cycles.CosineAnnealingWarmRestarts": "optim.lr_scheduler",
    "optim._cycles.CyclicLR": "optim.lr_scheduler",
    "optim._cycles.OneCycleLR": "optim.lr_scheduler",
    "optim._muon.Muon": "optim",
    "optim._plateau.ReduceLROnPlateau": "optim.lr_scheduler",
    "optim._scheduler.LRScheduler": "optim.lr_scheduler",
}
_ELSEWHERE |= {
    f"nn.modules._margin_losses.{name}Loss": "nn.modules.loss"
    for name in (
        "CosineEmbedding", "HingeEmbedding", "MarginRanking", "MultiLabelMargin",
        "MultiLabelSoftMargin", "MultiMargin", "SoftMargin", "TripletMargin",
        "TripletMarginWithDistance",
    )
}  # fmt: skip
_ELSEWHERE |= {
    f"nn.modules.lazy.Lazy{kind}{n}d": f"nn.modules.{module}"
    for n in (1, 2, 3)
    for kind, module in (
        ("Conv", "conv"), ("ConvTranspose", "conv"), ("BatchNorm", "batchnorm"),
        ("InstanceNorm", "instancenorm"),
    )
}  # fmt: skip


# The first name of what has several, as the storages have.
_PATHS = {id(entry.value): path for path, entry in reversed(KNOWN.items())}


def path_of(value: Any) -> tuple[str, str]:
    """The module and the name that a checkpoint uses for a class, a function or a constant."""
    path = _PATHS.get(id(value))
    if path is not None:
        module, _, name = path.rpartition(".")
        return module, name
    module, name = value.__module__, value.__qualname__
    if module != "wengert" and not module.startswith("wengert."):
        return module, name
    if not isinstance(value, type):
        return ("torch.nn.functional" if _functional(value) else "torch"), name
    module = module.removeprefix("wengert.")
    if module.startswith("data."):
        module = f"utils.{module}"
    return "torch." + _ELSEWHERE.get(f"{module}.{name}", module), name


def _functional(function: Any) -> bool:
    from wengert.nn import functional

    return getattr(functional, function.__name__, None) is function
