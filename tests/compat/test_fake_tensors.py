"""Fake tensors: shapes, dtypes and devices as PyTorch's, and no elements."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import pytest

import wengert
from tests.cli.process import good, python
from wengert.compat._private import fake_tensors, guards
from wengert.compat._private.fake_tensors import FakeTensor, FakeTensorMode


def story(torch: Any, module: Any) -> list[Any]:
    """What a program learns in a fake mode."""
    found: list[Any] = []

    def tell(make: Any) -> None:
        try:
            made = make()
        except (RuntimeError, AssertionError) as error:
            found.append(type(error).__name__)
        else:
            found.append(repr(made))

    mode = module.FakeTensorMode()
    real = torch.ones(3, 4)
    with mode as entered:
        assert entered is mode
        x = torch.empty(8, 8)
        layer = torch.nn.Linear(8, 2)
        found += [x, str(x.device), str(x.fake_device), x.is_meta, x.is_cpu, layer.weight]
        found.append(isinstance(layer.weight, torch.nn.Parameter))
        y = layer(x).relu()
        found.append(y)
        y.sum().backward()
        found += [layer.weight.grad, x.grad]
        for make in (
            lambda: y.sum().item(), lambda: bool(y.sum() > 0), lambda: y.tolist(),
            lambda: y.numpy(), lambda: torch.nonzero(y), lambda: y[y > 0], lambda: real + 1,
            lambda: real + y, lambda: torch.tensor([1.0, 2]), lambda: torch.unique(y),
            lambda: torch.empty(2, device="cuda") + 1, lambda: x.to("cuda"), lambda: x.cuda(),
            lambda: torch.empty(2, device="meta") + 1, lambda: torch.zeros(3, dtype=torch.int64),
            lambda: torch.zeros(2, requires_grad=True), lambda: torch.arange(3).to("cpu"),
            lambda: torch.ones(2, device="cuda") + torch.ones(2),
            lambda: torch.ones(2, device="cuda") * torch.ones(()),
            lambda: torch.randint(0, 3, (2,)).max(), lambda: list(torch.ones(2)),
            lambda: torch.cat([x, x]).shape,
            lambda: torch.nn.Conv2d(3, 4, 3)(torch.ones(1, 3, 5, 5)),
            lambda: copy.deepcopy(layer).weight, lambda: float(torch.ones(())),
        ):  # fmt: skip
            tell(make)
    fake = mode.from_tensor(real)
    assert mode.from_tensor(real) is fake
    other = module.FakeTensorMode().from_tensor(real)
    parameter = mode.from_tensor(torch.nn.Parameter(torch.ones(2)))
    inner = mode.from_tensor(torch.ones(2, requires_grad=True) * 2)
    found += [fake, fake.fake_mode is mode, parameter, parameter.is_leaf, inner.is_leaf]
    for make in (
        lambda: fake + 1, lambda: fake + real, lambda: fake @ real.T,
        lambda: torch.zeros_like(fake),
        lambda: fake.to(torch.float64), lambda: fake.new_empty(3), lambda: torch.ones(2) + 1,
        lambda: fake.t(), lambda: fake.cpu(), lambda: fake + other, lambda: fake.to("meta"),
        lambda: fake.mul_(2), lambda: torch.split(fake, 2, 1), lambda: copy.deepcopy(fake),
        lambda: fake.item(), lambda: (parameter * 2).detach(), lambda: fake.t().stride(),
        lambda: fake[0:2, 1].storage_offset(), lambda: torch.rand_like(fake),
    ):  # fmt: skip
        tell(make)
    lenient = module.FakeTensorMode(allow_non_fake_inputs=True)
    tell(lambda: lenient.from_tensor(real) + real)
    with lenient:
        tell(lambda: real + 1)
    return [repr(value) for value in found]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_as_pytorch(torch: Any) -> None:
    from torch._subclasses import fake_tensor

    assert story(wengert, fake_tensors) == story(torch, fake_tensor)


def test_which_mode() -> None:
    mode, real = FakeTensorMode(), wengert.ones(2)
    fake = mode.from_tensor(real)
    assert guards.detect_fake_mode([1, {"x": fake}]) is mode
    assert guards.detect_fake_mode([real]) is guards.active_fake_mode() is None
    assert fake_tensors.maybe_get_fake_mode(fake) is mode
    assert fake_tensors.is_fake(fake)
    assert not fake_tensors.is_fake(real)
    with mode:
        assert guards.active_fake_mode() is guards.detect_fake_mode() is mode
        with fake_tensors.unset_fake_temporarily():
            assert wengert.zeros(2).tolist() == [0, 0]
        assert isinstance(wengert.zeros(2), FakeTensor)
    with FakeTensorMode(), pytest.raises(AssertionError, match="doesn't match mode"):
        guards.detect_fake_mode([fake])


def test_nothing_stays_behind() -> None:
    mode = FakeTensorMode()
    with pytest.raises(ZeroDivisionError), mode:
        wengert.ones(2) / (1 // 0)
    assert type(wengert.ones(2)) is wengert.Tensor
    assert (wengert.ones(2) + 1).tolist() == [2, 2]
    gone = weakref.ref(mode)
    fake = mode.from_tensor(wengert.ones(2))
    del mode, fake
    gc.collect()
    assert gone() is None


def test_what_there_is_no_fake_of() -> None:
    with pytest.raises(fake_tensors.UnsupportedFakeTensorException, match="sparse"):
        FakeTensorMode().from_tensor(wengert.eye(2).to_sparse())
    with pytest.raises(NotImplementedError, match="sizes are numbers"):
        FakeTensorMode(static_shapes=False)


def test_modules_on_a_device_that_is_not_there() -> None:
    with FakeTensorMode():
        layer = wengert.nn.Linear(3, 2, device="cuda")
        x = wengert.ones(5, 3, device="cuda:0")
        assert str(layer(x).device) == str(layer.bias.device) == "cuda:0"
        assert layer.bias.is_cuda
        with pytest.raises(fake_tensors.FakeTensorDeviceMismatchError, match="cpu and cuda:0"):
            layer(wengert.ones(5, 3))


def test_optimizers() -> None:
    with FakeTensorMode():
        model = wengert.nn.Sequential(wengert.nn.Linear(4, 3), wengert.nn.BatchNorm1d(3))
        for kind in (wengert.optim.Adam, wengert.optim.SGD, wengert.optim.Adagrad):
            optimizer = kind(model.parameters(), lr=0.1)
            model(wengert.ones(5, 4)).sum().backward()
            optimizer.step()
            assert all(isinstance(p, FakeTensor) for p in model.parameters())


def test_under_the_alias() -> None:
    program = """if True:
        from wengert import compat
        compat.install()
        import torch
        from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
        from torch._subclasses import FakeTensor
        from torch._guards import detect_fake_mode
        with FakeTensorMode():
            model = torch.nn.TransformerEncoderLayer(16, 2, batch_first=True)
            print(model(torch.rand(2, 5, 16)).shape, detect_fake_mode() is not None)
        print(torch.ones(1).item())
    """
    assert good(python("-c", program)) == "torch.Size([2, 5, 16]) True\n1.0\n"
