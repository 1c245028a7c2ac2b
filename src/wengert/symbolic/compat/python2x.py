"""``theano.compat.python2x``: what earlier Pythons lacked."""

import builtins
from collections import Counter as Counter
from collections import OrderedDict as OrderedDict
from collections import defaultdict as DefaultOrderedDict

all, any = builtins.all, builtins.any

__all__ = ["Counter", "DefaultOrderedDict", "OrderedDict", "all", "any"]
