"""Reading what autograd recorded: what graphs hold, and which line released them."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wengert.graph._describe import GraphReport as GraphReport
    from wengert.graph._describe import Group as Group
    from wengert.graph._describe import NodeInfo as NodeInfo
    from wengert.graph._describe import SavedInfo as SavedInfo
    from wengert.graph._describe import describe as describe
    from wengert.graph._drawing._boxes import Box as Box
    from wengert.graph._drawing._drawing import Drawing as Drawing
    from wengert.graph._drawing._drawing import draw as draw
    from wengert.graph._flops import Flops as Flops
    from wengert.graph._graphs import HeldBy as HeldBy
    from wengert.graph._graphs import LiveGraph as LiveGraph
    from wengert.graph._graphs import LiveTensor as LiveTensor
    from wengert.graph._holders import Holder as Holder
    from wengert.graph._leaks import Leak as Leak
    from wengert.graph._live import Census as Census
    from wengert.graph._live import live as live
    from wengert.graph._memory import Finding as Finding
    from wengert.graph._memory import Held as Held
    from wengert.graph._memory import Line as Line
    from wengert.graph._memory import Memory as Memory
    from wengert.graph._memory import Report as Report
    from wengert.graph._memory import held_by as held_by
    from wengert.graph._profile import BackwardCall as BackwardCall
    from wengert.graph._profile import Band as Band
    from wengert.graph._profile import Holding as Holding
    from wengert.graph._profile import Peak as Peak
    from wengert.graph._profile import Share as Share
    from wengert.graph._profile import Timeline as Timeline
    from wengert.graph._profile.profile import Profile as Profile
    from wengert.graph._profile.profile import profile as profile
    from wengert.graph._recorder import Recorder as Recorder
    from wengert.graph._saved import SavedValue as SavedValue
    from wengert.graph._saved import SavedValues as SavedValues
    from wengert.graph._saved import saved as saved
    from wengert.graph._why import Because as Because
    from wengert.graph._why import Keeper as Keeper
    from wengert.graph._why import Why as Why
    from wengert.graph._why import why as why
else:
    # Loaded when first named: a recorder alone needs few of them.
    _LAZY_NAMES = {
        "BackwardCall": "_profile",
        "Band": "_profile",
        "Because": "_why",
        "Box": "_drawing._boxes",
        "Census": "_live",
        "Drawing": "_drawing._drawing",
        "Finding": "_memory",
        "Flops": "_flops",
        "GraphReport": "_describe",
        "Group": "_describe",
        "Held": "_memory",
        "HeldBy": "_graphs",
        "Holder": "_holders",
        "Holding": "_profile",
        "Keeper": "_why",
        "Leak": "_leaks",
        "Line": "_memory",
        "LiveGraph": "_graphs",
        "LiveTensor": "_graphs",
        "Memory": "_memory",
        "NodeInfo": "_describe",
        "Peak": "_profile",
        "Profile": "_profile.profile",
        "Recorder": "_recorder",
        "Report": "_memory",
        "SavedInfo": "_describe",
        "SavedValue": "_saved",
        "SavedValues": "_saved",
        "Share": "_profile",
        "Timeline": "_profile",
        "Why": "_why",
        "describe": "_describe",
        "draw": "_drawing._drawing",
        "held_by": "_memory",
        "live": "_live",
        "profile": "_profile.profile",
        "saved": "_saved",
        "why": "_why",
    }
    __all__ = sorted(_LAZY_NAMES)

    def __getattr__(name):
        if name in _LAZY_NAMES:
            return getattr(_import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
