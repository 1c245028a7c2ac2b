"""``functorch.experimental``: transforms that have since moved to ``torch.func``."""

from wengert.func import functionalize, hessian, jacfwd, jvp

__all__ = ["functionalize", "hessian", "jacfwd", "jvp"]
