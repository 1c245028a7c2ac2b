"""wengert.signal: windows for signals."""

from wengert.signal import windows as windows
