"""state_dict and load_state_dict: keys, errors that name all of them, and nothing half loaded."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.parity import ours
from wengert import nn


def net(library: Any) -> Any:
    return library.nn.Sequential(
        library.nn.Linear(2, 3), library.nn.BatchNorm1d(3), library.nn.Linear(3, 1)
    )


def broken(library: Any) -> Any:
    state = net(library).state_dict()
    del state["0.bias"], state["2.weight"]
    state["0.weight"] = library.zeros(5, 2)
    state["extra"] = library.zeros(1)
    state["1.other"] = library.zeros(1)
    state["2.bias"] = library.zeros(7)
    return state


@pytest.mark.torch
@pytest.mark.parametrize("strict", [True, False])
def test_all_mismatches_are_named_at_once_as_in_pytorch(torch: Any, strict: bool) -> None:
    messages = []
    for library in (wengert, torch):
        with pytest.raises(RuntimeError, match=r"size mismatch for 0\.weight") as caught:
            net(library).load_state_dict(broken(library), strict=strict)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_nothing_is_loaded_where_a_check_fails() -> None:
    module = net(wengert)
    before = {k: v.clone() for k, v in module.state_dict().items()}
    state = {k: v + 1 for k, v in before.items()}
    for wrong in ({**state, "extra": state["0.bias"]}, {**state, "2.bias": wengert.zeros(9)}):
        with pytest.raises(RuntimeError, match=r"Error\(s\) in loading state_dict for Sequential"):
            module.load_state_dict(wrong)
        for k, v in module.state_dict().items():
            assert v.tolist() == before[k].tolist()


def test_mismatched_keys_are_returned_without_strict() -> None:
    module, state = net(wengert), net(wengert).state_dict()
    assert repr(module.load_state_dict(state)) == "<All keys matched successfully>"
    del state["0.bias"]
    state["extra"] = wengert.zeros(1)
    keys = module.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["0.bias"]
    assert keys.unexpected_keys == ["extra"]
    assert repr(keys) == ("_IncompatibleKeys(missing_keys=['0.bias'], unexpected_keys=['extra'])")
    assert module[0].weight.tolist() == state["0.weight"].tolist()


def test_values_are_copied_converted_and_stamped() -> None:
    module = nn.Linear(2, 1)
    weight = module.weight
    loss = (weight * weight).sum()
    state = {"weight": wengert.ones(1, 2, dtype=wengert.float64), "bias": wengert.zeros(1)}
    module.load_state_dict(state)
    assert module.weight is weight
    assert weight.dtype is wengert.float32
    assert weight.tolist() == [[1, 1]]
    state["weight"].fill_(9)
    assert weight.tolist() == [[1, 1]]
    with pytest.raises(RuntimeError, match="load_state_dict"):
        loss.backward()


def test_assign_adopts_the_tensors() -> None:
    module = nn.Linear(2, 1)
    module.bias.requires_grad_(False)
    state = {
        "weight": wengert.ones(1, 2, dtype=wengert.float64),
        "bias": nn.Parameter(wengert.ones(1)),
    }
    module.load_state_dict(state, assign=True)
    assert module.weight.dtype is wengert.float64
    assert module.weight.requires_grad
    assert module.bias is state["bias"]
    assert not module.bias.requires_grad


def test_state_shares_memory_and_wants_no_gradient() -> None:
    module = nn.Linear(2, 1)
    state = module.state_dict()
    assert isinstance(state, OrderedDict)
    assert not state["weight"].requires_grad
    state["weight"].zero_()
    assert module.weight.tolist() == [[0, 0]]
    assert module.state_dict(keep_vars=True)["weight"] is module.weight
    assert list(module.state_dict(prefix="a.")) == ["a.weight", "a.bias"]


@pytest.mark.torch
def test_metadata_and_order_are_pytorchs(torch: Any) -> None:
    a, b = net(wengert).state_dict(), net(torch).state_dict()
    assert list(a) == list(b)
    assert dict(a._metadata) == dict(b._metadata)


@pytest.mark.torch
def test_states_travel_from_pytorch(torch: Any) -> None:
    reference, module = net(torch).eval(), net(wengert).eval()
    module.load_state_dict(ours(dict(reference.state_dict())))
    x = torch.randn(4, 2)
    np.testing.assert_allclose(
        module(ours(x)).detach().numpy(), reference(x).detach().numpy(), rtol=1e-5, atol=1e-6
    )


def test_extra_state_and_old_layouts() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            self.count = state["count"]

    a, b = Counting(), Counting()
    a.count = 3
    assert b.load_state_dict(a.state_dict()).missing_keys == []
    assert b.count == 3
    with pytest.raises(RuntimeError, match=r'Missing key.*"_extra_state"'):
        b.load_state_dict({})
    norm = nn.BatchNorm1d(2)
    state = dict(norm.state_dict())  # without metadata, as before version 2
    del state["num_batches_tracked"]
    norm.load_state_dict(state)
    assert norm.num_batches_tracked.item() == 0


def test_what_no_state_dict_can_be() -> None:
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got"):
        nn.Linear(1, 1).load_state_dict([1])  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=r"expected torch\.Tensor or Tensor-like object"):
        nn.Linear(1, 1).load_state_dict({"weight": 3, "bias": wengert.zeros(1)})


def test_hooks_around_saving_and_loading() -> None:
    story: list[Any] = []
    module = nn.Sequential(nn.Linear(1, 1))
    module.register_state_dict_pre_hook(lambda m, prefix, keep: story.append(("pre", prefix)))
    module[0].register_state_dict_post_hook(
        lambda m, state, prefix, meta: story.append(("post", prefix, list(state)))
    )
    state = module.state_dict()
    assert story == [("pre", ""), ("post", "0.", ["0.weight", "0.bias"])]

    def rename(m: Any, state: Any, prefix: str, *rest: Any) -> None:
        state[f"{prefix}weight"] = state.pop(f"{prefix}w")

    def forgive(m: Any, keys: Any) -> None:
        keys.missing_keys.clear()
        story.append(float(module[0].weight.sum()))

    module[0].register_load_state_dict_pre_hook(rename)
    module.register_load_state_dict_post_hook(forgive)
    module.load_state_dict({"0.w": state["0.weight"] * 0 + 7})
    assert story[-1] == 7
