"""What happens to the values that nodes save: hooks, files, copies, detection of writes."""
