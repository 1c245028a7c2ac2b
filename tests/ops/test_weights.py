"""Weights that are used again as they were: what is kept of them, and every way to change them."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import compiler, nn, optim
from wengert.distributed import checkpoint
from wengert.kernels import derived
from wengert.kernels.jit import available
from wengert.nn import Parameter

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")

INPUT = (2, 16, 12, 12)


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    derived.drop_all()
    yield
    derived.drop_all()


def layer(kind: Any = nn.Conv2d, **options: Any) -> Any:
    wengert.manual_seed(0)
    return kind(16, 24, 3, padding=1, **options)


def image() -> wengert.Tensor:
    wengert.manual_seed(1)
    return wengert.randn(*INPUT)


@wengert.no_grad()
def used(module: nn.Module, times: int = 1) -> wengert.Tensor:
    """The output of the last of some uses."""
    for _ in range(times):
        out = module(image())
    return out


def kept(module: Any) -> bool:
    return derived.keeps_for(module.weight._array) and derived.kept_bytes() > 0


@wengert.no_grad()
def expected(module: Any) -> wengert.Tensor:
    """The output with weights of which nothing is kept."""
    fresh = type(module)(16, 24, 3, padding=1, stride=module.stride)
    fresh.weight = Parameter(module.weight.detach().clone())
    fresh.bias = Parameter(module.bias.detach().clone())
    return fresh(image())


@wengert.no_grad()
def by_function(module: Any) -> wengert.Tensor:
    """The output of a call that does not note the use of the weight."""
    out: wengert.Tensor = nn.functional.conv2d(
        image(), module.weight, module.bias, module.stride, module.padding
    )
    return out


def check(module: Any) -> None:
    """The output is right now, and when it has been computed again."""
    right = expected(module)
    if isinstance(module, nn.Conv2d):
        assert wengert.equal(by_function(module), right)
    for _ in range(4):
        assert wengert.equal(used(module), right)


FORMS = {
    "in tiles": {},
    "direct": {"stride": 2},
    "transposed": {"kind": nn.ConvTranspose2d},
    "transposed, with a stride": {"kind": nn.ConvTranspose2d, "stride": 2},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_second_use_keeps_values_and_no_digit_changes(form: str) -> None:
    module = layer(**FORMS[form])
    first = used(module)
    assert derived.kept_bytes() == 0
    again = [used(module) for _ in range(3)]
    assert kept(module)
    assert all(wengert.equal(first, out) for out in again)
    assert wengert.equal(first, expected(module))


# What is multiplied by a weight as by a matrix: modules, and the shapes of their inputs.
PRODUCTS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "few positions": (lambda: nn.Conv2d(64, 256, 3, padding=1), (1, 64, 7, 7)),
    "few positions, with a stride": (
        lambda: nn.Conv2d(64, 256, 3, stride=2, padding=1, bias=False), (2, 64, 8, 8),
    ),
    "few positions, transposed": (
        lambda: nn.ConvTranspose2d(256, 64, 4, stride=2, padding=1), (1, 256, 4, 4),
    ),
    "one element": (lambda: nn.Conv2d(256, 512, 1), (1, 256, 7, 7)),
    "linear": (lambda: nn.Linear(200, 300), (16, 200)),
    "linear, without bias": (lambda: nn.Linear(200, 300, bias=False), (16, 200)),
    "linear, of texts": (lambda: nn.Linear(200, 300), (4, 20, 200)),
}  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", ["in tiles", *PRODUCTS])
def test_no_digit_changes(name: str, threads: int) -> None:
    make, shape = PRODUCTS.get(name, (layer, INPUT))
    module, x, before = make(), wengert.randn(*shape), wengert.get_num_threads()
    first = module(x)
    try:
        wengert.set_num_threads(threads)
        with wengert.no_grad():
            outputs = [module(x) for _ in range(4)]
    finally:
        wengert.set_num_threads(before)
    assert kept(module)
    assert all(wengert.equal(out, first) for out in outputs)
    in_place(module)
    with wengert.no_grad():
        changed = [module(x) for _ in range(4)]
    assert all(wengert.equal(out, changed[0]) for out in changed)
    assert not wengert.equal(changed[0], first)


def test_attention() -> None:
    module, x = nn.MultiheadAttention(64, 4, batch_first=True), wengert.randn(2, 40, 64)
    first = module(x, x, x)[0].detach()  # a graph would refer to weights
    with wengert.no_grad():
        outputs = [module(x, x, x)[0] for _ in range(4)]
    assert all(wengert.equal(out, first) for out in outputs)
    assert derived.keeps_for(module.in_proj_weight._array)
    assert derived.keeps_for(module.out_proj.weight._array)
    assert derived.kept_bytes() >= module.in_proj_weight.nbytes


@pytest.mark.parametrize("name", ["few positions", "linear"])
def test_gradients_of_inputs_through_frozen_weights(name: str) -> None:
    make, shape = PRODUCTS[name]
    module, x = make(), wengert.randn(*shape, requires_grad=True)
    (right,) = wengert.autograd.grad(module(x).square().sum(), x)
    module.requires_grad_(False)
    for _ in range(4):
        (g,) = wengert.autograd.grad(module(x).square().sum(), x)
        assert wengert.equal(g, right)
    assert kept(module)


def test_nothing_is_kept_while_gradients_flow() -> None:
    module = layer()
    for _ in range(3):
        module(image()).sum().backward()
    assert derived.kept_bytes() == 0


def test_a_frozen_weight_is_kept_while_others_learn() -> None:
    module = layer()
    module.weight.requires_grad_(False)
    x = image().requires_grad_()
    grads = []
    for _ in range(3):
        (g,) = wengert.autograd.grad(module(x).sum(), x)
        grads.append(g)
    assert kept(module)
    assert all(wengert.equal(g, grads[0]) for g in grads)


@wengert.no_grad()
def in_place(module: Any) -> None:
    module.weight.mul_(2)


def by_optimizer(module: Any) -> None:
    module(image()).square().sum().backward()
    optim.SGD(module.parameters(), 1e-3).step()


def by_fused_optimizer(module: Any) -> None:
    module(image()).square().sum().backward()
    optim.Adam(module.parameters(), 1e-1).step()


def by_compiled_step(module: Any) -> None:
    optimizer = optim.SGD(module.parameters(), 1e-3)

    @compiler.compile
    def step(x: wengert.Tensor) -> None:
        optimizer.zero_grad()
        module(x).square().sum().backward()
        optimizer.step()

    for _ in range(4):
        step(image())


@wengert.no_grad()
def through_a_view(module: Any) -> None:
    module.weight[3:5].fill_(0.5)


def through_data(module: Any) -> None:
    module.weight.data.add_(1)


def through_detached(module: Any) -> None:
    module.weight.detach()[0] = 3


def new_data(module: Any) -> None:
    module.weight.data = wengert.ones(*module.weight.shape)


def by_state(module: Any) -> None:
    state = {k: v.detach().clone() + 1 for k, v in module.state_dict().items()}
    module.load_state_dict(state)


def by_assigned_state(module: Any) -> None:
    state = {k: v.detach().clone() + 1 for k, v in module.state_dict().items()}
    module.load_state_dict(state, assign=True)


@wengert.no_grad()
def by_copy(module: Any) -> None:
    module.weight.copy_(wengert.ones(*module.weight.shape))


@wengert.no_grad()
def by_set(module: Any) -> None:
    module.weight.set_(wengert.full(tuple(module.weight.shape), 0.25))


def by_init(module: Any) -> None:
    nn.init.normal_(module.weight)


def there_and_back(module: Any) -> None:
    module.half()
    module.float()


def by_numpy(module: Any) -> None:
    array = module.weight.detach().numpy()
    array *= 3
    # Nothing refers to it any more when the layer is used again.


def by_numpy_of_a_view(module: Any) -> None:
    np.asarray(module.weight.data[2])[...] = 7


def by_dlpack(module: Any) -> None:
    np.from_dlpack(module.weight.detach())[0] = 1


def by_address(module: Any) -> None:
    weight = module.weight
    ones = np.ones(weight.numel(), np.float32)
    ctypes.memmove(weight.data_ptr(), ones.ctypes.data, ones.nbytes)


def by_storage(module: Any) -> None:
    module.weight.untyped_storage().fill_(0)


def by_pickle(module: Any) -> None:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(module.weight, protocol=5, buffer_callback=buffers.append)
    pickle.loads(data, buffers=buffers).data.fill_(2)


def by_checkpoint(module: Any) -> None:
    with TemporaryDirectory() as folder:
        checkpoint.save({"weight": wengert.ones(*module.weight.shape)}, checkpoint_id=folder)
        checkpoint.load({"weight": module.weight.detach()}, checkpoint_id=folder)


@wengert.no_grad()
def by_out(module: Any) -> None:
    x = wengert.ones(*module.weight.shape)
    wengert.add(x, x, out=module.weight)


@wengert.inference_mode()
def in_inference_mode(module: Any) -> None:
    module.weight.mul_(2)


def in_another_thread(module: Any) -> None:
    thread = threading.Thread(target=in_place, args=(module,))
    thread.start()
    thread.join()


CHANGES: tuple[Callable[[Any], None], ...] = (
    in_place, by_optimizer, by_fused_optimizer, by_compiled_step, through_a_view, through_data,
    through_detached, new_data, by_state, by_assigned_state, by_copy, by_set, by_init,
    there_and_back, by_numpy, by_numpy_of_a_view, by_dlpack, by_address, by_storage, by_pickle,
    by_checkpoint, by_out, in_inference_mode, in_another_thread,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("form", ["in tiles", "direct"])
def test_a_change_counts(change: Callable[[Any], None], form: str) -> None:
    module = layer(**FORMS[form])
    before = used(module, 3)
    assert kept(module)
    change(module)
    check(module)
    if change is not there_and_back:
        assert not wengert.equal(used(module), before)
    change(module)
    check(module)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_weights(kind: Any) -> None:
    module = kind(8, 48, num_layers=2, bidirectional=True)
    x = wengert.randn(60, 2, 8)

    @wengert.no_grad()
    def result() -> wengert.Tensor:
        out: wengert.Tensor = module(x)[0]
        return out

    first = result()
    assert derived.kept_bytes() == 0
    assert all(wengert.equal(result(), first) for _ in range(3))
    weights = [weight for name, weight in module.named_parameters() if "weight_hh" in name]
    assert len(weights) == 4
    assert all(derived.keeps_for(weight._array) for weight in weights)
    assert derived.kept_bytes() >= sum(weight.nbytes for weight in weights)
    by_init_of(module)
    changed = result()
    derived.drop_all()
    assert wengert.equal(result(), changed)
    assert not wengert.equal(changed, first)


def by_init_of(module: nn.Module) -> None:
    for weight in module.parameters():
        nn.init.uniform_(weight, -0.2, 0.2)


def test_a_frozen_recurrent_layer_lets_gradients_through() -> None:
    module = nn.LSTM(8, 40).requires_grad_(False)
    x = wengert.randn(30, 2, 8, requires_grad=True)
    grads = [wengert.autograd.grad(module(x)[0].sum(), x)[0] for _ in range(4)]
    assert derived.kept_bytes() > 0
    assert all(wengert.equal(g, grads[0]) for g in grads)


def test_a_held_array_keeps_values_away() -> None:
    module = layer()
    array = module.weight.detach().numpy()
    used(module, 4)
    assert derived.kept_bytes() == 0
    array += 1
    check(module)
    del array
    used(module, 2)
    assert kept(module)


def test_an_address_keeps_values_away_for_good() -> None:
    module = layer()
    used(module, 3)
    address = module.weight.data_ptr()
    used(module, 3)
    assert not kept(module)
    ones = np.ones(module.weight.numel(), np.float32)
    ctypes.memmove(address, ones.ctypes.data, ones.nbytes)
    check(module)
    module.weight.data = wengert.zeros(*module.weight.shape)  # other memory
    used(module, 2)
    assert kept(module)


def test_shared_memory_has_nothing_kept(tmp_path: Path) -> None:
    module = layer()
    module.weight.data = wengert.from_numpy(
        np.memmap(tmp_path / "w", np.float32, "w+", shape=tuple(module.weight.shape))
    )
    used(module, 4)
    assert derived.kept_bytes() == 0
    module = layer()
    module.weight.share_memory_()
    used(module, 4)
    assert derived.kept_bytes() == 0


def test_two_parameters_of_one_memory() -> None:
    whole = wengert.randn(2, 24, 16, 3, 3)
    modules = [layer(), layer()]
    for module, part in zip(modules, whole, strict=True):
        module.weight = Parameter(part)
    for module in modules * 3:
        used(module)
    whole.mul_(2)
    for module in modules:
        check(module)


def test_a_part_of_a_kept_weight_is_a_weight_too() -> None:
    """NumPy may then write to what was kept of the whole."""
    module, part = layer(), layer()
    used(module, 3)
    part.weight = Parameter(module.weight.data[2:14])
    part.bias = Parameter(part.bias.data[:12])
    used(part, 3)
    module.weight.detach().numpy()[...] = 2
    check(module)


def test_two_layers_share_a_parameter() -> None:
    first, second = layer(), layer()
    second.weight = first.weight
    used(first, 2)
    used(second)
    with wengert.no_grad():
        first.weight.add_(1)
    check(second)
    check(first)


def test_values_go_with_the_weight_and_without_the_collector() -> None:
    module = layer()
    used(module, 3)
    assert derived.kept_bytes() > 0
    gc.disable()
    try:
        del module
        assert derived.kept_bytes() == 0
    finally:
        gc.enable()


def test_training_gives_values_back() -> None:
    module = layer()
    used(module, 3)
    by_optimizer(module)
    module(image()).sum().backward()
    assert derived.kept_bytes() == 0


def test_training_on_many_rows_gives_values_back() -> None:
    module = nn.Linear(64, 128)
    with wengert.no_grad():
        for _ in range(3):
            module(wengert.randn(100, 64))
    assert kept(module)
    in_place(module)
    module(wengert.randn(1000, 64))
    assert derived.kept_bytes() == 0


def test_empty_cache_gives_values_back() -> None:
    module = layer()
    used(module, 3)
    wengert.empty_cache()
    assert derived.kept_bytes() == 0
    check(module)
    assert kept(module)


def test_threads_use_a_weight_at_once() -> None:
    module = layer()
    right, found = expected(module), []
    x = image()  # threads share the generator

    def work() -> None:
        with wengert.no_grad():
            found.extend(module(x) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(wengert.equal(out, right) for out in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_has_its_own() -> None:
    module = layer()
    used(module, 3)
    child = os.fork()
    if not child:  # pragma: no cover
        code = 1
        try:
            in_place(module)
            check(module)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    check(module)


def test_nothing_is_kept_of_a_small_weight() -> None:
    small, large = nn.Conv2d(8, 16, 3), nn.Conv2d(16, 16, 3)
    for module in (small, large):
        with wengert.no_grad():
            for _ in range(2):
                module(wengert.randn(2, module.in_channels, 12, 12))
    assert not derived.keeps_for(small.weight._array)
    assert derived.keeps_for(large.weight._array)
