"""GraphModule: a module whose forward is a graph's program."""

from __future__ import annotations

import copy
import itertools
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wengert
from wengert.core.tensor import Tensor
from wengert.fx.graph import Graph
from wengert.fx.node import library_name
from wengert.nn import Module, Parameter

_numbers = itertools.count()


class GraphModule(Module):
    """A module that runs a `Graph`; assigning to `graph`, or `recompile`, writes its forward anew.

    Args:
        root: the module that the paths in the graph lead through, or a dictionary of attributes
            by path. What the graph uses of it is shared, not copied.
        graph: copied, unless it is nobody's yet.
        class_name: the name of its class.

    Raises:
        RuntimeError: if the graph uses a path that `root` does not have.

    >>> import wengert
    >>> module = wengert.fx.symbolic_trace(wengert.nn.Sequential(wengert.nn.ReLU()))
    >>> module(wengert.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    # Makes a module again from its program, which it records: set where recording is defined.
    restore: Callable[..., GraphModule]

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # Each has a class of its own: special methods are looked up in classes.
        base = next(c for c in cls.__mro__ if "_own" not in c.__dict__)
        cls = type("GraphModuleImpl", (base,), {"_own": True, "__module__": cls.__module__})
        made: GraphModule = super().__new__(cls)
        return made

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = getattr(root, "training", True)
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                self._take(root, str(node.target))
        if isinstance(root, Module):
            for name, value in vars(root).items():
                if name.startswith("_tensor_constant") and isinstance(value, Tensor):
                    self.register_buffer(name, value)
        self.graph = graph
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {}))

    def _take(self, root: Module | dict[str, Any], path: str) -> None:
        """Hold what stands at a path of `root`, at the same path."""
        *way, name = path.split(".")
        if isinstance(root, Module):
            value: Any = root
            for step in (*way, name):
                if not hasattr(value, step):
                    raise RuntimeError(
                        f"Node referenced target {path} but that target was not provided in"
                        " ``root``!"
                    )
                value = getattr(value, step)
        elif path in root:
            value = root[path]
        else:
            raise RuntimeError(
                f"GraphModule: the graph uses {path!r}, and root has only {sorted(root)}"
            )
        owner: Module = self
        for step in way:
            inner = getattr(owner, step, None)
            if inner is None:
                inner = Module()
                setattr(owner, step, inner)
            owner = inner
        if hasattr(owner, name) and getattr(owner, name) is value:
            return
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            owner.register_buffer(name, value)
        else:
            setattr(owner, name, value)

    @property
    def graph(self) -> Graph:
        """The program."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = copy.deepcopy(g) if g.owning_module is not None else g
        self._graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The program as Python text."""
        return self._code

    def recompile(self) -> Any:
        """Write the forward anew, after a change of the graph; returns the program's text."""
        program = self._graph.python_code("self")
        self._code = program.src
        file = f"<eval_with_key>.{next(_numbers)}"
        names = dict(program.globals)
        exec(compile(program.src, file, "exec", dont_inherit=True), names)
        lines = program.src.splitlines(keepends=True)
        linecache.cache[file] = (len(program.src), None, lines, file)
        function = names[self._graph._codegen._func_name]
        setattr(type(self), "forward", function)  # noqa: B010 (a method, to mypy)
        return program

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path, with empty ones on the way; False if something else is there."""
        *way, name = target.split(".")
        owner: Module = self
        for step in way:
            inner = getattr(owner, step, None)
            if inner is None:
                inner = Module()
                setattr(owner, step, inner)
            if not isinstance(inner, Module):
                return False
            owner = inner
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path; False if there is none."""
        *way, name = target.split(".")
        try:
            owner = self.get_submodule(".".join(way))
        except AttributeError:
            return False
        if not isinstance(getattr(owner, name, None), Module):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that the program does not use."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                names = str(node.target).split(".")
                used.update(".".join(names[:i]) for i in range(1, len(names) + 1))
        called = tuple(f"{n.target}." for n in self.graph.nodes if n.op == "call_module")
        for path, _ in list(self.named_modules()):
            if path and path not in used and not path.startswith(called):
                self.delete_submodule(path)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The program as a class, printed and returned; with lines of code where they were kept."""
        program = self._graph.python_code("self", verbose=True).src.strip("\n")
        body = "\n".join(f"    {line}" if line else "" for line in program.split("\n"))
        text = f"class {type(self).__name__}({library_name()}.nn.Module):\n{body}"
        if print_output:
            print(text)
        return text

    def to_folder(self, folder: str | Path, module_name: str = "FxModule") -> None:
        """Write a Python package with the program and its state into a folder.

        The modules that it calls are saved whole beside it, to be loaded with
        ``weights_only=False``.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        wengert.save(self.state_dict(), place / "state_dict.pt")
        library = library_name()
        program = self._graph.python_code("self")
        body = "\n".join(f"    {line}" for line in program.src.strip("\n").split("\n"))
        lines = [f"import {library}", f"from {library} import *", f"from {library}.nn import *", ""]
        lines += [f"class {module_name}({library}.nn.Module):", "    def __init__(self):"]
        lines.append("        super().__init__()")
        for name, child in self.named_children():
            lines.append(f"        self.add_module({name!r}, {_constructed(child, place, name)})")
        for kind, table in (("parameter", self._parameters), ("buffer", self._buffers)):
            for name, value in table.items():
                if value is not None:
                    empty = f"{library}.empty({list(value.shape)}, dtype={value.dtype})"
                    made = f"{library}.nn.Parameter({empty})" if kind == "parameter" else empty
                    lines.append(f"        self.register_{kind}('{name}', {made})")
        state = f"{library}.load({str(place / 'state_dict.pt')!r})"
        lines += [f"        self.load_state_dict({state})", "", body, ""]
        (place / "module.py").write_text("\n".join(lines))
        (place / "__init__.py").write_text(f"from .module import {module_name}\n")

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        graph = copy.deepcopy(self._graph, memo)
        made = GraphModule({}, Graph(), type(self).__name__)
        memo[id(self)] = made
        for name, value in vars(self).items():
            if name not in ("_graph", "_code"):
                made.__dict__[name] = copy.deepcopy(value, memo)
        made.graph = graph
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, copy.deepcopy(self._graph), type(self).__name__)
        made.meta = dict(self.meta)
        return made

    def __reduce__(self) -> Any:
        program = self._graph.python_code("self")
        state = {k: v for k, v in vars(self).items() if k not in ("_graph", "_code")}
        library = library_name()
        names = {k: v for k, v in program.globals.items() if k != library}
        return type(self).restore, (state, program.src, names, type(self).__name__)


def _constructed(module: Module, place: Path, name: str) -> str:
    """An expression that makes a submodule again."""
    if type(module).__module__.startswith("wengert.nn.") and not list(module.children()):
        return f"{library_name()}.nn.{module!r}"
    wengert.save(module, place / f"{name}.pt")
    return f"{library_name()}.load({str(place / f'{name}.pt')!r}, weights_only=False)"
