"""A pass over products of a matrix and its transpose; exact but for the order of sums.

As mathematics, `G X + (X' G)' = (G + G') X`: the gradient of `X X'` is one product, not two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

from wengert.kernels.jit.pace import pace
from wengert.replay.ir import SUM, Instruction, Program
from wengert.replay.products import part_of

_PARTS = {"input": "other", "other": "input"}


def join_grams(program: Program) -> None:
    """Apply the rewrite to each sum of both gradients that nobody else reads."""
    if any(i.key == ("matmul", ()) for i in program.instructions):
        _Grams(program).run()


class _Grams:
    """The rewrite of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.makers, self.uses = program.makers(), program.uses()

    def run(self) -> None:
        rewritten: list[Instruction] = []
        for instruction in pace.over(self.program.instructions):
            rewritten += self._instead(instruction) if instruction.key == SUM else (instruction,)
        self.program.instructions = rewritten

    def _instead(self, root: Instruction) -> Iterator[Instruction]:
        """A sum of two values, or what makes it with a product less.

        Where one of the two is itself a sum, the product that belongs to the other may be there.
        """
        for one, two in permutations(root.inputs):
            if self._is_pair(one, two):
                yield from self._joined(one, two, root, root.outputs[0])
                return
            inner = self._alone(two)
            if inner is None or inner.key != SUM:
                continue
            for near, far in permutations(inner.inputs):
                if self._is_pair(one, near) or self._is_pair(near, one):
                    pair = (one, near) if self._is_pair(one, near) else (near, one)
                    product = self.program.value(self.program.types[near])
                    yield from self._joined(*pair, root, product)
                    yield replace(root, inputs=(far, product))
                    return
        yield root

    def _alone(self, value: int) -> Instruction | None:
        """What makes a value that is read once."""
        return self.makers.get(value) if self.uses[value] == 1 else None

    def _is_pair(self, direct: int, turned: int) -> bool:
        """Whether values are both gradients of `X X'`, the second with its axes turned back."""
        product, turn = self._alone(direct), self._alone(turned)
        if product is None or turn is None or not part_of(product, "matmul"):
            return False
        second = self._alone(turn.inputs[0])
        transposed = self.makers.get(product.inputs[1])
        if second is None or transposed is None or transposed.key is None or turn.key is None:
            return False
        return (
            second.key == (("matmul", _PARTS[part_of(product, "matmul")]), product.key[1])
            and second.inputs == (product.inputs[0], transposed.inputs[0])
            and self._turns(transposed)
            and turn.key == ((transposed.key[0], "input"), transposed.key[1])
        )

    def _turns(self, instruction: Instruction) -> bool:
        """Whether it swaps the last two axes, and nothing else."""
        name, parameters = instruction.key
        axes = len(self.program.types[instruction.inputs[0]].shape)
        if name == "transpose":
            return {axis % axes for _, axis in parameters} == {axes - 2, axes - 1}
        return bool(name == "t" and axes == 2)

    def _joined(
        self, direct: int, turned: int, root: Instruction, value: int
    ) -> Iterator[Instruction]:
        """One product in the place of two, which are no longer read."""
        product = self.makers[direct]
        cotangent, transposed = product.inputs
        type_ = self.program.types[cotangent]
        across, both = self.program.value(type_), self.program.value(type_)
        turn = self.makers[transposed]
        yield replace(turn, inputs=(cotangent,), outputs=(across,))
        yield replace(root, inputs=(cotangent, across), outputs=(both,))
        yield replace(product, inputs=(both, transposed), outputs=(value,))
