"""Models in the format of ONNX: `torch.onnx`.

`export` records a module and writes it with the package ``onnx``, which ``pip install
'wengert[onnx]'`` installs.
"""

from wengert.onnx import errors as errors
from wengert.onnx.constants import OperatorExportTypes as OperatorExportTypes
from wengert.onnx.constants import TrainingMode as TrainingMode
from wengert.onnx.constants import is_in_onnx_export as is_in_onnx_export
from wengert.onnx.errors import OnnxExporterError as OnnxExporterError
from wengert.onnx.exporting import export as export
from wengert.onnx.onnx_program import ONNXProgram as ONNXProgram

producer_name = "wengert"
