"""Optimizers: trajectories, state and errors are PyTorch's."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.both import agree, batch, layer
from wengert import optim
from wengert.kernels.jit import formulas

CONFIGURATIONS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.2}),
    ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.5, "maximize": True}),
    ("RMSprop", {"lr": 0.05}),
    ("RMSprop", {"lr": 0.05, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "alpha": 0.5}),
    ("RMSprop", {"lr": 0.05, "momentum": 0.9, "centered": True, "maximize": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "eps": 1e-3}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.5, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {"lr": 0.05}),
    ("Adamax", {"lr": 0.05, "betas": (0.5, 0.9), "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.05}),
    ("NAdam", {"lr": 0.05, "momentum_decay": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.05}),
    ("RAdam", {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("ASGD", {"lr": 0.05}),
    ("ASGD", {"lr": 0.05, "lambd": 0.1, "alpha": 0.5, "t0": 3, "weight_decay": 0.1}),
    ("Rprop", {"lr": 0.05}),
    ("Rprop", {"lr": 0.05, "etas": (0.3, 1.5), "step_sizes": (0.01, 0.1), "maximize": True}),
    ("Adafactor", {"lr": 0.05}),
    ("Adafactor", {"lr": 0.05, "d": 2.0, "eps": (1e-5, 1e-2), "weight_decay": 0.1}),
    ("Adafactor", {"lr": 0.05, "beta2_decay": -0.5, "maximize": True}),
]

# Whose steps depend on a parameter as a whole.
WHOLE = {"Adafactor"}

each = pytest.mark.parametrize(("name", "options"), CONFIGURATIONS)
SHAPES = [(4, 3), (3,), ()]


class Training:
    """Some parameters, and gradients that depend on where they are."""

    def __init__(self, library: Any, dtype: str, name: str, options: dict[str, Any]) -> None:
        rng = np.random.default_rng(0)
        self.library = library
        self.parameters = [
            library.tensor(rng.normal(size=s).astype(dtype)).requires_grad_() for s in SHAPES
        ]
        self.unused = library.zeros(2, requires_grad=True)
        made = [*self.parameters, self.unused]
        self.optimizer = getattr(library.optim, name)(made, **options)
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        for i, p in enumerate(self.parameters):
            x = p.detach().numpy()
            g = np.sin(3 * x + i) + 0.1 * self.steps * x
            p.grad = self.library.from_numpy(np.asarray(g, x.dtype))
        self.optimizer.step()

    def values(self) -> list[np.ndarray]:
        return [p.detach().numpy() for p in self.parameters]


def pair(torch: Any, dtype: str, name: str, options: dict[str, Any]) -> tuple[Any, Any]:
    return Training(wengert, dtype, name, options), Training(torch, dtype, name, options)


@pytest.mark.torch
@each
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-6)])
def test_trajectory(
    name: str, options: dict[str, Any], dtype: str, tolerance: float, torch: Any
) -> None:
    a, b = pair(torch, dtype, name, options)
    for _ in range(20):
        a.step()
        b.step()
    for x, y in zip(a.values(), b.values(), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    assert a.unused.tolist() == [0, 0]


@pytest.mark.torch
@each
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, 1e-310, 1e100])
@pytest.mark.parametrize("shape", [(7,), (24, 100)], ids=str)
def test_a_special_gradient_spoils_what_it_spoils_in_torch(
    name: str, options: dict[str, Any], value: float, shape: tuple[int, ...], torch: Any
) -> None:
    rng = np.random.default_rng(0)
    start, gradients = rng.normal(size=shape), rng.normal(size=(4, *shape))
    gradients[1].flat[5] = value
    a, b = results = [library.tensor(start).requires_grad_() for library in (wengert, torch)]
    for library, p in zip((wengert, torch), results, strict=True):
        optimizer = getattr(library.optim, name)([p], **options)
        for g in gradients:
            p.grad = library.from_numpy(g)
            optimizer.step()
    # PyTorch moves averages by a*b + c or (a - b)*c + b as foreach would have it.
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-9)


def plain(state: Any) -> Any:
    """A state dictionary with arrays in the place of tensors."""
    if isinstance(state, dict):
        return {k: plain(v) for k, v in state.items()}
    return state.detach().numpy() if hasattr(state, "detach") else state


@pytest.mark.torch
@each
def test_states_are_interchangeable(name: str, options: dict[str, Any], torch: Any) -> None:
    a, b = pair(torch, "float64", name, options)
    for _ in range(3):
        a.step()
        b.step()
    ours, theirs = a.optimizer.state_dict(), b.optimizer.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    assert ours["state"].keys() == theirs["state"].keys()
    for i, state in theirs["state"].items():
        assert ours["state"][i].keys() == state.keys()
        for key, value in plain(state).items():
            mine = plain(ours["state"][i][key])
            assert mine.dtype == value.dtype
            np.testing.assert_allclose(mine, value, rtol=1e-12)
    # Their state in our optimizer: the trajectories go on together.
    c = Training(wengert, "float64", name, options)
    carried = {
        "state": {i: {k: wengert.from_numpy(v) for k, v in s.items()}
                  for i, s in plain(theirs["state"]).items()},
        "param_groups": theirs["param_groups"],
    }  # fmt: skip
    c.optimizer.load_state_dict(carried)
    b.optimizer.load_state_dict(theirs)  # which takes counts to the parameters' dtype, as ours
    c.steps = b.steps
    for p, q in zip(c.parameters, b.parameters, strict=True):
        p.data = wengert.from_numpy(q.detach().numpy().copy())
    for _ in range(3):
        b.step()
        c.step()
    for x, y in zip(c.values(), b.values(), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)


@pytest.mark.torch
@each
def test_repr_and_defaults(name: str, options: dict[str, Any], torch: Any) -> None:
    a, b = pair(torch, "float32", name, options)
    assert repr(a.optimizer) == repr(b.optimizer)
    assert a.optimizer.defaults == b.optimizer.defaults


@each
def test_large_and_strided_parameters_step_as_small_ones(
    name: str, options: dict[str, Any]
) -> None:
    """Blocks, and arrays that cannot be cut into blocks, give the same values."""
    if name in WHOLE:
        return
    rng = np.random.default_rng(0)
    values, grads = rng.normal(size=(2, 300, 250))
    results = []
    for cut in (False, True):
        rows = [slice(i, i + 50) for i in range(0, 300, 50)] if cut else [slice(None)]
        made = [wengert.tensor(values[r]).requires_grad_() for r in rows]
        optimizer = getattr(optim, name)(made, **options)
        for _ in range(2):
            for p, r in zip(made, rows, strict=True):
                p.grad = wengert.tensor(grads[r])
            optimizer.step()
        results.append(np.concatenate([p.detach().numpy() for p in made]))
    np.testing.assert_array_equal(*results)
    turned = wengert.from_numpy(values.copy().T).requires_grad_()
    optimizer = getattr(optim, name)([turned], **options)
    for _ in range(2):
        turned.grad = wengert.tensor(np.ascontiguousarray(grads.T))
        optimizer.step()
    np.testing.assert_array_equal(turned.detach().numpy().T, results[0])


def many_parameters(library: Any) -> list[Any]:
    """Float32 parameters enough for one pass; some among them that it cannot take."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype("f4") for s in [(70, 90), (0,), (33,), (), (40, 50)]]
    made = [library.from_numpy(a).requires_grad_() for a in arrays]
    made += [library.from_numpy(rng.normal(size=(20, 30))).requires_grad_()]
    made += [library.from_numpy(rng.normal(size=(90, 70)).astype("f4").T).requires_grad_()]
    made += [library.zeros(5000, requires_grad=True)]  # without a gradient
    return made


@pytest.mark.torch
@each
def test_many_parameters_at_once(name: str, options: dict[str, Any], torch: Any) -> None:
    if name in WHOLE:
        return
    ours, theirs = many_parameters(wengert), many_parameters(torch)
    a, b = (
        getattr(library.optim, name)(made, **options)
        for library, made in ((wengert, ours), (torch, theirs))
    )
    for step in range(6):
        for i, (p, q) in enumerate(zip(ours[:-1], theirs[:-1], strict=True)):
            if i == 2 and step < 2:
                continue  # which is then some steps behind the others
            g = np.asarray(np.sin(3 * q.detach().numpy() + i), q.detach().numpy().dtype)
            p.grad, q.grad = wengert.from_numpy(g), torch.from_numpy(g)
        a.step()
        b.step()
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=2e-6, atol=2e-6)


@each
def test_parameters_that_share_memory_step_in_turn(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in WHOLE:
        return
    results = []
    for _ in range(2):
        memory = np.linspace(-1, 1, 3000, dtype="f4")
        made = [wengert.from_numpy(memory[k:]).requires_grad_() for k in (0, 1, 2)]
        optimizer = getattr(optim, name)(made, **options)
        for _ in range(2):
            for k, p in enumerate(made):
                p.grad = wengert.full_like(p, 1.0 + k)
            optimizer.step()
        results.append(memory)
        monkeypatch.setattr(formulas, "many", lambda column: False)
    np.testing.assert_array_equal(*results)


def test_one_pass_is_seen_by_the_graph() -> None:
    w = wengert.ones(100, 90, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.5)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    with pytest.raises(RuntimeError, match=r"SGD\.step\(\)"):
        loss.backward()


@pytest.mark.torch
@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad"])
@pytest.mark.parametrize("turned", [False, True])
def test_complex_parameters(name: str, turned: bool, torch: Any) -> None:
    rng = np.random.default_rng(0)
    value, g = rng.normal(size=(2, 3, 4)) + 1j * rng.normal(size=(2, 3, 4))
    results = []
    for library in (wengert, torch):
        array = value.copy()
        p = library.from_numpy(array.T if turned else array).requires_grad_()
        p.grad = library.from_numpy(np.ascontiguousarray(g.T) if turned else g.copy())
        optimizer = getattr(library.optim, name)([p], lr=0.1)
        optimizer.step()
        optimizer.step()
        results.append(p.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_signatures(name: str, torch: Any) -> None:
    ours = inspect.signature(getattr(optim, name).__init__).parameters
    theirs = inspect.signature(getattr(torch.optim, name).__init__).parameters
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [
        (p.name, p.kind, p.default) for p in theirs.values()
    ]


def weight() -> Any:
    return wengert.ones(2, requires_grad=True)


WRONG = [
    "optim.SGD([])",
    "optim.SGD(torch.zeros(1))",
    "optim.SGD([3])",
    "optim.SGD([torch.zeros(1, requires_grad=True) * 2])",
    "optim.SGD([torch.zeros(1)], lr=-1)",
    "optim.SGD([torch.zeros(1)], momentum=-1)",
    "optim.SGD([torch.zeros(1)], weight_decay=-1)",
    "optim.SGD([torch.zeros(1)], nesterov=True)",
    "optim.SGD([{'params': {torch.zeros(1)}}])",
    "optim.SGD([{'params': [w]}, {'params': [w]}])",
    "optim.SGD([('a', w), torch.zeros(1)])",
    "optim.SGD([w]).add_param_group({'params': [w]})",
    "optim.SGD([w]).add_param_group(3)",
    "optim.SGD([w]).load_state_dict({'state': {}, 'param_groups': []})",
    "optim.SGD([w]).load_state_dict({'state': {}, 'param_groups': [{'params': [0, 1]}]})",
    "optim.Adam([w], lr=-0.1)",
    "optim.Adam([w], eps=-1)",
    "optim.Adam([w], betas=(1.0, 0.9))",
    "optim.Adam([w], betas=(0.9, -1))",
    "optim.Adam([w], weight_decay=-1)",
    "optim.RMSprop([w], alpha=-1)",
    "optim.Adagrad([w], lr_decay=-1)",
    "optim.Adagrad([w], initial_accumulator_value=-1)",
]


@pytest.mark.torch
@pytest.mark.parametrize("text", WRONG)
def test_errors_are_pytorchs(text: str, torch: Any) -> None:
    caught = []
    for library in (wengert, torch):
        names = {
            "torch": library,
            "optim": library.optim,
            "w": library.zeros(1, requires_grad=True),
        }
        with pytest.raises((TypeError, ValueError)) as error:
            eval(text, names)
        caught.append((type(error.value), str(error.value).split("<")[0].rstrip(".")))
    (our_type, ours), (their_type, theirs) = caught
    assert our_type is their_type
    assert ours.startswith(theirs.removesuffix("torch.Tensor"))


def test_duplicates_warn() -> None:
    w = weight()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([w, w])


def test_groups_have_their_own_options() -> None:
    a, b = weight(), weight()
    optimizer = optim.SGD([{"params": a}, {"params": [b], "lr": 0.5}], lr=0.25)
    optimizer.add_param_group({"params": [weight()], "momentum": 0.9})
    assert [g["lr"] for g in optimizer.param_groups] == [0.25, 0.5, 0.25]
    (a.sum() + b.sum()).backward()
    optimizer.step()
    assert a.tolist() == [0.75, 0.75]
    assert b.tolist() == [0.5, 0.5]


def test_named_parameters_keep_their_names() -> None:
    optimizer = optim.SGD([("a", weight()), ("b", weight())])
    saved = optimizer.state_dict()
    assert saved["param_groups"][0]["param_names"] == ["a", "b"]
    assert saved["param_groups"][0]["params"] == [0, 1]


def test_zero_grad() -> None:
    w = weight()
    optimizer = optim.SGD([w])
    w.sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert w.grad is None


def test_zero_grad_writes_into_the_gradients_memory() -> None:
    w, net = weight(), wengert.nn.Linear(2, 1, bias=False)
    flat = wengert.full((4,), float("nan"))
    w.grad, net.weight.grad = flat[:2], flat[2:].view(1, 2)
    g = w.grad
    optim.SGD([w]).zero_grad(set_to_none=False)
    net.zero_grad(set_to_none=False)
    assert flat.tolist() == [0, 0, 0, 0]
    assert w.grad is g


def test_zero_grad_of_a_gradient_with_a_graph() -> None:
    w = weight()
    (w * w).sum().backward(create_graph=True)
    g = w.grad
    optim.SGD([w]).zero_grad(set_to_none=False)
    assert w.grad is g
    assert not g.requires_grad
    assert g.tolist() == [0, 0]


def test_closure_computes_with_gradients() -> None:
    w = weight()
    optimizer = optim.SGD([w], lr=0.5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with wengert.no_grad():
        assert optimizer.step(closure).item() == 2
    assert w.tolist() == [0, 0]


def test_hooks_around_steps_and_states() -> None:
    w, story = weight(), []
    optimizer = optim.SGD([w], lr=0.5)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: story.append("pre"))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: story.append("post"))
    optimizer.register_state_dict_pre_hook(lambda o: story.append("saving"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: story.append(state["more"]))
    optimizer.register_load_state_dict_post_hook(lambda o: story.append("loaded"))
    optimizer.step()
    handle.remove()
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    assert story == ["pre", "post", "pre", "saving", 1, "loaded"]


def test_users_subclasses_have_hooks_too() -> None:
    class Sign(optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        @wengert.no_grad()
        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(p.grad.sign() * group["lr"])

    w, calls = weight(), []
    optimizer = Sign([w], lr=0.25)
    optimizer.register_step_post_hook(lambda *args: calls.append(1))
    (w * w).sum().backward()
    optimizer.step()
    assert w.tolist() == [0.75, 0.75]
    assert calls == [1]


def test_a_graph_from_before_the_step_names_its_line() -> None:
    w = weight()
    optimizer = optim.Adam([w], lr=0.5)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    optimizer.step()  # the line that the error names
    with pytest.raises(RuntimeError, match=r"Adam\.step\(\)") as caught:
        loss.backward()
    assert "the line that the error names" in str(caught.value)


def test_tensor_learning_rates() -> None:
    w = weight()
    optimizer = optim.SGD([w], lr=wengert.tensor(0.5))
    w.sum().backward()
    optimizer.step()
    assert w.tolist() == [0.5, 0.5]


def test_loading_copies_state_to_the_dtype_of_the_parameter() -> None:
    a, b = weight(), wengert.ones(2, dtype=wengert.float64, requires_grad=True)
    source, target = optim.Adam([a]), optim.Adam([b])
    a.sum().backward()
    source.step()
    target.load_state_dict(source.state_dict())
    assert target.state[b]["exp_avg"].dtype is wengert.float64
    assert target.state[b]["step"].dtype is wengert.float32
    target.state[b]["step"].fill_(9)
    assert source.state[a]["step"].item() == 1


def test_copies_and_pickles_step_on_their_own() -> None:
    w = weight()
    optimizer = optim.SGD([w], lr=0.5, momentum=0.9)
    w.sum().backward()
    optimizer.step()
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        (p,) = twin.param_groups[0]["params"]
        assert p is not w
        p.grad = wengert.ones(2)
        twin.step()
        assert p.tolist() != w.tolist()
        assert twin.state[p]["momentum_buffer"].tolist() == pytest.approx([1.9, 1.9])


@pytest.mark.torch
def test_an_optimizer_that_wraps_another_without_its_constructor(torch: Any) -> None:
    """As many of the kind Lookahead do."""

    def answers(lib: Any) -> list[Any]:
        class Lookahead(lib.optim.Optimizer):
            def __init__(self, inner: Any) -> None:
                self.inner, self.param_groups, self.state = inner, inner.param_groups, inner.state
                self.slow = [p.detach().clone() for g in self.param_groups for p in g["params"]]

            def zero_grad(self) -> None:
                self.inner.zero_grad()

            def step(self, closure: Any = None) -> None:
                self.inner.step()
                fast = [p for g in self.param_groups for p in g["params"]]
                for slow, p in zip(self.slow, fast, strict=True):
                    slow.add_(p.data - slow, alpha=0.5)
                    p.data.copy_(slow)

        net = layer(lib)
        optimizer = Lookahead(lib.optim.Adam(net.parameters(), lr=0.1))
        for _ in range(3):
            optimizer.zero_grad()
            net(batch(lib)).pow(2).sum().backward()
            optimizer.step()
        return list(net.parameters())

    agree(torch, answers)


@pytest.mark.torch
def test_saved_groups_list_their_options_as_pytorch_does(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        optimizer = lib.optim.SGD([lib.ones(2, requires_grad=True)], lr=0.1)
        return [list(group) for group in optimizer.state_dict()["param_groups"]]

    agree(torch, answers)
