"""Embeddings of words are cached by `functools`, each with the graph that made it.

kind: container
held: embed[*]
"""

from functools import lru_cache

import torch
from torch import nn

torch.manual_seed(0)
table, project, head = nn.Embedding(100, 8), nn.Linear(8, 8), nn.Linear(8, 1)


@lru_cache(maxsize=None)  # noqa: UP033
def embed(word):
    return project(table(torch.tensor(word))).tanh()  # HERE


optimizer = torch.optim.Adam(head.parameters())
for step in range(60):
    loss = (head(embed(step).detach()) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(embed.cache_info().currsize)
