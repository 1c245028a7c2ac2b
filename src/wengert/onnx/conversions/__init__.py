"""Operations as nodes of ONNX, one module per family: importing them fills the table."""

from wengert.onnx.conversions import activations as activations
from wengert.onnx.conversions import elementwise as elementwise
from wengert.onnx.conversions import indexing as indexing
from wengert.onnx.conversions import normalization as normalization
from wengert.onnx.conversions import products as products
from wengert.onnx.conversions import recurrent as recurrent
from wengert.onnx.conversions import reductions as reductions
from wengert.onnx.conversions import shapes as shapes
from wengert.onnx.conversions import windows as windows
