"""Programs as graphs that can be read and rewritten: `torch.fx`.

`symbolic_trace` records what a module does as a `Graph` of `Node`; a `GraphModule` runs it; an
`Interpreter` runs it node by node, and a `Transformer` rewrites it on the way.

>>> import wengert
>>> traced = wengert.fx.symbolic_trace(lambda x: wengert.relu(x) * 2)
>>> for node in traced.graph.nodes:
...     print(node.op, node.name)
placeholder x
call_function relu
call_function mul
output output
"""

from wengert.fx import experimental as experimental
from wengert.fx import immutable_collections as immutable_collections
from wengert.fx import passes as passes
from wengert.fx._symbolic_trace import PH as PH
from wengert.fx._symbolic_trace import Tracer as Tracer
from wengert.fx._symbolic_trace import symbolic_trace as symbolic_trace
from wengert.fx._symbolic_trace import wrap as wrap
from wengert.fx.codegen import CodeGen as CodeGen
from wengert.fx.graph import Graph as Graph
from wengert.fx.graph_module import GraphModule as GraphModule
from wengert.fx.interpreter import Interpreter as Interpreter
from wengert.fx.interpreter import Transformer as Transformer
from wengert.fx.node import Node as Node
from wengert.fx.node import has_side_effect as has_side_effect
from wengert.fx.node import map_arg as map_arg
from wengert.fx.proxy import Proxy as Proxy
from wengert.fx.subgraph_rewriter import replace_pattern as replace_pattern
