"""Modules to test: ``common_modules`` and ``common_nn``.

`records` says what is known of a module, `rows` lists modules with what they are constructed with
and called on, `lists` makes `module_db` of it, `cases` is ``common_nn``: tests of single modules.
"""

__all__: list[str] = []
