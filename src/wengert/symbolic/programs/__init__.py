"""Programs: what becomes of expressions when a function is compiled."""
