"""Trainer: fit, validate, a checkpoint, and a second run that goes on from it."""

import tempfile

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regression(lightning.LightningModule):
    def __init__(self, width=16):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_loss", nn.functional.mse_loss(self.net(x), y))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 5)]


lightning.seed_everything(0, verbose=False)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
model = Regression()


def trainer(folder, epochs):
    return lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=True,
        gradient_clip_val=1.0,
        accumulate_grad_batches=2,
        callbacks=[ModelCheckpoint(folder, monitor="val_loss"), EarlyStopping("val_loss")],
    )


with tempfile.TemporaryDirectory() as folder:
    first = trainer(folder, 4)
    before = first.validate(model, loader, verbose=False)[0]["val_loss"]
    first.fit(model, loader, loader)
    after = first.validate(model, loader, verbose=False)[0]["val_loss"]
    assert after < before, (before, after)
    path = first.checkpoint_callback.best_model_path
    again = Regression.load_from_checkpoint(path)
    assert again.hparams.width == 16
    second = trainer(folder, 6)
    second.fit(again, loader, loader, ckpt_path=path)
    assert second.current_epoch == 6
