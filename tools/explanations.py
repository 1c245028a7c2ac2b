"""Write what the examples of the errors' explanations print, and the index of their pages.

    python tools/explanations.py            # write
    python tools/explanations.py --torch    # also what PyTorch makes of each example
    python tools/explanations.py --check    # fail where something is not up to date

An explanation is a Markdown file in src/wengert/explanations: a sentence, an example that raises
the error, remedies that run, and what PyTorch says, in the block titled "PyTorch 2.13". The
documentation shows the same files; docs/errors holds links to them.
"""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # imported from a test, too

from pages import BLOCK, output_of, rendered

from wengert.cli._explain import summary

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "src" / "wengert" / "explanations"
INDEX = ROOT / "docs" / "errors" / "index.md"
PEER = re.compile(
    r'^```text title="PyTorch 2\.13"\n(?P<output>.*?)^```\n', re.MULTILINE | re.DOTALL
)
ROW = "| [`{id}`]({id}.md) | {summary} |\n"

# Examples of what PyTorch does not have.
OURS = {"second-backward-passed"}


def files() -> dict[str, Path]:
    """The explanations by their ids."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.md"))}


def example(page: str) -> str:
    """The code that raises the error."""
    block = BLOCK.search(page)
    assert block is not None
    return block["code"]


def under_torch(page: str) -> str:
    """What the example prints with PyTorch in place of wengert, up to the first empty line."""
    code = example(page).replace("wengert", "torch")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        printed = output_of(code, "train.py", {"__name__": "__main__"})
    if "Error: " not in printed:
        printed += "".join(f"{w.category.__name__}: {w.message}\n" for w in caught)
    printed = re.sub(r" \(Triggered internally at .*\)", "", printed).partition("\n\n")[0]
    if printed:
        return printed.rstrip("\n") + "\n"
    return "(nothing is raised, nothing is printed)\n"


def with_peer(page: str) -> str:
    """The page with what PyTorch makes of the example as it is now."""
    block = f'```text title="PyTorch 2.13"\n{under_torch(page)}```\n'
    return PEER.sub(lambda _: block, page)


def indexed(index: str) -> str:
    """The index with a row for each explanation, in the order in which it lists them."""
    pages = {id: path.read_text() for id, path in files().items()}

    def row(found: re.Match[str]) -> str:
        return ROW.format(id=found[1], summary=summary(pages[found[1]]))

    return re.sub(r"^\| \[`([\w-]+)`\].*\n", row, index, flags=re.MULTILINE)


def main() -> None:
    """Write or check all explanations, the index, and the links in docs/errors."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="wengert")
    found = {path: path.read_text() for path in files().values()}
    now = {path: rendered(page) for path, page in found.items()}
    if "--torch" in sys.argv:  # after the examples that give wengert the name of torch
        now = {p: page if p.stem in OURS else with_peer(page) for p, page in now.items()}
    found[INDEX] = INDEX.read_text()
    now[INDEX] = indexed(found[INDEX])
    if "--check" not in sys.argv:
        for path, page in now.items():
            path.write_text(page)
        for id in files():
            link = INDEX.parent / f"{id}.md"
            if not link.is_symlink():
                link.symlink_to(Path("../../src/wengert/explanations") / f"{id}.md")
        return
    for path, page in now.items():
        lines = found[path].splitlines(keepends=True), page.splitlines(keepends=True)
        sys.stdout.writelines(difflib.unified_diff(*lines, str(path), "printed now"))
    sys.exit(found != now)


if __name__ == "__main__":
    main()
