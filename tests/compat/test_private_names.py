"""Names from inside PyTorch that packages use: each answers, and truthfully."""

from __future__ import annotations

import gc
import textwrap
from typing import Any

import pytest

import wengert
from tests.cli.process import good, python
from wengert.utils import _pytree as tree

ALIASED = """
    import importlib
    from wengert import compat
    compat.install()
    from wengert.compat import torch_names
    for path, module in torch_names.PRIVATE.items():
        if path.startswith("torch.fx.") and not compat._alias.natives_of("torch.fx"):
            continue  # below a package that is not here
        alias = importlib.import_module(path)
        for name in importlib.import_module(module).__all__:
            getattr(alias, name)
    import torch
    assert torch.torch is torch and torch.__file__.endswith("__init__.py")
    assert torch._C._get_tracing_state() is None
    assert torch.ScriptModule is torch.jit.ScriptModule
    device, dtype, flag, format = torch._C._nn._parse_to("cpu", torch.float64, True)
    assert (device, dtype, flag, format) == (torch.device("cpu"), torch.float64, True, None)
    assert not isinstance(torch.ones(1), torch.distributed.tensor.DTensor)
    for absent in ("torch._C._jit_can_fuse_on_cpu", "torch._utils._no_such_name"):
        package, _, name = absent.rpartition(".")
        try:
            getattr(importlib.import_module(package), name)
        except AttributeError as error:
            assert absent in str(error)
        else:
            raise AssertionError(absent)
    from torch.optim.optimizer import _params_t
    from torch.nn.functional import _Reduction
    from torch.cuda.amp.grad_scaler import GradScaler
    from torch.cuda.amp.autocast_mode import autocast
    from torch.quantization import QuantStub
    assert [_Reduction.get_enum(word) for word in ("none", "mean", "sum")] == [0, 1, 2]
    assert _Reduction.legacy_get_string(None, None) == "mean"
    assert torch.cuda.amp.common.amp_definitely_not_available() and not torch.mtia.is_available()
    matrix = torch.arange(6).reshape(2, 3).to(torch.int8)
    product = torch._int_mm(matrix, matrix.T * 20)
    assert product.dtype is torch.int32 and product.tolist() == [[100, 280], [280, 1000]]
    storage = torch.arange(6.0).storage()
    rebuilt = torch._utils._rebuild_tensor_v2(storage, 1, (2, 2), (1, 2), True, None)
    assert rebuilt.tolist() == [[1, 3], [2, 4]] and rebuilt.requires_grad
    assert torch.serialization.location_tag(storage) == "cpu"
    for kind in (torch.FloatStorage, torch.UntypedStorage, type(storage)):
        assert torch.serialization.normalize_storage_type(kind) is kind
    clipped = torch.distributions.transforms._clipped_sigmoid(torch.tensor([-1e4, 0.0, 1e4]))
    assert 0 < clipped[0] and clipped[1] == 0.5 and clipped[2] < 1
    with torch.autograd.forward_ad.dual_level() as level:
        assert torch.autograd.forward_ad._current_level == level == 0
    assert torch.autograd.forward_ad._current_level == -1
    assert torch._shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]
    assert (torch.sym_max(2, 3), torch.sym_int(2.5), torch.sym_ite(True, 1, 2)) == (3, 2, 1)
    x = torch.randn(2, 3, requires_grad=True)
    out, g = x.softmax(1), torch.randn(2, 3)
    (expected,) = torch.autograd.grad(out, x, g)
    result = torch._softmax_backward_data(g, out.detach(), 1, torch.float32)
    torch.testing.assert_close(result, expected)
    assert torch.jit._script.ScriptModule is torch.jit.ScriptModule
    assert torch.autograd.profiler_util.EventList is torch.autograd.profiler.EventList
    assert torch.fx.experimental.symbolic_shapes.guard_or_false(x.shape[0] == 2)
    hooks = torch.nn.modules.module._global_parameter_registration_hooks
    with torch.nn.modules.module.register_module_parameter_registration_hook(print):
        assert [*hooks.values()] == [print]
    with torch.utils._mode_utils.no_dispatch():
        assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
    assert torch.utils._mode_utils.all_same_mode([1, 1])
    torch._C._set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch._C._set_grad_enabled(True)
    with torch.autograd.set_multithreading_enabled(False):
        assert not torch.autograd.is_multithreading_enabled()
    assert torch.autograd.is_multithreading_enabled()
    saved = (x * x).grad_fn._raw_saved_self
    assert type(saved) is torch._C._autograd.SavedTensor is torch.autograd.SavedTensor
    assert torch._C._autograd._saved_tensors_hooks_is_enabled()
    with torch.autograd.graph.disable_saved_tensors_hooks("no"):
        assert not torch._C._autograd._saved_tensors_hooks_is_enabled()
    assert isinstance(x, torch._C.TensorBase)
    edge = torch.autograd.graph.get_gradient_edge(out)
    for batched, shape in ((False, (2, 3)), (True, (3,))):
        for place in (out, edge):
            assert torch.autograd._calculate_shape(place, g, batched) == ((2, 3), shape)
    resized = torch.autograd._functions.Resize.apply(x, (3, 2))
    (back,) = torch.autograd.grad(resized, x, g.view(3, 2))
    assert resized.shape == (3, 2) and back.equal(g)
    assert torch.autograd.variable.Variable is torch.autograd.Variable
    times = map(torch.autograd.profiler_util._format_time, (1.5, 1000, 5e7))
    assert list(times) == ["1.500us", "1.000ms", "50.000s"]
    from torch.multiprocessing.reductions import StorageWeakRef
    memory = torch.ones(3)
    weak = StorageWeakRef(memory.untyped_storage())
    assert weak == StorageWeakRef(memory[1:].untyped_storage()) and not weak.expired()
    del memory
    assert weak.expired()
    import os
    assert torch._utils_internal.get_file_path_2("a", "b") == os.path.join("a", "b")
    prims = torch._prims_common
    assert prims.canonicalize_dims(3, (0, -1)) == (0, 2) and prims.canonicalize_dim(0, -1) == 0
    assert prims.make_contiguous_strides_for((2, 0, 3)) == (3, 3, 1)
    assert prims.mask_tensor(x > 9, x).eq(0).all() and prims.is_contiguous(x)
    assert prims.suggest_memory_format(torch.ones(1, 2, 3, 4)) is torch.contiguous_format
    last = torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert prims.suggest_memory_format(last) is torch.channels_last
    assert prims.corresponding_complex_dtype(torch.float64) is torch.complex128
    from torch.testing._internal.common_methods_invocations import mask_not_all_zeros
    assert mask_not_all_zeros((1, 1)).all()
    serial = torch.serialization
    with serial.set_default_mmap_options(1):  # MAP_SHARED
        assert serial.get_default_mmap_options() == 1
    assert serial.get_default_mmap_options() == 2
    serial.set_default_load_endianness(serial.LoadEndianness.BIG)
    assert serial.get_default_load_endianness() is serial.LoadEndianness.BIG
    serial.set_default_load_endianness(None)
    assert serial.check_module_version_greater_or_equal(torch, (2, 0))
    assert not serial.check_module_version_greater_or_equal(torch, (3, 0))
    for compiled in (torch.jit.CompilationUnit, torch.jit.export_opnames):
        try:
            compiled("def f(x): return x")
        except NotImplementedError as error:
            assert "TorchScript" in str(error)
        else:
            raise AssertionError(compiled)
    try:
        torch.classes.extension.Fast
    except RuntimeError as error:
        assert "Tried to instantiate class 'extension.Fast', but it does not exist!" in str(error)
    assert torch.PyTorchFileWriter is torch._C.PyTorchFileWriter
    from torch._dynamo.backends.debugging import aot_eager
    assert torch.compile(lambda x: x + 1, backend=aot_eager)(torch.ones(1)).item() == 2
    mask = torch.tensor([True, False])
    assert (mask._is_all_true().item(), mask._is_any_true().item()) == (False, True)
    outside = torch.distributed.GroupMember.NON_GROUP_MEMBER
    assert [torch.distributed._rank_not_in_group(g) for g in (None, outside)] == [False, True]
    for refusing in (torch.distributed.rpc.rpc_sync, torch.distributed.rpc.remote):
        try:
            refusing()
        except RuntimeError as error:
            assert "does not have it" in str(error)
        else:
            raise AssertionError(refusing)
    print("all answered")
"""


def test_every_name_that_is_listed_answers() -> None:
    assert good(python("-c", textwrap.dedent(ALIASED))) == "all answered\n"


def test_modules_as_functions_of_their_state() -> None:
    from wengert.compat._private.functorch import combine_state_for_ensemble, make_functional

    nets = [wengert.nn.Linear(3, 2) for _ in range(4)]
    x = wengert.randn(5, 3)
    function, parameters = make_functional(nets[0])
    wengert.testing.assert_close(function(parameters, x), nets[0](x))
    function, parameters, buffers = combine_state_for_ensemble(nets)
    outputs = wengert.vmap(function, in_dims=(0, 0, None))(parameters, buffers, x)
    wengert.testing.assert_close(outputs, wengert.stack([net(x) for net in nets]))
    with pytest.raises(RuntimeError, match="has buffers"):
        make_functional(wengert.nn.BatchNorm1d(2))


def test_keys_by_identity_go_with_their_objects() -> None:
    from wengert.compat._private.weak_keys import WeakIdKeyDictionary

    gc.disable()
    try:
        entries, key = WeakIdKeyDictionary(), wengert.ones(2)
        entries[key] = 1
        entries[key] += 1
        assert (entries[key], len(entries), wengert.ones(2) in entries) == (2, 1, False)
        del key
        assert len(entries) == 0
    finally:
        gc.enable()


class Pair:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


def test_registered_classes_come_apart_and_together() -> None:
    tree.register_pytree_node(Pair, lambda p: ([p.a, p.b], "pair"), lambda v, _: Pair(*v))
    try:
        leaves, spec = tree.tree_flatten({"x": Pair(1, [2, 3])})
        assert leaves == [1, 2, 3]
        back = tree.tree_unflatten([10, 20, 30], spec)["x"]
        assert (back.a, back.b) == (10, [20, 30])
        assert len(tree.tree_leaves([Pair(1, 2)], is_leaf=lambda x: isinstance(x, list))) == 1
        total = wengert.vmap(lambda p: p.a + p.b)(Pair(wengert.ones(3), wengert.ones(3)))
        assert total.tolist() == [2, 2, 2]
        with pytest.raises(ValueError, match="already registered"):
            tree.register_pytree_node(Pair, lambda p: ([], None), lambda v, _: Pair(1, 2))
    finally:
        tree.registry.pop(Pair)
        tree.SUPPORTED_NODES.pop(Pair)


@pytest.mark.torch
def test_seeds_of_workers_are_pytorchs(torch: Any) -> None:
    from wengert.compat._private.worker_seeds import _generate_state

    theirs = torch.utils.data._utils.worker._generate_state
    for seed, worker in ((5, 0), (2**40 + 7, 3), (2**63 - 1, 9)):
        assert _generate_state(seed, worker) == theirs(seed, worker)


def test_contexts_decorate_functions_and_each_step_of_generators() -> None:
    from wengert.compat._private.decorating_contexts import (
        _DecoratorContextManager,
        _NoParamDecoratorContextManager,
        context_decorator,
    )

    inside: list[int] = []

    class Counted(_DecoratorContextManager):
        def __enter__(self) -> None:
            inside.append(1)

        def __exit__(self, *exception: object) -> None:
            inside.pop()

    class Bare(_NoParamDecoratorContextManager, Counted):
        pass

    @Counted()
    def steps() -> Any:
        received = yield len(inside)
        try:
            yield received, len(inside)
        except KeyError:
            yield "caught", len(inside)
        return "done"

    assert Bare(lambda: len(inside))() == 1
    generator = steps()
    assert (next(generator), inside) == (1, [])
    assert (generator.send("sent"), inside) == (("sent", 1), [])
    assert (generator.throw(KeyError()), inside) == (("caught", 1), [])
    with pytest.raises(StopIteration, match="done"):
        next(generator)
    with pytest.raises(RuntimeError, match="Cannot decorate classes: Counted"):
        context_decorator(lambda: Counted(), Counted)


def test_hooks_of_one_call_of_a_module() -> None:
    from wengert.compat._private.module_hooks import BackwardHook

    seen: list[Any] = []
    net = wengert.nn.Linear(2, 1, bias=False)
    hook = BackwardHook(
        net, [lambda module, leaving, entering: seen.append((leaving, entering))], []
    )
    x = wengert.ones(1, 2, requires_grad=True)
    (watched,) = hook.setup_input_hook((x,))
    hook.setup_output_hook(net(watched)).sum().backward()
    ((leaving,), (entering,)) = seen[0]
    assert wengert.equal(leaving, net.weight)
    assert entering.tolist() == [[1.0]]


@pytest.mark.filterwarnings("ignore:torch.sparse")
@pytest.mark.torch
def test_old_constructors_of_sparse_tensors(torch: Any) -> None:
    from wengert.compat._private import sparse_types

    layouts = []
    for library, types in ((wengert, sparse_types), (torch, torch.sparse)):
        index, values = library.tensor([[0, 1], [1, 0]]), library.tensor([1.0, 2.0])
        full = types.FloatTensor(index, values, (2, 3))
        assert isinstance(full, types.FloatTensor)
        assert not isinstance(full, types.DoubleTensor)
        assert not isinstance(full.to_dense(), types.FloatTensor)
        others = (types.DoubleTensor(index, values), types.LongTensor(2, 3), types.HalfTensor())
        layouts.append([(tuple(x.shape), str(x.dtype), x._nnz()) for x in (full, *others)])
    assert layouts[0] == layouts[1]


def test_a_compiler_backend_that_counts() -> None:
    from wengert.compat._private.compile_counters import CompileCounter

    compiled = wengert.compiler.compile(lambda x: x + 1, backend=(counter := CompileCounter()))
    assert compiled(1) == 2
    assert (counter.frame_count, counter.op_count) == (0, 0)
    assert compiled(wengert.ones(2)).tolist() == [2.0, 2.0]
    assert (counter.frame_count, counter.op_count) == (1, 1)


@pytest.mark.torch
def test_tensors_are_swapped_by_name_as_in_pytorch(torch: Any) -> None:
    from torch.nn.utils import _named_member_accessor as theirs

    from wengert.compat._private import member_accessor as ours

    def program(t: Any, names: Any) -> list[Any]:
        net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
        net[0].plain = 3
        accessor, value = names.NamedMemberAccessor(net), t.ones(2)
        before = accessor.swap_tensors_dict({"0.bias": value, "1.running_mean": value})[0]
        same = [net[0].bias is value, net[0]._parameters["bias"] is value]
        before, missing = accessor.swap_tensors_dict(before | {"0.new": value}, allow_missing=True)
        same += [before["0.bias"] is value, type(net[0].bias) is t.nn.Parameter, missing]
        accessor.swap_tensors_dict(before, allow_missing=True)
        same += [hasattr(net[0], "new"), accessor.check_keys(["0.bias", "nope"])]
        errors = []
        for call in (
            lambda: names.swap_tensor(net[0], "nope", value),
            lambda: names.swap_tensor(net[0], "a.b", value),
            lambda: names.swap_tensor(net[0], "", value),
            lambda: names.swap_tensor(3, "bias", value),
            lambda: names.swap_tensor(net[0], "bias", 3),
            lambda: names.swap_tensor(net[0], "plain", value),
            lambda: names.swap_submodule(net, "8", net[0]),
            lambda: names.swap_submodule(net, "0", 3),
            lambda: accessor.swap_tensors_dict({"0.bias": value, "nope": value}),
            lambda: accessor.get_tensor("0.nope"),
            lambda: accessor.get_tensor("0.plain"),
            lambda: accessor.get_submodule("9"),
            lambda: accessor.get_submodule("0.weight"),
            lambda: accessor.set_tensors(["0.bias"], []),
        ):
            with pytest.raises(Exception) as caught:  # noqa: PT011 (the classes are compared)
                call()
            errors.append(type(caught.value))
        return [*same, errors, net[0].bias is value]

    assert program(wengert, ours) == program(torch, theirs)


@pytest.mark.torch
def test_tuples_with_names_are_told_apart(torch: Any) -> None:
    import collections
    import time

    from torch.utils import _pytree as theirs

    from wengert.compat._private import named_tuples as ours

    class Derived(collections.namedtuple("Base", "a b")):
        pass

    def program(t: Any, names: Any) -> list[Any]:
        top = t.ones(2, 2).max(0)
        values = [Derived(1, 2), Derived, (1,), tuple, time.gmtime(), top, type(top), 3, int]
        kinds = ("is_namedtuple", "is_namedtuple_instance", "is_structseq", "is_structseq_instance")
        return [[getattr(names, kind)(v) for v in values] for kind in kinds]

    assert program(wengert, ours) == program(torch, theirs)
