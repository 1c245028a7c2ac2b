"""What becomes of the values that nodes save: packing, files, writes to them."""
