"""Optimizers and learning rate schedulers."""

from wengert.optim import lr_scheduler as lr_scheduler
from wengert.optim.adagrad import Adagrad as Adagrad
from wengert.optim.adam import Adam as Adam
from wengert.optim.adam import AdamW as AdamW
from wengert.optim.optimizer import Optimizer as Optimizer
from wengert.optim.rmsprop import RMSprop as RMSprop
from wengert.optim.sgd import SGD as SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
