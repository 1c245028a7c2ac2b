"""Plain functions over arrays. They never see a Tensor, and they check nothing."""
