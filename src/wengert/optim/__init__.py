"""Optimizers and learning rate schedulers.

An optimizer reads the `.grad` of its parameters and writes to their arrays, in place.
`optimizer.py` keeps groups, state and hooks; `_stepping.py` runs a step; each optimizer's module
has its options and its `_rule`, whose formula in `wengert.kernels.optim` updates a group in one
pass. Schedulers (`_scheduler.py`, `lr_scheduler.py`) set the learning rates of groups.
Read `_stepping.py` first, then `adam.py`.
"""

from wengert.optim import lr_scheduler as lr_scheduler
from wengert.optim import swa_utils as swa_utils
from wengert.optim._adafactor import Adafactor as Adafactor
from wengert.optim._muon import Muon as Muon
from wengert.optim.adadelta import Adadelta as Adadelta
from wengert.optim.adagrad import Adagrad as Adagrad
from wengert.optim.adam import Adam as Adam
from wengert.optim.adamax import Adamax as Adamax
from wengert.optim.adamw import AdamW as AdamW
from wengert.optim.asgd import ASGD as ASGD
from wengert.optim.lbfgs import LBFGS as LBFGS
from wengert.optim.nadam import NAdam as NAdam
from wengert.optim.optimizer import Optimizer as Optimizer
from wengert.optim.radam import RAdam as RAdam
from wengert.optim.rmsprop import RMSprop as RMSprop
from wengert.optim.rprop import Rprop as Rprop
from wengert.optim.sgd import SGD as SGD
from wengert.optim.sparse_adam import SparseAdam as SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]
