"""``torch._utils_internal``: paths of files beside tests."""

import os


def get_file_path_2(*path_components: str) -> str:
    """The parts of a path, joined."""
    return os.path.join(*path_components)


__all__ = ["get_file_path_2"]
