"""Data-parallel training that goes on after a rank is lost, with as many ranks or with fewer.

A plain PyTorch script. Rank 0 saves a checkpoint after each epoch, and every start resumes from
it. Here the last rank is killed in the first attempt, and the launcher starts the others again, or
all of them:

    wengert run --nproc 2:3 --max-restarts 1 examples/ddp_restart.py --fail-at 2
    wengert run --nproc 3 --max-restarts 1 examples/ddp_restart.py --fail-at 2

The batch of a step is the same however many ranks share it, and so are the losses.
"""

import argparse
import os
import signal

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BATCH = 24


def save(path, epoch, model, optimizer):
    state = {"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)  # a checkpoint is whole, or the one before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--fail-at", type=int, default=-1, help="kill the last rank in this epoch")
    parser.add_argument("--checkpoint", default="ddp_restart.pt")
    arguments = parser.parse_args()

    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    first_attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
    torch.manual_seed(0)
    x = torch.randn(10 * BATCH, 8, dtype=torch.float64)
    y = torch.sin(x).sum(1, keepdim=True)

    net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)).double()
    model = DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    start = 0
    if os.path.exists(arguments.checkpoint):
        state = torch.load(arguments.checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["epoch"] + 1

    for epoch in range(start, arguments.epochs):
        total = torch.zeros(1, dtype=torch.float64)
        for step, (batch, targets) in enumerate(zip(x.split(BATCH), y.split(BATCH), strict=True)):
            if epoch == arguments.fail_at and step == 5 and first_attempt and rank == ranks - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            optimizer.zero_grad()
            loss = ((model(batch[rank::ranks]) - targets[rank::ranks]) ** 2).mean()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch}: loss {total.item() / ranks:.6f} on {ranks} ranks", flush=True)
            save(arguments.checkpoint, epoch, model, optimizer)
        dist.barrier()

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
