"""Training on scikit-learn's digits with Horovod.

A plain PyTorch script with Horovod. It runs unchanged under both:

    horovodrun -np 2 python examples/horovod_digits.py
    wengert run --nproc 2 examples/horovod_digits.py
"""

import argparse

import horovod.torch as hvd
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        self.hidden = nn.Linear(16 * 4 * 4, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.out(F.relu(self.hidden(x.flatten(1))))


def loader_of(images, targets, batch_size):
    dataset = TensorDataset(images, targets)
    sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank())
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler), sampler


def metric_average(value, name):
    return hvd.allreduce(torch.tensor(value), name=name).item()


def evaluate(model, loader, sampler):
    model.eval()
    loss, correct = 0.0, 0.0
    with torch.no_grad():
        for x, y in loader:
            output = model(x)
            loss += F.cross_entropy(output, y, reduction="sum").item()
            correct += (output.argmax(1) == y).float().sum().item()
    loss = metric_average(loss / len(sampler), "avg_loss")
    accuracy = metric_average(correct / len(sampler), "avg_accuracy")
    return loss, accuracy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32, help="of a rank")
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--fp16-allreduce", action="store_true", help="send gradients in 16 bits")
    parser.add_argument("--use-adasum", action="store_true", help="add gradients by Adasum")
    arguments = parser.parse_args()

    hvd.init()
    torch.manual_seed(42)

    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    targets = torch.tensor(digits.target, dtype=torch.int64)
    train, train_sampler = loader_of(images[:1500], targets[:1500], arguments.batch_size)
    test, test_sampler = loader_of(images[1500:], targets[1500:], 64)

    model = Net()
    # As many ranks make a larger batch, the learning rate grows with them. Adasum needs that not.
    scaler = 1 if arguments.use_adasum else hvd.size()
    optimizer = optim.SGD(model.parameters(), lr=arguments.lr * scaler, momentum=0.9)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    compression = hvd.Compression.fp16 if arguments.fp16_allreduce else hvd.Compression.none
    optimizer = hvd.DistributedOptimizer(
        optimizer,
        named_parameters=model.named_parameters(),
        compression=compression,
        op=hvd.Adasum if arguments.use_adasum else hvd.Average,
    )

    for epoch in range(arguments.epochs):
        model.train()
        train_sampler.set_epoch(epoch)
        for x, y in train:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        loss, accuracy = evaluate(model, test, test_sampler)
        if hvd.rank() == 0:
            print(f"epoch {epoch}: loss {loss:.4f}, accuracy {accuracy:.1%}", flush=True)


if __name__ == "__main__":
    main()
