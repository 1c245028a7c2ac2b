"""What packages reach into of PyTorch's compilers."""

from __future__ import annotations

import pytest

import wengert
from tests.cli.process import python
from wengert import compiler

PROGRAM = """
from importlib import import_module as alias
import wengert
import wengert.compat
from wengert import compiler, nn
wengert.compat.install()
torch = alias("torch")
alias("torch._dynamo.config")
settings = alias("torch._inductor.config")
assert settings is torch._inductor.config
assert torch._inductor.config.coordinate_descent_tuning is False
before = torch._dynamo.config.suppress_errors
torch._dynamo.config.suppress_errors = True
try:
    with torch._dynamo.config.patch(suppress_errors=False, cache_size_limit=64):
        assert torch._dynamo.config.cache_size_limit == 64
        assert torch._dynamo.config.suppress_errors is False
    with torch._dynamo.config.patch("verbose", True):
        assert torch._dynamo.config.verbose is True
    assert torch._dynamo.config.cache_size_limit == 8
    assert torch._dynamo.config.suppress_errors is True
    assert settings.triton.unique_kernel_names is True
finally:
    torch._dynamo.config.suppress_errors = before
torch = alias("torch")
model = compiler.compile(nn.Linear(2, 1))
assert isinstance(model, torch._dynamo.OptimizedModule)
assert isinstance(model, alias("torch._dynamo.eval_frame").OptimizedModule)
assert not isinstance(model._orig_mod, torch._dynamo.OptimizedModule)
torch = alias("torch")
x = wengert.ones(3)
assert torch._dynamo.optimize("inductor")(lambda x: x * 2)(x).tolist() == [2.0] * 3
assert torch._dynamo.explain(lambda x: torch.exp(x) + 1)(x).op_count == 2
assert torch._dynamo.list_backends() == torch.compiler.list_backends() == ["inductor"]
assert issubclass(alias("torch._dynamo.exc").Unsupported, RuntimeError)
assert not alias("torch._dynamo.external_utils").is_compiling()
counters = alias("torch._dynamo.utils").counters
assert counters["frames"]["total"] == counters["frames"]["ok"] > 0
testing = alias("torch._dynamo.testing")
for backend in (testing.CompileCounterWithBackend("eager"), testing.EagerAndRecordGraphs()):
    assert torch.compile(lambda x: x + 1, backend=backend)(x).tolist() == [2.0] * 3
    assert len(backend.graphs) == 1
assert testing.same is alias("torch._dynamo.utils").same
assert issubclass(alias("torch._inductor.test_case").TestCase, alias("unittest").TestCase)
told, comptime = [], alias("torch._dynamo.comptime").comptime
comptime(told.append, lambda: told.append("eager"))
comptime.print_graph()
assert told == ["eager"]
errors = alias("torch._dynamo.exc")
raised = errors.UserError(errors.UserErrorType.ANTI_PATTERN, "why")
assert (str(raised), raised.error_type.name) == ("why", "ANTI_PATTERN")
assert not alias("torch.utils._triton").has_triton()
for exported in (torch._dynamo.export(lambda x: x.sin())(x), torch._dynamo.export(nn.Tanh(), x)):
    assert type(exported).__name__ == "ExportResult" and exported.guards == set()
assert exported.graph_module(x).tolist() == x.tanh().tolist()
with torch._dynamo.patch_dynamo_config(verbose=True), torch._dynamo.error_on_graph_break(True):
    assert torch._dynamo.config.verbose is True
assert torch._dynamo.nonstrict_trace(len) is len and torch._dynamo.skip_frame() is None
assert torch._dynamo.reset_frame_count() is None
torch.compiler.set_default_backend("eager")
assert torch.compiler.get_default_backend() == "eager"
assert torch.compile(len)([1]) == 1
torch.compiler.set_default_backend(None)
try:
    torch.compiler.set_default_backend(3)
except TypeError as error:
    assert "expected a name" in str(error)
else:
    raise AssertionError("a number is no backend")
limited = torch.compile(lambda x: x + 1, recompile_limit=3, isolate_recompiles=True, name="limited")
assert limited(x).tolist() == [2.0] * 3
assert alias("functorch.compile").memory_efficient_fusion(lambda x: x + 1)(x).tolist() == [2.0] * 3
assert alias("functorch.experimental.control_flow").map is alias("torch._higher_order_ops.map").map
assert alias("torch._higher_order_ops").cond is alias("torch._higher_order_ops.cond").cond
assert isinstance(torch.ops.higher_order.cond, alias("torch._ops").HigherOrderOperator)
assert isinstance(torch.ops.aten.mm.default, alias("torch._ops").OperatorBase)
assert torch.saddmm is torch.sspaddmm and torch.hsmm is torch.hspmm
first = x.long()[:1] * 0
assert torch._is_all_true(x > 0) and len(torch.embedding_bag(x[:, None], first, first)) == 4
for name in ("mark_dynamic", "maybe_mark_dynamic", "mark_static"):
    assert getattr(torch._dynamo, name)(x, 0) is None
assert alias("torch._logging").set_logs(dynamo=10) is None
torch.compiler.config.job_id = "a"
assert alias("torch.compiler.config").job_id == "a"
made = alias("torch._dynamo.backends.common").aot_autograd(fw_compiler=lambda g, i: g)
assert torch.compile(lambda x: x + 1, backend=made)(x).tolist() == [2.0] * 3
common = alias("torch._dynamo.backends.common")
assert common.device_from_inputs([x]).type == "cpu"
assert common.dtype_from_inputs([2]) == torch.float32
assert common.fake_tensor_unsupported(made) is made
fx = alias("torch._inductor.compile_fx").compile_fx
assert torch.compile(lambda x: x + 1, backend=fx)(x).tolist() == [2.0] * 3
assert alias("torch._functorch.apis").vmap is torch.vmap
parts = alias("torch._functorch.partitioners").min_cut_rematerialization_partition
shown = alias("functorch.compile").print_compile
whole = alias("functorch.compile").aot_module_simplified
layer = nn.Linear(3, 1)
assert whole(lambda x: (layer(x),), [x], lambda g, i: g, partition_fn=parts)(x)[0] == layer(x)
registry = alias("torch._dynamo.backends.registry")
registry.register_debug_backend(lambda gm, inputs: gm.forward)
assert "<lambda>" not in torch._dynamo.list_backends()
assert "<lambda>" in torch._dynamo.list_backends(None)
assert registry.register_backend(made, name="made") is made
assert registry.lookup_backend("made") is made
assert registry.lookup_backend("inductor")(lambda x: x + 1, [x])(x).tolist() == [2.0] * 3
assert alias("torch._dynamo.decorators").forbid_in_graph(len) is len
with alias("torch._inductor.utils").fresh_inductor_cache():
    with alias("torch._dynamo.compiled_autograd")._enable(torch.compile):
        x.requires_grad_().sum().backward()
assert x.grad.tolist() == [1.0] * 3
"""


def test_names_of_pytorchs_compilers_lead_somewhere() -> None:
    result = python("-c", PROGRAM)
    assert (result.returncode, result.stderr) == (0, "")


def test_marks_of_functions_give_them_back():
    def own(x):
        return x + 1

    for mark in (compiler.allow_in_graph, compiler.assume_constant_result, compiler.wrap_numpy):
        assert mark(own) is own
    assert compiler.substitute_in_graph(abs)(own) is own
    with pytest.raises(TypeError, match="expects a function but got int"):
        compiler.substitute_in_graph(3)
    options = {"guard_filter_fn": compiler.skip_all_guards_unsafe}
    assert compiler.compile(own, options=options)(1) == 2
    assert compiler.skip_all_guards_unsafe([1, 2]) == [True, True]


def test_backends_that_nobody_knows():
    def triple(x):
        return x * 3

    with pytest.raises(RuntimeError, match="Invalid backend: 'fastest'"):
        compiler.compile(triple, backend="fastest")


def test_names_of_dynamo() -> None:
    from wengert.compat import _compilers as dynamo

    x = wengert.ones(3, 3)
    marks = [dynamo.mark_dynamic(x, 0), dynamo.mark_static(x), dynamo.mark_static_address(x)]
    assert marks == [None, None, None]
    report = dynamo.explain(lambda x: wengert.exp(x) + 1)(x)
    assert (report.graph_count, report.graph_break_count, report.op_count) == (1, 0, 2)
    assert report.break_reasons == []
    report = dynamo.explain(lambda x: x + 1 if x.sum() > 0 else x, x)
    assert (report.graph_count, report.graph_break_count, report.op_count) == (2, 1, 2)
    (reason,) = report.break_reasons
    assert (reason.reason, reason.user_stack[0].filename) == ("__bool__()", __file__)
    assert "Graph Break Count: 1" in str(report)

    @dynamo.register_backend(name="of_these_tests")
    def backend(gm, example_inputs):
        return lambda x: (x * 3,)

    assert dynamo.lookup_backend("of_these_tests") is backend
    assert compiler.compile(lambda x: x + 1, backend="of_these_tests")(x).sum() == 27
    with pytest.raises(RuntimeError, match="Invalid backend: 'fastest'"):
        dynamo.lookup_backend("fastest")
