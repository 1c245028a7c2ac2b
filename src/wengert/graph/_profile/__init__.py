"""Bytes that graphs hold over time: recorded, replayed, shown."""

from wengert.graph._profile.files import Timeline as Timeline
from wengert.graph._profile.profile import Profile as Profile
from wengert.graph._profile.profile import profile as profile
from wengert.graph._profile.timeline import BackwardCall as BackwardCall
from wengert.graph._profile.timeline import Band as Band
from wengert.graph._profile.timeline import Holding as Holding
from wengert.graph._profile.timeline import Peak as Peak
from wengert.graph._profile.timeline import Share as Share
