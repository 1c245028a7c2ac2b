"""Modules of others that are changed when they are imported under the alias."""

from __future__ import annotations

from pathlib import Path

from tests.cli.process import good, script
from tests.cli.process import wengert as command

EXTENSION = """
    import torch
    from pathlib import Path
    def _load_lib(lib):
        "Load it."
        torch.ops.load_library(Path("/site-packages/torchaudio/lib") / f"{lib}.so")
        return True
"""


def test_torchaudio_goes_without_its_libraries(tmp_path: Path) -> None:
    for folder in ("torchaudio", "torchaudio/_extension"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    script(tmp_path / "torchaudio" / "_extension", EXTENSION, "utils.py")
    program = """
        import torch
        from torchaudio._extension.utils import _load_lib
        print(_load_lib("_torchaudio"), _load_lib.__doc__)
        try:
            torch.ops.torchaudio.rnnt_loss_forward
        except AttributeError as error:
            print(error)
    """
    out = good(command("run", "--quiet", str(script(tmp_path, program)))).splitlines()
    assert out[0] == "False Load it."
    assert "torchaudio/lib/_torchaudio.so, which may define it, is compiled code" in out[1]
