"""The running loss of the tutorials, without `.item()`.

kind: sum
held: running_loss
remedy: running_loss += loss.item()
"""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)

running_loss = 0.0
for step in range(40):
    inputs, labels = torch.randn(4, 1, 8, 8), torch.randint(0, 10, (4,))
    optimizer.zero_grad()
    outputs = net(inputs)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
    running_loss += loss  # HERE
    if step % 20 == 19:
        print(f"[{step + 1}] loss: {running_loss / 20:.3f}")
