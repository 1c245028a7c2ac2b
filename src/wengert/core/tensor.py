"""Tensor and Node: the two slotted classes at the centre of the library.

A Tensor is an array and an edge into the graph; a Node is one recorded operation.
Both are created here, and inline in the functions that `ops.publish` generates:
at a microsecond per operation, a call counts.

Ownership runs one way only. A Tensor holds its node; a node holds the nodes of its
inputs and the arrays that its rules need. No node holds a Tensor, so reference
counting alone frees a graph with its last output.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.core.cotangents import add_cotangents
from wengert.core.fronts import FILE, arm_for_classes
from wengert.core.overriding import DisableTorchFunctionSubclass, answers, overriding, silent
from wengert.core.signatures import saved_name

if TYPE_CHECKING:
    # Methods are bound when the package is imported: tools/stubs.py writes down which.
    from wengert.core._tensor_methods import TensorMethods
else:
    TensorMethods = object

new = object.__new__
getframe = sys._getframe

# One clock orders nodes and in-place writes alike: what has the larger number came later.
tick = itertools.count(1).__next__

# Types that ops unwrap. A subclass adds itself, so that `type(x) in tensors` stays a set look-up;
# not if it answers `__torch_function__`, which ops then find out.
tensors: set[type] = set()

# All types of tensors that have an array: not those that transforms follow.
concrete: set[type] = set()


class Site:
    """Where in a tree of modules an operation runs; the root site has no module."""

    __slots__ = ("module", "parent")

    def __init__(self, parent: Site | None = None, module: Any = None) -> None:
        self.parent = parent
        # Weak: a module that keeps its own loss would otherwise close a cycle.
        self.module = None if module is None else weakref.ref(module)

    def child(self, module: Any) -> Site:
        """The site inside `module`, of the same kind as this one."""
        return Site(self, module)

    def path(self) -> str:
        """The dotted path from the outermost module, such as ``Net.features.3``."""
        if self.module is None or self.parent is None:
            return ""
        module, above = self.module(), self.parent.module
        if module is None:
            return ""
        owner = above() if above is not None else None
        if owner is not None:
            for name, child in owner.named_modules():
                if child is module:
                    return f"{self.parent.path()}.{name}"
        return type(module).__name__

    def outermost(self) -> Any:
        """The outermost module that runs here, or None."""
        outer = None if self.parent is None else self.parent.outermost()
        return self.module() if outer is None and self.module is not None else outer


ROOT = Site()


class Cut(NamedTuple):
    """Where a tensor lost its graph: by which call, at which line, and at which node.

    Tensors have it as a plain tuple: `detach()` is called once a step, and more often.
    """

    what: str
    code: CodeType
    lasti: int
    node: weakref.ref[Node] | None = None


# The states of a thread: a backward that goes on in another thread takes them along.
thread_states: list[threading.local] = []

RawCut = tuple[str, CodeType, int, "weakref.ref[Node] | None"]


class Mode(threading.local):
    """Whether this thread records operations, and where.

    `site` is None where nothing is recorded; otherwise it is `where`, so that one look-up
    tells an operation both.
    """

    site: Site | None
    where: Site
    off: RawCut | None  # where recording was last turned off

    def __init__(self) -> None:
        # In the dictionary of each thread: whoever reads several of them asks for it once.
        self.site = self.where = ROOT
        self.off = None


mode = Mode()
thread_states += [mode, overriding]


class Block:
    """A stretch of inference mode: alive as long as it, or a tensor that was made in it."""

    __slots__ = ("__weakref__", "cut")

    cut: RawCut | None  # where it began


class Inference(threading.local):
    """The inference mode of a thread."""

    block: Block | None = None  # None outside of it
    grad = False  # what `is_grad_enabled` says inside, where nothing is recorded in any case


inference = Inference()
thread_states.append(inference)

# The live blocks. While there are none, no tensor belongs to one and nothing is checked.
inferences: set[weakref.ref[Block]] = set()


class Tensor(TensorMethods):
    """An array that knows the operation which made it.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0], requires_grad=True)
    >>> x * 3
    tensor([3., 6.], grad_fn=<MulBackward0>)
    """

    __slots__ = (
        "__dict__", "__weakref__", "_array", "_block", "_cut", "_edge", "_grad", "_root", "_views",
    )  # fmt: skip

    _array: np.ndarray
    _outline: np.ndarray  # the same, for its shape and dtype alone: a value may not be there yet
    _block: Block | None  # may be missing: the inference mode that the tensor was made in
    _edge: Node | None
    _cut: RawCut | None  # set on every tensor without an edge: where its values left a graph
    _grad: Tensor | None
    _root: Tensor | None  # may be missing; of a view: the tensor whose memory it shows
    _views: list[weakref.ref[Tensor]]  # set on a tensor that has views
    _memoryless = False  # whether there is an outline where others have an array, for good

    # NumPy's operators give way to the reflected ones here.
    __array_priority__ = 1000

    def __dir__(self) -> list[str]:
        unset = [n for n in Tensor.__slots__ if not n.startswith("__") and not hasattr(self, n)]
        return [name for name in super().__dir__() if name not in unset]

    def __init_subclass__(cls, *, unwrapped: bool = True, **options: Any) -> None:
        super().__init_subclass__(**options)
        if unwrapped:
            concrete.add(cls)
        if unwrapped and answers(cls):
            arm_for_classes()
        else:
            silent.add(cls)
            if unwrapped:
                tensors.add(cls)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call a function, and make this class of the Tensors in its result.

        What operations on a subclass do, unless it defines its own; NotImplemented if the
        arguments are of a class that this one does not derive from.

        >>> import wengert
        >>> class Weights(wengert.Tensor):
        ...     pass
        >>> wengert.ones(2).as_subclass(Weights) * 3
        Weights([3., 3.])
        """
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        return result if func in unconverted else _converted_to(cls, result)


def _converted_to(cls: type[Tensor], value: Any) -> Any:
    """A result with its Tensors as instances of a class: itself, or in a list or tuple."""
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if isinstance(value, (list, tuple)) and type(value).__name__ != "Size":
        converted = [_converted_to(cls, v) for v in value]
        named = getattr(type(value), "_make", type(value))
        return named(converted)
    return value


Tensor._outline = Tensor.__dict__["_array"]

# Functions whose results stay as they are, such as the getter of `.grad`.
unconverted: set[Any] = set()

tensors.add(Tensor)
concrete.add(Tensor)
silent.add(Tensor)


class Tracer(Tensor, unwrapped=False):
    """A tensor that a transform (vmap, forward mode, a derivative inside of them) follows.

    Operations do not unwrap it: they hand it over to the level that made it. Subclasses have
    no slots, so that an in-place write can turn a Tensor into one.
    """

    __slots__ = ()

    _cut = None
    lead = 0  # how many dimensions in front of `value` are no dimensions of the tracer
    level: Any  # of the transform
    value: Tensor  # what it stands for, one level further out

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(unwrapped=False, **options)

    @property
    def _outline(self) -> Any:  # type: ignore[override]
        return self._array

    def detach(self) -> Tensor:
        """The values without a graph."""
        cut: Tensor = self.level.detach(self)
        return cut

    def _replace_memory(self, value: Any) -> None:
        raise RuntimeError(
            "inside of a function that is being transformed, the memory of a tensor cannot be"
            " replaced (.data =, resize_(), set_()): make a new tensor, or write to its elements"
        )

    data = property(detach, _replace_memory)


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """The shape of a tracer, or of a tensor."""
    lead = 0
    while isinstance(tensor, Tracer):
        lead += tensor.lead
        tensor = tensor.value
    return tensor._outline.shape[lead:]


def memory_of(tensor: Tensor) -> np.ndarray:
    """The array at the bottom of a tracer, or of a tensor."""
    while isinstance(tensor, Tracer):
        tensor = tensor.value
    return tensor._array


class SavedSlot:
    """`node._saved_other`, `node._raw_saved_other`: what a slot holds, for whoever asks.

    How it is read is autograd's to say: it sets `read`.
    """

    __slots__ = ("raw", "slot")

    read: Callable[[Node, str, bool], Any]

    def __init__(self, slot: str, raw: bool) -> None:
        self.slot, self.raw = slot, raw

    def __get__(self, node: Node | None, kind: type[Node]) -> Any:
        return self if node is None else SavedSlot.read(node, self.slot, self.raw)


class Node:
    """One recorded operation: its inputs' nodes, what its rules need, and its line of code.

    >>> import wengert
    >>> y = wengert.ones(2, requires_grad=True) * 2
    >>> isinstance(y.grad_fn, wengert.autograd.graph.Node)
    True
    """

    __slots__ = ("__weakref__", "code", "edges", "lasti", "seq", "shape", "site", "state")

    seq: int
    edges: tuple[Node | None, ...]
    shape: tuple[int, ...]
    code: CodeType
    lasti: int
    site: Site
    state: NodeState | None

    op: Any  # set by each subclass
    saved: tuple[tuple[str, int | None], ...] = ()  # slots of saved values, and whose they are
    index: int | None = None  # where the node stands for one output of the operation below it

    register_hook: Any  # these two by `autograd.hooks`
    register_prehook: Any
    _derivative: Any  # by `autograd._node_calls`

    def __init_subclass__(cls, **options: Any) -> None:
        """Name what an operation's nodes keep as PyTorch does: `node._saved_other`."""
        super().__init_subclass__(**options)
        if "op" not in cls.__dict__:
            return
        arrays = {slot for slot, _ in cls.saved}
        for slot in cls.__dict__["__slots__"]:
            if slot.startswith("s_"):
                name = saved_name(cls.op.inputs, slot)
                setattr(cls, f"_saved_{name}", SavedSlot(slot, raw=False))
                if slot in arrays:
                    setattr(cls, f"_raw_saved_{name}", SavedSlot(slot, raw=True))

    def __call__(self, *grad_outputs: Any) -> Any:
        """The gradients of the inputs from one for each output, apart from any walk.

        None for an input without one; not in a tuple if there is one input only. Recorded where
        operations are; no hook runs, and saved values stay. `AccumulateGrad` adds to ``.grad``.

        >>> import wengert
        >>> x = wengert.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * 3).grad_fn(wengert.ones(2))
        (tensor([3., 3.]), None)
        """
        return self._derivative(*grad_outputs)

    def pullback(self, g: Any) -> tuple[Any, ...]:
        """The gradients of the inputs that want one, None for the others."""
        raise NotImplementedError

    def send(self, g: Any, pending: dict[Any, Any]) -> None:
        """Add the gradients of the inputs to those on their way: `pullback`, where they arrive.

        An operation's nodes do both in one function, and have no `pullback`.
        """
        for e, ge in zip(self.edges, self.pullback(g)):  # noqa: B905 (a keyword costs here)
            if ge is not None:
                earlier = pending[e]
                pending[e] = ge if earlier is None else add_cotangents(earlier, ge)

    def pullback_to(self, g: Any, needed: Any, lift: Any) -> tuple[Any, ...]:
        """As `pullback`, for the edges in `needed` only; saved values go through `lift`."""
        raise NotImplementedError

    def clear(self) -> None:
        """Let go of the saved values."""

    def release(self) -> None:
        """Let go of the saved values and of what is below."""
        self.clear()
        self.edges = ()

    def name(self) -> str:
        """The name of the operation, such as ``MulBackward0``."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, each with the index of the output that was used."""
        return tuple([(None, 0) if e is None else e.output() for e in self.edges])

    def output(self) -> tuple[Node, int]:
        """The operation that this node belongs to, and which of its outputs the node is."""
        if self.index is None or not self.edges or self.edges[0] is None:
            return self, 0
        return self.edges[0], self.index

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whatever programs want to remember of this node."""
        state = state_of(self)
        if state.metadata is None:
            state.metadata = {}
        return state.metadata

    def _sequence_nr(self) -> int:
        return self.seq

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


by_seq = attrgetter("seq")


def nodes_below(roots: Sequence[Node]) -> list[Node]:
    """Nodes and all that are below them, each behind those of its inputs."""
    visited: dict[int, Node] = {}
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) not in visited:
            visited[id(node)] = node
            waiting += [edge for edge in node.edges if edge is not None]
    # A leaf is made when it is first used, and nodes that only stand for one output of the
    # operation below them are younger than it.
    return sorted(visited.values(), key=by_seq)


# By id, in the order in which they run. Ordered as in PyTorch, and because the handles of hooks
# refer weakly to the table.
Hooks = OrderedDict[int, Any]


class Call(NamedTuple):
    """A call of the user's: its name and its line."""

    what: str
    code: CodeType
    lasti: int


class NodeState:
    """State that few nodes need: hooks, `retain_grad()`, a release.

    All nodes that one walk released and that had no state of their own share one.
    """

    __slots__ = (
        "below", "collector", "hooks", "metadata", "node_hooks", "node_prehooks", "post_hooks",
        "refusal", "released", "retain", "shared", "user",
    )  # fmt: skip

    def __init__(self, released: Call | None = None, shared: bool = False) -> None:
        self.hooks: Hooks | None = None  # of the tensor, on the gradient that arrives
        self.node_prehooks: Hooks | None = None  # of the node, before its rules run
        self.node_hooks: Hooks | None = None  # of the node, after its rules ran
        self.post_hooks: Hooks | None = None  # of a leaf, after its `.grad` is done
        # Of a leaf: a weak reference to whatever puts the gradients of several leaves together.
        self.collector: weakref.ref[Any] | None = None
        self.metadata: dict[Any, Any] | None = None
        self.retain: weakref.ref[Tensor] | None = None
        self.released = released  # by which backward call
        self.below: set[Leaf] = set()  # the leaves of that call: the node has let go of its own
        self.shared = shared
        self.user = False  # whether the node's derivative is user code, which may raise
        self.refusal: Any = None  # makes the exception of a walk that would pass here


class Leaf(Node):
    """Where the gradient of a tensor that the user made arrives. The only node without edges."""

    __slots__ = ("open", "tensor")

    tensor: weakref.ref[Tensor]
    open: bool  # False for an input of a function transform that has run: nobody asks any more

    @property
    def variable(self) -> Tensor | None:
        """The tensor whose gradient arrives here, unless it is gone."""
        return self.tensor()

    def name(self) -> str:
        """The name that programs look for."""
        return "torch::autograd::AccumulateGrad"


Leaf.__name__ = Leaf.__qualname__ = "AccumulateGrad"  # the name that programs look for


def leaf_of(tensor: Tensor) -> Leaf:
    """A fresh leaf node for a tensor."""
    node = new(Leaf)
    node.seq, node.edges, node.shape, node.state = tick(), (), tensor._outline.shape, None
    node.code, node.lasti = caller(getframe(1))
    node.site, node.open = mode.where, True
    node.tensor = weakref.ref(tensor)
    return node


def wrap(array: Any, edge: Node | None = None) -> Tensor:
    """A Tensor around an array; NumPy scalars become 0-d arrays."""
    tensor = new(Tensor)
    tensor._array = array if type(array) is np.ndarray else np.asarray(array)
    tensor._edge = edge
    tensor._cut = None
    tensor._root = None
    if inferences:
        tensor._block = inference.block
    return tensor


def root_of(tensor: Tensor) -> Tensor:
    """The tensor whose memory a view shows; any other tensor itself."""
    root = getattr(tensor, "_root", None)
    return tensor if root is None else root


def is_view(tensor: Tensor) -> bool:
    """Whether a tensor shows the memory of another one."""
    return getattr(tensor, "_root", None) is not None


def made_in_inference_mode(tensor: Tensor) -> bool:
    """Whether a tensor was made in inference mode, or shows the memory of one that was."""
    return getattr(tensor, "_block", None) is not None


def identity_lift(value: Any, edge: Node | None) -> Any:
    """Saved values as they are: what `pullback_to` is given where nothing is recorded."""
    return value


def cut_at(what: str, source: Tensor) -> RawCut | None:
    """The `_cut` of what a call makes of a tensor without recording it."""
    edge = source._edge
    if edge is None:
        return source._cut
    frame = getframe(2)
    code = frame.f_code
    if code.co_filename in internal:
        return what, *caller(frame), weakref.ref(edge)
    return what, code, frame.f_lasti, weakref.ref(edge)


def cut_from(inputs: Iterable[Any]) -> RawCut | None:
    """The `_cut` of what an operation that recorded nothing made of its inputs."""
    for x in inputs:
        if isinstance(x, Tensor):
            cut = mode.off if x._edge is not None else x._cut
            if cut is not None:
                return cut
    return None


def state_of(node: Node) -> NodeState:
    """The node's own state, made on first use."""
    state = node.state
    if state is None:
        state = node.state = NodeState()
    elif state.shared:
        released = state
        state = node.state = NodeState(released.released)
        state.below = released.below  # the set itself: the walk may not have filled it yet
    return state


def _sources(folder: str) -> Iterator[str]:
    for entry in os.scandir(folder):
        if entry.name.endswith(".py"):
            yield entry.path
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _sources(entry.path)


# Files whose frames are not the user's. The generated op functions add themselves.
internal: set[str] = {*_sources(os.path.dirname(os.path.dirname(__file__))), FILE}


def caller(frame: FrameType | None) -> tuple[CodeType, int]:
    """Code and offset of the first frame outside the package, from `frame` outwards."""
    inner = frame
    while frame is not None and frame.f_code.co_filename in internal:
        frame = frame.f_back
    frame = frame or inner
    assert frame is not None
    return frame.f_code, frame.f_lasti
