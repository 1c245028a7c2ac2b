"""The profiler: what watches, what it saw, how it is shown."""
