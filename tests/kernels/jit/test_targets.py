"""What kernels are compiled for."""

from __future__ import annotations

import pytest

from wengert.kernels.jit import available, targets

pytestmark = pytest.mark.skipif(not available(), reason="no kernels can be compiled here")

LOOP = """
define void @squares(ptr noalias %a, ptr noalias %b, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
  %p = getelementptr float, ptr %a, i64 %i
  %q = getelementptr float, ptr %b, i64 %i
  %x = load float, ptr %p
  %y = fmul float %x, %x
  store float %y, ptr %q
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}"""


def _assembly(processor: targets.Processor) -> str:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu=processor.name, features=processor.features, opt=3)
    module = llvm.parse_assembly(LOOP)
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes.getModulePassManager().run(module, passes)
    return str(machine.emit_assembly(module))


@pytest.mark.parametrize("name", ["icelake-server", "sapphirerapids", "znver4", "x86-64-v4"])
def test_loops_use_whole_registers(name: str) -> None:
    assert "%zmm" in _assembly(targets.tuned(name, "+avx,+avx2,+avx512f,+avx512vl"))


def test_others_are_told_nothing_that_they_do_not_know() -> None:
    assert targets.tuned("neoverse-n1", "+neon,+fp-armv8").features == "+neon,+fp-armv8"
    assert targets.tuned("haswell", "+avx2,-avx512f").features == "+avx2,-avx512f"
