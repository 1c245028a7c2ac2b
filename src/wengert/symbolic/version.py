"""``theano.version``: whose names and semantics these are."""

version = full_version = short_version = "1.0.5"
git_revision = "unknown"
release = True
