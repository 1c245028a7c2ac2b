"""Write down, for programs, what docs/differences.md says of names.

    python tools/differences.py            # write src/wengert/compat/differences.tsv
    python tools/differences.py --check    # fail if it is not up to date

The page is where differences are described. Of each row of its tables whose first cell names
something of torch's, `wengert check` and the errors of missing names get the names and the text.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from wengert import compat
from wengert.compat import differences
from wengert.compat.resolution import resolve

PAGE = Path(__file__).resolve().parents[1] / "docs" / "differences.md"
FILE = Path(differences.__file__).with_name("differences.tsv")
HEAD = "# What docs/differences.md says of names. Written by tools/differences.py.\n"
# Where a name without a path may be meant to lie.
HOMES = (
    "torch", "torch.nn", "torch.nn.functional", "torch.nn.utils", "torch.optim", "torch.autograd",
    "torch.utils.data", "torch.distributions", "torch.linalg", "torch.special", "torch.func",
    "torch.autograd.functional", "torch.autograd.graph",
)  # fmt: skip
# Words of the page that are names of something else as well, or that every program uses.
OTHERS = {
    "Function", "Tensor", "abs", "backward", "grad", "inf", "nan", "no_grad", "save", "uint16",
    "uint32", "uint64", "uint8",
}  # fmt: skip


def rows() -> Iterator[tuple[str, list[str]]]:
    """The rows of the tables that are about names: the kind of the table, and the cells."""
    kind = ""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not cells:
            kind = ""
        elif cells[1:] == ["PyTorch", "wengert", "why"]:
            kind = "differs"
        elif cells == ["missing", "instead"]:
            kind = "missing"
        elif kind and not set(cells[0]) <= {"-"}:
            yield kind, cells


def names_in(cell: str) -> Iterator[str]:
    """What a cell names, with the keywords of the call that it is about: ``load(weights_only)``."""
    for text in re.findall(r"`([^`]+)`", cell):
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError:
            continue
        keywords = [k.arg for k in tree.keywords if k.arg] if isinstance(tree, ast.Call) else []
        target = tree.func if isinstance(tree, ast.Call) else tree
        if isinstance(target, ast.Name | ast.Attribute):
            yield ast.unparse(target) + (f"({','.join(keywords)})" if keywords else "")


def paths_of(name: str) -> Iterator[str]:
    """The names of torch that a name of the page may stand for."""
    stem, bracket, keywords = name.partition("(")
    if stem in OTHERS:
        return
    for home in ("", *HOMES):
        path = f"{home}.{stem}" if home else stem
        if path.startswith("torch.") and resolve(path).exists:
            yield path + bracket + keywords


def text() -> str:
    """The file as it should be."""
    lines = []
    for kind, (subject, *cells) in rows():
        if kind == "missing":
            names = list(names_in(subject))
        else:
            names = sorted({path for name in names_in(subject) for path in paths_of(name)})
        if names:
            lines.append("\t".join((kind, " ".join(names), subject, *cells)))
    return HEAD + "".join(f"{line}\n" for line in lines)


def main() -> int:
    """Write the file, or compare it."""
    compat.install()
    if "--check" not in sys.argv:
        FILE.write_text(text())
        return 0
    if FILE.read_text() == text():
        return 0
    print(f"{FILE} is not up to date: python tools/differences.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
