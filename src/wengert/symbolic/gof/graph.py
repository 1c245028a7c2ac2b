"""``theano.gof.graph``: walks over graphs, copies of them, and whether two are the same."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from wengert.symbolic.graph import Apply as Apply
from wengert.symbolic.graph import Constant as Constant
from wengert.symbolic.graph import Variable as Variable
from wengert.symbolic.graph import replaced, toposort


def ancestors(variable_list: Iterable[Any], blockers: Iterable[Any] | None = None) -> list[Any]:
    """All variables that some depend on, these among them: the last of them first, depth first."""
    blocked = set(blockers or ())

    def expand(v: Any) -> Iterable[Any] | None:
        return None if v.owner is None or v in blocked else reversed(v.owner.inputs)

    found: list[Any] = stack_search(deque(variable_list), expand, "dfs")
    return found


def inputs(variable_list: Iterable[Any], blockers: Iterable[Any] | None = None) -> list[Any]:
    """The variables without owner that others depend on: inputs, shared variables, constants.

    Packages take the order, that of `ancestors`, for their own lists of variables.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.gof import graph
    >>> x, y = T.dscalars("x", "y")
    >>> graph.inputs([x * y])
    [x, y]
    """
    return [v for v in ancestors(variable_list, blockers) if v.owner is None]


graph_inputs = inputs


def variables(i: Iterable[Any], o: Iterable[Any]) -> list[Any]:
    """The variables between inputs and outputs, both included, in the order of `ancestors`."""
    return variables_and_orphans(i, o)[0]


def orphans(i: Iterable[Any], o: Iterable[Any]) -> list[Any]:
    """The variables without owner that outputs depend on beside the inputs."""
    return variables_and_orphans(i, o)[1]


def variables_and_orphans(i: Iterable[Any], o: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """`variables` and `orphans`."""
    blocked = set(i)

    def expand(v: Any) -> Iterable[Any] | None:
        if v.owner is None or v in blocked:
            return None
        return reversed((*v.owner.inputs, *v.owner.outputs))

    found: list[Any] = stack_search(deque(o), expand, "dfs")
    return found, [v for v in found if v.owner is None and v not in blocked]


def stack_search(
    start: deque[Any], expand: Callable[[Any], Iterable[Any] | None], mode: str = "bfs",
    build_inv: bool = False,
) -> Any:  # fmt: skip
    """All that is reached from `start`, in the order in which it is, where `expand` goes on.

    `mode` is "bfs", breadth first, or "dfs"; with `build_inv` a dictionary follows, of which
    entries lead to each. `start` is empty afterwards. Raises ValueError for another mode.

    >>> from collections import deque
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.gof import graph
    >>> x = T.dscalar("x")
    >>> graph.stack_search(deque([x * 2]), lambda v: v.owner and v.owner.inputs)
    [Elemwise{mul,no_inplace}.0, x, TensorConstant{2}]
    """
    if mode not in ("bfs", "dfs"):
        raise ValueError("mode should be bfs or dfs", mode)
    found: dict[int, Any] = {}
    leading: dict[Any, list[Any]] = {}
    while start:
        entry = start.popleft() if mode == "bfs" else start.pop()
        if id(entry) in found:
            continue
        found[id(entry)] = entry
        reached = list(expand(entry) or ())
        for other in reached:
            leading.setdefault(other, []).append(entry)
        start.extend(reached)
    return (list(found.values()), leading) if build_inv else list(found.values())


def walk(
    nodes: Iterable[Any], expand: Callable[[Any], Iterable[Any] | None], bfs: bool = True,
    return_children: bool = False, hash_fn: Callable[[Any], Any] = id,
) -> Iterator[Any]:  # fmt: skip
    """What is reached from `nodes` where `expand` goes on, one by one.

    With `return_children` each comes with what it leads to. `hash_fn` tells entries apart.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.gof import graph
    >>> x = T.dscalar("x")
    >>> list(graph.walk([T.exp(x)], lambda v: v.owner and v.owner.inputs))
    [Elemwise{exp,no_inplace}.0, x]
    """
    waiting, seen = deque(nodes), set()
    while waiting:
        entry = waiting.popleft() if bfs else waiting.pop()
        key = hash_fn(entry)
        if key in seen:
            continue
        seen.add(key)
        children = expand(entry)
        yield (entry, children) if return_children else entry
        waiting.extend(children or ())


def general_toposort(
    outputs: Iterable[Any], deps: Callable[[Any], Iterable[Any] | None], debug_print: bool = False,
    **caches: Any,
) -> list[Any]:  # fmt: skip
    """What is reached from `outputs`, each after all that `deps` says it depends on.

    Raises ValueError for a cycle; `debug_print` and `caches` are accepted.

    >>> from wengert.symbolic.gof import graph
    >>> graph.general_toposort(["a"], {"a": ["b", "c"], "b": ["c"], "c": []}.get)
    ['c', 'b', 'a']
    """
    reached, clients = stack_search(deque(outputs), deps, "dfs", build_inv=True)
    missing = {entry: len(set(deps(entry) or ())) for entry in reached}
    ready = deque(entry for entry in reached if not missing[entry])
    order: list[Any] = []
    while ready:
        entry = ready.popleft()
        order.append(entry)
        for client in dict.fromkeys(clients.get(entry, ())):
            missing[client] -= 1
            if not missing[client]:
                ready.append(client)
    if len(order) != len(reached):
        raise ValueError("graph contains cycles")
    return order


def list_of_nodes(inputs: Iterable[Any], outputs: Iterable[Any]) -> list[Apply]:
    """The nodes between inputs and outputs."""
    return toposort(outputs, inputs)


def is_in_ancestors(l_node: Apply, f_node: Apply) -> bool:
    """Whether a node depends on another."""
    return f_node in toposort(l_node.outputs, ())


def io_connection_pattern(inputs: Sequence[Any], outputs: Sequence[Any]) -> list[list[bool]]:
    """Whether each input influences each output, by what the operations between them declare."""
    columns = [_influence(x, outputs, inputs) for x in inputs]
    return [[v in reached for v in outputs] for reached in columns]


def _influence(x: Any, outputs: Sequence[Any], inputs: Sequence[Any]) -> set[Any]:
    """What an input influences."""
    reached = {x}
    for node in toposort(outputs, inputs):
        pattern = node.op.connection_pattern(node)
        for k, v in enumerate(node.inputs):
            if v in reached:
                reached |= {out for out, on in zip(node.outputs, pattern[k], strict=True) if on}
    return reached


def _formula(op: Any, arguments: Sequence[str]) -> str:
    return f"{op}({', '.join(arguments)})"


def as_string(
    i: Iterable[Any], o: Iterable[Any], leaf_formatter: Callable[[Any], str] = str,
    node_formatter: Callable[[Any, Sequence[str]], str] | None = None,
) -> list[str]:  # fmt: skip
    """Outputs as formulas of inputs; what comes again is ``*1``, after ``*1 -> ...``.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.gof import graph
    >>> x = T.dscalar("x")
    >>> y = T.exp(x)
    >>> graph.as_string([x], [y * y], node_formatter=lambda node, _: node.op.name)
    ['mul']
    >>> graph.as_string([x], [y * y])
    ['Elemwise{mul,no_inplace}(*1 -> Elemwise{exp,no_inplace}(x), *1)']
    """
    blocked, results = set(i), list(o)
    uses = Counter(v.owner for v in results)
    for node in toposort(results, blocked):
        uses.update(v.owner for v in node.inputs if v not in blocked)
    numbers: dict[Any, int] = {}
    written = node_formatter or (lambda node, arguments: _formula(node.op, arguments))

    def described(v: Any) -> str:
        node = v.owner
        if node is None or v in blocked:
            return leaf_formatter(v)
        which = f"::{v.index}" if node.nout > 1 else ""
        if node in numbers:
            return f"*{numbers[node]}{which}"
        if uses[node] > 1:
            numbers[node] = len(numbers) + 1
        text = written(node, [described(x) for x in node.inputs])
        return f"*{numbers[node]} -> {text}" if node in numbers else text

    return [described(v) for v in results]


def io_toposort(inputs: Iterable[Any], outputs: Iterable[Any], orderings: Any = None,
                clients: Any = None) -> list[Apply]:  # fmt: skip
    """The nodes between inputs and outputs, in an order in which they can run."""
    return toposort(outputs, inputs)


def ops(i: Iterable[Any], o: Iterable[Any]) -> set[Apply]:
    """The nodes between inputs and outputs."""
    return set(toposort(o, i))


def clone_get_equiv(inputs: Sequence[Any], outputs: Sequence[Any], copy_inputs: bool = True,
                    copy_orphans: bool | None = None, memo: dict[Any, Any] | None = None
                    ) -> dict[Any, Any]:  # fmt: skip
    """A copy of a graph: a dictionary of its variables and nodes, and their copies."""
    copy_orphans = copy_inputs if copy_orphans is None else copy_orphans
    table: dict[Any, Any] = {} if memo is None else memo
    for v in inputs:
        table.setdefault(v, _copied(v) if copy_inputs else v)
    for v in orphans(inputs, outputs):
        table.setdefault(v, _copied(v) if copy_orphans else v)
    for node in toposort(outputs, inputs):
        if node in table:
            continue
        fresh = node.clone_with_new_inputs([table[x] for x in node.inputs])
        table[node] = fresh
        for old, new in zip(node.outputs, fresh.outputs, strict=True):
            table.setdefault(old, new)
    return table


def _copied(variable: Any) -> Any:
    return variable.clone()


def clone(i: Sequence[Any], o: Sequence[Any], copy_inputs: bool = True) -> Any:
    """A copy of a graph: its inputs and its outputs.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.gof import graph
    >>> x = T.dscalar("x")
    >>> (a,), (b,) = graph.clone([x], [x + 1])
    >>> graph.is_same_graph(b, x + 1, givens={a: x})
    True
    """
    table = clone_get_equiv(i, o, copy_inputs)
    return [table[v] for v in i], [table[v] for v in o]


def equal_computations(xs: Sequence[Any], ys: Sequence[Any], in_xs: Sequence[Any] | None = None,
                       in_ys: Sequence[Any] | None = None) -> bool:  # fmt: skip
    """Whether two lists of expressions compute the same, operation by operation.

    Variables of `in_xs` and `in_ys` stand for each other; all others have to be the same ones.
    Raises ValueError if there are not as many of these.
    """
    in_xs, in_ys = list(in_xs or []), list(in_ys or [])
    if len(in_xs) != len(in_ys) or len(xs) != len(ys):
        raise ValueError("The number of inputs/outputs has to be the same")
    if any(x.type != y.type for x, y in zip((*xs, *in_xs), (*ys, *in_ys), strict=True)):
        return False
    same = dict(zip(in_xs, in_ys, strict=True))
    return all(_equal(x, y, same) for x, y in zip(xs, ys, strict=True))


def _equal(x: Any, y: Any, same: dict[Any, Any]) -> bool:
    """Whether two variables are computed alike; notes in `same` what is."""
    stack = [(x, y)]
    while stack:
        a, b = stack.pop()
        if a in same:
            if same[a] is not b:
                return False
            continue
        if a.owner is None or b.owner is None:
            constants = isinstance(a, Constant) and isinstance(b, Constant)
            if a is not b and not (constants and a.equals(b)):
                return False
            continue
        if (a.index, a.owner.op, a.owner.nin) != (b.index, b.owner.op, b.owner.nin):
            return False
        same[a] = b
        stack += zip(a.owner.inputs, b.owner.inputs, strict=True)
    return True


def is_same_graph(var1: Any, var2: Any, givens: Any = None, debug: bool = False) -> bool:
    """Whether two variables are computed by the same operations of the same inputs.

    `givens` (a dictionary or pairs) says which variables stand for which others, in one of the two
    or in both.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.gof import graph
    >>> x, y = T.dscalars("x", "y")
    >>> graph.is_same_graph(x + 1, x + 1), graph.is_same_graph(x + 1, y + 1)
    (True, False)
    >>> graph.is_same_graph(x + 1, y + 1, givens={x: y})
    True
    """
    first, second = replaced([var1, var2], dict(givens or {}))
    ways = ((first, var2), (var1, second), (first, second))
    return any(equal_computations([a], [b]) for a, b in ways)
