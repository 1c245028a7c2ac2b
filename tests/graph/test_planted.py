"""The leak lint on programs as people write them: what is planted is found, what is sound is not.

In `planted/` each script has one leak: its docstring says what is to be said of it, and the line
to be named has a mark. Those in `sound/` look suspicious and are in order, as the examples are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.process import forked, good
from tests.examples.runs import needs
from tests.source import ROOT

FOLDER = Path(__file__).parent
PLANTED = sorted((FOLDER / "planted").glob("*.py"))
SOUND = sorted((FOLDER / "sound").glob("*.py"))
EXAMPLES = {
    "char_lstm.py": "--width 32 --streams 8 --window 32 --sample 20 --steps 40",
    "folder_inference.py": "--crops 320 --epochs 4 --count 16 --workers 0",
    "gan.py": "--width 64 --report 1 --epochs 2",
    "gpt.py": "--layers 2 --width 32 --context 32 --batch 8 --sample 20 --steps 40",
    "graph_networks.py": "--nodes 120 --steps 40",
    "inference.py": "--epochs 1 --threads 1 --batches 1 --seconds 0.05",
    "multitask.py": "--epochs 1",
    "physics.py": "--weights 3 --length 60 --noise 0.01 --steps 6",
    "style_transfer.py": "--size 24 --steps 8 --iterations 3",
    "theano_mlp.py": "--layers 256 64 32 10 --rounds 2 --steps 40",
    "two_heads.py": "--epochs 1",
    "vae.py": "--width 64 --report 1 --epochs 2",
}


def watched(path: Path, *arguments: str, libraries: str = "wengert") -> dict[str, Any]:
    """What the lint and the recorder made of a script, in its middle and at its end."""
    output = good(forked(libraries, "-m", "tests.graph.watch", str(path), *arguments))
    return json.loads(output.splitlines()[-1])


@pytest.mark.parametrize("path", PLANTED, ids=lambda path: path.stem)
def test_what_is_planted_is_found(path: Path) -> None:
    text = path.read_text()
    number, line = next((n, t) for n, t in enumerate(text.splitlines(), 1) if "# HERE" in t)
    _, *rows = text.split('"""')[1].strip().splitlines()
    wanted = dict(row.split(": ", 1) for row in rows if row)
    seen = watched(path)
    (leak,) = seen["end"]
    assert leak["where"] == f"{path}:{number}"
    assert leak["line"] == line.strip()
    assert {key: leak[key] for key in wanted} == wanted
    assert seen["middle"]["7"] == []  # too early to tell
    assert leak["kind"] in {early["kind"] for early in seen["middle"]["33"]}


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_what_is_sound_is_let_be(path: Path) -> None:
    seen = watched(path)
    assert len(seen["middle"]) >= 2
    assert [*seen["middle"].values(), seen["end"]] == [[]] * (len(seen["middle"]) + 1)
    assert seen["findings"] == []


@pytest.mark.slow
@needs("sklearn", "tqdm", "PIL")
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_sound(name: str, tmp_path: Path) -> None:
    written = {"style_transfer.py": ("--out", "out.png"), "inference.py": ("--weights", "w.pt")}
    option, file = written.get(name, ("", ""))
    more = (option, str(tmp_path / file)) if option else ()
    script = ROOT / "examples" / name
    seen = watched(script, *EXAMPLES[name].split(), *more, libraries="wengert sklearn")
    assert seen["middle"]
    assert [*seen["middle"].values(), seen["end"]] == [[]] * (len(seen["middle"]) + 1)
    assert seen["findings"] == []


def test_all_examples_are_looked_at() -> None:
    # Without ranks, and without a graph of its own.
    others = {"ddp.py", "ddp_restart.py", "horovod_digits.py", "theano_gradients.py"}
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == EXAMPLES.keys() | others
