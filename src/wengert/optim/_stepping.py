"""Shared parts of optimizers: the loop of a step, state, and checks of options."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_not
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.grad_mode import enable_grad
from wengert.core import dtypes
from wengert.core.inference import check_written
from wengert.core.outline import Outline
from wengert.core.sparse import CooTensor, SparseTensor
from wengert.core.storage import before_write, before_writes, guards, stamp, stamp_all
from wengert.core.tensor import Tensor, caller, getframe, inferences, wrap
from wengert.kernels import layout
from wengert.kernels.jit.formulas import Formula, as_reals
from wengert.kernels.jit.heads import advanced
from wengert.meta.tensors import without_memory
from wengert.ops.complexes import view_as_complex, view_as_real
from wengert.optim._recorded import recorded
from wengert.optim._tables import Noted, StepTable
from wengert.optim.optimizer import Group, Optimizer

State = dict[str, Any]
Numbers = dict[str, Any]  # floats, or tensors in a differentiable step
Prepare = Callable[[Tensor], tuple[State, Numbers]]
Update = Callable[[Tensor, np.ndarray, np.ndarray], None]

# Defaults of options missing from older saved states.
_BEFORE: dict[str, Any] = {
    "amsgrad": False,
    "capturable": False,
    "centered": False,
    "differentiable": False,
    "foreach": None,
    "fused": None,
    "maximize": False,
    "momentum": 0,
    "nesterov": False,
}


class Stepping(Optimizer):
    """An optimizer whose rule updates one parameter from its gradient alone."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name in self.defaults.keys() & _BEFORE.keys():
                group.setdefault(name, _BEFORE[name])
            for p in group["params"]:
                saved = self.state.get(p, {})
                for name in ("step", "eta", "mu", "mu_product"):
                    if name in saved and not isinstance(saved[name], Tensor):
                        saved[name] = scalar(saved[name])

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients, in place.

        Args:
            closure: recomputes the loss (and its gradients); called first if given, and its
                result is returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        by, where = f"{type(self).__name__}.step()", caller(getframe(1))
        if inferences:
            self._check_inference()
        for group in self.param_groups:
            self._update(group, by, *where)
        return loss

    def _check_inference(self) -> None:
        """Raise if a parameter about to be updated was created in inference mode."""
        params = [p for group in self.param_groups for p in group["params"]]
        written = [p for p in params if getattr(p, "_grad", None) is not None]
        check_written(written, f"{type(self).__name__}.step")

    def _update(self, group: Group, by: str, code: CodeType, lasti: int) -> None:
        """Update the parameters of a group that have gradients, and stamp them."""
        update = self._rule(group)
        for p in self._dense(group, by, code, lasti):
            g = getattr(p, "_grad", None)
            if g is not None:
                array = p._array
                if isinstance(array, Outline):  # on the meta device: state alone
                    update(p, array, g._array)
                    continue
                before_write(array)
                update(p, array, g._array)
                stamp(array, by, code, lasti)

    def _dense(self, group: Group, by: str, code: CodeType, lasti: int) -> list[Tensor]:
        """The parameters whose gradients are dense, or None; the others are updated by this."""
        params: list[Tensor] = group["params"]
        if SparseTensor.bind is not None:
            return params  # there are no sparse tensors yet
        sparse = [p for p in params if isinstance(getattr(p, "_grad", None), SparseTensor)]
        if not sparse:
            return params
        for p in sparse:
            if isinstance(p, SparseTensor):  # an ordinary in-place operation updates it
                self._update_sparse(group, p, p._grad)  # type: ignore[arg-type]
                continue
            before_write(p._array)
            self._update_sparse(group, p, gradient_of(p))
            stamp(p._array, by, code, lasti)
        left = set(map(id, sparse))
        return [p for p in params if id(p) not in left]

    # What an optimizer that refuses sparse gradients advises.
    _instead_of_sparse = ""

    def _update_sparse(self, group: Group, p: Tensor, g: CooTensor) -> None:
        """Update one parameter from a sparse gradient."""
        raise RuntimeError(
            f"{type(self).__name__} does not support sparse gradients{self._instead_of_sparse}"
        )

    def _rule(self, group: Group) -> Any:
        """Return a function that updates a parameter's array and state by one step.

        Its arguments are the parameter, its array, and that of its gradient.
        """
        raise NotImplementedError


class UpdateRule(NamedTuple):
    """How the parameters of a group are updated, element by element."""

    formula: Formula
    options: dict[str, bool]
    # Keys of the state arrays that the formula reads and writes; None for one it does not use.
    states: tuple[str | None, ...]
    # Counts a step of a parameter, creating its state if needed; returns state and numbers.
    prepare: Prepare
    # The numbers of all parameters that have stepped before, by the count of their steps.
    later: Callable[[float], Numbers] | None = None
    counts: bool = True  # whether the state has that count


class KnownRule(NamedTuple):
    """What the rule of a group is as long as its options are the same objects."""

    group: Group
    names: list[str]
    values: list[Any]
    rule: UpdateRule
    noted: Noted

    def holds(self, group: Group) -> bool:
        """Whether it is the rule of a group as it is now."""
        return (
            self.group is group
            and not any(map(is_not, group.values(), self.values))
            and [*group] == self.names
        )


class Elementwise(Stepping):
    """An optimizer whose rule is a formula: a group is updated in one pass."""

    def _update(self, group: Group, by: str, code: CodeType, lasti: int) -> None:
        if self._update_again(group, by, code, lasti):
            return
        formula, options, names, prepare, *_ = rule = self._rule(group)
        if group["differentiable"]:
            _update_recorded(rule, [p for p in group["params"] if p.grad is not None])
            return
        arrays: list[np.ndarray] = []
        grads: list[np.ndarray] = []
        states: list[State] = []
        numbers: list[Numbers] = []
        for p in self._dense(group, by, code, lasti):
            g = getattr(p, "_grad", None)
            if g is not None:
                state, values = prepare(p)
                array = p._array
                if isinstance(array, Outline):  # on the meta device: there is nothing to update
                    continue
                arrays.append(array)
                grads.append(g._array)
                states.append(state)
                numbers.append(values)
        columns = [
            None if name is None else [state[name]._array for state in states] for name in names
        ]
        before_writes(arrays)
        formula([arrays, grads, *columns], numbers, **options)
        stamp_all(arrays, by, code, lasti)

    def _update_again(self, group: Group, by: str, code: CodeType, lasti: int) -> bool:
        """Update the parameters of a group that have all stepped equally often before.

        False, and nothing has changed, if they have not, or some arrays are not plain.
        """
        rule, noted = self._known_rule(group)
        if rule.later is None:
            return False
        params: list[Tensor] = group["params"]
        known = noted.holds(params, self.state)
        if known and self._update_by(noted.table, rule, by, code, lasti):
            return True
        grads = [getattr(p, "_grad", None) for p in params]
        kinds = {*map(type, grads)}
        if _NONE in kinds:
            params = [p for p, g in zip(params, grads, strict=True) if g is not None]
            grads = [g for g in grads if g is not None]
            kinds.remove(_NONE)
        if kinds != _DENSE:
            return False
        # Gradients first: to read one may compute others, and what parameters hold.
        given = [g._array for g in grads]  # type: ignore[union-attr]
        arrays = [p._array for p in params]
        columns, counts = self._begun(rule, params)
        if columns is None:
            return False
        run = rule.formula.ready([arrays, given, *columns], rule.options)
        if run is None:
            return False
        count = advanced(counts) if rule.counts else 0.0
        if count is None:
            return False
        numbers = [rule.later(count)]
        before_writes(arrays)
        run(numbers)
        stamp_all(arrays, by, code, lasti)
        if not known and len(params) == len(group["params"]):
            noted.note(rule.formula, rule.options, rule.states, params, self.state, rule.counts)
        return True

    def _update_by(
        self, table: StepTable | None, rule: UpdateRule, by: str, code: CodeType, lasti: int
    ) -> bool:
        """Update what a table has; False, and nothing has changed, if its arrays are not plain."""
        assert table is not None
        assert rule.later is not None
        params = table.params
        # As above; they are kept until the kernel has read them.
        given = [g._array for p in params if (g := getattr(p, "_grad", None)) is not None]
        arrays = [p._array for p in params]
        if len(given) < len(arrays) or (lists := table.lists()) is None:
            return False
        if guards:
            before_writes(arrays)
        count = advanced([x._array for x in table.counts]) if rule.counts else 0.0
        if count is None:
            return False
        table.update(lists, rule.later(count))
        stamp_all(arrays, by, code, lasti)
        return True

    def _begun(
        self, rule: UpdateRule, params: list[Tensor]
    ) -> tuple[list[list[np.ndarray] | None] | None, list[np.ndarray]]:
        """The arrays of states that the formula and the counts are in; None if some are missing."""
        if not rule.counts and not any(rule.states):
            return [None for _ in rule.states], []
        state = self.state
        try:
            states = [*map(state.__getitem__, params)]
            columns = [
                None if name is None else [s[name]._array for s in states] for name in rule.states
            ]
            return columns, [s["step"]._array for s in states] if rule.counts else []
        except (KeyError, AttributeError):
            return None, []

    def _known_rule(self, group: Group) -> tuple[UpdateRule, Noted]:
        """The rule of a group, without its `prepare`, which would keep this optimizer alive.

        And what was noted for it.
        """
        noted = Noted()
        rules: list[KnownRule] = self.__dict__.setdefault("_rules", [])
        for known in rules:
            if known.holds(group):
                return known.rule, known.noted
        rule = self._rule(group)
        if group["differentiable"]:
            rule = rule._replace(later=None)
        rule = rule._replace(prepare=_unprepared)
        others = [k for k in rules if k.group is not group]
        ours = {*map(id, self.param_groups)}
        self._rules = [k for k in others if id(k.group) in ours]
        if all(_is_constant(x) for name, x in group.items() if name not in _NO_OPTIONS):
            self._rules.append(KnownRule(group, [*group], [*group.values()], rule, noted))
        return rule, noted

    def _by_step(
        self,
        names: tuple[str, ...],
        numbers: Callable[[float], Numbers],
        begin: Callable[[Tensor], State] | None = None,
    ) -> Prepare:
        """A `prepare` whose numbers depend only on the step count.

        The state starts as zeros under `names`, unless `begin` creates it.
        """
        by_count: dict[float, Numbers] = {}

        def prepare(p: Tensor) -> tuple[State, Numbers]:
            state = begin(p) if begin is not None else self.state[p]
            if not state:
                state["step"] = scalar(0)
                for name in names:
                    state[name] = zero_state(p._array)
            step = advance(state)
            values = by_count.get(step)
            if values is None:
                values = by_count[step] = numbers(step)
            return state, values

        return prepare

    def _rule(self, group: Group) -> UpdateRule:
        raise NotImplementedError


def _unprepared(p: Tensor) -> tuple[State, Numbers]:
    raise NotImplementedError("this rule is of parameters that have stepped before")


def _is_constant(value: Any) -> bool:
    """Whether an option stays what it is while it is the same object."""
    if type(value) is tuple:
        return all(map(_is_constant, value))
    return type(value) in _CONSTANTS


# What groups hold beside their options, and of options the types that do not change.
_NO_OPTIONS = frozenset({"params", "param_names"})
_CONSTANTS = frozenset({bool, int, float, str, type(None)})
_NONE, _DENSE = type(None), {Tensor}


def _update_recorded(rule: UpdateRule, params: list[Tensor]) -> None:
    """Update parameters by operations that gradients pass through, and replace their state."""
    formula, options, names, prepare, *_ = rule
    with enable_grad():
        for p in params:
            state, numbers = prepare(p)
            # Of the parameter a copy, which is still what it was when a gradient is computed.
            before = [p.clone(), p.grad, *[None if name is None else state[name] for name in names]]
            if p.is_complex():
                before = [None if x is None else view_as_real(x) for x in before]
            after, _, *values = recorded(formula)(*before, **numbers, **options)
            if p.is_complex():
                after, *values = (
                    None if x is None else view_as_complex(x) for x in (after, *values)
                )
            p.copy_(after)
            state.update({k: x for k, x in zip(names, values, strict=True) if k is not None})


def gradient_of(p: Tensor) -> CooTensor:
    """The sparse gradient of a parameter; RuntimeError for one that is not in coordinates."""
    g = p._grad
    if not isinstance(g, CooTensor):
        raise RuntimeError(
            f"a sparse gradient has layout torch.sparse_coo, but got {getattr(g, 'layout', None)}"
        )
    return g


def weight_decay_options(group: Group, lr: Any) -> tuple[dict[str, bool], Numbers]:
    """Options and numbers of a rule whose weight decay may be decoupled from the gradient."""
    decay, apart = option(group, "weight_decay"), group["decoupled_weight_decay"]
    options = {"maximize": group["maximize"], "decoupled": apart and decay != 0}
    return options, {"decay": 0.0 if apart else decay, "shrink": 1 - lr * decay}


def move_towards(average: np.ndarray, value: np.ndarray, weight: float) -> None:
    """Move an average towards a value, in place."""
    change = value - average
    change *= weight
    average += change


def advance(state: State) -> float:
    """Increment and return the step count, kept as a tensor, as PyTorch saves it."""
    count: np.ndarray = state["step"]._array
    count[()] = count.item() + 1
    step: float = count.item()
    return step


def scalar(value: float) -> Tensor:
    """A number as a scalar tensor, to be kept in the state."""
    is_double = dtypes.defaults.dtype is dtypes.float64
    return wrap(np.array(value, np.float64 if is_double else np.float32))


def zero_state(p: np.ndarray) -> Tensor:
    """Zeros in the shape, dtype and layout of a parameter."""
    if isinstance(p, Outline):
        return without_memory(p.shape, p.dtype, p.strides)
    return wrap(layout.zeros_like(p))


def filled_state(p: np.ndarray, value: float) -> Tensor:
    """One number in the shape, dtype and layout of a parameter; in both parts of complex ones."""
    state = zero_state(p)
    if not isinstance(p, Outline):
        as_reals(state._array)[...] = value
    return state


def number(value: Any) -> Any:
    """An option, which may be a tensor of one element, as a number."""
    return value._array.item() if isinstance(value, Tensor) else value


def option(group: Group, name: str) -> Any:
    """An option as a number, or as the tensor that it is where a step is differentiable."""
    return group[name] if group["differentiable"] else number(group[name])


def constant(group: Group, value: Any) -> Any:
    """An option as a number; NotImplementedError where a step should pass a gradient to it."""
    if group["differentiable"] and isinstance(value, Tensor) and value.requires_grad:
        raise NotImplementedError(
            "differentiable=True: this optimizer's step passes gradients to parameters, their"
            " gradients and its state, but not to this option; got a tensor that requires grad"
        )
    return number(value)


def valid_defaults(**options: Any) -> Group:
    """The default options of an optimizer's groups, validated.

    Raises ValueError for values out of range, and RuntimeError for combinations that exclude
    each other.
    """
    check_rate(options["lr"])
    checks = {
        "lr": "Invalid learning rate: {}",
        "eps": "Invalid epsilon value: {}",
        "weight_decay": "Invalid weight_decay value: {}",
        "momentum": "Invalid momentum value: {}",
        "momentum_decay": "Invalid momentum_decay value: {}",
        "lr_decay": "Invalid lr_decay value: {}",
        "rho": "Invalid rho value: {}",
        "initial_accumulator_value": "Invalid initial_accumulator_value value: {}",
    }
    for name, message in checks.items():
        if name in options and not number(options[name]) >= 0:
            raise ValueError(message.format(options[name]))
    for i, beta in enumerate(options.get("betas", ())):
        if not 0 <= number(beta) < 1:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    if options.get("differentiable") and options.get("fused"):
        raise RuntimeError("`fused` does not support `differentiable`")
    if options.get("fused") and options["foreach"]:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    return options


def check_rate(lr: Any) -> None:
    """Raise ValueError for a learning rate that is a tensor of several elements."""
    if isinstance(lr, Tensor) and lr._array.size != 1:
        raise ValueError(f"Tensor lr must be 1-element, got one of shape {list(lr._array.shape)}")
