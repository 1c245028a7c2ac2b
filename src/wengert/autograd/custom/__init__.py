"""`autograd.Function`: operations whose derivative the user writes. Read `function` first."""
