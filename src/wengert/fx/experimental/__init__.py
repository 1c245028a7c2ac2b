"""Recording programs from runs on real tensors."""
