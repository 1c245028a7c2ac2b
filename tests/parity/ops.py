"""PyTorch's own records of operations (OpInfo), run through both libraries.

A record has samples for each dtype that PyTorch supports, calls that must fail, and the forms
in which the operation exists. A sample passes if in every form the values, dtypes and shapes
are PyTorch's, and in double precision the gradients and second gradients too.
"""

from __future__ import annotations

import functools
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import wengert
from tests.ops.calls import outputs, scalar
from tests.parity.convert import to_wengert

LISTED = Path(__file__).with_name("functions.txt")

# Names of the list that PyTorch keeps the record of under another.
RECORDED_AS = {"swapaxes": "transpose"}
# What a dtype of results allows: relative and absolute.
TOLERANCE = {
    "float64": (1e-7, 1e-9), "complex128": (1e-7, 1e-9),
    "float32": (1e-5, 1e-5), "complex64": (1e-5, 1e-5),
    "float16": (2e-3, 2e-3), "bfloat16": (1.6e-2, 1.6e-2),
}  # fmt: skip
# Values of memory that nobody has written.
UNWRITTEN = {"empty", "empty_like", "new_empty", "empty_strided", "empty_permuted", "resize_"}
# Results with indices, and which argument is the dimension.
PLACES = {"topk": 2, "sort": 1, "argsort": 1, "kthvalue": 2, "median": 1, "nanmedian": 1, "mode": 1}
SIGNS = {"linalg.eig", "linalg.eigh", "linalg.svd", "svd"}


@dataclass
class Result:
    """What running one record gave.

    Attributes:
        name: of the record, `std.unbiased`.
        tried, passed: numbers of samples.
        errors, refused: calls that must fail, and those that failed as in PyTorch.
        failures: what went wrong, a line each.
    """

    name: str
    tried: int = 0
    passed: int = 0
    errors: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether nothing failed."""
        return not self.failures


@functools.cache
def records() -> dict[str, list[Any]]:
    """PyTorch's records by the name of the function."""
    from torch.testing._internal.common_methods_invocations import op_db

    found = defaultdict(list)
    for info in op_db:
        if info.dtypes:
            found[info.name].append(info)
    return dict(found)


@functools.cache
def listed() -> tuple[str, ...]:
    """The functions that scripts use, most used first."""
    lines = LISTED.read_text().splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def records_of(name: str) -> list[Any]:
    """The records of a function of the list; none if PyTorch has none."""
    return records().get(RECORDED_AS.get(name, name), [])


class _Torch:
    """wengert, and those private functions of torch that the records call."""

    def __getattr__(self, name: str) -> Any:
        return _Nn() if name in ("_C", "_nn") else getattr(wengert, name)


class _Nn(_Torch):
    """In-place activations: `torch._C._nn.mish_`."""

    def __getattr__(self, name: str) -> Any:
        if name == "_nn":
            return self
        return functools.partial(getattr(wengert.nn.functional, name[:-1]), inplace=True)


def is_of_records(function: Any) -> bool:
    """Whether a function is written in Python, in the files with the records."""
    home = getattr(function, "__module__", None) or ""
    return isinstance(function, types.FunctionType) and home.startswith("torch.testing")


def _seeded(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    wengert.manual_seed(42)
    return op(*args, **kwargs)


def rebind(function: Any) -> Any:
    """A Python function of PyTorch's records that calls wengert where it called torch."""
    if isinstance(function, functools.partial):
        return functools.partial(to_wengert(function.func), *function.args, **function.keywords)
    if not is_of_records(function):
        return function
    names = {**function.__globals__, "torch": _Torch(), "wrapper_set_seed": _seeded}
    copy = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def attribute(path: str) -> Any:
    """What wengert has at a dotted path, or None."""
    found: Any = wengert
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def counterpart(theirs: Any) -> Any:
    """Ours for a function or method of PyTorch's, or for a Python function of its records."""
    if is_of_records(theirs) or isinstance(theirs, functools.partial):
        return rebind(theirs)
    return attribute(f"Tensor.{theirs.__name__}")


def forms(info: Any) -> dict[str, tuple[Any, Any]]:
    """The forms in which an operation exists: PyTorch's and ours."""
    name = info.name
    named = attribute(name) or attribute(f"Tensor.{name}")
    ours = rebind(info.op) if is_of_records(info.op) else named
    # Some records say which inputs are valid: sums with the conjugate transpose, triangles.
    valid = info.gradcheck_wrapper
    found = {
        "function": (
            functools.partial(valid, info.op),
            None if ours is None else functools.partial(rebind(valid), ours),
        )
    }
    for form in ("method_variant", "inplace_variant"):
        theirs = getattr(info, form)
        if theirs is not None:
            found[form.removesuffix("_variant")] = theirs, counterpart(theirs)
    return found


def seeded(call: Callable[[], Any], library: Any) -> Any:
    """The result of a call, with the generator set to a known state first."""
    library.manual_seed(42)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def arguments(sample: Any, ours: bool) -> tuple[list[Any], dict[str, Any]]:
    """Fresh arguments of a sample, and of nothing that an earlier call wrote to."""
    import torch

    def fresh(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            copy = value.detach().clone()
            return copy.requires_grad_(value.requires_grad)
        if type(value) in (list, tuple):
            return type(value)(fresh(v) for v in value)
        return value

    args, kwargs = [sample.input, *sample.args], sample.kwargs
    if ours:
        return [to_wengert(a) for a in args], {k: to_wengert(v) for k, v in kwargs.items()}
    return [fresh(a) for a in args], {k: fresh(v) for k, v in kwargs.items()}


def leaves_of(value: Any) -> list[Any]:
    """The tensors in arguments that want gradients, in order."""
    if getattr(value, "requires_grad", False) is True:
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in leaves_of(v)]
    return []


class MismatchError(Exception):
    """A result that is not PyTorch's."""


def compare(ours: Any, theirs: Any, values: bool = True) -> None:
    """Raise MismatchError unless both results are the same."""
    import torch

    a, b = outputs(ours), outputs(theirs)
    if len(a) != len(b):
        raise MismatchError(f"{len(a)} results, in PyTorch {len(b)}")
    for x, y in zip(a, b, strict=True):
        if not isinstance(y, torch.Tensor):
            _compare_plain(x, y)
            continue
        if not isinstance(x, wengert.Tensor):
            raise MismatchError(f"{type(x).__name__}, in PyTorch a tensor")
        if (str(x.dtype), tuple(x.shape)) != (str(y.dtype), tuple(y.shape)):
            raise MismatchError(
                f"{x.dtype} {tuple(x.shape)}, in PyTorch {y.dtype} {tuple(y.shape)}"
            )
        if values:
            _compare_values(x, y)


def _compare_plain(ours: Any, theirs: Any) -> None:
    if str(type(ours)).replace("wengert", "torch") == str(type(theirs)) and hasattr(ours, "shape"):
        return
    same = ours == theirs or (ours != ours and theirs != theirs) or str(ours) == str(theirs)
    if not same:
        raise MismatchError(f"{ours!r}, in PyTorch {theirs!r}")


def _compare_values(ours: Any, theirs: Any) -> None:
    a, b = _array(ours), _array(theirs.resolve_conj().resolve_neg())
    dtype = str(theirs.dtype).removeprefix("torch.")
    rtol, atol = TOLERANCE.get(dtype, (0, 0))
    # Sums of large terms that cancel are as exact as the terms.
    atol *= max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0.0)) if atol else 0
    with np.errstate(all="ignore"):
        close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if not close.all():
        k = tuple(int(i[0]) for i in np.nonzero(~close)) if close.ndim else ()
        raise MismatchError(
            f"{a[k]!r} at {k}, in PyTorch {b[k]!r} ({(~close).sum()} of {close.size})"
        )


def _array(tensor: Any) -> Any:
    tensor = tensor.detach()
    if str(tensor.dtype) in ("torch.bfloat16", "torch.float16"):
        tensor = tensor.float()
    return tensor.numpy() if isinstance(tensor, wengert.Tensor) else tensor.numpy(force=True)


class Run:
    """One sample in both libraries: results, gradients, second gradients."""

    def __init__(self, info: Any, sample: Any) -> None:
        self.info, self.sample = info, sample

    def both(self, pair: tuple[Any, Any]) -> tuple[Any, Any, Any, Any]:
        """Leaves and results; ours first. What PyTorch refuses raises RefusedError."""
        import torch

        args, kwargs = arguments(self.sample, ours=False)
        try:
            theirs = seeded(lambda: pair[0](*args, **kwargs), torch)
        except Exception as error:
            raise RefusedError from error
        if pair[1] is None:
            raise MismatchError("missing")
        ours_args, ours_kwargs = arguments(self.sample, ours=True)
        ours = seeded(lambda: pair[1](*ours_args, **ours_kwargs), wengert)
        return leaves_of([ours_args, ours_kwargs]), ours, leaves_of([args, kwargs]), theirs

    def forward(self, pair: tuple[Any, Any]) -> None:
        _, ours, _, theirs = self.both(pair)
        if self.info.name in PLACES:
            ours, theirs = (self._picked(r) for r in (ours, theirs))
        elif self.info.name in SIGNS:  # factors are known up to signs
            process = self.sample.output_process_fn_grad
            ours, theirs = rebind(process)(ours), process(theirs)
        compare(ours, theirs, values=self.info.name not in UNWRITTEN)

    def _picked(self, result: Any) -> Any:
        """What stands at the places that a result gives: which of equals is nobody's promise."""
        args, kwargs = arguments(self.sample, ours=isinstance(outputs(result)[0], wengert.Tensor))
        places = outputs(result)[-1]
        if args[0].ndim == 0 or (len(outputs(result)) == 1 and self.info.name != "argsort"):
            return result
        dim = PLACES[self.info.name]
        dim = kwargs.get("dim", args[dim] if len(args) > dim else -1)
        if places.ndim < args[0].ndim:
            places = places.unsqueeze(dim)
        return [args[0].take_along_dim(places, dim), *outputs(result)[:-1], places.shape]

    def inplace(self, pair: tuple[Any, Any]) -> None:
        """On a tensor that wants no gradient; PyTorch refuses to broadcast what is written to."""
        import torch

        if self.sample.broadcasts_input:
            return
        with torch.no_grad(), wengert.no_grad():
            self.forward(pair)

    def gradients(self, pair: tuple[Any, Any]) -> None:
        import torch

        process, second = self.sample.output_process_fn_grad, self.info.supports_gradgrad
        ours_leaves, ours, leaves, theirs = self.both(pair)
        try:
            expected = _derivatives(torch, process(theirs), leaves, second)
        except (RuntimeError, NotImplementedError):
            return  # PyTorch has no derivative
        if expected is None:
            return
        found = _derivatives(wengert, rebind(process)(ours), ours_leaves, second)
        for order, (a, b) in enumerate(zip(found or [], expected, strict=True)):
            try:
                compare(a, b)
            except MismatchError as error:
                raise MismatchError(f"gradient of order {order + 1}: {error}") from None


class RefusedError(Exception):
    """PyTorch does not take the sample in this form."""


def _derivatives(library: Any, result: Any, leaves: list[Any], second: bool) -> Any:
    """The first and, if asked for, second gradients of a weighted sum of the results."""
    total = scalar(library, result)
    if total is None or not leaves:
        return None
    first = library.autograd.grad(total, leaves, allow_unused=True, create_graph=second)
    found = [[_filled(library, g, x) for g, x in zip(first, leaves, strict=True)]]
    if second:
        above = scalar(library, [g for g in first if g is not None and g.requires_grad])
        if above is None:
            grads = [None] * len(leaves)
        else:
            grads = library.autograd.grad(above, leaves, allow_unused=True)
        found.append([_filled(library, g, x) for g, x in zip(grads, leaves, strict=True)])
    return found


def _filled(library: Any, gradient: Any, leaf: Any) -> Any:
    return library.zeros_like(leaf) if gradient is None else gradient.detach()


def attempts(info: Any, sample: Any, differentiable: bool) -> Iterator[tuple[str, Any]]:
    """What is tried with one sample: a name, and a call that raises where we differ."""
    run = Run(info, sample)
    for form, pair in forms(info).items():
        if form == "inplace":
            yield form, lambda pair=pair: run.inplace(pair)
        elif differentiable and form == "function":
            yield form, lambda pair=pair: run.forward(pair)
            yield "gradient", lambda pair=pair: run.gradients(pair)
        else:
            yield form, lambda pair=pair: run.forward(pair)


def evenly(samples: list[Any], limit: int | None) -> list[tuple[int, Any]]:
    """At most `limit` of the samples, spread over all of them."""
    numbered = list(enumerate(samples))
    if limit is None or len(numbered) <= limit:
        return numbered
    return [numbered[k * len(numbered) // limit] for k in range(limit)]


def run_samples(info: Any, result: Result, limit: int | None) -> None:
    """Every dtype, every sample."""
    import torch

    for dtype in sorted(info.dtypes, key=str):
        name = str(dtype).removeprefix("torch.")
        # Stored and converted, or a name alone: no operation computes in these.
        if name == "complex32" or name.startswith("float8") or not hasattr(wengert, name):
            continue
        differentiable = info.supports_autograd and dtype in (torch.float64, torch.complex128)
        differentiable = differentiable and dtype in info.supported_backward_dtypes("cpu")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            # Not `info.sample_inputs`: it looks at the call stack for each sample.
            samples = list(info.sample_inputs_func(info, "cpu", dtype, differentiable))
        for number, sample in evenly(samples, limit):
            result.tried += 1
            where = f"{str(dtype).removeprefix('torch.')} {number}"
            problems = list(_problems(attempts(info, sample, differentiable), where))
            result.failures += problems
            result.passed += not problems


def _problems(tries: Iterator[tuple[str, Any]], where: str) -> Iterator[str]:
    for form, attempt in tries:
        try:
            attempt()
        except RefusedError:
            continue
        except MismatchError as error:
            yield f"{where} {form}: {error}"
        except Exception as error:
            yield f"{where} {form}: {type(error).__name__}: {str(error).splitlines()[:1]}"


def run_errors(info: Any, result: Result) -> None:
    """The calls that must fail: ours has to raise the class that PyTorch's raises."""
    if info.error_inputs_func is None:
        return
    theirs, ours = forms(info)["function"]
    for number, error_input in enumerate(islice(info.error_inputs_func(info, "cpu"), 200)):
        sample = error_input.sample_input
        args, kwargs = arguments(sample, ours=False)
        expected = _raised(lambda a=args, k=kwargs: theirs(*a, **k))
        if expected is None:
            continue
        result.errors += 1
        try:
            args, kwargs = arguments(sample, ours=True)
        except Exception as error:
            result.failures.append(f"error {number}: no arguments: {error!r:.100}")
            continue
        found = _raised(lambda a=args, k=kwargs: ours(*a, **k))
        if found is not None and issubclass(type(found), _class_of(expected)):
            result.refused += 1
        else:
            text = str(expected).splitlines()[0]
            result.failures.append(
                f"error {number}: {found!r:.100}, in PyTorch {type(expected).__name__}: {text:.100}"
            )


def _class_of(error: BaseException) -> type[BaseException]:
    """The class that we have to raise for an exception of PyTorch's."""
    kind = type(error)
    return kind if kind.__module__ == "builtins" else kind.__bases__[0]


def _raised(call: Callable[[], Any]) -> BaseException | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except Exception as error:
        return error
    return None


def run(info: Any, limit: int | None = None) -> Result:
    """Run one record: at most `limit` samples a dtype."""
    result = Result(info.full_name)
    run_samples(info, result, limit)
    run_errors(info, result)
    return result
