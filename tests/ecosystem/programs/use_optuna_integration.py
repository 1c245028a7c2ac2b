"""A study of a network's width and learning rate; Lightning's and skorch's pruning callbacks."""

import optuna
import torch
from optuna_integration import SkorchPruningCallback
from sklearn.datasets import make_classification
from skorch import NeuralNetClassifier
from torch import nn

optuna.logging.set_verbosity(optuna.logging.ERROR)
x, y = make_classification(100, 6, random_state=0)
x, y = x.astype("float32"), y.astype("int64")


def objective(trial):
    torch.manual_seed(0)
    width = trial.suggest_int("width", 2, 16)
    net = NeuralNetClassifier(
        nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 2)),
        criterion=nn.CrossEntropyLoss,
        lr=trial.suggest_float("lr", 1e-3, 1e-1, log=True),
        max_epochs=3,
        verbose=0,
        callbacks=[SkorchPruningCallback(trial, "valid_acc")],
    )
    return net.fit(x, y).score(x, y)


study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(objective, n_trials=5)
assert study.best_value > 0.4
