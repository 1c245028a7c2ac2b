"""What everything else stands on, and what knows nothing of operations.

`tensor`: Tensor, Node, the modes of a thread; read it first. `storage`: who wrote to which memory,
and when. `dtypes`, `device`, `size`, `layout`, `info`: PyTorch's small types. `generators`: its
random streams. `inference`: tensors of inference mode. `cut_log`: where graphs were cut, for errors
that come later. `messages`, `tracebacks`, `introspection`, `references`, `signatures`: what errors
and reports are made from. `forks`, `signals`: what may happen at any time.
"""
