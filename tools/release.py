"""Try what is in dist/: each file in an environment of its own, outside of this folder.

    python tools/release.py dist/*

An environment gets the file with the extra ``demo`` and nothing else. It has to say its version,
to find nothing wrong with itself, to train the demo, and to pass the smoke test below.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "two_heads.py"

SMOKE = """
import importlib.metadata
import importlib.resources
import pathlib
import sys

import wengert as torch
from wengert import nn

assert "torch" not in sys.modules
assert importlib.metadata.version("wengert") == torch.__version__, torch.__version__
package = importlib.resources.files("wengert")
for name in ("py.typed", "__init__.pyi", "explanations/graph-released.md"):
    assert (package / name).is_file(), name

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
x = torch.randn(512, 64)
first = last = None
for _ in range(20):
    loss = (net(x) - x.mean(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    last = loss.item()
    first = last if first is None else first
assert last < first / 2, (first, last)
torch.save(net.state_dict(), "net.pt")
net.load_state_dict(torch.load("net.pt"))
try:
    loss.backward()
except torch.autograd.GraphReleasedError as error:
    assert "wengert explain graph-released" in str(error)
assert torch.graph.summary(net, x).parameters == 64 * 256 + 256 + 256 + 1
print("the smoke test passes")
"""


def main() -> None:
    """Try each file that the command line names."""
    files = [Path(name).resolve() for name in sys.argv[1:]]
    if sorted(file.suffix for file in files) != [".gz", ".whl"]:
        sys.exit(f"expected an sdist and a wheel, got {', '.join(sys.argv[1:]) or 'nothing'}")
    for file in files:
        print(f"== {file.name}", flush=True)
        if file.suffix == ".whl" and not _has_kernels(file):
            sys.exit(f"{file.name} has no compiled kernels: python tools/prebuild.py")
        with tempfile.TemporaryDirectory() as folder:
            try_out(file, Path(folder))


def _has_kernels(wheel: Path) -> bool:
    with zipfile.ZipFile(wheel) as archive:
        return any(name.startswith("wengert/kernels/prebuilt/") for name in archive.namelist())


def try_out(file: Path, folder: Path) -> None:
    """Install a file into a new environment, and use it from a folder without the source."""
    venv.create(folder / "env", with_pip=True)
    binaries = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(binaries / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(folder, *pip, f"{file}[demo]")
    run(folder, python, "-m", "pip", "check")
    wengert = str(binaries / "wengert")
    run(folder, wengert, "--version")
    run(folder, wengert, "doctor")
    (folder / "smoke.py").write_text(SMOKE)
    run(folder, python, "smoke.py")
    example = folder / EXAMPLE.name
    example.write_bytes(EXAMPLE.read_bytes())
    run(folder, wengert, "run", "--report", "out.html", str(example))
    if "two_heads.py" not in (folder / "out.html").read_text():
        sys.exit("the report does not name its script")


def run(folder: Path, *command: str) -> None:
    """Run a command, which has to succeed, without this folder on Python's path."""
    done = subprocess.run(command, cwd=folder, env=environment(folder), check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed")


def environment(folder: Path) -> dict[str, str]:
    """That of this process, with a cache of kernels of its own."""
    others = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return others | {"WENGERT_CACHE": str(folder / "cache")}


if __name__ == "__main__":
    main()
