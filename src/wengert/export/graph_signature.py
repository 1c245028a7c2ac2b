"""What the inputs and outputs of an exported program's graph are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any


@dataclass
class TensorArgument:
    """An input or output that is a tensor, by the name of its node."""

    name: str


@dataclass
class ConstantArgument:
    """An input or output that is no tensor."""

    name: str
    value: Any


class InputKind(Enum):
    """Where an input of the graph comes from."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    """What becomes of an output of the graph."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


@dataclass
class InputSpec:
    """An input of the graph; `target` is the path of a parameter, buffer or constant."""

    kind: InputKind
    arg: TensorArgument | ConstantArgument
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclass
class OutputSpec:
    """An output of the graph."""

    kind: OutputKind
    arg: TensorArgument | ConstantArgument
    target: str | None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        return f"{self.arg.name}: {self.kind.name}{target}"


@dataclass
class ExportGraphSignature:
    """The inputs and outputs of a graph, in order."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _targets(self, kind: InputKind) -> dict[str, str]:
        return {s.arg.name: str(s.target) for s in self.input_specs if s.kind is kind}

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """The paths of parameters by the names of inputs."""
        return self._targets(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """The paths of buffers by the names of inputs."""
        return self._targets(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """The names of constants by the names of inputs."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The paths of the parameters that the graph takes."""
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> tuple[str, ...]:
        """The paths of the buffers that the graph takes."""
        return tuple(self.inputs_to_buffers.values())

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of the constants that the graph takes."""
        return tuple(self.inputs_to_lifted_tensor_constants.values())

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The paths of buffers that are in no `state_dict`."""
        buffers = [s for s in self.input_specs if s.kind is InputKind.BUFFER]
        return tuple(str(s.target) for s in buffers if not s.persistent)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of the inputs that a caller passes; of one that is no tensor its value."""
        return tuple(_shown(s) for s in self.input_specs if s.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of the outputs that a caller gets."""
        return tuple(_shown(s) for s in self.output_specs)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """Empty: the graph itself writes to its buffers."""
        return {}

    @property
    def parameters_to_mutate(self) -> dict[str, str]:
        """Empty: the graph itself writes to its parameters."""
        return {}

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """Empty: the graph itself writes to its inputs."""
        return {}

    def __str__(self) -> str:
        inputs = "\n".join(map(str, self.input_specs))
        outputs = "\n".join(map(str, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


def _shown(spec: InputSpec | OutputSpec) -> Any:
    return spec.arg.name if isinstance(spec.arg, TensorArgument) else spec.arg.value
