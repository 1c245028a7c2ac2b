"""How much of what scripts use is there, and does as PyTorch does.

    python -m tests.parity.report            # every sample, printed
    python -m tests.parity.report --write    # and the counts put into docs/compatibility.md
    python -m tests.parity.report NAME ...   # these functions alone, with every failure

`make parity` is the second.
"""

from __future__ import annotations

import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.parity import ops
from tests.parity.known import KNOWN, explanation

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"
BEGIN, END = "<!-- parity: begin -->", "<!-- parity: end -->"


def results_of(name: str) -> tuple[str, list[ops.Result]]:
    """The results of all records of a function."""
    return name, [ops.run(info) for info in ops.records_of(name)]


def run_all(names: tuple[str, ...]) -> dict[str, list[ops.Result]]:
    """The results by function; processes of their own, for as many cores as there are."""
    found = {}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for name, results in pool.map(results_of, names):
            found[name] = results
            for result in results:
                _print(result, all_failures=len(names) < 20)
    return found


def _print(result: ops.Result, all_failures: bool) -> None:
    strange = [f for f in result.failures if explanation(result.name, f) is None]
    counts = f"{result.passed}/{result.tried} samples, {result.refused}/{result.errors} errors"
    if all_failures or strange:
        print(f"{result.name}: {counts}", flush=True)
    for failure in (result.failures if all_failures else strange)[: None if all_failures else 5]:
        print(f"    {failure}")


def summary(found: dict[str, list[ops.Result]]) -> str:
    """The counts as a table in Markdown, and what is not whole, by name."""
    flat = [r for results in found.values() for r in results]
    whole = [n for n, results in found.items() if all(r.whole for r in results) and results]
    rows: list[tuple[str, Any, Any]] = [
        ("functions whole / listed", len(whole), len(found)),
        ("samples passed / tried", sum(r.passed for r in flat), sum(r.tried for r in flat)),
        ("calls refused / that must fail", sum(r.refused for r in flat),
         sum(r.errors for r in flat)),
    ]  # fmt: skip
    lines = ["| | |", "|---|---:|"]
    lines += [f"| {what} | {a:,} / {b:,} |" for what, a, b in rows]
    lines += ["", "Functions that are not whole:", ""]
    lines += [_line(n, results) for n, results in found.items() if n not in whole]
    return "\n".join(lines)


def _line(name: str, results: list[ops.Result]) -> str:
    """A function that is not whole, with its counts and the reasons."""
    if not results:
        return f"- `{name}`: PyTorch has no record of it; the suite compares it by rows"
    passed, tried = sum(r.passed for r in results), sum(r.tried for r in results)
    refused, errors = sum(r.refused for r in results), sum(r.errors for r in results)
    found = [explanation(r.name, f) for r in results for f in r.failures]
    why = sorted({"not explained" if d is None else d.why for d in found})
    return f"- `{name}` ({passed}/{tried}, {refused}/{errors}): {'; '.join(why)}"


def _unused(found: dict[str, list[ops.Result]]) -> list[str]:
    used = {explanation(r.name, f) for results in found.values() for r in results
            for f in r.failures}  # fmt: skip
    run = [r.name for results in found.values() for r in results]
    asked = [known for known in KNOWN if any(re.fullmatch(known.record, name) for name in run)]
    return [known.record for known in asked if known not in used]


def main() -> None:
    """Run, print, and write if asked to."""
    began = time.perf_counter()
    names = tuple(a for a in sys.argv[1:] if not a.startswith("-")) or ops.listed()
    found = run_all(names)
    text = summary(found)
    print(f"\n{text}\n\n{time.perf_counter() - began:.0f} s")
    if names == ops.listed() and _unused(found):
        print(f"known differences that nothing shows any more: {_unused(found)}")
    if "--write" in sys.argv[1:]:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
