"""The foundation of all other packages; it knows nothing about operations.

`tensor`: Tensor, Node and per-thread modes; read it first. `storage`: which memory was written, by
which line and when. `dtypes`, `device`, `size`, `layout`, `info`: PyTorch types. `generators`:
its random streams. `inference`: tensors of inference mode. `cut_log`: where graphs were cut, for
later errors. `messages`, `tracebacks`, `introspection`, `references`, `signatures`: building blocks
of errors and reports. `forks`, `signals`: safety against forks and signals.
"""
