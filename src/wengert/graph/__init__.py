"""Inspecting what autograd recorded: what graphs hold, and which line released them.

Functions take tensors, nodes or nothing and return plain data that prints as a table, text or page.
Read `description.py` first (`describe`: a graph node by node), then `memory.py` (bytes, and the
report of a run). `_live.py`, `_holders.py` and `_leaks.py` find live graphs and who holds them,
`_why.py` explains a missing gradient; `_recorder.py`, `hotness.py` and `timelines/` watch a run;
`drawing/` makes pictures. Nothing here costs anything until it is called.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wengert.graph._flops import Flops as Flops
    from wengert.graph._graphs import HeldBy as HeldBy
    from wengert.graph._graphs import LiveGraph as LiveGraph
    from wengert.graph._graphs import LiveTensor as LiveTensor
    from wengert.graph._holders import Holder as Holder
    from wengert.graph._leaks import Leak as Leak
    from wengert.graph._live import Census as Census
    from wengert.graph._live import live as live
    from wengert.graph._recorder import Recorder as Recorder
    from wengert.graph._saved import SavedValue as SavedValue
    from wengert.graph._saved import SavedValues as SavedValues
    from wengert.graph._saved import saved as saved
    from wengert.graph._why import Because as Because
    from wengert.graph._why import Keeper as Keeper
    from wengert.graph._why import Why as Why
    from wengert.graph._why import why as why
    from wengert.graph.description import GraphReport as GraphReport
    from wengert.graph.description import Group as Group
    from wengert.graph.description import NodeInfo as NodeInfo
    from wengert.graph.description import SavedInfo as SavedInfo
    from wengert.graph.description import describe as describe
    from wengert.graph.drawing._boxes import Box as Box
    from wengert.graph.drawing.picture import Drawing as Drawing
    from wengert.graph.drawing.picture import draw as draw
    from wengert.graph.layers import Layer as Layer
    from wengert.graph.layers import Summary as Summary
    from wengert.graph.layers import summary as summary
    from wengert.graph.memory import Finding as Finding
    from wengert.graph.memory import Held as Held
    from wengert.graph.memory import Line as Line
    from wengert.graph.memory import Memory as Memory
    from wengert.graph.memory import Report as Report
    from wengert.graph.memory import held_by as held_by
    from wengert.graph.timelines import BackwardCall as BackwardCall
    from wengert.graph.timelines import Band as Band
    from wengert.graph.timelines import Holding as Holding
    from wengert.graph.timelines import Peak as Peak
    from wengert.graph.timelines import Share as Share
    from wengert.graph.timelines import Timeline as Timeline
    from wengert.graph.timelines.profile import Profile as Profile
    from wengert.graph.timelines.profile import profile as profile
else:
    # Loaded on first access: a recorder alone needs few of them.
    _LAZY_NAMES = {
        "BackwardCall": "timelines",
        "Band": "timelines",
        "Because": "_why",
        "Box": "drawing._boxes",
        "Census": "_live",
        "Drawing": "drawing.picture",
        "Finding": "memory",
        "Flops": "_flops",
        "GraphReport": "description",
        "Group": "description",
        "Held": "memory",
        "HeldBy": "_graphs",
        "Holder": "_holders",
        "Holding": "timelines",
        "Keeper": "_why",
        "Layer": "layers",
        "Leak": "_leaks",
        "Line": "memory",
        "LiveGraph": "_graphs",
        "LiveTensor": "_graphs",
        "Memory": "memory",
        "NodeInfo": "description",
        "Peak": "timelines",
        "Profile": "timelines.profile",
        "Recorder": "_recorder",
        "Report": "memory",
        "SavedInfo": "description",
        "SavedValue": "_saved",
        "SavedValues": "_saved",
        "Share": "timelines",
        "Summary": "layers",
        "Timeline": "timelines",
        "Why": "_why",
        "describe": "description",
        "draw": "drawing.picture",
        "held_by": "memory",
        "live": "_live",
        "profile": "timelines.profile",
        "saved": "_saved",
        "summary": "layers",
        "why": "_why",
    }
    __all__ = sorted(_LAZY_NAMES)

    def __getattr__(name):
        if name in _LAZY_NAMES:
            return getattr(_import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
