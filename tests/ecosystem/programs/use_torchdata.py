"""A loader of torchdata stops in the middle of an epoch, and another one goes on from there."""

import torch
import torchdata.nodes
from torch.utils.data import IterableDataset, get_worker_info
from torchdata.stateful_dataloader import StatefulDataLoader


class Numbers(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        yield from range(first, 12, step)


def batches_of(loader):
    return [batch.tolist() for batch in loader]


for workers in (0, 2):
    for data, options in ((list(range(12)), {"shuffle": True}), (Numbers(), {})):
        torch.manual_seed(0)
        loader = StatefulDataLoader(data, batch_size=3, num_workers=workers, **options)
        batches = iter(loader)
        seen = [next(batches).tolist() for _ in range(2)]
        state = loader.state_dict()
        rest = batches_of(batches)
        later = StatefulDataLoader(data, batch_size=3, num_workers=workers, **options)
        later.load_state_dict(state)
        assert batches_of(later) == rest
        assert sorted(x for batch in seen + rest for x in batch) == list(range(12)), (seen, rest)

node = torchdata.nodes.Batcher(torchdata.nodes.IterableWrapper(range(6)), batch_size=3)
assert list(torchdata.nodes.Loader(node)) == [[0, 1, 2], [3, 4, 5]]
