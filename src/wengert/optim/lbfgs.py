"""L-BFGS, with a line search for the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.grad_mode import enable_grad
from wengert.core.storage import before_write, stamp
from wengert.core.tensor import Tensor, caller, getframe, wrap
from wengert.kernels.jit.formulas import as_reals
from wengert.kernels.products.blas import inner
from wengert.optim._stepping import State, number, valid_defaults
from wengert.optim.optimizer import Optimizer

# The strong Wolfe conditions.
_DECREASE = 1e-4  # sufficient decrease: at least this fraction of the predicted one
_FLATTER = 0.9  # curvature: the final slope is at most this fraction of the initial one


class LBFGS(Optimizer):
    """Limited-memory BFGS: steps with an inverse Hessian estimated from recent gradients.

    All parameters form one group and are updated as one vector. `step` repeatedly calls its
    closure, which clears the gradients, computes the loss and its gradients, and returns the loss.

    Args:
        params: tensors, or pairs of name and tensor.
        lr: the step length, or the initial step of the line search.
        max_iter: the maximum number of iterations per `step`.
        max_eval: the maximum number of closure calls; None means 1.25 times `max_iter`.
        tolerance_grad: the largest element of the gradient at which to stop.
        tolerance_change: the change of loss and parameters at which to stop.
        history_size: the number of gradients stored.
        line_search_fn: None, or ``"strong_wolfe"``.

    >>> import wengert
    >>> w = wengert.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = wengert.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(13., grad_fn=<SumBackward0>)
    >>> wengert.allclose(w, wengert.ones(2))
    True
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        defaults = valid_defaults(
            lr=lr, max_iter=max_iter,
            max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
            tolerance_grad=tolerance_grad, tolerance_change=tolerance_change,
            history_size=history_size, line_search_fn=line_search_fn,
        )  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Minimise for `max_iter` iterations; returns the loss before them.

        Args:
            closure: clears the gradients, computes the loss and its gradients, returns the loss.
        """
        group = self.param_groups[0]
        searching, step_tolerance = group["line_search_fn"], group["tolerance_change"]
        if searching not in (None, "strong_wolfe"):
            raise RuntimeError(
                f"only 'strong_wolfe' is supported, got line_search_fn={searching!r}"
            )
        lr, most = number(group["lr"]), group["max_eval"]
        vector = _Vector(group["params"], closure, *caller(getframe(1)))
        first, loss, gradient = vector.evaluate()
        state = self.state[group["params"][0]]
        memory = _Memory.of(state, group["history_size"])
        memory.func_evals += 1
        evaluations = 1
        if np.abs(gradient).max() <= group["tolerance_grad"]:
            memory.count(state)
            return first
        for i in range(group["max_iter"]):
            memory.n_iter += 1
            d = memory.direction(gradient)
            memory.prev_flat_grad, memory.prev_loss = gradient, loss
            memory.t = lr if memory.n_iter > 1 else min(1.0, 1.0 / np.abs(gradient).sum()) * lr
            slope = inner(gradient, d)
            if slope > -step_tolerance:
                break
            calls = 0
            if searching is not None:
                start = _Point(0, loss, gradient, slope)
                size, left = np.abs(d).max(), most - evaluations
                search = _Search(vector.probe(d), start, size, step_tolerance, left)
                point, calls = search.run(memory.t)
                memory.t, loss, gradient, _ = point
                vector.move(memory.t, d)
            else:
                vector.move(memory.t, d)
                if i + 1 < group["max_iter"]:
                    _, loss, gradient = vector.evaluate()
                    calls = 1
            evaluations += calls
            memory.func_evals += calls
            if (
                evaluations >= most
                or np.abs(gradient).max() <= group["tolerance_grad"]
                or np.abs(d * memory.t).max() <= step_tolerance
                or abs(loss - memory.prev_loss) < step_tolerance
            ):
                break
        memory.save(state)
        return first


class _Vector:
    """The parameters as one real vector, and the function to minimise."""

    def __init__(self, params: list[Tensor], closure: Callable[[], Any], *where: Any) -> None:
        self.params, self.closure, self.where = params, closure, where

    def evaluate(self) -> tuple[Any, float, np.ndarray]:
        """The closure's result, the loss as a number, and the flat gradient."""
        with enable_grad():
            loss = self.closure()
        gradients = []
        for p in self.params:
            g = getattr(p, "_grad", None)
            array = np.zeros_like(p._array) if g is None else g.to_dense()._array
            gradients.append(as_reals(array).reshape(-1))
        return loss, float(loss), np.concatenate(gradients)

    def move(self, step: Any, direction: np.ndarray) -> None:
        """Move the parameters by a step along a direction."""
        start = 0
        for p in self.params:
            array = as_reals(p._array)
            change = direction[start : start + array.size].reshape(array.shape)
            self._write(p, p._array + (change * step).view(p._array.dtype).reshape(p._array.shape))
            start += array.size

    def probe(self, direction: np.ndarray) -> Callable[[Any], _Point]:
        """A function that evaluates the point at a step and puts the parameters back."""
        home = [p._array.copy() for p in self.params]

        def at(step: Any) -> _Point:
            self.move(step, direction)
            _, loss, gradient = self.evaluate()
            for p, array in zip(self.params, home, strict=True):
                self._write(p, array)
            return _Point(step, loss, gradient, inner(gradient, direction))

        return at

    def _write(self, p: Tensor, values: np.ndarray) -> None:
        before_write(p._array)
        p._array[...] = values
        stamp(p._array, "LBFGS.step()", *self.where)


@dataclass
class _Memory:
    """The state of L-BFGS between steps, under the names it is saved by."""

    func_evals: int
    n_iter: int
    size: int
    d: Any = None
    t: Any = None
    old_dirs: list[Any] = field(default_factory=list)
    old_stps: list[Any] = field(default_factory=list)
    ro: list[Any] = field(default_factory=list)
    H_diag: Any = 1
    prev_flat_grad: Any = None
    prev_loss: float | None = None
    al: list[Any] | None = None

    _SAVED = (
        "d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss",
    )  # fmt: skip

    @classmethod
    def of(cls, state: State, size: int) -> _Memory:
        """The memory in the state of an optimizer."""
        memory = cls(state.get("func_evals", 0), state.get("n_iter", 0), size)
        for name in (*cls._SAVED, "al"):
            if name in state:
                setattr(memory, name, _to_arrays(state[name]))
        return memory

    def count(self, state: State) -> None:
        """Save the counts alone."""
        state["func_evals"], state["n_iter"] = self.func_evals, self.n_iter

    def save(self, state: State) -> None:
        """Save everything, arrays as tensors."""
        self.count(state)
        if self.al is not None:
            state["al"] = _to_tensors(self.al)
        for name in self._SAVED:
            state[name] = _to_tensors(getattr(self, name))

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """The search direction: minus the inverse Hessian times the gradient."""
        if self.n_iter == 1:
            self.d = -gradient
            return self.d
        change, step = gradient - self.prev_flat_grad, self.d * self.t
        product = inner(change, step)
        if product > 1e-10:
            if len(self.old_dirs) == self.size:
                for history in (self.old_dirs, self.old_stps, self.ro):
                    history.pop(0)
            self.old_dirs.append(change)
            self.old_stps.append(step)
            self.ro.append(1.0 / product)
            self.H_diag = product / inner(change, change)
        self.al = [None] * self.size if self.al is None else self.al
        d = -gradient
        pairs = list(zip(self.old_dirs, self.old_stps, self.ro, strict=True))
        for i, (change, step, ro) in reversed(list(enumerate(pairs))):
            self.al[i] = inner(step, d) * ro
            d -= change * self.al[i]
        d *= self.H_diag
        for i, (change, step, ro) in enumerate(pairs):
            d += step * (self.al[i] - inner(change, d) * ro)
        self.d = d
        return d


def _to_tensors(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_tensors(v) for v in value]
    return wrap(np.asarray(value)) if isinstance(value, np.ndarray | np.generic) else value


def _to_arrays(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_arrays(v) for v in value]
    if not isinstance(value, Tensor):
        return value
    return value._array if value._array.ndim else value._array[()]


class _Point(NamedTuple):
    """A step along the direction: how long, and the loss, gradient and slope at its end."""

    step: Any
    loss: float
    gradient: np.ndarray
    slope: Any


class _Search:
    """A search for a step that fulfils the strong Wolfe conditions (Nocedal and Wright, 3.5).

    Args:
        at: the point at a step.
        start: the point at step 0.
        size: the largest element of the direction.
        tolerance: the bracket size, in parameters, at which the search ends.
        most: the maximum number of points tried after the first.
    """

    def __init__(
        self, at: Callable[[Any], _Point], start: _Point, size: Any, tolerance: float, most: int
    ) -> None:
        self.at, self.start, self.size = at, start, size
        self.tolerance, self.most = tolerance, most
        self.tries = 0

    def run(self, step: Any) -> tuple[_Point, int]:
        """The best point found from a first step, and how often the function was called."""
        last, point = self.start, self.at(step)
        while self.tries < self.most:
            if self._falls_short(point) or (self.tries > 1 and point.loss >= last.loss):
                return self._narrow([last, point]), self.tries + 1
            if self._is_flat(point):
                return point, self.tries + 1
            if point.slope >= 0:
                return self._narrow([last, point]), self.tries + 1
            bounds = point.step + 0.01 * (point.step - last.step), point.step * 10
            last, point = point, self._try(_minimum_of_cubic(last, point, bounds))
        ends = [self.start, point]
        return ends[_index_of_lower(ends)], self.tries + 1

    def _narrow(self, bracket: list[_Point]) -> _Point:
        """The best point in a bracket that contains an acceptable one (the zoom phase)."""
        low, slow = _index_of_lower(bracket), False
        while self.tries < self.most:
            near, far = sorted(point.step for point in bracket)
            if (far - near) * self.size < self.tolerance:
                break
            step, slow = _keep_off_ends(_minimum_of_cubic(bracket[0], bracket[1]), near, far, slow)
            point = self._try(step)
            if self._falls_short(point) or point.loss >= bracket[low].loss:
                bracket[1 - low] = point
                low = _index_of_lower(bracket)
                continue
            if self._is_flat(point):
                return point
            if point.slope * (bracket[1 - low].step - bracket[low].step) >= 0:
                bracket[1 - low] = bracket[low]
            bracket[low] = point
        return bracket[low]

    def _try(self, step: Any) -> _Point:
        self.tries += 1
        return self.at(step)

    def _falls_short(self, point: _Point) -> Any:
        return point.loss > self.start.loss + _DECREASE * point.step * self.start.slope

    def _is_flat(self, point: _Point) -> Any:
        return abs(point.slope) <= -_FLATTER * self.start.slope


def _index_of_lower(bracket: list[_Point]) -> int:
    """Which of two points has the lower loss."""
    return 0 if bracket[0].loss <= bracket[1].loss else 1


def _keep_off_ends(step: Any, near: Any, far: Any, slow: bool) -> tuple[Any, bool]:
    """A step moved off the ends of a bracket, and whether it was allowed near one this time."""
    margin = 0.1 * (far - near)
    if not min(far - step, step - near) < margin:
        return step, False
    if not slow and near < step < far:
        return step, True
    return (far - margin if abs(step - far) < abs(step - near) else near + margin), False


def _minimum_of_cubic(a: _Point, b: _Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimum, within bounds, of the cubic that fits two points and their slopes."""
    left, right = (a, b) if a.step <= b.step else (b, a)
    least, most = bounds or (left.step, right.step)
    bend = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = bend**2 - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2.0
    root = np.sqrt(square)
    share = (right.slope + root - bend) / (right.slope - left.slope + 2 * root)
    return min(max(right.step - (right.step - left.step) * share, least), most)


__all__ = ["LBFGS"]
