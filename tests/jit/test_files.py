"""`jit.save` and `jit.load`."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert
from tests.jit.test_scripting import Gate
from tests.jit.test_tracing import Net, images
from wengert import jit, nn


def through_a_file(module, **options):
    file = io.BytesIO()
    jit.save(module, file, **options)
    return io.BytesIO(file.getvalue())


def test_a_loaded_module_is_the_traced_one(tmp_path):
    net = Net().eval()
    traced = jit.trace_module(
        net, {"forward": images(), "divided": (images(), wengert.tensor(4.0))}
    )
    traced.save(tmp_path / "net.pt")
    loaded = jit.load(tmp_path / "net.pt", map_location="cpu")
    x = images(3, 7, 5)
    wengert.testing.assert_close(loaded(x), net(x))
    wengert.testing.assert_close(loaded.divided(x, wengert.tensor(2.0)), net(x) / 2)
    assert list(loaded.state_dict()) == list(net.state_dict())
    assert loaded.original_name == "Net"
    assert loaded.conv.original_name == "Conv2d"
    assert isinstance(loaded, jit.ScriptModule)
    assert not loaded.training
    assert [p.requires_grad for p in loaded.parameters()] == [True] * 6
    with wengert.no_grad():
        loaded.head.weight.zero_(), loaded.head.bias.zero_()
    assert not loaded(x).any()
    assert not loaded.divided(x, wengert.tensor(2.0)).any()
    again = jit.load(through_a_file(loaded))
    assert not again(x).any()


def test_parts_of_parameters_are_read_back():
    net = nn.MultiheadAttention(8, 2).eval()
    x = wengert.randn(5, 3, 8)
    loaded = jit.load(through_a_file(jit.trace(net, (x, x, x))))
    wengert.testing.assert_close(loaded(x, x, x), net(x, x, x))


def warped(x, t):
    grid = nn.functional.affine_grid(t, x.size(), align_corners=False)
    return nn.functional.grid_sample(x, grid, "nearest", "reflection", align_corners=False)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (warped, (wengert.randn(2, 3, 8, 8), wengert.randn(2, 2, 3))),
        (lambda x: x.as_strided((2, 3), (1, 2), 1) * 2, (wengert.randn(10),)),
        (lambda x: (x * 2).t().as_strided((4, 2), (2, 1)), (wengert.randn(3, 5),)),
    ],
)
def test_operations_that_see_memory_are_read_back(function, args):
    loaded = jit.load(through_a_file(jit.trace(function, args)))
    for _ in range(3):
        wengert.testing.assert_close(loaded(*args), function(*args))
    x = args[0].clone().requires_grad_()
    loaded(x, *args[1:]).sum().backward()
    expected = args[0].clone().requires_grad_()
    function(expected, *args[1:]).sum().backward()
    wengert.testing.assert_close(x.grad, expected.grad)


@pytest.mark.parametrize(("start", "stride"), [(9, 1), (0, 9), (-1, 1), (0, -1)])
def test_a_file_does_not_choose_memory(start, stride):
    file = through_a_file(jit.trace(lambda x: x.as_strided((2,), (3,), 1), wengert.ones(8)))
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = next(n for n in entries if n.endswith("traced.json"))
    assert entries[name].count(b'{"tuple": [2]}, {"tuple": [3]}, 1') == 1
    other = b'{"tuple": [2]}, {"tuple": [%d]}, %d' % (stride, start)
    entries[name] = entries[name].replace(b'{"tuple": [2]}, {"tuple": [3]}, 1', other)
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)
    with pytest.raises(RuntimeError, match="as_strided"):
        jit.load(changed)(wengert.ones(8))


def test_functions_and_scripted_modules_are_saved_by_a_trace():
    double = jit.load(through_a_file(jit.trace(lambda x: x * 2, wengert.ones(2))))
    assert double(wengert.ones(3)).tolist() == [2.0] * 3
    gate = Gate()
    x = wengert.ones(1, 2)
    scripted = jit.script(gate, example_inputs=[(x,)])
    with pytest.warns(jit.TracerWarning, match="Python boolean"):
        loaded = jit.load(through_a_file(scripted))
    wengert.testing.assert_close(loaded(x), gate(x))
    with pytest.raises(RuntimeError, match="Gate runs as Python and has no program"):
        jit.save(jit.script(Gate()), io.BytesIO())
    with pytest.raises(RuntimeError, match="a Linear is Python"):
        jit.save(nn.Linear(2, 1), io.BytesIO())
    with pytest.raises(NotImplementedError, match="no random ones"):
        jit.save(jit.trace(Net(), images()), io.BytesIO())


def test_arguments_that_are_part_of_a_function_are_saved():
    def f(x):
        images = x.clone(memory_format=wengert.channels_last)
        return images.transpose(1, 2).contiguous().view(2, -1), images, x.float().double()

    x = wengert.randn(2, 3, 4, 5)
    loaded = jit.load(through_a_file(jit.trace(f, x)))
    for ours, expected in zip(loaded(x), f(x), strict=True):
        wengert.testing.assert_close(ours, expected, rtol=0, atol=0)
        assert ours.stride() == expected.stride()


def test_indices_are_saved_and_checked_when_they_come():
    def f(x, index):
        y = x.clone()
        y[index] = 0
        return x[index], x[:, index], x[index, index], x.take(index), x.index_fill(0, index, 1), y

    x, index = wengert.randn(4, 4), wengert.tensor([0, -2, 3])
    loaded = jit.load(through_a_file(jit.trace(f, (x, index))))
    for ours, expected in zip(loaded(x, index), f(x, index), strict=True):
        assert ours.equal(expected)
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 0 with size 4"):
        loaded(x, wengert.tensor([0, 4, 1]))


def test_texts_are_kept_beside_a_program():
    file = through_a_file(jit.trace(nn.ReLU(), images()), _extra_files={"labels": "cat\ndog"})
    texts = {"labels": "", "missing": ""}
    jit.load(file, _extra_files=texts)
    assert texts == {"labels": b"cat\ndog", "missing": ""}


def test_a_file_that_is_no_program_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"none\.pt does not exist"):
        jit.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match="not a zip file"):
        jit.load(io.BytesIO(b"text"))
    program = wengert.export.export(nn.ReLU(), (images(),))
    file = io.BytesIO()
    wengert.export.save(program, file)
    with pytest.raises(
        RuntimeError, match=r"expected one uncompressed entry 'archive/traced\.json"
    ):
        jit.load(file)
    wengert.save(nn.Linear(1, 1).state_dict(), tmp_path / "weights.pt")
    with pytest.raises(RuntimeError, match=r"jit\.load: not a program"):
        jit.load(tmp_path / "weights.pt")


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_archives_are_refused(torch, tmp_path):
    torch.jit.trace(torch.nn.ReLU(), torch.ones(2)).save(tmp_path / "theirs.pt")
    with pytest.raises(RuntimeError, match="TorchScript archive"):
        jit.load(str(tmp_path / "theirs.pt"))


def entries_of(file):
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file


PROGRAM = "archive/traced.json"


def _program(content):
    return content["methods"]["forward"][0]


WRONG = {
    "a call of what is no operation": lambda c: _program(c)["nodes"][-2].update(target="os.system"),
    "a class where no module is": lambda c: c["classes"].update({"a.b": "Evil"}),
    "a method without its parts": lambda c: c["methods"].update(forward=[1]),
    "a name that is code": lambda c: _program(c)["nodes"][0].update(name="x=1"),
    "another version": lambda c: c.update(version=9),
    "missing tensors": lambda c: _program(c)["state"].update({"w": ["77", True, True]}),
    "more arguments than inputs": lambda c: c["methods"]["forward"].__setitem__(2, 5),
    "classes in a list": lambda c: c.update(classes=[]),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_file_that_somebody_has_changed_is_refused(change):
    entries = entries_of(through_a_file(jit.trace(nn.Linear(2, 1), wengert.ones(3, 2))))
    content = json.loads(entries[PROGRAM])
    change(content)
    entries[PROGRAM] = json.dumps(content)
    with pytest.raises(RuntimeError, match=r"jit\.load|export\.load"):
        jit.load(rewritten(entries))


FILE = through_a_file(jit.trace(nn.Linear(2, 1), wengert.ones(3, 2))).getvalue()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(FILE) - 1), st.integers(0, 255))
def test_a_damaged_file_raises_runtime_error_or_is_as_good(place, byte):
    damaged = FILE[:place] + bytes([byte]) + FILE[place + 1 :]
    try:
        loaded = jit.load(io.BytesIO(damaged))
    except RuntimeError:
        return
    assert loaded(wengert.ones(1, 2)).shape == (1, 1)
