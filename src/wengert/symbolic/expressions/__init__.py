"""How expressions of arrays are built: types, operations by family, and the methods of variables."""
