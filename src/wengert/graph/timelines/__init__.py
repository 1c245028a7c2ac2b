"""Bytes that graphs hold over time: recorded, replayed, shown.

`profile.py` is the way in. `recording.py` logs which nodes held which storages, as numbers;
`replay.py` turns that log into the bands, calls and peak of a `Timeline` (`timeline.py`);
`page.py` and `picture.py` show it.
"""

from wengert.graph.timelines.files import Timeline as Timeline
from wengert.graph.timelines.profile import Profile as Profile
from wengert.graph.timelines.profile import profile as profile
from wengert.graph.timelines.timeline import BackwardCall as BackwardCall
from wengert.graph.timelines.timeline import Band as Band
from wengert.graph.timelines.timeline import Holding as Holding
from wengert.graph.timelines.timeline import Peak as Peak
from wengert.graph.timelines.timeline import Share as Share
