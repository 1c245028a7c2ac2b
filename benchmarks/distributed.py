"""Data parallelism on this machine, beside PyTorch with gloo and MPI; a model of larger ones.

    python benchmarks/distributed.py                 # measure, print
    python benchmarks/distributed.py --write         # and put the tables into docs/distributed.md
    python benchmarks/distributed.py --only memory   # steps, all_reduce, memory, crowd or model

Every rank is a process with one thread. Each measurement starts its ranks anew, the contenders in
turns; medians. `model` computes the time of a step on more machines than there are here, from the
measured time of a step and the bandwidth and latency of a network that is given:

    python benchmarks/distributed.py --only model --gigabits 10 --microseconds 25
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from _measure import clean_environment, machine, save

PAGE = Path(__file__).resolve().parents[1] / "docs" / "distributed.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
ROUNDS = 3
SECONDS = 0.6  # of steps in a measurement
SIZES = (4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20)  # bytes of an all_reduce
CROWD, CROWD_STEPS = 8, 30  # ranks, on however few cores
PARTS = ("steps", "all_reduce", "memory", "crowd", "model")
Table = tuple[list[str], list[list[str]]]


# -- what a rank does --------------------------------------------------------------------------


def mlp(m: Any) -> tuple[Any, Any, Any]:
    """A network of linear layers, and a batch."""
    widths = (256, 512, 512, 10)
    layers: list[Any] = []
    for inputs, outputs in pairwise(widths):
        layers += [m.nn.Linear(inputs, outputs), m.nn.ReLU()]
    return m.nn.Sequential(*layers[:-1]), m.randn(128, 256), m.randint(10, (128,))


def cnn(m: Any) -> tuple[Any, Any, Any]:
    """Convolutions with batch norms, and a batch of pictures."""
    nn = m.nn
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(128, 10),
    )  # fmt: skip
    return model, m.randn(32, 3, 32, 32), m.randint(10, (32,))


def gpt(m: Any) -> tuple[Any, Any, Any]:
    """Two transformer layers over characters."""
    nn = m.nn
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True, norm_first=True)

    class Characters(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(96, 128)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(128, 96)
            self.mask = nn.Transformer.generate_square_subsequent_mask(64)

        def forward(self, x: Any) -> Any:
            hidden = self.layers(self.embedding(x), mask=self.mask, is_causal=True)
            return self.head(hidden).flatten(0, 1)

    return Characters(), m.randint(96, (8, 64)), m.randint(96, (8 * 64,))


MODELS: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {"MLP": mlp, "CNN": cnn, "GPT": gpt}


def step_seconds(m: Any, name: str) -> float:
    """Seconds of a training step with `DistributedDataParallel`, the median."""
    m.manual_seed(0)
    model, x, target = MODELS[name](m)
    model = m.nn.parallel.DistributedDataParallel(model)
    optimizer = m.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        m.nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()

    return _median_seconds(m.distributed, step)


def _median_seconds(distributed: Any, work: Callable[[], None]) -> float:
    """Of calls that all ranks make equally often."""
    for _ in range(5):
        work()
    distributed.barrier()
    start = time.perf_counter()
    for _ in range(3):
        work()
    count = [max(5, int(3 * SECONDS / (time.perf_counter() - start)))]
    distributed.broadcast_object_list(count, 0)
    found = []
    for _ in range(count[0]):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def reduce_seconds(m: Any, size: str) -> float:
    """Seconds of an all_reduce of so many bytes."""
    data = m.ones(int(size) // 4)
    return _median_seconds(m.distributed, lambda: m.distributed.all_reduce(data))


def mpi_reduce_seconds(size: str) -> float:
    """The same by MPI alone."""
    import numpy as np
    from mpi4py import MPI

    world, data = MPI.COMM_WORLD, np.ones(int(size) // 4, np.float32)

    class Distributed:
        barrier = staticmethod(world.Barrier)

        @staticmethod
        def broadcast_object_list(values: list[Any], source: int) -> None:
            values[:] = world.bcast(values, source)

    return _median_seconds(Distributed, lambda: world.Allreduce(MPI.IN_PLACE, data, MPI.SUM))


def state_bytes(m: Any, way: str) -> float:
    """Bytes of parameters, gradients and the optimizer's state that this rank has after a step."""
    model, x, target = mlp(m)
    if way == "fully_shard":
        m.distributed.fsdp.fully_shard(model)
        optimizer = m.optim.Adam(model.parameters())
    else:
        model = m.nn.parallel.DistributedDataParallel(model)
        zero = m.distributed.optim.ZeroRedundancyOptimizer
        optimizer = zero(model.parameters(), m.optim.Adam)
    m.nn.functional.cross_entropy(model(x), target).backward()
    optimizer.step()
    inner = getattr(optimizer, "optim", optimizer)
    state = [t for values in inner.state.values() for t in values.values()]
    owned = [t for p in model.parameters() for t in (p, p.grad)] if way == "fully_shard" else []
    tensors = [t for t in state + owned if isinstance(t, m.Tensor)]
    return float(sum(t.numel() * t.element_size() for t in tensors))


def crowd_seconds(m: Any, steps: str) -> float:
    """Seconds of processor time that this rank took for some steps."""
    model, x, target = mlp(m)
    model = m.nn.parallel.DistributedDataParallel(model)

    def step() -> None:
        model.zero_grad()
        m.nn.functional.cross_entropy(model(x), target).backward()

    for _ in range(5):
        step()
    m.distributed.barrier()
    before = time.process_time()
    for _ in range(int(steps)):
        step()
    spent = m.tensor(time.process_time() - before)
    m.distributed.all_reduce(spent)
    return float(spent.item())


MEASURES: dict[str, Callable[[Any, str], float]] = {
    "step": step_seconds, "all_reduce": reduce_seconds, "state": state_bytes,
    "crowd": crowd_seconds,
}  # fmt: skip


def be_a_rank(library: str, measure: str, argument: str) -> None:
    """Measure as one rank; rank 0 prints the number."""
    if library == "mpi":
        from mpi4py import MPI

        found, rank = mpi_reduce_seconds(argument), MPI.COMM_WORLD.rank
    else:
        m = import_module(library)
        for part in ("distributed.fsdp", "distributed.optim"):
            import_module(f"{library}.{part}")
        m.set_num_threads(1)
        m.distributed.init_process_group("gloo")
        found, rank = MEASURES[measure](m, argument), m.distributed.get_rank()
        m.distributed.destroy_process_group()
    if rank == 0:
        print(json.dumps(found))


# -- starting ranks ----------------------------------------------------------------------------


def measured(library: str, ranks: int, measure: str, argument: object) -> float:
    """What rank 0 of so many has measured."""
    command = [sys.executable, __file__, "--rank", library, measure, str(argument)]
    environment = clean_environment() | {"OMP_NUM_THREADS": "1"}
    if library == "mpi":
        command = [_mpiexec(), "-n", str(ranks), *command]
        return _number(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE))
    environment |= {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1"}
    environment["MASTER_PORT"] = str(_free_port())
    processes = [
        subprocess.Popen(
            command, env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
        )
        for rank in range(ranks)
    ]  # fmt: skip
    found = _number(processes[0])
    for process in processes[1:]:
        process.communicate()
    return found


def _mpiexec() -> str:
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec") or ""


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _number(process: subprocess.Popen[bytes]) -> float:
    out, _ = process.communicate()
    if process.returncode:
        sys.exit(f"{process.args} ended with {process.returncode}")
    return float(json.loads(out.splitlines()[-1]))


def in_turns(contenders: list[tuple[str, int]], measure: str, argument: object) -> list[float]:
    """The median of each contender, a library and a number of ranks."""
    rounds = [[measured(*c, measure, argument) for c in contenders] for _ in range(ROUNDS)]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


# -- tables ------------------------------------------------------------------------------------


def steps() -> Table:
    """Weak scaling from one rank to two, and the time of a step of two."""
    lines = []
    for name in MODELS:
        one, two, torch_one, torch_two = (
            1e3 * s
            for s in in_turns([("wengert", 1), ("wengert", 2), ("torch", 1), ("torch", 2)],
                              "step", name)
        )  # fmt: skip
        lines.append([name, f"{two:.2f}", f"{torch_two:.2f}", f"{two / torch_two:.2f}",
                      f"{one / two:.2f}", f"{torch_one / torch_two:.2f}"])  # fmt: skip
    return ["step of 2 ranks, one thread each (ms)", "wengert", "torch, gloo", "wengert / torch",
            "weak scaling", "torch's"], lines  # fmt: skip


def all_reduce() -> Table:
    """Sums of float32 over two ranks."""
    peers = ["wengert", "torch"] + ["mpi"] * bool(_mpiexec())
    lines = []
    for size in SIZES:
        found = in_turns([(peer, 2) for peer in peers], "all_reduce", size)
        micro = [1e6 * s for s in found]
        name = f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"
        ratios = [f"{micro[0] / other:.2f}" for other in micro[1:]]
        lines.append([name, *(f"{us:,.0f}" for us in micro), *ratios])
    heads = ["`all_reduce` of 2 ranks (us)", "wengert", "torch, gloo", "mpi4py, mpich"]
    ratios = ["wengert / gloo", "wengert / MPI"]
    return heads[: len(peers) + 1] + ratios[: len(peers) - 1], lines


def memory() -> Table:
    """What a rank keeps when state is sharded."""
    lines = []
    for name, way in (("`fully_shard`: parameters, gradients, Adam's state", "fully_shard"),
                      ("`ZeroRedundancyOptimizer`: Adam's state", "zero")):  # fmt: skip
        one, two = (measured("wengert", ranks, "state", way) / 1e6 for ranks in (1, 2))
        lines.append([name, f"{one:.2f}", f"{two:.2f}", f"{two / one:.2f}"])
    return ["memory of a rank (MB)", "1 rank", "2 ranks", "2 / 1"], lines


def crowd() -> Table:
    """More ranks than cores: what waiting costs."""
    alone, many = (
        statistics.median(measured("wengert", ranks, "crowd", CROWD_STEPS) for _ in range(3))
        for ranks in (1, CROWD)
    )
    line = [f"{CROWD_STEPS} steps of a rank", f"{alone:.2f}", f"{many / CROWD:.2f}"]
    return [
        f"processor time (s), {os.cpu_count()} cores",
        "1 rank",
        f"{CROWD} ranks",
        f"{CROWD} / 1",
    ], [[*line, f"{many / CROWD / alone:.2f}"]]


def model(gigabits: float, latency: float) -> Table:
    """The time of a step of the MLP on N machines, by the formulas in docs/distributed.md."""
    work = measured("wengert", 1, "step", "MLP")
    message = measured("wengert", 2, "all_reduce", SIZES[0])  # one round: to send and to receive
    size = 4 * sum(i * o + o for i, o in ((256, 512), (512, 512), (512, 10)))
    bandwidth = gigabits * 1e9 / 8
    lines = []
    for ranks in (2, 4, 8, 16, 64, 256, 1024):
        share = 2 * (ranks - 1) / ranks * size / bandwidth
        direct = share + 2 * latency + 2 * (ranks - 1) * message
        ring = share + 2 * (ranks - 1) * latency
        tree = 2 * math.ceil(math.log2(ranks)) * (latency + size / bandwidth)
        hidden = BACKWARD_SHARE * work
        took = [work + max(0.0, t - hidden) for t in (direct, ring, tree)]
        lines.append([str(ranks), *(f"{1e3 * t:.2f}" for t in took), f"{work / min(took):.2f}"])
    return [f"machines, {gigabits:g} Gbit/s, {latency * 1e6:g} us", "direct (ms)", "ring (ms)",
            "tree (ms)", "best weak scaling"], lines  # fmt: skip


BACKWARD_SHARE = 0.5  # of a step, behind which communication can hide


def markdown(table: Table) -> str:
    """A table for a page."""
    heads, lines = table
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rule, *lines))


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--gigabits", type=float, default=10.0)
    parser.add_argument("--microseconds", type=float, default=25.0)
    parser.add_argument("--rank", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        be_a_rank(*options.rank)
        return
    print(f"# {machine()}")
    parts = {name: globals()[name] for name in PARTS}
    parts["model"] = lambda: model(options.gigabits, options.microseconds * 1e-6)
    tables = []
    for name in options.only or PARTS:
        tables.append(markdown(parts[name]()))
        print(tables[-1], flush=True)
    save(__file__, {"tables": tables})
    if options.write:
        text = f"{BEGIN}\n{machine()}, {time.strftime('%Y-%m-%d')}:\n\n" + "\n\n".join(tables)
        page = PAGE.read_text()
        section = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
        PAGE.write_text(section.sub(lambda _: f"{text}\n{END}", page))


if __name__ == "__main__":
    main()
