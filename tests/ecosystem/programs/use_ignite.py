"""Engines for training and evaluation, with metrics and a checkpoint."""

import tempfile

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = (x.sum(1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=16)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
trainer = create_supervised_trainer(model, optimizer, nn.CrossEntropyLoss())
metrics = {"accuracy": Accuracy(), "loss": Loss(nn.CrossEntropyLoss())}
evaluator = create_supervised_evaluator(model, metrics=metrics)
history = []


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    evaluator.run(loader)
    history.append(evaluator.state.metrics["loss"])


with tempfile.TemporaryDirectory() as folder:
    saver = Checkpoint({"model": model, "optimizer": optimizer}, DiskSaver(folder), n_saved=1)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
    trainer.run(loader, max_epochs=8)
    saved = torch.load(f"{folder}/{saver.last_checkpoint.name}")
    Checkpoint.load_objects({"model": model, "optimizer": optimizer}, saved)
assert history[-1] < history[0], history
assert evaluator.state.metrics["accuracy"] > 0.8
