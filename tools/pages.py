"""Run the Python of the documentation, and write what it prints beneath it.

    python tools/pages.py docs/graph.md ...            # write
    python tools/pages.py --check docs/graph.md ...    # fail where a page is not up to date

A block marked ``python`` is run; the blocks of a page share their names. What a block prints,
and the exception that ends it, is the content of the ``text`` block that follows. A block
without one has to be silent. ``title="train.py"`` says which file errors name. A page whose code
says ``import torch`` gets wengert by it. A page runs in a process of its own: this one, so give it
one page where pages would disturb each other.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import linecache
import multiprocessing
import re
import sys
import warnings
from pathlib import Path
from typing import Any

from wengert import compat

BLOCK = re.compile(
    r"^```python(?P<options>[^\n]*)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
IMPORTS_TORCH = re.compile(r"^(import|from) torch\b", re.MULTILINE)


def rendered(page: str) -> str:
    """The page with the output of its blocks as it is now."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    if any(IMPORTS_TORCH.search(block["code"]) for block in BLOCK.finditer(page)):
        compat.install()

    def again(block: re.Match[str]) -> str:
        title = re.search(r'title="([^"]+)"', block["options"])
        printed = output_of(block["code"], title[1] if title else "example.py", namespace)
        head = f"```python{block['options']}\n{block['code']}```\n"
        return head + (f"\n```text\n{printed}```\n" if printed else "")

    return BLOCK.sub(again, page)


def output_of(code: str, file: str, namespace: dict[str, Any]) -> str:
    """What a block prints; the last line is the exception, if it raises one."""
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, file, "exec"), namespace)
        except Exception as error:
            name = type(error).__name__
            home = type(error).__module__
            print(f"{name if home == 'builtins' else _public_home(home) + name}: {error}")
    text = printed.getvalue()
    return text if not text or text.endswith("\n") else text + "\n"


def _public_home(module: str) -> str:
    """`wengert.autograd.errors` is where the class is written, not where users find it."""
    return "".join(f"{part}." for part in module.split(".") if not part.startswith("_"))


def main() -> None:
    """Write or check the pages that the command line names."""
    check = "--check" in sys.argv[1:]
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="wengert")
    if "fork" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("fork")  # no other process could import a page's code
    failed = False
    for path in map(Path, (a for a in sys.argv[1:] if a != "--check")):
        before = path.read_text()
        after = rendered(before)
        if not check:
            path.write_text(after)
        elif after != before:
            failed = True
            lines = (before.splitlines(keepends=True), after.splitlines(keepends=True))
            sys.stdout.writelines(difflib.unified_diff(*lines, "written", "printed now"))
    sys.exit(failed)


if __name__ == "__main__":
    main()
