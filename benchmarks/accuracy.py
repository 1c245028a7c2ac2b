"""The largest errors of the functions that kernels compute with, over the floats of float32.

    python benchmarks/accuracy.py              # every 97th bit pattern: some minutes
    python benchmarks/accuracy.py --step 9973  # fewer of them
    python benchmarks/accuracy.py --write      # and put the table into docs/kernels.md

An error is counted in units of the last place (ulp) of the exact result rounded to float32;
0.5 is the least that a float32 can do. References are NumPy's and SciPy's in double precision.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.special

from wengert.kernels import jit
from wengert.kernels.jit import machine_types, mathlib, precise, special

PAGE = Path(__file__).resolve().parent.parent / "docs" / "kernels.md"
BEGIN, END = "<!-- accuracy: begin -->", "<!-- accuracy: end -->"
BLOCK = 1 << 20

Array = np.ndarray[Any, Any]
Reference = Callable[..., Array]


def _lgamma(x: Array) -> Array:
    """SciPy's, but for -inf, where it has the limit of no sequence."""
    return np.where(np.isneginf(x), np.inf, scipy.special.gammaln(x))


def _erfinv(x: Array) -> Array:
    """SciPy's, but for the sign of zero."""
    return np.copysign(scipy.special.erfinv(x), x)


REFERENCES: dict[str, Reference] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "pow": np.power, "hypot": np.hypot, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": scipy.special.erf, "erfc": scipy.special.erfc,
    "sigmoid": scipy.special.expit, "erfinv": _erfinv, "lgamma": _lgamma,
    "digamma": scipy.special.psi, "trigamma": lambda x: scipy.special.polygamma(1, x),
    "i0": scipy.special.i0, "i1": scipy.special.i1, "i0e": scipy.special.i0e,
    "i1e": scipy.special.i1e, "logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2,
}  # fmt: skip
# Functions of two arguments.
TWO = ("pow", "hypot", "atan2", "logaddexp", "logaddexp2")
# Functions for a part of the floats; the bounds of |x|, or of x.
ANGLES = (-precise.WIDEST_ANGLE, precise.WIDEST_ANGLE)
POSITIVE = (0.0, np.inf)  # left of 0 there are zeros between poles
DOMAINS = {
    "sin": ANGLES, "cos": ANGLES, "tan": ANGLES, "lgamma": POSITIVE, "digamma": POSITIVE,
    "trigamma": POSITIVE,
}  # fmt: skip


def compiled(name: str, arguments: int) -> Callable[..., Any]:
    """A kernel that applies a function to arrays."""
    names = [f"x{i}" for i in range(arguments)]
    parameters = "".join(f"{n}: f32s, " for n in names)
    return jit.compiled(
        f"def fused({parameters}out: f32s, start: i64, stop: i64) -> None:\n"
        "    for i in range(start, stop):\n"
        f"        out[i] = {name}({', '.join(f'{n}[i]' for n in names)})\n"
    )


def patterns(step: int) -> Iterator[Array]:
    """Every float that is `step` bit patterns after another one, in blocks."""
    for start in range(0, 1 << 32, BLOCK * step):
        stop = min(start + BLOCK * step, 1 << 32)
        yield np.arange(start, stop, step, dtype=np.uint64).astype(np.uint32).view(np.float32)


def errors(found: Array, exact: Array) -> Array:
    """The errors in ulps; infinite where one is NaN or infinite and the other is not."""
    rounded = exact.astype(np.float32)
    ulp = np.maximum(np.spacing(np.abs(rounded)).astype(np.float64), 2.0**-149)
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    size = np.abs(found.astype(np.float64) - exact) / ulp
    size = np.where(same & ~np.isfinite(rounded), 0.0, size)
    return np.where(np.isfinite(size), size, np.where(same, 0.0, np.inf))


def arguments_of(name: str, step: int) -> Iterator[tuple[Array, ...]]:
    """Blocks of arguments: all patterns, and for two arguments each with some other one."""
    low, high = DOMAINS.get(name, (-np.inf, np.inf))
    for x in patterns(step):
        if name in TWO:
            other = x.view(np.uint32) * np.uint32(2654435761)
            yield x, other.view(np.float32)
            # Pairs with a result that is neither 0 nor infinite.
            spread = other.astype(np.float64) / 2.0**31 - 1.0
            yield np.exp2(spread * 8).astype(np.float32), np.sort(spread * 16).astype(np.float32)
        else:
            yield (x[~((x < low) | (x > high))],)


def largest(name: str, step: int) -> tuple[float, float, Any]:
    """The largest errors of a kernel's function and of NumPy's in float32, and where ours is."""
    reference = REFERENCES[name]
    count = 2 if name in TWO else 1
    kernel = compiled(name, count)
    worst, theirs, place = 0.0, 0.0, None
    for given in arguments_of(name, step):
        found = np.empty_like(given[0])
        kernel(*given, found, found.size, jit.CHUNK)
        with np.errstate(all="ignore"):
            exact = reference(*(x.astype(np.float64) for x in given))
            sizes = errors(found, exact)
            theirs = max(theirs, float(errors(reference(*given), exact).max(initial=0)))
        if sizes.size and sizes.max() > worst:
            at = int(sizes.argmax())
            worst, place = float(sizes[at]), tuple(float(x[at]) for x in given)
    return worst, theirs, place


def functions() -> list[str]:
    """The functions of one or two floats that kernels may call, as far as there is a reference."""
    found = []
    for module in (mathlib, precise, special):
        for name, function in vars(module).items():
            if getattr(function, "__module__", "") != module.__name__ or name not in REFERENCES:
                continue
            kinds = {kind for _, kind in machine_types.signature_of(function, "f32").params}
            found += [name] if kinds == {"f32"} else []
    return found


def table(step: int) -> str:
    """The errors as a table in Markdown."""
    lines = [
        "| function | kernels, ulp | NumPy or SciPy in float32, ulp | largest at |",
        "|---|---:|---:|---|",
    ]
    for name in sorted(functions()):
        worst, theirs, place = largest(name, step)
        at = ", ".join(f"{x:.9g}" for x in place or ())
        lines.append(f"| `{name}` | {worst:.2f} | {theirs:,.2f} | {at} |")
        print(lines[-1], file=sys.stderr)
    return "\n".join(lines)


def main() -> None:
    """Print the table or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step", type=int, default=97, help="bit patterns from one to the next")
    parser.add_argument("--write", action="store_true", help="put the table into docs/kernels.md")
    options = parser.parse_args()
    if not jit.available():
        sys.exit("kernels are not compiled here: llvmlite is missing, or WENGERT_JIT is 0")
    text = table(options.step)
    if not options.write:
        print(text)
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    measured = f"Over every {options.step}th float:\n\n{text}"
    PAGE.write_text(f"{before}{BEGIN}\n{measured}\n{END}{after}")


if __name__ == "__main__":
    main()
