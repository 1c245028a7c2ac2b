"""``torch.utils.module_tracker``: in which modules an operation runs."""

from __future__ import annotations

from typing import Any

from wengert.autograd.engine import innermost
from wengert.core.tensor import Site, mode


class ModuleTracker:
    """Knows, wherever it is asked, the modules that run, in a backward as well.

    Attributes:
        parents: their names, such as ``Net.features.3``, and "Global".
        is_bw: whether a backward runs.

    Operations of a backward belong to the modules that their nodes were recorded in.

    >>> import wengert
    >>> from wengert.utils.module_tracker import ModuleTracker
    >>> class Net(wengert.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    ...         return x
    >>> with ModuleTracker() as tracker:
    ...     y = Net()(wengert.ones(1))
    ['Global', 'Net']
    """

    def __enter__(self) -> ModuleTracker:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    @property
    def parents(self) -> set[str]:
        """The names of the modules that run, and "Global"."""
        site: Site | None = mode.where
        walk = innermost.walk
        if site is not None and site.module is None and walk is not None:
            node = walk.current_node
            site = None if node is None else node.site
        names = {"Global"}
        while site is not None and site.module is not None:
            names.add(site.path())
            site = site.parent
        return names - {""}

    @property
    def is_bw(self) -> bool:
        """Whether a backward runs."""
        return innermost.walk is not None


__all__: list[Any] = ["ModuleTracker"]
