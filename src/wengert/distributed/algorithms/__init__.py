"""Ways to use collectives: uneven inputs, communication hooks."""
