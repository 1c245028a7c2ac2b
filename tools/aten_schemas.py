"""Write down the schemas of PyTorch's operations that modes see here by PyTorch's names.

    python tools/aten_schemas.py            # write src/wengert/dispatch/aten.txt
    python tools/aten_schemas.py --check    # fail if it is not up to date

A line for each overload of the operations that wengert has under the same name, and of a few
that programs name. An asterisk marks those that PyTorch decomposes before a mode sees them: what
they are made of is seen in their place. PyTorch has to be installed.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from wengert import dispatch
from wengert.core.tensor import Tensor
from wengert.ops.op import REGISTRY
from wengert.overrides import get_ignored_functions, get_overridable_functions
from wengert.tensor import foreach

FILE = Path(dispatch.__file__).with_name("aten.txt")
HEAD = "# Operations of PyTorch 2.13. Written by tools/aten_schemas.py.\n"
# What programs name in policies and tables, and what the forward of others is called in PyTorch.
NAMED = (
    "_convolution _local_scalar_dense _log_softmax _log_softmax_backward_data _pin_memory"
    " _scaled_dot_product_cudnn_attention _scaled_dot_product_efficient_attention"
    " _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu"
    " _safe_softmax _softmax"
    " _softmax_backward_data _sparse_addmm _sparse_mm_reduce_impl _to_copy _unsafe_view alias"
    " constant_pad_nd convolution convolution_backward cross_entropy_loss index lift_fresh"
    " max_pool2d_with_indices native_batch_norm native_group_norm native_layer_norm"
    " nll_loss_forward rsub slice threshold_backward upsample_nearest2d"
)
FOREIGN = ("Dimname", "Storage", "Stream", "SymBool")


def names() -> list[str]:
    """The operations that wengert may have under PyTorch's name."""
    functions = [f for fs in get_overridable_functions().values() for f in fs]
    own = {getattr(f, "__name__", "") for f in (*functions, *get_ignored_functions())}
    for field in ("linalg", "fft", "special"):
        own |= {f"{field}_{name}" for name in own}
    own |= {name for name in dir(Tensor) if name[:2] != "__"}
    own |= {op.public_name.replace(".", "_") for op in REGISTRY.values()}
    own |= foreach.NAMES
    return sorted({name.rstrip("_") for name in own} | set(NAMED.split()))


def schemas(name: str) -> list[str]:
    """The lines of the overloads of a name."""
    import torch

    decomposed = torch._C._dispatch_has_kernel_for_dispatch_key
    packet = getattr(torch.ops.aten, name, None)
    lines = []
    for overload in packet.overloads() if hasattr(packet, "overloads") else ():
        op: Any = getattr(packet, overload)
        text = str(op._schema)
        out = any(a.kwarg_only and a.alias_info is not None for a in op._schema.arguments)
        if out or any(kind in text for kind in FOREIGN):
            continue
        try:
            mark = "*" if decomposed(op.name(), "CompositeImplicitAutograd") else ""
        except RuntimeError:  # of TorchScript alone
            continue
        lines.append(mark + text.removeprefix("aten::"))
    return lines


def main() -> None:
    """Write the file, or compare with it."""
    if find_spec("torch") is None:
        raise SystemExit("tools/aten_schemas.py needs PyTorch")
    variants = [v for name in names() if name for v in (name, f"{name}_")]
    text = HEAD + "".join(f"{line}\n" for name in variants for line in schemas(name))
    if "--check" not in sys.argv:
        FILE.write_text(text, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text:
        raise SystemExit(f"{FILE} is not up to date: run python tools/aten_schemas.py")


if __name__ == "__main__":
    main()
