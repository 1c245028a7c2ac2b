"""Modules as programs of their own: `torch.export`.

>>> import wengert
>>> program = wengert.export.export(wengert.nn.ReLU(), (wengert.ones(2),))
>>> print(program.graph_module.code.strip())
def forward(self, input):
    relu = wengert_ops_rectifiers_relu(input);  input = None
    return relu
"""

from wengert.export.dims import Dim as Dim
from wengert.export.dims import dims as dims
from wengert.export.exported_program import ExportedProgram as ExportedProgram
from wengert.export.exported_program import export as export
from wengert.export.files import load as load
from wengert.export.files import save as save
from wengert.export.graph_signature import ExportGraphSignature as ExportGraphSignature
from wengert.export.unflatten import UnflattenedModule as UnflattenedModule
from wengert.export.unflatten import unflatten as unflatten
