"""``torch.profiler``: operations and their times, step by step.

`_profile.py` schedules recordings that `wengert.autograd.profiler` makes.
"""

from wengert.autograd.profiler import record_function as record_function
from wengert.profiler._profile import ProfilerAction as ProfilerAction
from wengert.profiler._profile import ProfilerActivity as ProfilerActivity
from wengert.profiler._profile import profile as profile
from wengert.profiler._profile import schedule as schedule
from wengert.profiler._profile import supported_activities as supported_activities
from wengert.profiler._profile import tensorboard_trace_handler as tensorboard_trace_handler

__all__ = [
    "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
