"""Programs as Python functions of their inputs and numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.core.tensor import internal
from wengert.kernels.jit.pace import pace
from wengert.replay.ir import Program

Function = Callable[[Sequence[Any], Sequence[float]], Sequence[Any]]

# What tracebacks call the file of a program: none of the user's.
_FILE = "<program>"
internal.add(_FILE)


def interpreted(program: Program) -> Function:
    """The program as a function that goes through its instructions: there at once."""
    inputs, numbers, results = program.inputs, program.numbers, program.results
    blank = [program.constants.get(v) for v in range(len(program.types))]
    steps = _steps(program)

    def run(arrays: Sequence[Any], scalars: Sequence[float]) -> Sequence[Any]:
        values: list[Any] = blank.copy()
        for v, given in (*zip(inputs, arrays, strict=False), *zip(numbers, scalars, strict=False)):
            values[v] = given
        given = None
        for compute, reads, outputs, several, dead in steps:
            if several:
                found = compute(*[values[v] for v in reads])
                for v, value in zip(outputs, found, strict=True):
                    values[v] = value
                found = value = None
            else:
                values[outputs] = compute(*[values[v] for v in reads])
            for v in dead:
                values[v] = None
        return [values[v] for v in results]

    return run


def _steps(program: Program) -> list[tuple[Any, ...]]:
    """Of each instruction the function, what it reads and gives, and which values are dead then."""
    seen, steps = {*program.results, *program.constants}, []
    for one in reversed(program.instructions):
        reads, outputs, dead = one.inputs, one.outputs, []
        for v in (*reads, *outputs):
            if v not in seen:
                seen.add(v)
                dead.append(v)
        several = one.unpacked or len(outputs) > 1
        steps.append((one.compute, reads, outputs if several else outputs[0], several, dead))
    return steps[::-1]


def written(program: Program) -> Function:
    """The program as a Python function of its inputs and numbers: one line an instruction."""
    scope: dict[str, Any] = {f"v{v}": array for v, array in program.constants.items()}
    lines = ["def program(inputs, numbers):"]
    for kind, values in (("inputs", program.inputs), ("numbers", program.numbers)):
        if values:
            names = ", ".join([f"v{v}" for v in values])
            lines.append(f"    {names}, = {kind}[:{len(values)}]")
    last = program.last_uses()
    for k, instruction in enumerate(pace.over(program.instructions)):
        scope[f"f{k}"] = instruction.compute
        arguments = ", ".join(f"v{v}" for v in instruction.inputs)
        outputs = ", ".join(f"v{v}" for v in instruction.outputs)
        comma = "," if instruction.unpacked else ""
        lines.append(f"    {outputs}{comma} = f{k}({arguments})")
        gone = dict.fromkeys((*instruction.inputs, *instruction.outputs))
        dead = [f"v{v}" for v in gone if last.get(v) == k]
        if dead:
            lines.append(f"    del {', '.join(dead)}")
    lines.append(f"    return [{', '.join(f'v{v}' for v in program.results)}]")
    exec(compile("\n".join(lines), _FILE, "exec"), scope)
    # Out of its own globals, which would be a cycle.
    run: Function = scope.pop("program")
    return run
