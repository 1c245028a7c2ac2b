"""Dtypes, policies and states of sharded modules; modules on the meta device."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert
from tests.distributed.ranks import Ranks
from tests.distributed.test_sharding import adam, assert_same, batches, net, part, train, trained
from wengert import nn
from wengert.distributed.fsdp import (
    CPUOffload,
    DTensor,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    fully_shard,
    register_fsdp_forward_method,
)
from wengert.distributed.fsdp.wrap import (
    CustomPolicy,
    ModuleWrapPolicy,
    lambda_auto_wrap_policy,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
)
from wengert.distributed.fsdp.wrapper import wrap_submodules

FULL = StateDictType.FULL_STATE_DICT


class Seen(nn.Module):
    """A layer that notes the dtypes in its forward."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2).double()
        self.register_buffer("offset", wengert.ones(2, dtype=wengert.float64))

    def forward(self, x: Any, scale: Any = 1) -> Any:
        self.dtypes = x.dtype, self.linear.weight.dtype, self.offset.dtype
        return self.linear(x) * scale + self.offset

    def doubled(self, x: Any) -> Any:
        return 2 * self.linear(x)


def check_precision(rank: int, size: int) -> None:
    """Parameters and arguments are cast, averages taken in another dtype, results cast back."""
    half, single, double = wengert.bfloat16, wengert.float32, wengert.float64
    model = Seen()
    everyone = np.sin(np.arange(4.0 * size * 3)).reshape(size, 4, 3)
    fully_shard(model, mp_policy=MixedPrecisionPolicy(half, single, double))
    weights = model.linear.weight.full_tensor()
    output = model(wengert.tensor(everyone[rank]), scale=wengert.tensor(3, dtype=wengert.int64))
    assert model.dtypes == (half, half, double)
    assert output.dtype is double
    output.sum().backward()
    gradient = model.linear.weight.grad
    assert gradient.dtype is double
    whole = 3 * everyone.sum(1).mean(0)[None].repeat(2, 0)
    averaged = gradient.full_tensor().numpy()
    np.testing.assert_allclose(averaged, whole, rtol=0.03, atol=0.03)
    assert wengert.equal(model.linear.weight.full_tensor(), weights)
    exact = MixedPrecisionPolicy(reduce_dtype=single, cast_forward_inputs=False)
    other = fully_shard(Seen(), mp_policy=exact)
    other(wengert.tensor(everyone[rank])).sum().backward()
    assert other.dtypes == (double, double, double)
    expected = everyone.sum(1).mean(0)[None].repeat(2, 0)
    averaged = other.linear.weight.grad.full_tensor().numpy()
    np.testing.assert_allclose(averaged, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(averaged, averaged.astype(np.float32))


def check_divisor_and_second_derivatives(rank: int, size: int) -> None:
    """Sums are divided by what the module was told, in gradients of gradients as well."""
    model = nn.Linear(2, 2, bias=False).double()
    fully_shard(model, mp_policy=MixedPrecisionPolicy(reduce_dtype=wengert.float64))
    model.set_gradient_divide_factor(1.0)
    x = wengert.tensor([1.0 + rank, 2.0], dtype=wengert.float64)
    (model(x) ** 2).sum().backward(create_graph=True)
    weight = model.weight.full_tensor().detach().numpy()
    inputs = [np.array([1.0 + r, 2.0]) for r in range(size)]
    first = sum(2 * np.outer(weight @ v, v) for v in inputs)
    np.testing.assert_allclose(model.weight.grad.full_tensor().detach().numpy(), first)
    gradient, model.weight.grad = model.weight.grad, None
    gradient.sum().backward()
    second = sum(2 * np.outer(np.ones(2) * v.sum(), v) for v in inputs)
    np.testing.assert_allclose(model.weight.grad.full_tensor().numpy(), second)


def check_gathering_by_hand(rank: int, size: int) -> None:
    model = fully_shard(Seen())
    x = wengert.ones(1, 3, dtype=wengert.float64)
    expected = model(x)
    model.unshard(async_op=True).wait()
    assert not isinstance(model.linear.weight, DTensor)
    assert wengert.equal(model(x), expected)
    assert isinstance(model.linear.weight, DTensor)
    model.unshard()
    model.reshard()
    model.reshard()
    assert isinstance(model.linear.weight, DTensor)
    register_fsdp_forward_method(model, "doubled")
    assert wengert.equal(model.doubled(x), 2 * (expected - 1))


def check_meta(rank: int, size: int) -> None:
    """A model without memory is sharded, gets memory for its rows, and then a state."""
    source = net()
    with wengert.device("meta"):
        model = type(source)()
    fully_shard(model.trunk)
    fully_shard(model.double())
    weight = model.head.weight
    assert isinstance(weight, DTensor)
    assert weight.is_meta
    model.to_empty(device="cpu")
    rows = model.head.weight
    assert isinstance(rows, DTensor)
    assert not rows.is_meta
    model.load_state_dict(source.state_dict())
    x, _ = batches(1)
    assert wengert.allclose(model(x), source(x))


def check_states(rank: int, size: int) -> None:
    x, y = batches(size)
    expected, plain, _ = trained(size)
    policy = ModuleWrapPolicy({nn.Sequential})
    model = FullyShardedDataParallel(
        net(), auto_wrap_policy=policy, cpu_offload=CPUOffload(True), use_orig_params=True
    )
    optimizer = adam(model)
    train(model, optimizer, *part(rank, x, y))
    assert FullyShardedDataParallel.get_state_dict_type(model).state_dict_type is FULL
    first = FullStateDictConfig(rank0_only=True), FullOptimStateDictConfig(rank0_only=True)
    with FullyShardedDataParallel.state_dict_type(model, FULL, *first):
        weights = model.state_dict()
        moments = FullyShardedDataParallel.optim_state_dict(model, optimizer)
    assert (bool(weights), bool(moments)) == (rank == 0, rank == 0)
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        assert all(isinstance(value, DTensor) for value in model.state_dict().values())
        rows = FullyShardedDataParallel.optim_state_dict(model, optimizer)
        assert isinstance(rows["state"]["head.weight"]["exp_avg"], DTensor)
    moments = FullyShardedDataParallel.optim_state_dict(model, optimizer)
    assert_same(moments["state"]["head.weight"], plain.state[expected.head.weight])
    again = FullyShardedDataParallel(net(), auto_wrap_policy=policy)
    fresh = adam(again)
    again.load_state_dict(model.state_dict())
    fresh.load_state_dict(FullyShardedDataParallel.optim_state_dict_to_load(again, fresh, moments))
    train(expected, plain, x, y)
    train(again, fresh, *part(rank, x, y))
    assert_same(again.state_dict(), expected.state_dict())
    with FullyShardedDataParallel.summon_full_params(again):
        assert again.head.weight.shape == expected.head.weight.shape
        with wengert.no_grad():
            again.head.weight.mul_(2)
    with FullyShardedDataParallel.summon_full_params(again, writeback=False), wengert.no_grad():
        again.head.weight.zero_()
    doubled = again.state_dict()["head.weight"]
    assert wengert.allclose(doubled, 2 * expected.head.weight)


def check_wrapped_precision(rank: int, size: int) -> None:
    """Submodules and buffers have the dtypes of the policy; batch norm keeps float32."""
    layers = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    seen: dict[str, Any] = {}
    for name, layer in layers.named_children():
        layer.register_forward_hook(
            lambda layer, args, output, name=name: seen.update({name: (layer.weight.dtype,
                                                                       args[0].dtype)})
        )  # fmt: skip
    half = MixedPrecision(param_dtype=wengert.bfloat16, buffer_dtype=wengert.bfloat16)
    model = FullyShardedDataParallel(
        layers, mixed_precision=half, auto_wrap_policy=CustomPolicy(lambda m: False)
    )
    output = model(wengert.ones(5, 3))
    output.sum().backward()
    assert output.dtype is wengert.bfloat16
    assert seen["0"] == (wengert.bfloat16, wengert.bfloat16)
    assert seen["1"] == (wengert.float32, wengert.float32)
    assert layers[1].running_mean.dtype is wengert.float32
    assert layers[0].weight.grad.dtype is wengert.float32


def check_refusals(rank: int, size: int) -> None:
    for strategy in (ShardingStrategy.NO_SHARD, ShardingStrategy.HYBRID_SHARD):
        with pytest.raises(ValueError, match=f"{strategy.name}.*FULL_SHARD or SHARD_GRAD_OP"):
            FullyShardedDataParallel(nn.Linear(2, 1), sharding_strategy=strategy)
    with pytest.raises(NotImplementedError, match="shard_placement_fn"):
        fully_shard(nn.Linear(2, 1), shard_placement_fn=lambda p: None)


CHECKS = [
    check_precision, check_divisor_and_second_derivatives, check_gathering_by_hand, check_meta,
    check_states, check_wrapped_precision, check_refusals,
]  # fmt: skip


@pytest.mark.parametrize("check", CHECKS)
def test_ranks(ranks: Ranks, check: Any) -> None:
    ranks.run(check)


def chosen(policy: Any) -> list[str]:
    model = nn.Sequential(
        nn.Sequential(nn.Linear(10, 10), nn.Linear(10, 1)),
        nn.ModuleList([nn.Linear(10, 10)]),
        nn.MultiheadAttention(8, 2),
    )
    names = {module: name for name, module in model.named_modules()}
    found: list[str] = []
    wrap_submodules(model, policy, lambda module, overrides: found.append(names[module]))
    return found


def test_which_submodules_a_policy_wraps() -> None:
    """Of 110, 11 and 110 elements; what is wrapped within does not count. Attention is a leaf."""
    by_size = partial(size_based_auto_wrap_policy, min_num_params=100)
    assert chosen(by_size) == ["0.0", "1.0"]
    assert chosen(partial(by_size, min_num_params=115)) == ["0"]
    assert chosen(partial(by_size, exclude_wrap_modules={nn.Linear})) == ["0", "1"]
    assert chosen(ModuleWrapPolicy([nn.Sequential])) == ["0"]
    is_list = partial(lambda_auto_wrap_policy, lambda_fn=lambda m: isinstance(m, nn.ModuleList))
    assert chosen(is_list) == ["1"]
    layers = partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.MultiheadAttention})
    assert chosen(layers) == ["2"]
    assert chosen(CustomPolicy(lambda module: {} or isinstance(module, nn.ModuleList))) == ["1"]
