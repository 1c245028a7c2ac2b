"""Run the mistakes of docs/mistakes under PyTorch and wengert, and write what both say of them.

    python tools/mistakes.py            # write docs/mistakes.md
    python tools/mistakes.py --check    # fail where the page is not up to date

``NAME.py`` makes a mistake, ``NAME_fixed.py`` does not. What the page says about one is between
``<!-- NAME -->`` and ``<!-- /NAME -->``: the program, what both print, the correction. Output is
shown whole, but for two things, which are done to both alike: of paths the file's name is left,
and of tracebacks the frames of the program itself.
"""

from __future__ import annotations

import difflib
import gc
import html
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "mistakes"
PAGE = ROOT / "docs" / "mistakes.md"
NAMES = sorted(p.stem for p in FOLDER.glob("*.py") if not p.stem.endswith("_fixed"))

# PyTorch says more of some errors in a mode of its own.
ANOMALY = "torch.autograd.set_detect_anomaly(True, check_nan=False)"
IN_ANOMALY_MODE = {"saved_overwritten", "step_between"}

# What is said of mistakes about which both are silent, when wengert is asked at the end.
ASKED = {
    "unused_parameter": "import wengert\n\nprint(wengert.graph.why(model.second.weight))\n",
    "losses_kept": "import wengert\n\nfor leak in wengert.graph.live().leaks():\n    print(leak)\n",
}


@dataclass(frozen=True)
class Run:
    """What a program printed, how it ended, and the most memory that it took, in MB."""

    text: str
    code: int
    peak: int


def run(library: str, programs: dict[str, str]) -> dict[str, Run]:
    """Run programs, each in a process of its own; sources by key, and the runs by the same."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with tempfile.TemporaryDirectory() as folder:
        paths = {
            key: Path(folder, str(n), f"{key.partition(' ')[0]}.py")
            for n, key in enumerate(programs)
        }
        for key, path in paths.items():
            path.parent.mkdir()
            path.write_text(programs[key])
        command = [sys.executable, __file__, "--host", library, *map(str, paths.values())]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        ends = json.loads(done.stdout)
        return {
            key: Run(shown(path.with_suffix(".out").read_text(), str(path)), *ends[str(path)])
            for key, path in paths.items()
        }


def host(library: str, paths: list[str]) -> None:
    """Import a library once, and run each program in a fork: as `python` or `wengert run` would."""
    if library == "torch":
        import torch

        torch.optim.SGD([torch.zeros(1, requires_grad=True)])  # imports a lot
        start: Callable[[str], Any] = partial(runpy.run_path, run_name="__main__")
    else:
        from wengert import cli

        start = lambda path: cli.main(["run", "--quiet", path])  # noqa: E731
    gc.freeze()
    ends = {}
    for path in paths:
        process = os.fork()
        if not process:
            _end_with(start, path)
        _, status, used = os.wait4(process, 0)
        ends[path] = os.waitstatus_to_exitcode(status), used.ru_maxrss // 1000
    print(json.dumps(ends))


def _end_with(start: Callable[[str], Any], path: str) -> NoReturn:
    """Run a program with its output going to a file, and end without tidying up what was shared."""
    out, code = os.open(Path(path).with_suffix(".out"), os.O_WRONLY | os.O_CREAT), 0
    os.dup2(out, sys.stdout.fileno())
    os.dup2(out, sys.stderr.fileno())
    try:
        start(path)
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    os._exit(code)


def shown(text: str, path: str) -> str:
    """Output with the frames of the program only, and with file names for paths."""
    lines, inside = [], True
    for line in text.splitlines():
        frame = re.match(r'  File "([^"]+)", line \d+', line)
        if frame is not None:
            inside = frame[1] == path
        elif not line.startswith("    "):
            inside = True
        if inside and not re.fullmatch(r"[ ~^]+", line):
            lines.append(re.sub(r"(?<![\w.])/[^\s\"':]*/", "", line))
    return "\n".join(lines) + "\n"


def corrected(name: str) -> tuple[set[int], str]:
    """The lines of a program that its correction touches, and the difference."""
    before = (FOLDER / f"{name}.py").read_text().splitlines(keepends=True)
    after = (FOLDER / f"{name}_fixed.py").read_text().splitlines(keepends=True)
    before, after = before[1:], after[1:]  # the docstrings differ, too
    touched: set[int] = set()
    for tag, start, end, _, _ in difflib.SequenceMatcher(None, before, after).get_opcodes():
        if tag != "equal":  # what is inserted goes between two lines
            touched.update(range(start + 2, end + 2) if tag != "insert" else (end + 1, end + 2))
    changes = difflib.unified_diff(before, after, n=1)
    return touched, "".join(line for line in changes if not line.startswith(("---", "+++", "@@")))


def named(name: str, text: str) -> list[int]:
    """The lines of a program that an output names."""
    return sorted({int(n) for n in re.findall(rf'\b{name}\.py(?:", line |:)(\d+)', text)})


@dataclass(frozen=True)
class Mistake:
    """All that the page shows of a mistake; of each pair PyTorch's comes first."""

    name: str
    source: str
    said: tuple[Run, Run]
    fixed: tuple[Run, Run]
    more: str  # what PyTorch's anomaly mode, or wengert when it is asked, says beyond

    @property
    def growth(self) -> list[int]:
        """How many MB more than its correction the program took at its peak, to tens."""
        return [round(a.peak - b.peak, -1) for a, b in zip(self.said, self.fixed, strict=True)]

    @property
    def theirs(self) -> str:
        """Everything that PyTorch says."""
        return self.said[0].text + (self.more if self.name in IN_ANOMALY_MODE else "")

    @property
    def ours(self) -> str:
        """Everything that wengert says."""
        return self.said[1].text + (self.more if self.name in ASKED else "")


def look_at(names: list[str]) -> list[Mistake]:
    """Run mistakes and their corrections under both."""
    programs, theirs, ours = {}, {}, {}
    for name in names:
        programs[name] = (FOLDER / f"{name}.py").read_text()
        programs[f"{name} fixed"] = (FOLDER / f"{name}_fixed.py").read_text()
        if name in IN_ANOMALY_MODE:
            line = "import torch\n"
            theirs[f"{name} more"] = programs[name].replace(line, f"import torch; {ANOMALY}\n")
        elif name in ASKED:
            ours[f"{name} more"] = programs[name] + ASKED[name]
    with ThreadPoolExecutor() as pool:
        runs = pool.map(run, ("torch", "wengert"), (programs | theirs, programs | ours))
    torch, wengert = runs
    for key in (f"{name} fixed" for name in names):
        if torch[key].code or wengert[key].code or torch[key].text != wengert[key].text:
            sys.exit(
                f"{key} prints\n{torch[key].text}under PyTorch\n{wengert[key].text}under wengert"
            )
    return [
        Mistake(
            name=name,
            source=programs[name],
            said=(torch[name], wengert[name]),
            fixed=(torch[f"{name} fixed"], wengert[f"{name} fixed"]),
            more=(torch | wengert)[f"{name} more"].text.removeprefix(wengert[name].text)
            if name in IN_ANOMALY_MODE | ASKED.keys()
            else "",
        )
        for name in names
    ]


def section(mistake: Mistake) -> str:
    """What stands between the marks of a mistake."""
    touched, difference = corrected(mistake.name)
    theirs, ours = (r.text for r in mistake.said)
    columns = both(("PyTorch", theirs), ("wengert", ours))
    if mistake.name in IN_ANOMALY_MODE:
        columns = both(
            ("PyTorch", theirs), ("wengert", ours), ("PyTorch, anomaly mode", mistake.more)
        )
    elif mistake.name in ASKED:
        columns += _asked(mistake)
    lines = " ".join(map(str, sorted(touched)))
    return (
        f'\n```py title="{mistake.name}.py" linenums="1" hl_lines="{lines}"\n{mistake.source}```\n'
        f"\n{columns}\nThe correction, and what both print then:\n\n```diff\n{difference}```\n"
        f"\n```text\n{mistake.fixed[1].text}```\n\n"
    )


def _asked(mistake: Mistake) -> str:
    """What wengert says when it is asked, of a mistake about which both are silent."""
    memory = ""
    if min(mistake.growth) > 0:
        theirs, ours = mistake.growth
        memory = (
            f"\nAt its peak the program took {theirs} MB more than the corrected one under PyTorch,"
            f" and {ours} MB more under wengert.\n"
        )
    return (
        f"{memory}\nwengert can be asked, with these lines at the end of the program:\n\n"
        f"```py\n{ASKED[mistake.name]}```\n\n```text\n{mistake.more}```\n"
    )


def both(*outputs: tuple[str, str]) -> str:
    """Outputs beside each other, in HTML without blank lines: every Markdown takes it whole."""
    figures = ""
    for head, text in outputs:
        lines = [html.escape(line, quote=False) or "&#8203;" for line in text.splitlines()]
        body = "".join(f"<span>{line}\n</span>" for line in lines)
        figures += (
            f"<figure><figcaption>{head}</figcaption><pre><code>{body}</code></pre></figure>\n"
        )
    return f'<div class="both">\n{figures}</div>\n'


def summary(mistakes: list[Mistake]) -> str:
    """A table of the lines that both name, those in bold that the correction touches."""
    rows = ["| program | to change | PyTorch names | wengert names |", "|---|---|---|---|"]
    hits = [0, 0]
    for mistake in mistakes:
        touched, _ = corrected(mistake.name)
        cells = [", ".join(map(str, sorted(touched)))]
        for k, text in enumerate((mistake.theirs, mistake.ours)):
            lines = named(mistake.name, text)
            hits[k] += not touched.isdisjoint(lines)
            cells.append(", ".join(f"**{n}**" if n in touched else str(n) for n in lines) or "-")
        rows.append(f"| `{mistake.name}.py` | {' | '.join(cells)} |")
    table = "\n".join(rows)
    return (
        f"\n{table}\n\nOf {len(mistakes)} programs, PyTorch names a line to change in {hits[0]},"
        f" wengert in {hits[1]}.\n\n"
    )


def written(page: str, name: str, text: str) -> str:
    """The page with another text between the marks."""
    head, mark, rest = page.partition(f"<!-- {name} -->\n")
    _, end, tail = rest.partition(f"<!-- /{name} -->")
    if not mark or not end:
        sys.exit(f"{PAGE}: no marks for {name}")
    return head + mark + text + end + tail


def updated(page: str, mistakes: list[Mistake]) -> str:
    """The page with what is said of these mistakes now."""
    for mistake in mistakes:
        page = written(page, mistake.name, section(mistake))
    return written(page, "summary", summary(mistakes))


def in_order(page: str) -> list[str]:
    """The mistakes as the page has them."""
    return sorted(NAMES, key=lambda name: page.find(f"<!-- {name} -->"))


def without_figures(page: str) -> str:
    """The page without what is measured, and differs from run to run."""
    return re.sub(r"\d+ MB more", "MB more", page)


def main() -> None:
    """Write or check the page."""
    if "--host" in sys.argv[1:]:
        return host(sys.argv[2], sys.argv[3:])
    before = PAGE.read_text()
    page = updated(before, look_at(in_order(before)))
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page)
    elif without_figures(page) != without_figures(before):
        lines = (before.splitlines(keepends=True), page.splitlines(keepends=True))
        sys.stdout.writelines(difflib.unified_diff(*lines, "written", "printed now"))
        sys.exit(1)


if __name__ == "__main__":
    main()
