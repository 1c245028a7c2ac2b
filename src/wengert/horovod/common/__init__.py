"""``horovod.common``: exceptions and process sets."""
