"""wengert.onnx.export: names, options and errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import wengert as w
import wengert.nn.functional as F
from tests.onnx.runtime import Of, onnx
from wengert import nn
from wengert.onnx.errors import OnnxExporterError, UnsupportedOperatorError
from wengert.replay.failures import UserError


def names(values: Any) -> list[str]:
    return [x.name for x in values]


def test_names_of_inputs_and_outputs() -> None:
    module = Of(lambda pair, scale: (pair[0] * scale, pair[1] + 1))
    args = ((w.ones(2), w.ones(2)), w.ones(2))
    graph = w.onnx.export(module, args).model_proto.graph
    assert names(graph.input) == ["args_0_0", "args_0_1", "args_1"]
    options = {"input_names": ["a", "b", "c"], "output_names": ["y"]}
    graph = w.onnx.export(module, args, **options).model_proto.graph
    assert names(graph.input) == ["a", "b", "c"]
    assert names(graph.output) == ["y", "add"]


def test_named_arguments() -> None:
    class Net(nn.Module):
        def forward(self, x: Any, *, scale: Any, times: int = 1) -> Any:
            return x * scale * times

    kwargs = {"scale": w.full((2,), 3.0), "times": 2}
    program = w.onnx.export(Net(), (w.ones(2),), kwargs=kwargs)
    assert names(program.model_proto.graph.input) == ["x", "scale"]
    assert program(w.ones(2), scale=w.ones(2))[0].tolist() == [2.0, 2.0]


def test_parameters_have_their_paths() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    graph = w.onnx.export(net, (w.ones(3, 2),)).model_proto.graph
    expected = {"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var"}
    assert set(names(graph.initializer)) == expected
    options = {"keep_initializers_as_inputs": True}
    graph = w.onnx.export(net, (w.ones(3, 2),), **options).model_proto.graph
    assert set(names(graph.input)) == expected | {"input"}


@pytest.mark.parametrize("beside", [True, False])
def test_files(tmp_path: Path, beside: bool) -> None:
    path = tmp_path / "model.onnx"
    program = w.onnx.export(nn.Linear(64, 64), (w.ones(1, 64),))
    program.save(path, external_data=beside)
    assert (tmp_path / "model.onnx.data").exists() == beside
    onnx.checker.check_model(str(path))


def test_without_dynamo_nothing_is_returned(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    assert w.onnx.export(nn.ReLU(), w.ones(2), path, dynamo=False) is None
    assert path.exists()


@pytest.mark.parametrize("opset", [17, 18, 20, 22])
def test_opsets(opset: int) -> None:
    program = w.onnx.export(nn.GELU(), (w.ones(2),), opset_version=opset, verify=True)
    assert [x.version for x in program.model_proto.opset_import] == [opset]


def test_an_opset_that_a_model_cannot_be_converted_to() -> None:
    with pytest.raises(OnnxExporterError, match="opset_version 9 is too old for this model"):
        w.onnx.export(nn.LayerNorm(2), (w.ones(2),), opset_version=9)


def test_programs_can_ask_whether_they_are_exported() -> None:
    answers = []
    w.onnx.export(Of(lambda x: answers.append(w.onnx.is_in_onnx_export()) or x + 1), (w.ones(2),))
    assert answers == [True]
    assert not w.onnx.is_in_onnx_export()


def test_conversions_of_ones_own() -> None:
    def convert(b: Any, input: Any, *args: Any, **kwargs: Any) -> str:
        return b("Relu", input)

    program = w.onnx.export(Of(w.sinc), (w.ones(2),), custom_translation_table={w.sinc: convert})
    assert program(w.tensor([-1.0, 2.0]))[0].tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    "function",
    [w.erfinv, w.median, lambda x: F.dropout(x, 0.5), lambda x: x + w.rand(3)],
    ids=["erfinv", "median", "dropout", "rand"],
)
def test_what_onnx_lacks_is_refused_with_its_line(function: Any) -> None:
    with pytest.raises(UnsupportedOperatorError, match=r"runtime\.py|test_export\.py"):
        w.onnx.export(Of(function), (w.ones(3),))


def test_training_mode_of_batch_norm_is_refused() -> None:
    with pytest.raises(UnsupportedOperatorError, match="running statistics"):
        w.onnx.export(nn.BatchNorm1d(2), (w.ones(3, 2),), training=w.onnx.TrainingMode.TRAINING)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"opset_version": 6}, ValueError),
        ({"export_params": False}, NotImplementedError),
        ({"custom_opsets": {"a": 1}}, NotImplementedError),
        ({"input_names": ["a", "b"]}, w.onnx.OnnxExporterError),
        ({"output_names": ["a", "b"]}, w.onnx.OnnxExporterError),
        ({"dynamic_shapes": {"x": None}}, UserError),
    ],
)
def test_bad_options(options: Any, error: Any) -> None:
    with pytest.raises(error):
        w.onnx.export(nn.ReLU(), (w.ones(2),), **options)


def test_what_is_no_module() -> None:
    with pytest.raises(TypeError, match="Module"):
        w.onnx.export(w.exp, (w.ones(2),))


def test_without_the_package_the_error_says_so() -> None:
    program = (
        "import sys; sys.modules['onnx'] = None\n"
        "import wengert\n"
        "assert not any(m.startswith(('wengert.onnx', 'wengert.export')) for m in sys.modules)\n"
        "try: wengert.onnx.export(wengert.nn.ReLU(), (wengert.ones(2),))\n"
        "except ImportError as error: assert 'pip install' in str(error)\n"
        "else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_under_the_name_of_torch(tmp_path: Path) -> None:
    """A program written for PyTorch exports and runs its model."""
    program = tmp_path / "program.py"
    program.write_text(
        "import torch, torch.onnx\n"
        "from torch.export import Dim, export\n"
        "from torch.fx.experimental.proxy_tensor import make_fx\n"
        "model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())\n"
        "axes = {'x': {0: 'batch'}, 'y': {0: 'batch'}}\n"
        "torch.onnx.export(model, torch.randn(1, 4), 'model.onnx', export_params=True,\n"
        "    input_names=['x'], output_names=['y'], dynamic_axes=axes)\n"
        "import onnxruntime\n"
        "session = onnxruntime.InferenceSession('model.onnx')\n"
        "x = torch.randn(5, 4)\n"
        "y, = session.run(None, {'x': x.numpy()})\n"
        "torch.testing.assert_close(torch.from_numpy(y), model(x).detach())\n"
        "assert 'torch.nn.functional.linear' in export(model, (x,)).graph_module.code\n"
        "assert 'torch.sin(x_1)' in make_fx(lambda x: torch.sin(x))(x).code\n"
        "print('exported')\n"
    )
    command = [sys.executable, "-m", "wengert", "run", str(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "exported" in done.stdout, done.stderr
