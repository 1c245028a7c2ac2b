"""Function transforms: levels, their tracers, and what runs functions on them."""
