"""``theano.scan_module.scan_utils``: copies of graphs, and whether two are the same."""

from wengert.symbolic.cloning import clone as clone
from wengert.symbolic.cloning import map_variables as map_variables
from wengert.symbolic.gof.graph import equal_computations as equal_computations
from wengert.symbolic.scanning import until as until

__all__ = ["clone", "equal_computations", "map_variables", "until"]
