"""Graph convolutions and attention: classification of nodes and of graphs."""

import torch
from torch.nn import functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool

torch.manual_seed(0)
edges = torch.randint(0, 20, (2, 60))
graph = Data(x=torch.randn(20, 8), edge_index=edges, y=torch.randint(0, 3, (20,)))


class Net(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.first, self.second = layer(8, 16), layer(16, 3)

    def forward(self, x, edge_index):
        return self.second(F.relu(self.first(x, edge_index)), edge_index)


def isomorphism(inputs, outputs):
    return GINConv(torch.nn.Linear(inputs, outputs))


for layer in (GCNConv, SAGEConv, GATConv, isomorphism):
    model = Net(layer)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(15):
        loss = F.cross_entropy(model(graph.x, graph.edge_index), graph.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses

graphs = [Data(x=torch.randn(n, 8), edge_index=torch.randint(0, n, (2, 10))) for n in (4, 5, 6)]
for batch in DataLoader(graphs, batch_size=3):
    pooled = global_mean_pool(batch.x, batch.batch)
    assert pooled.shape == (3, 8)
assert Batch.from_data_list(graphs).num_graphs == 3
