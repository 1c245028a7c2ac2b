"""Run a PyTorch script on wengert and say, as JSON, what the leak lint makes of it meanwhile.

    python -m tests.graph.watch SCRIPT [ARGUMENTS ...]

The lint looks after a few of the script's backward calls, and at its end.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from types import ModuleType
from typing import Any

from wengert import compat
from wengert.autograd import engine
from wengert.graph import Recorder, live

CALLS = (7, 20, 33, 60, 150)


def main() -> None:
    """Run the script of the command line."""
    compat.install()
    path = sys.argv[1]
    sys.argv = sys.argv[1:]
    seen: dict[str, Any] = {"middle": {}}
    ended = 0

    def observe(walk: Any, when: str) -> None:
        nonlocal ended
        if when != "before":
            ended += 1
            if ended in CALLS:
                seen["middle"][ended] = leaks()

    recorder = Recorder()
    recorder.start()
    engine.observers.append(observe)
    script = ModuleType("__main__")
    script.__file__ = path
    sys.modules["__main__"] = script
    with open(path, encoding="utf-8") as file, contextlib.suppress(SystemExit):
        exec(compile(file.read(), path, "exec", dont_inherit=True), script.__dict__)
    recorder.stop()
    engine.observers.remove(observe)
    seen["calls"] = ended
    seen["end"] = leaks()
    seen["findings"] = [dataclasses.asdict(finding) for finding in recorder.report().findings]
    print("\n" + json.dumps(seen))


def leaks() -> list[dict[str, Any]]:
    """What the lint finds now."""
    return [dataclasses.asdict(leak) for leak in live().leaks()]


if __name__ == "__main__":
    main()
