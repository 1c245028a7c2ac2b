"""Kernels that come with the package: for the processors of a level, checked, never mixed up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.source import ROOT
from wengert.kernels.jit import available, prebuilt, targets
from wengert.kernels.jit.targets import LEVELS, Processor

pytestmark = pytest.mark.skipif(not available(), reason="no kernels can be compiled here")

# Prints the names of the modules that were compiled, and what was computed.
SCRIPT = """
import sys
from pathlib import Path
import wengert
from wengert.kernels.jit import compiler, prebuilt, targets

folder, made, level = Path(sys.argv[1]), [], targets.LEVELS.get(sys.argv[2])
prebuilt.FOLDER = folder
compiler.listeners.append(lambda name, content: made.append(name))
if level is not None:
    targets.choose(level)
    compiler.listeners.append(lambda name, content: prebuilt.store(level, name, content))
a, b = wengert.linspace(0, 1, 60_000).reshape(300, 200), wengert.linspace(1, 2, 60_000)
result = (a @ b.reshape(200, 300)).tanh().sum(0)
print(len(made), result.double().sum().item().hex())
"""


def run(folder: Path, level: str = "", **environment: str) -> tuple[int, str]:
    """How many modules were compiled, and the result."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), level],
        env={"PATH": "/usr/bin:/bin", "WENGERT_CACHE": "", "PYTHONPATH": str(ROOT / "src")}
        | environment,
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    count, value = done.stdout.splitlines()[-1].split()
    return int(count), value


def own_level() -> str:
    """The highest level whose kernels this processor runs."""
    served = [name for name, level in LEVELS.items() if level.serves(targets.host())]
    if not served:
        pytest.skip("no level of processors is like this one")
    return served[-1]


def test_what_is_brought_along_is_not_compiled(tmp_path: Path) -> None:
    compiled, expected = run(tmp_path, own_level(), WENGERT_PREBUILT="0")
    assert compiled > 2
    assert run(tmp_path) == (0, expected)
    again, value = run(tmp_path, WENGERT_PREBUILT="0")
    assert again == compiled
    assert float.fromhex(value) == pytest.approx(float.fromhex(expected), rel=1e-6)


def test_what_is_damaged_is_compiled_again(tmp_path: Path) -> None:
    _, expected = run(tmp_path, own_level(), WENGERT_PREBUILT="0")
    entries = sorted((tmp_path / own_level()).iterdir())
    content = bytearray(entries[0].read_bytes())
    content[len(content) // 2] ^= 1
    entries[0].write_bytes(content)
    entries[1].write_bytes(entries[1].read_bytes()[:-1])
    entries[2].write_bytes(entries[3].read_bytes())
    entries[4].unlink()
    compiled, value = run(tmp_path)
    assert compiled == 4
    assert float.fromhex(value) == pytest.approx(float.fromhex(expected), rel=1e-6)


def test_kernels_of_other_processors_are_not_read(tmp_path: Path) -> None:
    if own_level() != "x86-64-v4":
        pytest.skip("needs a processor of several levels")
    _, expected = run(tmp_path, "x86-64-v3", WENGERT_PREBUILT="0")
    again, value = run(tmp_path)  # this one's registers are wider: other texts
    assert again > 0
    assert float.fromhex(value) == pytest.approx(float.fromhex(expected), rel=1e-6)


def processor(*features: str, without: tuple[str, ...] = ()) -> Processor:
    signs = [f"-{f}" if f in without else f"+{f}" for f in features]
    return Processor("some", ",".join(signs))


def test_levels_serve_processors_that_have_all_of_them() -> None:
    v3, v4 = LEVELS["x86-64-v3"], LEVELS["x86-64-v4"]
    assert v4.serves(processor(*v4.features, "avx512bf16"))
    assert not v3.serves(processor(*v4.features))
    assert v3.serves(processor(*v3.features, "sha", "avx512f", without=("avx512f",)))
    assert not v4.serves(processor(*v3.features))
    some = processor(*v4.features, without=("avx512vl",))  # Knights Landing
    assert not v4.serves(some)
    assert not v3.serves(some)
    assert not v3.serves(processor(*v3.features, without=("fma",)))
    assert not v3.serves(Processor("neoverse-n1", "+neon,+fp-armv8"))


def test_keys_tell_levels_compilers_and_sources_apart() -> None:
    v3, v4 = LEVELS.values()
    keys = {prebuilt.level_key(v3, "a"), prebuilt.level_key(v4, "a"), prebuilt.level_key(v4, "b")}
    assert len({*keys, targets.key("a")}) == 4


def test_an_unknown_folder_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path / "none")
    prebuilt.level.cache_clear()
    try:
        assert prebuilt.level() is None
        assert prebuilt.read("a") is None
        assert prebuilt.count() == 0
    finally:
        prebuilt.level.cache_clear()
