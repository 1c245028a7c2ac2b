"""The profiler: the recorder of events, the events, and their table."""
