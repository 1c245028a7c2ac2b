"""Graph networks on a made-up graph: a graph convolution, graph attention, node embeddings.

The graph has communities, and the networks learn which one a node belongs to from noisy features
and from its neighbours. The adjacency is a sparse matrix; attention is a softmax over its stored
elements (Velickovic et al., 2018), and the embedding has sparse gradients for SparseAdam.

    python graph_networks.py --model gat
"""

from __future__ import annotations

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def graph(nodes: int, classes: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Edges (2, number), features and communities of nodes."""
    torch.manual_seed(seed)
    label = torch.randint(0, classes, (nodes,))
    same = label[:, None] == label[None, :]
    chance = torch.where(same, 0.1, 0.01)
    upper = torch.triu(torch.rand(nodes, nodes) < chance, diagonal=1)
    linked = upper | upper.t() | torch.eye(nodes, dtype=torch.bool)
    edges = linked.nonzero().t().contiguous()
    features = F.one_hot(label, classes).float() + 1.5 * torch.randn(nodes, classes)
    return edges, features, label


def normalized(edges: torch.Tensor, nodes: int) -> torch.Tensor:
    """The adjacency divided by the roots of the degrees on both sides (Kipf and Welling, 2017)."""
    ones = torch.ones(edges.shape[1])
    adjacency = torch.sparse_coo_tensor(edges, ones, (nodes, nodes)).coalesce()
    degree = torch.sparse.sum(adjacency, 1).to_dense()
    row, column = adjacency.indices()
    values = adjacency.values() * (degree[row] * degree[column]).rsqrt()
    return torch.sparse_coo_tensor(adjacency.indices(), values, (nodes, nodes)).coalesce()


class GraphConvolution(nn.Module):
    """The mean of what the neighbours have, after a linear map."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width_in, width_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(width_out))

    def forward(self, x: torch.Tensor, adjacency: torch.Tensor) -> torch.Tensor:
        return torch.sparse.mm(adjacency, self.linear(x)) + self.bias


class GCN(nn.Module):
    """Two graph convolutions."""

    def __init__(self, features: int, width: int, classes: int, adjacency: torch.Tensor) -> None:
        super().__init__()
        self.first = GraphConvolution(features, width)
        self.second = GraphConvolution(width, classes)
        self.register_buffer("adjacency", adjacency)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(F.relu(self.first(x, self.adjacency)), self.adjacency)


class GraphAttention(nn.Module):
    """A mean of the neighbours whose weights are learned: a sparse softmax over the edges."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width_in, width_out, bias=False)
        self.source = nn.Linear(width_out, 1, bias=False)
        self.target = nn.Linear(width_out, 1, bias=False)

    def forward(self, x: torch.Tensor, adjacency: torch.Tensor) -> torch.Tensor:
        h = self.linear(x)
        row, column = adjacency.indices()
        score = self.target(h).squeeze(1)[row] + self.source(h).squeeze(1)[column]
        scores = torch.sparse_coo_tensor(
            adjacency.indices(), F.leaky_relu(score, 0.2), adjacency.shape
        )
        return torch.sparse.mm(torch.sparse.softmax(scores, dim=1), h)


class GAT(nn.Module):
    """Two layers of attention, the first with several heads."""

    def __init__(
        self, features: int, width: int, classes: int, adjacency: torch.Tensor, heads: int = 2
    ) -> None:
        super().__init__()
        self.heads = nn.ModuleList([GraphAttention(features, width) for _ in range(heads)])
        self.last = GraphAttention(heads * width, classes)
        self.register_buffer("adjacency", adjacency)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.cat([head(x, self.adjacency) for head in self.heads], dim=1)
        return self.last(F.elu(h), self.adjacency)


def train_classifier(model: nn.Module, x: torch.Tensor, label: torch.Tensor, steps: int) -> None:
    known = torch.arange(len(label)) % 4 == 0
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
    for step in range(steps):
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out[known], label[known])
        loss.backward()
        optimizer.step()
        if step % 5 == 0 or step == steps - 1:
            right = (out.argmax(1) == label)[~known].float().mean()
            print(f"step {step}: loss {loss.item():.6f}, accuracy {right.item():.3f}")


def train_embedding(edges: torch.Tensor, nodes: int, width: int, steps: int) -> None:
    """Vectors of nodes whose products are large for neighbours, and small for others."""
    table = nn.Embedding(nodes, width, sparse=True)
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.05)
    for step in range(steps):
        optimizer.zero_grad()
        picked = torch.randint(0, edges.shape[1], (256,))
        others = torch.randint(0, nodes, (256,))
        a, b = edges[:, picked]
        near, far = (table(a) * table(b)).sum(1), (table(a) * table(others)).sum(1)
        loss = -(F.logsigmoid(near) + F.logsigmoid(-far)).mean()
        loss.backward()
        optimizer.step()
        if step % 5 == 0 or step == steps - 1:
            rows = table.weight.grad.coalesce().indices().shape[1]
            print(f"step {step}: loss {loss.item():.6f}, rows {rows}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=["gcn", "gat", "embedding"], default="gcn")
    parser.add_argument("--nodes", type=int, default=300)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    edges, features, label = graph(args.nodes, args.classes, args.seed)
    print(f"{args.nodes} nodes, {edges.shape[1]} edges")
    if args.model == "embedding":
        train_embedding(edges, args.nodes, args.width, args.steps)
        return
    adjacency = normalized(edges, args.nodes)
    kind = GCN if args.model == "gcn" else GAT
    model = kind(args.classes, args.width, args.classes, adjacency)
    train_classifier(model, features, label, args.steps)


if __name__ == "__main__":
    main()
