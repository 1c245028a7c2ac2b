"""The programs of compiled functions as data: what `graph.describe` gives of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wengert.core.storage import location_of, source_text
from wengert.graph.description import LEAF, LIVE, GraphReport, NodeInfo, report_of
from wengert.replay.ir import Instruction, Program


def described(functions: Iterable[Sequence[Program]]) -> GraphReport:
    """The programs of compiled functions: an instruction is a node, an input is a leaf.

    Nothing is kept between calls, so nodes have no bytes. Raises RuntimeError for a function that
    has no program yet.
    """
    nodes: list[NodeInfo] = []
    roots: list[int] = []
    for programs in functions:
        if not programs:
            raise RuntimeError(
                "draw(): a compiled function has no program until it has been called twice"
            )
        for program in programs:
            _Describer(program, nodes, roots).describe()
    return report_of(nodes, roots)


class _Describer:
    """Appends the nodes of a program, and its results, to those of others."""

    def __init__(self, program: Program, nodes: list[NodeInfo], roots: list[int]) -> None:
        self.program, self.nodes, self.roots = program, nodes, roots
        self.index: dict[int, int] = {}  # of the node that has a value
        self.positions = self._positions()

    def _positions(self) -> dict[int, list[int]]:
        """By value, the results that depend on it: positions among the report's roots."""
        below: dict[int, set[int]] = {}
        for k, v in enumerate(dict.fromkeys(self.program.results), len(self.roots)):
            below.setdefault(v, set()).add(k)
        for i in reversed(self.program.instructions):
            above = set[int]().union(*[below.get(v, ()) for v in i.outputs])
            for v in i.inputs:
                below.setdefault(v, set()).update(above)
        return {v: sorted(positions) for v, positions in below.items()}

    def describe(self) -> None:
        """Append them."""
        program = self.program
        for kind, values in (("input", program.inputs), ("number", program.numbers)):
            for v in values:
                self._leaf(kind, v, str(program.types[v]))
        for v, array in program.constants.items():
            if v in self.positions:
                text = str(array.item()) if array.size == 1 else str(program.types[v])
                self._leaf("constant", v, text)
        for i in program.instructions:
            self._instruction(i)
        self.roots += [self.index[v] for v in dict.fromkeys(program.results)]

    def _leaf(self, kind: str, value: int, text: str) -> None:
        self._append((value,), op=kind, state=LEAF, text=f"{kind}_{value} = {text}")

    def _instruction(self, i: Instruction) -> None:
        entries = [m.entry for m in i.members or (i,) if m.entry is not None]
        codes = [(e.code, e.lasti) for e in entries if e.code is not None]
        where = location_of(*codes[0]) if codes else ""
        text = source_text(*codes[0]) if codes else ""
        self._append(i.outputs, i.inputs, op=i.name, state=LIVE, where=where, text=text)

    def _append(
        self, outputs: Sequence[int], inputs: Sequence[int] = (), *, op: str, state: str,
        where: str = "", text: str = "",
    ) -> None:  # fmt: skip
        index = len(self.nodes)
        self.index.update(dict.fromkeys(outputs, index))
        roots = sorted({r for v in outputs for r in self.positions.get(v, ())})
        self.nodes.append(
            NodeInfo(
                index=index, op=op, kind=op, where=where, text=text, module="",
                shape=self.program.types[outputs[0]].shape if outputs else (),
                inputs=tuple([self.index[v] for v in inputs]), saved=(), nbytes=0, frees=0,
                state=state, roots=tuple(roots),
            )
        )  # fmt: skip
