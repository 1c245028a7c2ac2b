"""The comparisons of `gradcheck`; read `gradcheck` first."""
