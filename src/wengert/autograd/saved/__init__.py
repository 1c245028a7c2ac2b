"""Handling of saved values: hooks, offloading to disk, copies, detection of writes."""
