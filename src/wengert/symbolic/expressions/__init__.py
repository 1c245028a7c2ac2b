"""How expressions of arrays are built: types, operations by family, methods of variables."""
