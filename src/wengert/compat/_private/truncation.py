"""Private names of ``torch.nn.init``: without gradients, as all of its functions are here."""

from wengert.nn.init import constant_ as _no_grad_fill_
from wengert.nn.init import normal_ as _no_grad_normal_
from wengert.nn.init import trunc_normal_ as _no_grad_trunc_normal_
from wengert.nn.init import uniform_ as _no_grad_uniform_

__all__ = [
    "_no_grad_fill_",
    "_no_grad_normal_",
    "_no_grad_trunc_normal_",
    "_no_grad_uniform_",
]
