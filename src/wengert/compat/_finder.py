"""The finder that answers for ``torch``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

from wengert.compat import _patches, torch_names
from wengert.compat._alias import AliasModule, natives_of, why_missing
from wengert.compat._answers import look_for_answers

if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.metadata import Distribution, DistributionFinder
else:  # the import system looks at methods alone, and importlib.abc brings tempfile and pathlib
    Loader = DistributionFinder = object


class Finder(DistributionFinder):
    """Answers for ``torch`` and everything below it, and never passes the question on."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        look_for_answers()
        if fullname in _patches.PATCHES:
            return _patches.find_spec(fullname, path)
        if fullname.partition(".")[0] not in torch_names.ROOTS:
            return None
        natives = natives_of(fullname)
        if not natives:
            # The import system would swallow this for `from torch import fft`, and raise an
            # ImportError that says nothing, if the error were named after the torch module.
            name = fullname.replace("torch", "wengert", 1)
            raise ModuleNotFoundError(why_missing(fullname), name=name)
        # Always a package: then a missing submodule comes here to be refused.
        package = not fullname.endswith(".__main__")
        return ModuleSpec(fullname, _Loader(natives), origin="wengert", is_package=package)

    def find_distributions(
        self, context: DistributionFinder.Context | None = None
    ) -> Iterable[Distribution]:
        from importlib.metadata import DistributionFinder

        from wengert.compat import _metadata

        return _metadata.distributions(context or DistributionFinder.Context())


class _Loader(Loader):
    def __init__(self, natives: list[ModuleType]) -> None:
        self.natives = natives

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return AliasModule(spec.name, self.natives)

    def get_code(self, fullname: str) -> CodeType | None:
        """For ``python -m``: the code of the module that stands for this one."""
        spec = self.natives[0].__spec__
        code: CodeType | None = spec.loader.get_code(spec.name)  # type: ignore[union-attr]
        return code

    def exec_module(self, module: ModuleType) -> None:
        """The alias delegates; what it has is shown in its dictionary, too."""
        module.fill()
