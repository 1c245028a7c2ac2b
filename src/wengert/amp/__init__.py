"""``torch.amp``: regions of mixed precision, computed in full precision, and scaled gradients.

`autocast_mode.py` keeps the state that scripts ask for and changes no operation; `grad_scaler.py`
multiplies losses and divides gradients, and skips steps whose gradients are not finite.
"""

from wengert.amp.autocast_mode import autocast as autocast
from wengert.amp.autocast_mode import custom_bwd as custom_bwd
from wengert.amp.autocast_mode import custom_fwd as custom_fwd
from wengert.amp.autocast_mode import is_autocast_available as is_autocast_available
from wengert.amp.grad_scaler import GradScaler as GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
