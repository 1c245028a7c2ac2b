"""`import torch` in its forms, in a process where wengert stands for it."""

from __future__ import annotations

import json
import sys
import textwrap
from types import ModuleType

import pytest

from tests.cli.process import good, python
from wengert import compat
from wengert.compat._version import TorchVersion

FORMS = {
    "import torch": "torch.Tensor is wengert.Tensor",
    "import torch as t": "t.Tensor is wengert.Tensor",
    "import torch.fft": "torch.fft.rfft is wengert.fft.rfft",
    "from torch.special import expit": "expit is wengert.special.expit",
    "from torch.signal.windows import hann": "hann is wengert.signal.windows.hann",
    "import torch.nn": "torch.nn.Module is wengert.nn.Module",
    "import torch.nn as nn": "nn.Module is wengert.nn.Module",
    "from torch import nn": "nn.Module is wengert.nn.Module",
    "from torch import Tensor, nn, optim": "optim.SGD is wengert.optim.SGD",
    "from torch.nn import functional as F": "F.relu is wengert.nn.functional.relu",
    "import torch.nn.functional as F": "F.relu is wengert.nn.functional.relu",
    "import torch.nn.init as init": "init.zeros_ is wengert.nn.init.zeros_",
    "from torch.nn.parameter import Parameter": "Parameter is wengert.nn.Parameter",
    "from torch.nn.modules import Linear": "Linear is wengert.nn.Linear",
    "from torch.nn.modules.module import Module": "Module is wengert.nn.Module",
    "from torch.nn.utils import clip_grad_norm_": "callable(clip_grad_norm_)",
    "import torch.optim as optim": "optim.Adam is wengert.optim.Adam",
    "from torch.optim.adam import Adam": "Adam is wengert.optim.Adam",
    "from torch.optim import Optimizer": "Optimizer is wengert.optim.Optimizer",
    "from torch.optim.lr_scheduler import StepLR": "StepLR is wengert.optim.lr_scheduler.StepLR",
    "from torch.autograd import Variable, grad": "grad is wengert.autograd.grad",
    "import torch.utils.data as data": "data.DataLoader is wengert.utils.data.DataLoader",
    "from torch.utils.data import Dataset": "Dataset is wengert.utils.data.Dataset",
    "from torch.utils.data.dataset import Subset": "Subset is wengert.utils.data.Subset",
    "from torch.utils.data.dataloader import default_collate": "callable(default_collate)",
    "from torch.utils.data._utils.collate import default_collate as c": "callable(c)",
    "from torch.utils.data.distributed import DistributedSampler": "callable(DistributedSampler)",
    "import torch.utils.data": "torch.utils.data._utils.worker.get_worker_info() is None",
    "from torch.cuda.amp import GradScaler, autocast": "not GradScaler(enabled=False).is_enabled()",
    "from torch.distributions.multivariate_normal import _precision_to_scale_tril as f": (
        "f(4 * torch.eye(2)).tolist() == [[0.5, 0.0], [0.0, 0.5]]"
    ),
    "from torch.cuda import Event, Stream": "not torch.cuda._initialized",
    "from torch.amp import autocast": "autocast is torch.autocast",
    "from torch.profiler import ProfilerActivity, profile": "profile is wengert.profiler.profile",
    "from torch.autograd.profiler import record_function": "callable(record_function)",
    "import torch.distributed as dist": "dist.is_available() and not dist.is_initialized()",
    "from torch.nn.parallel import DistributedDataParallel as DDP": "callable(DDP)",
    "from torch.nn.attention import SDPBackend, sdpa_kernel": "callable(sdpa_kernel)",
    "import torch._dynamo": "torch._dynamo.reset() is None and torch._dynamo.config is not None",
    "import torch.multiprocessing as mp": "callable(mp.spawn) and callable(mp.Queue)",
    "from torch.utils._pytree import tree_map": "tree_map(len, ['ab', {'c': ''}]) == [2, {'c': 0}]",
    "from torch.utils.dlpack import from_dlpack, to_dlpack": "callable(to_dlpack)",
    "import torch.utils.benchmark as benchmark": "callable(benchmark.Timer)",
    "from torch.types import Device, Number": "Number is not None",
    "from torch.hub import load_state_dict_from_url": "callable(load_state_dict_from_url)",
    "import torch.random": "torch.random.initial_seed() == torch.initial_seed()",
    "from torch.storage import UntypedStorage": "UntypedStorage is torch.UntypedStorage",
    "from torch.return_types import max as m": "isinstance(torch.ones(1).max(0), m)",
    "import torch.overrides": "torch.overrides.is_tensor_like(torch.ones(1))",
    "import torch.backends.cudnn as cudnn": "cudnn is torch.backends.cudnn",
    "from torch.version import cuda": "cuda is None",
    "import torch.utils.hooks": "callable(torch.utils.hooks.RemovableHandle)",
    "from torch.autograd.grad_mode import no_grad": "no_grad is wengert.no_grad",
    "from torch.optim.optimizer import Optimizer, ParamsT, required": "repr(required)[0] == '<'",
    "from torch.overrides import handle_torch_function as h": "callable(h)",
    "from torch.jit import TracerWarning": "issubclass(TracerWarning, Warning)",
    # Names with an underscore that programs import all the same.
    "from torch.nn.modules.utils import _ntuple, _pair, _single": "_pair(3) == _ntuple(2)(3)",
    "from torch.nn.modules.batchnorm import _BatchNorm": (
        "issubclass(torch.nn.BatchNorm2d, _BatchNorm)"
    ),
    "from torch.nn.modules.instancenorm import _InstanceNorm": (
        "issubclass(torch.nn.InstanceNorm2d, _InstanceNorm)"
    ),
    "from torch.nn.modules.conv import _ConvNd": "issubclass(torch.nn.ConvTranspose2d, _ConvNd)",
    "from torch.nn.modules.loss import _Loss, _WeightedLoss": (
        "issubclass(torch.nn.NLLLoss, _WeightedLoss)"
    ),
    "from torch.nn.modules.dropout import _DropoutNd": "issubclass(torch.nn.Dropout, _DropoutNd)",
    "from torch.nn.modules.pooling import _MaxPoolNd, _AvgPoolNd": (
        "issubclass(torch.nn.MaxPool2d, _MaxPoolNd)"
    ),
    "from torch.nn.modules.transformer import _get_clones as c": "len(c(torch.nn.ReLU(), 2)) == 2",
    "from torch.nn.init import _calculate_fan_in_and_fan_out as f": "f(torch.ones(2, 3)) == (3, 2)",
    "from torch.nn.common_types import _size_2_t": "_size_2_t is not None",
    "from torch.types import _int, _size": "_int is int",
    "from torch.optim.lr_scheduler import _LRScheduler": (
        "issubclass(_LRScheduler, torch.optim.lr_scheduler.LRScheduler)"
    ),
    # Layers are where PyTorch has them.
    "from torch.nn.modules.activation import MultiheadAttention as M": (
        "M is wengert.nn.MultiheadAttention"
    ),
    "from torch.nn.modules.channelshuffle import ChannelShuffle as C": (
        "C is wengert.nn.ChannelShuffle"
    ),
    "from torch.nn.modules.container import ParameterList as P": "P is wengert.nn.ParameterList",
    "from torch.nn.modules.conv import LazyConv2d as L": "L is wengert.nn.LazyConv2d",
    "from torch.nn import *": "Linear is wengert.nn.Linear and 'Linear' in dir(torch.nn)",
}

YET = "{0}: wengert has no {0} yet (this process runs wengert in place of PyTorch)"
INSTEAD = YET + "; instead: {1}"
STATE = "save and load of a state_dict"
HALVES = "float32, float16 and bfloat16"
NEITHER = "{0}: no such name in PyTorch 2.13 either"
OWN = "{0}: PyTorch has no such name; wengert's own is {1}"

# The class of the exception, and its text, with the name that is missing.
MISSING = {
    "import torch.zork": ("ModuleNotFoundError", NEITHER, "torch.zork"),
    "import torch.nn.zork": ("ModuleNotFoundError", NEITHER, "torch.nn.zork"),
    "from torch.zork import x": ("ModuleNotFoundError", NEITHER, "torch.zork"),
    "from torch import zork": ("ModuleNotFoundError", NEITHER, "torch.zork"),
    "from torch.nn import Zork": ("ModuleNotFoundError", NEITHER, "torch.nn.Zork"),
    "torch.zork": ("AttributeError", NEITHER, "torch.zork"),
    "torch.nn.functional.zork": ("AttributeError", NEITHER, "torch.nn.functional.zork"),
    "torch.dequantize": ("AttributeError", INSTEAD, "torch.dequantize", HALVES),
    "torch.package": ("AttributeError", INSTEAD, "torch.package", STATE),
    # Insides of wengert are not names of torch, nor is what it has beyond PyTorch.
    "import torch.package": ("ModuleNotFoundError", INSTEAD, "torch.package", STATE),
    "import torch._core": ("ModuleNotFoundError", YET, "torch._core"),
    "torch._core": ("AttributeError", YET, "torch._core"),
    "torch.nn.modules.conv._Conv": ("AttributeError", YET, "torch.nn.modules.conv._Conv"),
    "torch.autograd._engine": ("AttributeError", YET, "torch.autograd._engine"),
    "torch.graph": ("AttributeError", OWN, "torch.graph", "wengert.graph"),
    "torch.autograd.jac": ("AttributeError", OWN, "torch.autograd.jac", "wengert.autograd.jac"),
    "torch.nn.init.wrap": ("AttributeError", OWN, "torch.nn.init.wrap", "wengert.nn.init.wrap"),
    "from torch.nn.modules.conv import no_such": (
        "ModuleNotFoundError", NEITHER, "torch.nn.modules.conv.no_such",
    ),
    "from torch.optim.adam import SGD": ("ModuleNotFoundError", NEITHER, "torch.optim.adam.SGD"),
}  # fmt: skip

OTHERS = {
    "hasattr(torch, 'zork')": False,
    "getattr(torch, 'zork', 7)": 7,
    "hasattr(torch, 'nn')": True,
    "torch.__name__": "torch",
    "torch.nn.functional.__name__": "torch.nn.functional",
    "torch.__version__": "2.13.0+wengert",
    "torch.version.__version__": "2.13.0+wengert",
    "torch.__version__ >= (1, 13) and torch.__version__ > '2.2'": True,
    "torch.optim is sys.modules['torch.optim']": True,
    "str(torch)": "<module 'torch' (wengert)>",
    "'tensor' in dir(torch) and '__native__' not in dir(torch)": True,
}

PROGRAM = """
import json, sys
import wengert.compat
wengert.compat.install()
import wengert, wengert.nn, wengert.nn.functional, wengert.optim, wengert.utils.data, torch
forms, missing, others = json.load(sys.stdin)
answers = {}
for form, check in forms.items():
    scope = {"wengert": wengert, "torch": torch}
    try:
        exec(form, scope)
        answers[form] = bool(eval(check, scope))
    except Exception as error:
        answers[form] = repr(error)
for form in missing:
    try:
        exec(form, {"torch": torch})
        answers[form] = "no error"
    except Exception as error:
        answers[form] = [type(error).__name__, str(error)]
for expression in others:
    answers[expression] = eval(expression)
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers():
    """What one process with the alias says to all of the above."""
    asked = json.dumps([FORMS, list(MISSING), list(OTHERS)])
    return json.loads(good(python("-c", PROGRAM, input=asked)))


@pytest.mark.parametrize("form", FORMS)
def test_form_gives_wengert(answers, form):
    assert answers[form] is True


@pytest.mark.parametrize("form", MISSING)
def test_missing_name_is_named(answers, form):
    kind, text, *names = MISSING[form]
    assert answers[form] == [kind, text.format(*names)]


@pytest.mark.parametrize("expression", OTHERS)
def test_the_alias_as_a_module(answers, expression):
    assert answers[expression] == OTHERS[expression]


def run_in_alias(text: str) -> str:
    """Output of a program that runs with the alias installed."""
    start = "import wengert.compat; wengert.compat.install()\n"
    return good(python("-W", "error", "-c", start + textwrap.dedent(text)))


def test_assignment_reaches_wengert():
    out = run_in_alias("""
        import torch, wengert.autograd, wengert.backends
        torch.backends.cudnn.deterministic = True
        torch.backends.cuda.matmul.allow_tf32 = True
        before = torch.autograd.grad
        torch.autograd.grad = len
        print(wengert.backends.cudnn.deterministic, wengert.backends.cuda.matmul.allow_tf32)
        print(wengert.autograd.grad is len, torch.autograd.grad is len)
        torch.autograd.grad = before
        print(torch.autograd.grad is before, wengert.autograd.grad is before)
        torch.of_my_own = 1
        print(torch.of_my_own)
        del torch.of_my_own
        print(hasattr(torch, "of_my_own"), hasattr(wengert, "of_my_own"))
    """)
    assert out.split() == [*["True"] * 6, "1", "False", "False"]


def test_mock_patches_and_restores():
    out = run_in_alias("""
        from unittest import mock
        import torch, wengert
        original = torch.add
        with mock.patch("torch.add", 5):
            print(torch.add, wengert.add)
        print(torch.add is original, wengert.add is original)
    """)
    assert out.split() == ["5", "5", "True", "True"]


def test_an_installed_pytorch_is_not_imported():
    out = run_in_alias("""
        import sys, torch, torch.nn, torch.optim
        files = [getattr(m, "__file__", None) or "" for m in list(sys.modules.values())]
        print(any("site-packages/torch/" in f for f in files))
    """)
    assert out.split() == ["False"]


def test_uninstall_restores():
    out = run_in_alias("""
        import sys, torch.optim
        from wengert import compat
        from wengert.autograd.engine import compatibility
        print(compat.installed(), compatibility.lenient)
        compat.install()
        compat.uninstall()
        compat.uninstall()
        print(compat.installed(), compatibility.lenient)
        print([name for name in sys.modules if name.split(".")[0] == "torch"])
        import importlib.machinery, importlib.util
        real = importlib.machinery.PathFinder.find_spec("torch")
        found = importlib.util.find_spec("torch")
        print((real and real.origin) == (found and found.origin))
    """)
    assert out.split() == ["True", "True", "False", "False", "[]", "True"]


def test_install_refuses_beside_pytorch(monkeypatch):
    module = ModuleType("torch")
    module.__file__ = "/somewhere/torch/__init__.py"
    monkeypatch.setitem(sys.modules, "torch", module)
    with pytest.raises(RuntimeError, match="PyTorch is already imported, from /somewhere/torch"):
        compat.install()
    assert not compat.installed()


def test_import_loads_nothing_further():
    """The alias adds nothing to speak of to the time of `import wengert`."""
    out = run_in_alias("""
        import sys
        before = set(sys.modules)
        import torch
        print(*set(sys.modules) - before)
    """)
    private = "wengert.compat._private"
    assert {*out.split()} == {
        "torch", private, f"{private}.top", f"{private}.absent_types", "wengert.platform.absences",
        *(f"{private}.quantization{module}" for module in ("", ".rounding", ".schemes")),
    }  # fmt: skip


def test_an_error_inside_a_module_of_wengert_passes_through(tmp_path):
    """A module that exists but cannot be imported is not reported as missing."""
    out = run_in_alias(f"""
        import wengert, torch
        (folder := {str(tmp_path)!r})
        open(folder + "/hub.py", "w").write("import zork")
        wengert.__path__.insert(0, folder)
        try:
            import torch.hub
        except ModuleNotFoundError as error:
            print(error)
    """)
    assert out == "No module named 'zork'\n"


@pytest.mark.parametrize(
    ("left", "right"), [("2.13.0", "2.2"), ("2.13.0+cpu", (2, 12, 9)), ("2.1", "2.0.9")]
)
def test_version_orders_by_numbers(left, right):
    version = TorchVersion(left)
    assert version > right
    assert version >= right
    assert version != right
    assert not version < right
    assert not version <= right


def test_version_is_a_string():
    version = TorchVersion("2.13.0+wengert")
    assert version.split(".")[:2] == ["2", "13"]
    assert version == "2.13"
    assert hash(version) == hash("2.13.0+wengert")
    assert version != "no version"


def test_safetensors_files(tmp_path):
    out = run_in_alias(f"""
        import torch
        from safetensors import safe_open
        from safetensors.torch import load, load_file, save, save_file
        path = {str(tmp_path / "x.safetensors")!r}
        tensors = {{"a": torch.arange(6.0).view(2, 3), "b": torch.ones(2).bfloat16()}}
        save_file(tensors, path)
        for read in (load_file(path), load(save(tensors))):
            print(all(read[k].equal(v) and read[k].dtype is v.dtype for k, v in tensors.items()))
        with safe_open(path, framework="pt") as file:
            print(file.get_slice("a")[1:, :2].tolist() == [[3.0, 4.0]])
    """)
    assert out.split() == ["True"] * 3


def test_tensorboards_writer_is_in_its_module_too(tmp_path):
    pytest.importorskip("tensorboard")
    out = run_in_alias(f"""
        import torch.utils.tensorboard
        from torch.utils.tensorboard.writer import SummaryWriter
        print(torch.utils.tensorboard.SummaryWriter is SummaryWriter)
        print(callable(torch.utils.tensorboard.summary.hparams))
        SummaryWriter({str(tmp_path)!r}).add_scalar("loss", torch.tensor(0.5), 1)
    """)
    assert out.split() == ["True"] * 2


def test_dictionaries_of_modules_are_filled():
    """Programs iterate over them, to find classes by their base."""
    out = run_in_alias("""
        import inspect, torch, torch.distributions, wengert
        optimizers = {n for n, c in vars(torch.optim).items()
                      if inspect.isclass(c) and issubclass(c, torch.optim.Optimizer)}
        print({"Adam", "SGD", "LBFGS"} <= optimizers)
        print(torch.distributions.__dict__["Normal"] is wengert.distributions.Normal)
        print(vars(torch.nn)["Linear"] is torch.nn.Linear, "Linear" in dir(torch.nn))
        print(torch.nn.Linear in dict(inspect.getmembers(torch.nn, inspect.isclass)).values())
        print(vars(torch)["matmul"] is wengert.matmul, "graph" in vars(torch))
        print(any(inspect.ismodule(v) and v.__name__.startswith("wengert")
                  for v in vars(torch.nn).values()))
    """)
    assert out.split() == [*["True"] * 6, "False", "False"]


def test_constants_are_looked_up_once():
    """As functions are; what programs may set is asked for each time."""
    out = run_in_alias("""
        import torch, wengert
        print(torch.float64 is vars(torch)["float64"] is wengert.float64)
        print(torch.strided is vars(torch)["strided"], torch.inf == vars(torch)["inf"])
        print(torch.channels_last is vars(torch)["channels_last"])
        print(torch.backends.cudnn.benchmark, "benchmark" in vars(torch.backends.cudnn))
    """)
    assert out.split() == [*["True"] * 4, "False", "False"]
