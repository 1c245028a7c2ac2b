"""SummaryWriter: scalars, histograms, images, a model's graph; read back from the file."""

import tempfile

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

with tempfile.TemporaryDirectory() as folder:
    with SummaryWriter(folder) as writer:
        for step in range(5):
            writer.add_scalar("loss", torch.tensor(1.0 / (step + 1)), step)
        writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 0)
        writer.add_histogram("weights", torch.randn(100), 0)
        writer.add_image("image", torch.rand(3, 8, 8), 0)
        writer.add_text("note", "text", 0)
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.5})
    events = EventAccumulator(folder).Reload()
    values = [event.value for event in events.Scalars("loss")]
    torch.testing.assert_close(torch.tensor(values), 1 / torch.arange(1.0, 6.0))
