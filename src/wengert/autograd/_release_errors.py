"""The error for a second backward: which call released the graph, and how the two calls relate."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Sequence
from types import CodeType

from wengert.autograd.errors import GraphReleasedError
from wengert.autograd.naming import describe_call, describe_node
from wengert.core.messages import message, more
from wengert.core.storage import line_of, quoted_location, source_text
from wengert.core.tensor import Call, Node, nodes_below

_RELEASED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after"
    " they have already been freed). Saved intermediate values of the graph are freed when you"
    " call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward"
    " through the graph a second time or if you need to access saved tensors after calling"
    " backward."
)


class Interrupted(Call):
    """A call that was interrupted before its gradients were committed."""

    __slots__ = ()


class AutoCall(Call):
    """A call with `retain_graph="auto"`."""

    __slots__ = ()


def _line(place_of: Call | Node | None) -> str:
    assert place_of is not None
    return quoted_location(place_of.code, place_of.lasti)


def graph_released(call: Call, node: Node, roots: Sequence[Node]) -> GraphReleasedError:
    """The error for a second backward that reaches `node`, a node below its roots."""
    assert node.state is not None
    root = next((r for r in roots if r.state is not None and r.state.released), None)
    if root is not None:
        node = root
    assert node.state is not None
    earlier = node.state.released
    facts = [
        ("this call", describe_call(call)),
        ("released by", _releasing(earlier)),
        ("reached", describe_node(node)),
    ]
    if isinstance(earlier, Interrupted):
        cause = (
            "The call that released it was interrupted: no .grad has changed, but part of the"
            " graph is gone."
        )
        remedies = ["compute the loss again before this call"]
        return GraphReleasedError(message("walk-interrupted", _RELEASED, facts, remedies, cause))
    assert earlier is not None
    if root is not None:
        cause, remedies = _same_root(root, call, earlier)
    else:
        cause, remedies, users = _shared_value(node, call, earlier, nodes_below(roots))
        facts += users
    return GraphReleasedError(message("graph-released", _RELEASED, facts, remedies, cause))


def _releasing(call: Call | None) -> str:
    """The call that released a graph, and its line."""
    assert call is not None
    if isinstance(call, AutoCall):
        call = call._replace(what=call.what[:-1] + 'retain_graph="auto")')
    return describe_call(call)


def _retaining(call: Call, earlier: Call) -> str:
    """The remedy that always applies."""
    at = "in this call" if _same_place(call, earlier) else f"at {_line(earlier)}"
    auto = "" if isinstance(earlier, AutoCall) else ', or "auto",'
    return f"keep the graph (and its memory): retain_graph=True{auto} {at}"


def _same_root(root: Node, call: Call, earlier: Call) -> tuple[str, list[str]]:
    """The diagnosis when a loss is differentiated twice."""
    name = _variable(root, call.code, call.lasti) or "the same tensor"
    # "auto" keeps the graph for other tensors only, not for the root's own.
    keep = f"keep the graph (and its memory): retain_graph=True at {_line(earlier)}"
    if not _same_place(call, earlier):
        again = f"compute it again before this call ({_line(root)})"
        return f"{name} was already differentiated at {_line(earlier)}.", [again, keep]
    keep = "keep the graph (and its memory): retain_graph=True in this call"
    if root.code is not call.code:
        cause = f"This line differentiated {name} before."
        return cause, [f"compute it again before each call ({_line(root)})", keep]
    again = f"compute it anew in each turn: move {_line(root)}  into the loop"
    return f"This line differentiated {name} before, in an earlier turn of the loop.", [again, keep]


def _shared_value(
    node: Node, call: Call, earlier: Call, order: Sequence[Node]
) -> tuple[str, list[str], list[tuple[str, str]]]:
    """The diagnosis when two losses share a value, the remedies, and the value's user."""
    consumer = next(n for n in order if node in n.edges)
    name = _variable(node, consumer.code, consumer.lasti)
    joined = ("joined by", describe_node(consumer))
    if _same_place(call, earlier):
        anew = any(n is not node and _same_place(n, node) for n in order)
        cause, remedies = _in_a_loop(name, node, consumer, anew)
        users = [joined]
    else:
        cause, remedies = _ways_apart(name)
        other = _other_use(node)
        users = [joined]
        if other is not None and describe_node(other) != describe_node(consumer):
            users = [("used by", describe_node(other)), joined]
            cause = (
                f"The last two lines use {name or 'the same value'}, and the earlier call"
                " released its graph."
            )
    return cause, [*remedies, _retaining(call, earlier)], users


def _same_place(a: Call | Node, b: Call | Node) -> bool:
    """Whether both come from the same call site; a line may have several."""
    return a.code is b.code and a.lasti == b.lasti


def _in_a_loop(name: str, node: Node, consumer: Node, anew: bool) -> tuple[str, list[str]]:
    """The diagnosis when one line calls backward repeatedly; `anew`: each turn makes the value."""
    cut = f"{name}.detach() for {name}" if name else "value.detach()"
    joint = (
        "gradients are to pass through all turns: sum the losses, and call backward once, after"
        " the loop"
    )
    if anew:
        cause = (
            f"The last line uses {name or 'a value'} from a turn of the loop whose backward is"
            " through."
        )
        apart = f"it should not pass gradients on: use {cut} in that line (an RNN's state between"
        return cause, [f"{apart} windows)", joint]
    cause = f"The last line uses {name or 'a value'} again, and the first backward released it."
    inside = node.code is consumer.code
    again = f"move {_line(node)}  into the loop" if inside else "compute it anew in each turn"
    return cause, [
        f"it is trained: {again}",
        f"it is not to be trained: use {cut} in that line",
        joint,
    ]


def _ways_apart(name: str) -> tuple[str, list[str]]:
    """The diagnosis when two losses share a value, and the remedies."""
    cut = f"{name}.detach() for {name}" if name else "value.detach()"
    used = f"{name}, of the graph" if name else "a value of the graph"
    return f"The last line uses {used} that the earlier call released.", [
        "both losses are wanted: sum them, (loss_a + loss_b).backward(), once",
        f"only one of the two should pass gradients on: use {cut} where the other uses it"
        " (a GAN's fake batch in the discriminator's loss, an RNN's state between windows)",
        "the value is to be differentiated again: compute it again before this call",
    ]


_ASSIGNMENT = r"(?P<name>(?:self\.)?[^\W\d]\w*)(?:: [^=]+)? ?(?P<sign>[-+*/@]?)=(?!=)"


def _variable(node: Node, code: CodeType, lasti: int) -> str:
    """The variable name of `node`'s result in a line that uses it, if the line is simple enough."""
    assigned = re.match(_ASSIGNMENT, source_text(node.code, node.lasti))
    if assigned is None or node.code is not code:
        return ""
    used, name = source_text(code, lasti), assigned["name"]
    target = re.match(_ASSIGNMENT, used)
    if target is not None and not target["sign"]:
        used = used[target.end() :]
    return name if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", used) else ""


def _other_use(node: Node) -> Node | None:
    """The consumer of a released node in the graph it was released with, if still known.

    Under the torch alias released nodes keep their edges. Nodes have no references to their
    consumers, so this asks the garbage collector.
    """
    assert node.state is not None
    earlier = node.state.released
    for referrer in gc.get_referrers(node):
        for user in gc.get_referrers(referrer) if type(referrer) is tuple else (referrer,):
            if not issubclass(type(user), Node) or node not in user.edges:
                continue
            if user.state is not None and user.state.released is earlier:
                return user
    return None


def saved_value_released(node: Node, value_name: str) -> GraphReleasedError:
    """The error for reading a saved value that a backward has released."""
    assert node.state is not None
    facts = [
        ("wanted", f"{value_name} of {describe_node(node)}"),
        ("released by", _releasing(node.state.released)),
    ]
    remedies = [
        "read it before that call",
        "keep the graph (and its memory): retain_graph=True in that call",
    ]
    return GraphReleasedError(message("graph-released", _RELEASED, facts, remedies))


_warned: set[tuple[str, int]] = set()


def warn_released(call: Call, node: Node) -> None:
    """Under the torch alias: pass where PyTorch passes, but warn once per line."""
    key = call.code.co_filename, line_of(call.code, call.lasti)
    if key in _warned:
        return
    _warned.add(key)
    assert node.state is not None
    earlier = node.state.released
    warnings.warn_explicit(
        f"this backward passes {describe_node(node)}, which was released by"
        f" {_line(earlier)}. It saved nothing, so PyTorch lets it pass and"
        " the gradient is right; wengert without the torch alias raises GraphReleasedError."
        " Sum the losses, or keep the graph with retain_graph=True in the earlier call.\n"
        + more("second-backward-passed"),
        UserWarning,
        *key,
    )
