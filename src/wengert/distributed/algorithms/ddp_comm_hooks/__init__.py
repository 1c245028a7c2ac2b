"""Communication hooks: how `DistributedDataParallel` reduces a bucket of gradients."""
