"""Names that packages take from inside PyTorch, compared with what PyTorch has there."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.compat._private import (
    activation_wrappers,
    autocast_switches,
    index_conversions,
    native_functions,
    storage_classes,
)
from wengert.compat._private.reparametrization import _reparametrize_module
from wengert.compat.resolution import resolve

SEGMENTS = (
    {"lengths": [2, 0, 3]},
    {"lengths": [2, 3], "initial": 2.0},
    {"lengths": [2, 2], "unsafe": True},
    {"offsets": [0, 2, 5]},
    {"offsets": [1, 2, 2, 4]},
    {"lengths": [[1, 1], [2, 0]], "axis": 1, "unsafe": True},
    {"lengths": [2, 3], "axis": -2},
)
REFUSED = (
    {"lengths": [2, 2]}, {"lengths": [2, -1, 4]}, {}, {"lengths": [[2, 3]]}, {"lengths": [2.0, 3]},
    {"lengths": [2, 3], "axis": 1}, {"lengths": [2, 3], "indices": [0]},
)  # fmt: skip


def of_segments(library: Any, options: dict[str, Any]) -> dict[str, Any]:
    return {k: library.tensor(v) if isinstance(v, list) else v for k, v in options.items()}


@pytest.mark.torch
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_pieces_are_reduced(reduce: str, torch: Any) -> None:
    numbers = np.array([[3.0, 1.0], [2.0, 2.0], [5.0, 2.0], [5.0, 0.0], [-1.0, 4.0]])
    for options in SEGMENTS:
        found = []
        for library, function in ((wengert, native_functions), (torch, torch)):
            x = library.tensor(
                numbers[:2] if "axis" in options and options["axis"] == 1 else numbers
            )
            x.requires_grad_()
            y = function.segment_reduce(x, reduce, **of_segments(library, options))
            y.masked_fill(~y.isfinite(), 0).square().sum().backward()
            found.append((y.detach().numpy(), x.grad.numpy()))
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=f"{options}")


@pytest.mark.torch
def test_pieces_that_do_not_fit(torch: Any) -> None:
    for options in REFUSED:
        with pytest.raises(Exception) as theirs:  # noqa: PT011 (its class is compared)
            torch.segment_reduce(torch.ones(5, 2), "sum", **of_segments(torch, options))
        with pytest.raises(type(theirs.value)):
            native_functions.segment_reduce(
                wengert.ones(5, 2), "sum", **of_segments(wengert, options)
            )
    with pytest.raises(RuntimeError, match="reduce argument must be"):
        native_functions.segment_reduce(wengert.ones(2), "median", lengths=wengert.tensor([2]))


@pytest.mark.torch
def test_wrappers_that_compute_activations_again(torch: Any) -> None:
    import torch.distributed.algorithms._checkpoint.checkpoint_wrapper as theirs

    found = []
    for library, wrappers in ((wengert, activation_wrappers), (torch, theirs)):
        nn = library.nn
        library.manual_seed(0)
        net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Tanh(), nn.Linear(3, 1)))
        wrappers.apply_activation_checkpointing(net, check_fn=lambda m: hasattr(m, "weight"))
        whole = wrappers.checkpoint_wrapper(net, checkpoint_impl=wrappers.CheckpointImpl.REENTRANT)
        kept = wrappers.offload_wrapper(nn.Linear(1, 1))
        x = library.ones(4, 2, requires_grad=True)
        kept(whole(input=x)).sum().backward()
        other = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Tanh(), nn.Linear(3, 1)))
        found.append((
            repr(whole), repr(kept), list(whole.state_dict()), list(kept.state_dict()),
            [n for n, _ in whole.named_parameters()], [n for n, _ in net.named_parameters()],
            str(whole.load_state_dict(other.state_dict())), whole[1][1].in_features,
            x.grad.numpy().round(5).tolist(), net[0].weight.grad.numpy().round(5).tolist(),
        ))  # fmt: skip
        with pytest.raises(TypeError, match="abstract"):
            wrappers.ActivationWrapper(net)
    assert found[0] == found[1]


@pytest.mark.torch
def test_a_module_with_other_tensors(torch: Any) -> None:
    from torch.nn.utils.stateless import _reparametrize_module as theirs

    found = []
    for library, swapped in ((wengert, _reparametrize_module), (torch, theirs)):
        net = library.nn.ModuleList([library.nn.Linear(2, 2, bias=False) for _ in range(2)])
        net[1].weight = own = net[0].weight
        new, seen = library.full((2, 2), 7.0), []
        with swapped(net, {"0.weight": new}):
            seen.append((net[0].weight is new, net[1].weight is own))
        with swapped(net, {"0.weight": new, "extra": new}, tie_weights=True, stack_weights=True):
            seen.append((net[1].weight is new, net.extra is new))
        seen.append((net[0].weight is own, hasattr(net, "extra")))
        for tensors in ({"0.weight": new}, {"0.weight": new, "1.weight": new, "other": new}):
            with pytest.raises(RuntimeError) as error, swapped(net, tensors, strict=True):
                pass
            seen.append(str(error.value))
        tied = {"0.weight": new, "1.weight": new.clone()}
        with (
            pytest.raises(ValueError, match="multiple values"),
            swapped(net, tied, tie_weights=True),
        ):
            pass
        found.append(seen)
    assert found[0] == found[1]


class UnderTheAlias(pickle.Unpickler):
    """Finds PyTorch's names where programs under the alias find them."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] != "torch":
            return super().find_class(module, name)
        found = resolve(f"{module}.{name}")
        assert found.exists, found.path
        return found.value


# PyTorch warns of its own.
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.torch
def test_what_pickle_wrote_of_tensors(torch: Any) -> None:
    matrix = torch.arange(6.0).reshape(2, 3)
    parameter = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    parameter.tag = "kept"
    written = [
        matrix, matrix.t(), parameter, matrix + 1j, torch.tensor([True]),
        matrix.to_sparse(), matrix.to_sparse_csr(), torch.tensor([1, 2]).storage(), torch.float16,
    ]  # fmt: skip
    read = UnderTheAlias(io.BytesIO(pickle.dumps(written))).load()
    for ours, theirs in zip(read, written, strict=True):
        assert str(ours) == str(theirs)
    assert read[2].tag == "kept"
    assert read[2].requires_grad


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.torch
def test_storages_by_their_older_classes(torch: Any) -> None:
    for name in storage_classes.__all__:
        ours, theirs = getattr(storage_classes, name), getattr(torch, name)
        assert (str(ours.dtype), str(ours)) == (str(theirs.dtype), str(theirs))
        assert isinstance(ours(3), ours)
        assert len(ours(3)) == 3
    kinds = storage_classes
    assert kinds.LongStorage([1, 2]).tolist() == [1, 2]
    memory = wengert.ones(2).untyped_storage()
    assert kinds.FloatStorage(wrap_storage=memory).tolist() == [1, 1]
    assert isinstance(wengert.ones(2).storage(), kinds.FloatStorage)
    assert not isinstance(wengert.ones(2).storage(), kinds.DoubleStorage)
    assert issubclass(kinds.FloatStorage, wengert.TypedStorage)
    with pytest.raises(TypeError, match="UntypedStorage"):
        kinds.FloatStorage(memory)


@pytest.mark.torch
def test_indices_of_layouts(torch: Any) -> None:
    found = []
    for library, names in ((wengert, index_conversions), (torch, torch)):
        rows, columns = library.tensor([0, 0, 2, 3]), library.tensor([1, 0, 2, 1])
        few = library.tensor([0, 1], dtype=library.int32)
        pointers = names._convert_indices_from_coo_to_csr(rows, 5)
        back = names._convert_indices_from_csr_to_coo
        results = [
            pointers,
            names._convert_indices_from_coo_to_csr(rows, 5, out_int32=True),
            names._convert_indices_from_coo_to_csr(few, 3),
            names._convert_indices_from_coo_to_csr(rows[:0], 3),
            back(pointers, columns),
            back(pointers, columns, transpose=True),
            back(pointers, columns, out_int32=True),
        ]
        found.append([(str(r.dtype).rpartition(".")[2], r.tolist()) for r in results])
        for bad, error in ((rows.double(), NotImplementedError), (rows[None], RuntimeError)):
            with pytest.raises(error):
                names._convert_indices_from_coo_to_csr(bad, 5)
    assert found[0] == found[1]
    back = resolve("torch._convert_indices_from_csr_to_coo").value
    assert back is index_conversions._convert_indices_from_csr_to_coo
    four, two = wengert.tensor([0, 4]), wengert.tensor([0, 1])
    with pytest.raises(RuntimeError, match="counts 4 places, col_indices has 2"):
        back(four, two)


@pytest.mark.torch
def test_regions_of_autocast_are_counted(torch: Any) -> None:
    for names in (autocast_switches, torch):
        into, out = names.autocast_increment_nesting, names.autocast_decrement_nesting
        assert [into(), into(), out(), out()] == [1, 2, 1, 0]
