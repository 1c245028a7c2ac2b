"""Which module of wengert stands for which of torch, where the paths differ."""

from __future__ import annotations

import functools
import os
from importlib import import_module
from typing import Any

from wengert import compiler
from wengert.compat._harness_names import HARNESS
from wengert.compat._version import TorchVersion

VERSION = TorchVersion("2.13.0+wengert")

# The packages that the alias stands for; functorch is where PyTorch had `torch.func` before.
ROOTS = ("torch", "functorch")

# Names that the alias adds to those of wengert.
EXTRA: dict[str, Any] = {
    "torch.__version__": VERSION,
    "torch.version.__version__": VERSION,
    "torch.compile": compiler.compile,
}

# Names with an underscore that programs import from PyTorch all the same.
INNER: dict[str, frozenset[str]] = {
    module: frozenset(names.split())
    for module, names in {
        "torch": (
            "_chunk_cat _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo"
            " _convolution _is_all_true _is_any_true _log_softmax _safe_softmax _softmax"
            " _foreach_abs _foreach_abs_ _foreach_acos _foreach_acos_ _foreach_add _foreach_add_"
            " _foreach_addcdiv _foreach_addcdiv_ _foreach_addcmul _foreach_addcmul_"
            " _foreach_asin _foreach_asin_ _foreach_atan _foreach_atan_ _foreach_ceil"
            " _foreach_ceil_ _foreach_clamp_max _foreach_clamp_max_ _foreach_clamp_min"
            " _foreach_clamp_min_ _foreach_clone _foreach_copy_ _foreach_cos _foreach_cos_"
            " _foreach_cosh _foreach_cosh_ _foreach_div _foreach_div_ _foreach_erf _foreach_erf_"
            " _foreach_erfc _foreach_erfc_ _foreach_exp _foreach_exp_ _foreach_expm1"
            " _foreach_expm1_ _foreach_floor _foreach_floor_ _foreach_frac _foreach_frac_"
            " _foreach_lerp _foreach_lerp_ _foreach_lgamma _foreach_lgamma_ _foreach_log"
            " _foreach_log10 _foreach_log10_ _foreach_log1p _foreach_log1p_ _foreach_log2"
            " _foreach_log2_ _foreach_log_ _foreach_max _foreach_maximum _foreach_maximum_"
            " _foreach_minimum _foreach_minimum_ _foreach_mm _foreach_mul _foreach_mul_"
            " _foreach_neg _foreach_neg_ _foreach_norm _foreach_pow _foreach_pow_"
            " _foreach_powsum _foreach_reciprocal _foreach_reciprocal_ _foreach_round"
            " _foreach_round_ _foreach_rsqrt _foreach_rsqrt_ _foreach_sigmoid _foreach_sigmoid_"
            " _foreach_sign _foreach_sign_ _foreach_sin _foreach_sin_ _foreach_sinh"
            " _foreach_sinh_ _foreach_sqrt _foreach_sqrt_ _foreach_sub _foreach_sub_"
            " _foreach_tan _foreach_tan_ _foreach_tanh _foreach_tanh_ _foreach_trunc"
            " _foreach_trunc_ _foreach_zero_ _standard_gamma"
        ),
        "torch._C": (
            "DisableTorchFunction DisableTorchFunctionSubclass _disabled_torch_function_impl"
        ),
        "torch.autograd.forward_ad": "_current_level",
        "torch.fx.passes.shape_prop": "_extract_tensor_metadata",
        "torch.overrides": "_get_current_function_mode _get_current_function_mode_stack",
        "torch.distributions.constraints": (
            "_Boolean _Cat _CorrCholesky _Dependent _DependentProperty _GreaterThan"
            " _GreaterThanEq _HalfOpenInterval _IndependentConstraint _IntegerGreaterThan"
            " _IntegerInterval _Interval _LessThan _LowerCholesky _LowerTriangular _Multinomial"
            " _OneHot _PositiveDefinite _PositiveSemidefinite _Real _Simplex _Square _Stack"
            " _Symmetric"
        ),
        "torch.distributions.transforms": "_InverseTransform",
        "torch.nn.common_types": (
            "_maybe_indices_t _ratio_2_t _ratio_3_t _ratio_any_t _size_1_t _size_2_opt_t _size_2_t"
            " _size_3_opt_t _size_3_t _size_4_t _size_5_t _size_6_t _size_any_opt_t _size_any_t"
            " _tensor_list_t"
        ),
        "torch.nn.attention.flex_attention": "_DEFAULT_SPARSE_BLOCK_SIZE",
        "torch.nn.init": "_calculate_correct_fan _calculate_fan_in_and_fan_out",
        "torch.nn.modules.batchnorm": "_BatchNorm _NormBase",
        "torch.nn.modules.conv": "_ConvNd _ConvTransposeNd",
        "torch.nn.modules.dropout": "_DropoutNd",
        "torch.nn.modules.instancenorm": "_InstanceNorm",
        "torch.nn.modules.loss": "_Loss _WeightedLoss",
        "torch.nn.modules.module": "_IncompatibleKeys",
        "torch.nn.modules.padding": (
            "_CircularPadNd _ConstantPadNd _ReflectionPadNd _ReplicationPadNd"
        ),
        "torch.nn.modules.pooling": (
            "_AdaptiveAvgPoolNd _AdaptiveMaxPoolNd _AvgPoolNd _LPPoolNd _MaxPoolNd _MaxUnpoolNd"
        ),
        "torch.nn.modules.transformer": "_get_activation_fn _get_clones",
        "torch.nn.modules.utils": (
            "_list_with_default _ntuple _pair _quadruple _reverse_repeat_tuple _single _triple"
        ),
        "torch.optim.lr_scheduler": "_LRScheduler",
        "torch.jit": "Final",
        "torch.utils._python_dispatch": (
            "_disable_current_modes _get_current_dispatch_mode _get_current_dispatch_mode_stack"
            " _pop_mode _pop_mode_temporarily _push_mode"
        ),
        "torch.utils._pytree": (
            "_dict_flatten _dict_flatten_with_keys _dict_unflatten _get_node_type _list_flatten"
            " _list_flatten_with_keys _list_unflatten _register_pytree_node"
        ),
        "torch.utils.data._utils.worker": "_worker_info",
        "torch.utils.tensorboard": "summary/ writer/",
        "torch.types": "_TensorOrTensors _bool _device _dtype _float _int _size",
    }.items()
}

_OPTIMIZERS = (
    "adadelta adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd sparse_adam"
)


def _quantization(modules: str) -> str:
    return " ".join(f"wengert.compat._private.quantization.{m}" for m in modules.split())


_QUANTIZATION = {
    "": _quantization("fake observers settings histograms fused backends"),
    ".fake_quantize": _quantization("fake fused"),
    ".observer": _quantization("observers histograms"),
    ".qconfig": _quantization("settings backends"),
}

# Modules that wengert keeps in one piece, under another name, or in several places.
ELSEWHERE: dict[str, str] = {
    "functorch": "wengert.func",
    "torch.__config__": "wengert.platform.config",
    "torch._C": "wengert.overrides",
    "torch._dynamo": "wengert.compat._compilers",
    "torch.accelerator.memory": "wengert.accelerator",
    **{
        f"torch.{home}quantization{module}": paths
        for home in ("ao.", "")
        for module, paths in _QUANTIZATION.items()
    },
    "torch.autograd.grad_mode": "wengert.autograd",
    "torch.autograd.profiler_util": "wengert.autograd.profiler",
    "torch.cuda.amp.autocast_mode": "wengert.cuda.amp",
    "torch.cuda.amp.grad_scaler": "wengert.cuda.amp",
    "torch.cuda.graphs": "wengert.cuda",
    "torch.cuda.memory": "wengert.cuda",
    "torch.cuda.random": "wengert.cuda",
    "torch.cuda.streams": "wengert.cuda",
    "torch.export": "wengert.export wengert.utils._tree_paths",
    "torch.export.dynamic_shapes": "wengert.export.dims",
    "torch.fx._symbolic_trace": "wengert.fx._symbolic_trace",
    "torch.fx.traceback": "wengert.fx._traceback",
    "torch.jit._script": "wengert.jit wengert.compat._private.script_names",
    "torch.jit._trace": "wengert.jit wengert.compat._private.script_names",
    "torch.profiler.profiler": "wengert.profiler",
    "torch.distributed.constants": "wengert.distributed",
    "torch.distributed.distributed_c10d": "wengert.distributed",
    "torch.distributed.fsdp.fully_sharded_data_parallel": "wengert.distributed.fsdp",
    "torch.distributed.launch": "wengert.distributed.run",
    # For ``python -m``: to the import system, all modules of the alias are packages.
    "torch.distributed.launch.__main__": "wengert.distributed.run",
    "torch.distributed.run.__main__": "wengert.distributed.run",
    "torch.futures": "wengert.distributed.futures",
    "torch.nn.parallel.distributed": "wengert.nn.parallel",
    "torch.storage": "wengert.tensor.storages",
    "torch.utils._python_dispatch": "wengert.utils._python_dispatch",
    "torch.utils._pytree": "wengert.utils._pytree wengert.utils._tree_paths",
    "torch._functorch.apis": "wengert.func",
    "torch._functorch.eager_transforms": "wengert.func",
    "torch._functorch.functional_call": "wengert.func",
    "torch._functorch.vmap": "wengert.utils._pytree",
    "torch._ops": "wengert.dispatch.overloads",
    "torch._library": "wengert.library",
    "torch._library.custom_ops": "wengert.library",
    "torch.ops": "wengert.compat._private.operator_spaces wengert.dispatch.ops",
    "torch.functional": "wengert",
    "torch.nn.parameter": "wengert.nn.parameter wengert.nn",
    "torch.torch_version": "wengert.compat._version",
    "torch.utils.tensorboard": "wengert.utils.tensorboard",
    "torch.utils.tensorboard.summary": "wengert.utils.tensorboard.summary",
    "torch.utils.tensorboard.writer": "wengert.utils.tensorboard.writer",
    "torch.utils.data._utils": "wengert.utils.data",
    "torch.utils.data._utils.collate": "wengert.data.collate",
    "torch.utils.data._utils.worker": "wengert.data.worker",
    **{
        f"torch.optim.{name}": f"wengert.optim.{name} wengert.optim"
        " wengert.compat._private.functional_optimizers"
        for name in _OPTIMIZERS.split()
    },
    **{
        f"torch.utils.data.{name}": f"wengert.data.{name} wengert.data"
        for name in ("dataloader", "dataset", "distributed", "sampler")
    },
}

# What packages take from inside PyTorch, though it promises none of it: modules of `_private`
# that stand for one of torch, alone or behind what wengert has for it. Their `__all__` counts.
PRIVATE: dict[str, str] = {
    path: f"wengert.compat._private.{module}"
    for path, module in {
        "functorch": "functorch",
        "functorch.compile": "functorch_compile",
        "functorch.experimental": "functorch_experimental",
        "functorch.experimental.control_flow": "scans",
        "torch": "top",
        "torch.__future__": "future_settings",
        "torch._C": "c",
        "torch._C._autograd": "c_autograd",
        "torch._C._functorch": "c_functorch",
        "torch._C._nn": "c_nn",
        "torch._custom_ops": "custom_ops",
        "torch._guards": "guards",
        "torch._functorch": "vmap_internals",
        "torch._functorch.vmap": "vmap_internals",
        "torch._decomp": "decompositions",
        "torch._dynamo": "compiled_modules",
        "torch._dynamo._trace_wrapped_higher_order_op": "index_modes",
        "torch._dynamo.eval_frame": "compiled_modules",
        "torch._dynamo.decorators": "compiled_modules",
        "torch._dynamo.exc": "compiler_errors",
        "torch._dynamo.external_utils": "compiled_modules",
        "torch._dynamo.utils": "compiled_modules",
        "torch._functorch.aot_autograd": "functorch_compile",
        "torch._functorch.compilers": "functorch_compile",
        "torch._functorch.make_functional": "functorch",
        "torch._functorch.partitioners": "functorch_compile",
        "torch._functorch.config": "functorch_settings",
        "torch._inductor": "inductor_names",
        "torch._inductor.config": "inductor_settings",
        "torch._inductor.decomposition": "decompositions",
        "torch._inductor.utils": "inductor_contexts",
        "torch._dynamo.backends": "compiler_backends",
        "torch._dynamo.backends.common": "compiler_backends",
        "torch._dynamo.backends.inductor": "compiler_backends",
        "torch._inductor.compile_fx": "compiler_backends",
        "torch._dynamo.backends.debugging": "eager_backends",
        "torch._dynamo.backends.registry": "compiler_backends",
        "torch._dynamo.compiled_autograd": "inductor_contexts",
        "torch._dynamo.config": "dynamo_settings",
        "torch.compiler.config": "compiler_settings",
        "torch._logging": "logging_switches",
        "torch._ops": "operator_names",
        "torch._dynamo.comptime": "comptimes",
        "torch._dynamo.test_case": "compiler_tests",
        "torch._dynamo.testing": "compile_counters",
        "torch._inductor.test_case": "compiler_tests",
        "torch._higher_order_ops": "scans",
        **{
            f"torch._higher_order_ops.{name}": "scans"
            for name in ("associative_scan", "cond", "map", "scan", "while_loop")
        },
        "torch._jit_internal": "jit_internal",
        "torch._prims_common": "shape_rules",
        "torch._tensor": "tensor_module",
        "torch._tensor_str": "tensor_texts",
        "torch._utils": "helpers",
        "torch._utils_internal": "repository_paths",
        "torch.ao": "quantization_marks",
        "torch.ao.quantization": "quantization_marks",
        "torch.ao.quantization.fake_quantize": "quantization.fused",
        "torch.ao.quantization.observer": "quantization.histograms",
        "torch.ao.quantization.qconfig": "quantization.backends",
        "torch.autograd": "autograd_switches",
        "torch.autograd._functions": "resized",
        "torch.autograd.forward_ad": "forward_levels",
        "torch.autograd.profiler_util": "profiler_texts",
        "torch.classes": "script_classes",
        "torch._subclasses": "fake_tensors",
        "torch._subclasses.fake_tensor": "fake_tensors",
        "torch._subclasses.functional_tensor": "functional_tensors",
        "torch.cuda": "cuda_state",
        "torch.cuda.amp.common": "amp_answers",
        "torch.cuda.comm": "device_exchange",
        "torch.cuda.nccl": "device_exchange",
        "torch.cuda.profiler": "cuda_profiler",
        "torch.distributed": "process_groups",
        "torch.distributed.checkpoint": "sharded_files",
        "torch.distributed.checkpoint.hf_storage": "sharded_files",
        "torch.distributed.distributed_c10d": "process_groups",
        "torch.distributed._composable": "sharding",
        "torch.distributed._composable.fsdp": "sharding",
        "torch.distributed._functional_collectives": "functional_collectives",
        "torch.distributed._tensor": "sharding",
        "torch.distributed._tensor.experimental": "sharding",
        "torch.distributed.algorithms._checkpoint": "activation_wrappers",
        "torch.distributed.algorithms._checkpoint.checkpoint_wrapper": "activation_wrappers",
        "torch.distributed.autograd": "remote_gradients",
        "torch.distributed.rpc": "remote_calls",
        "torch.distributed.tensor._utils": "sharding",
        "torch.distributed.tensor.placement_types": "sharding",
        "torch.distributed.tensor.experimental": "sharding",
        "torch.distributions.kl": "divergence_tables",
        "torch.distributions.multivariate_normal": "precision_factors",
        "torch.distributions.transforms": "clipped_sigmoids",
        "torch.distributions.utils": "distribution_sums",
        "torch.export": "export_names",
        "torch.fx.experimental.proxy_tensor": "proxy_modes",
        "torch.fx.experimental.symbolic_shapes": "symbolic_shapes",
        "torch.hub": "hub_folders",
        "torch.fx._compatibility": "fx_marks",
        "torch.fx.graph_module": "graph_copies",
        "torch.fx.passes.fake_tensor_prop": "fake_runs",
        "torch.fx.passes.graph_drawer": "graph_drawings",
        "torch.fx.passes.infra": "graph_passes",
        "torch.fx.passes.infra.pass_base": "graph_passes",
        "torch.fx.passes.infra.pass_manager": "graph_passes",
        "torch.fx.passes.infra.partitioner": "graph_partitions",
        "torch.fx.passes.utils": "graph_partitions",
        "torch.fx.passes.utils.fuser_utils": "graph_partitions",
        "torch.fx.passes.operator_support": "operator_supports",
        "torch.fx.passes.split_module": "graph_splits",
        "torch.fx.passes.tools_common": "operator_supports",
        "torch.jit": "script_names",
        "torch.jit.annotations": "broadcast_lists",
        "torch.mtia": "mtia_answers",
        "torch.multiprocessing.reductions": "weak_storages",
        "torch.nn._reduction": "reductions",
        "torch.nn.functional._Reduction": "reductions",
        "torch.nn.init": "truncation",
        "torch.nn.modules.module": "module_text",
        "torch.nn.parallel.scatter_gather": "scattering",
        "torch.nn.utils._named_member_accessor": "member_accessor",
        "torch.nn.utils._per_sample_grad": "per_sample_gradients",
        "torch.nn.utils.stateless": "reparametrization",
        "torch.nn.parameter": "uninitialized",
        "torch.onnx": "symbolics",
        "torch.onnx.operators": "onnx_shapes",
        "torch.onnx.symbolic_helper": "symbolics",
        "torch.onnx.symbolic_opset11": "symbolics",
        "torch.optim._adafactor": "functional_optimizers",
        "torch.optim._functional": "functional_optimizers",
        "torch.optim._muon": "functional_optimizers",
        "torch.optim.optimizer": "optimizer_helpers",
        "torch.profiler": "profiler_switches",
        "torch.quantization": "quantization_marks",
        "torch.serialization": "serialized_types",
        "torch.sparse": "sparse_types",
        "torch.storage": "pickled_storages",
        "torch.testing._comparison": "comparisons",
        **HARNESS,
        "torch.utils._contextlib": "decorating_contexts",
        "torch.utils._device": "device_contexts",
        "torch.utils._mode_utils": "mode_utils",
        "torch.utils.hooks": "module_hooks",
        "torch.utils._triton": "triton_answers",
        "torch.utils._foreach_utils": "grouping",
        "torch.utils._pytree": "named_tuples",
        "torch.utils.weak": "weak_keys",
        "torch.utils.model_zoo": "progress",
        "torch.utils.data": "pipes.classes",
        "torch.utils.data.datapipes": "pipes",
        "torch.utils.data.datapipes.datapipe": "pipes.wrapped",
        "torch.utils.data.datapipes.iter": "pipes.iterated",
        "torch.utils.data.datapipes.iter.combinatorics": "pipes.shuffled",
        "torch.utils.data.graph": "pipes.graphs",
        "torch.utils.data.graph_settings": "pipes.settings",
        "torch.utils.data._utils": "worker_signals",
        "torch.utils.data._utils.signal_handling": "worker_signals",
        "torch.utils.data._utils.pin_memory": "pinning",
        "torch.utils.data._utils.worker": "worker_seeds",
        "torch.utils.data.dataloader": "loaders",
    }.items()
}


class TorchNames:
    """The names that a module of PyTorch has."""

    def __init__(self, path: str, listed: str | None, inner: frozenset[str]) -> None:
        below = {p.rpartition(".")[2] for p in PRIVATE if p.rpartition(".")[0] == path}
        words = [*(listed or "").split(), *inner]
        # As in PyTorch, a function hides the module of its name.
        self._modules = frozenset(w[:-1] for w in words if w.endswith("/")) | (below - inner)
        self._all = {w.removesuffix("/") for w in words} | below
        self._listed = listed is not None

    def __contains__(self, name: str) -> bool:
        """Whether the module has a name; of an unlisted one, any without an underscore."""
        return name in self._all or not (self._listed or name.startswith("_"))

    def words(self) -> list[str]:
        """The names that are listed."""
        return sorted(self._all or ())

    def is_module(self, name: str) -> bool:
        """Whether the name is that of a module."""
        return name in self._modules


@functools.cache
def _listed() -> dict[str, str]:
    """The names of each module of PyTorch that wengert stands for; a slash marks modules.

    The file is written by tools/torch_names.py.
    """
    with open(os.path.join(os.path.dirname(__file__), "names.txt"), encoding="utf-8") as file:
        pairs = [line.split(": ", 1) for line in file if line[0] != "#"]
    return {module: names for module, names in pairs}


def listed_modules() -> list[str]:
    """The modules of PyTorch that wengert stands for, as far as their names are listed."""
    return list(_listed())


def of_module(path: str) -> TorchNames:
    """The names that a module of PyTorch has."""
    inner = INNER.get(path, frozenset())
    if path in PRIVATE:
        inner = inner.union(import_module(PRIVATE[path]).__all__)
    return TorchNames(path, _listed().get(path), inner)


def candidates(path: str) -> list[str]:
    """Paths under wengert that may stand for a module of torch, the best first."""
    private = [PRIVATE[path]] if path in PRIVATE else []
    if path in ELSEWHERE:
        return ELSEWHERE[path].split() + private
    if path not in _listed():
        return private
    native = path.replace("torch", "wengert", 1)
    if path.startswith("torch.nn.modules"):
        return [native, "wengert.nn", *private]
    return [native, *private]


def is_pytorchs(path: str) -> bool:
    """Whether PyTorch has a name; True as well where its names are not listed.

    >>> from wengert.compat.torch_names import is_pytorchs
    >>> is_pytorchs("torch.dequantize"), is_pytorchs("torch.zork")
    (True, False)
    """
    module, _, name = path.rpartition(".")
    return name.startswith("_") or name in of_module(module) or not _is_listed(module)


def _is_listed(module: str) -> bool:
    return module in listed_modules()
