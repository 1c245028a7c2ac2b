"""`autograd.Function`: derivatives of the user's own."""
